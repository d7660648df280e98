/** Declarations of the settings of the gateway. */
import { type ProviderKeyVariable, parseKeyVariables } from './parsers.ts';
import { flag, integer, type Setting, url } from './setting.ts';

export const gatewaySettings = {
  gateway: flag(
    'SVC_GATEWAY',
    'Serve the gateway: the paths below `/openai`, `/anthropic`, `/gemini` and `/compat`, which forward calls to providers and meter them.',
    'true',
  ),
  gatewayBodyLimitBytes: integer(
    'SVC_GATEWAY_BODY_LIMIT_BYTES',
    String(64 * 1024 * 1024),
    'Maximum size of the body of a call through the gateway.',
    1_024,
    1_073_741_824,
  ),
  gatewayStreamsMax: integer(
    'SVC_GATEWAY_STREAMS_MAX',
    '2000',
    'Maximum number of calls that a process forwards at the same time. Above it, calls return 503.',
    1,
    1_000_000,
  ),
  gatewayDrainsMax: integer(
    'SVC_GATEWAY_DRAINS_MAX',
    '200',
    'Maximum number of responses that a process reads to their end after their client has left. Above it, the usage is estimated.',
    0,
    1_000_000,
  ),
  gatewayHoldLeadMs: integer(
    'SVC_GATEWAY_HOLD_LEAD_MS',
    '2000',
    'With `hold: paced`, the milliseconds by which the hold of a call is ahead of what its provider can have generated.',
    100,
    60_000,
  ),
  gatewayGoOnSeconds: integer(
    'SVC_GATEWAY_GO_ON_SECONDS',
    '30',
    'With `hold: paced`, the seconds for which a provider may continue a call after the process was killed. What it can have generated is posted when the hold of the call expires.',
    0,
    3_600,
  ),
  gatewayAllowPrivateNetworks: flag(
    'SVC_GATEWAY_ALLOW_PRIVATE_NETWORKS',
    'Allow connections to providers at private and local addresses, and without TLS.',
  ),
  gatewayOpenaiUrl: url(
    'SVC_GATEWAY_OPENAI_BASE_URL',
    'https://api.openai.com/v1',
    'URL of new connections to OpenAI that name none, for example that of a region or of an egress proxy.',
  ),
  gatewayAnthropicUrl: url(
    'SVC_GATEWAY_ANTHROPIC_BASE_URL',
    'https://api.anthropic.com',
    'URL of new connections to Anthropic that name none.',
  ),
  gatewayGeminiUrl: url(
    'SVC_GATEWAY_GEMINI_BASE_URL',
    'https://generativelanguage.googleapis.com',
    'URL of new connections to the Gemini API that name none.',
  ),
  gatewayApiKeys: {
    name: 'SVC_GATEWAY_API_KEY_ENVS',
    meaning:
      'Names of the environment variables that connections of any organization may take the key of their provider from, separated by commas, such as `OPENAI_API_KEY`. Such a key is only sent to the default URL of the provider, or to the URL that is given for it, as in `LOCAL_KEY=https://llm.example.com/v1`. Default: none.',
    fallback: '',
    parse: parseKeyVariables,
  } as Setting<ReadonlyMap<string, ProviderKeyVariable>>,
};
