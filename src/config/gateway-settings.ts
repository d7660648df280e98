/** Declarations of the settings of the gateway. */
import {
  type CloudSurroundings,
  cloudVariablesOf,
  parseCloudIdentities,
  parseTokenFiles,
} from './cloud-settings.ts';
import { listOf, type ProviderKeyVariable, parseKeyVariables, parseUrl } from './parsers.ts';
import { flag, integer, type Setting, url } from './setting.ts';

export const gatewaySettings = {
  gateway: flag(
    'SVC_GATEWAY',
    'Serve the gateway: the paths below `/openai`, `/anthropic`, `/gemini`, `/bedrock` and `/compat`, which forward calls to providers and meter them.',
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
  gatewayCloud: {
    name: 'SVC_GATEWAY_CLOUD_IDENTITIES',
    meaning:
      'Organizations whose connections may use the identity of this service in a cloud, and what it may assume: ids separated by commas, or `*` for all. An identity after `=` allows that one only, with `*` for any characters, such as `org_1=arn:aws:iam::123456789012:role/purser-*`; `=service` is the identity of the service itself. Without `=`, every identity that trusts the service is allowed. Default: none.',
    fallback: '',
    parse: (value, env) => ({ identities: parseCloudIdentities(value), variables: cloudVariablesOf(env) }),
  } as Setting<CloudSurroundings>,
  gatewayCloudIdentityUrls: {
    name: 'SVC_GATEWAY_CLOUD_IDENTITY_URLS',
    meaning:
      'Base URLs that an identity of this service may be used at besides the hosts of its cloud, such as a proxy: separated by commas. Default: none.',
    fallback: '',
    parse: (value) => listOf(value).map((one) => parseUrl(one, ['http:', 'https:']).replace(/\/+$/, '')),
  } as Setting<readonly string[]>,
  gatewayIdentityTokenFiles: {
    name: 'SVC_GATEWAY_IDENTITY_TOKEN_FILES',
    meaning:
      'Files with an OIDC token of this service, which its platform renews, by who accepts the token: `google=/var/run/secrets/google/token,openai=/var/run/secrets/openai/token`. Names: `google`, `azure` (default: `AZURE_FEDERATED_TOKEN_FILE`), `openai`, `anthropic` (default: `ANTHROPIC_IDENTITY_TOKEN_FILE`).',
    fallback: '',
    parse: parseTokenFiles,
  } as Setting<ReadonlyMap<string, string>>,
};
