/** The paths of the runtime of Amazon Bedrock. They have the model, or a resource that stands for one. */
import { connectionKinds, type Envelope } from '../../capabilities/integration/connections/index.ts';
import { bedrockNameOf } from '../../kernel/model-names.ts';
import { callFormats } from '../../kernel/providers/formats.ts';
import { decoded, openAiOperation } from './openai-operations.ts';
import type { GatewayOperation, ServedPath } from './operation.ts';

const { converse: format, messages } = callFormats;
const wanted = { kind: 'bedrock' } as const;

const signed = /^AWS4-HMAC-SHA256 +Credential=([^/,\s]+)\//;

/** Clients send the colons and slashes of resource names as they are, or encoded. */
const modelPath = /^model\/(.+)\/([a-z-]+)$/;

const envelope = connectionKinds.bedrock.envelopes.get(messages) as Envelope;

export const bedrock: ServedPath = {
  prefix: '/bedrock',
  // The signature is not checked: it proves the possession of a secret, which the key of Purser itself is.
  signingKeyOf: (authorization) => signed.exec(authorization)?.[1],
  format,
  operationOf({ verb, segments, query }) {
    if (segments[0] === 'openai' && segments[1] === 'v1') {
      return openAiOperation({ verb, segments: segments.slice(2), query }, wanted);
    }
    const [, segment = '', method = ''] = modelPath.exec(segments.join('/')) ?? [];
    const deployment = decoded(segment);
    return verb === 'POST' && deployment !== undefined ? methodOf(method, deployment) : undefined;
  },
};

function methodOf(method: string, deployment: string): GatewayOperation | undefined {
  const path = { deployment, query: '' };
  const ofConverse = { ...path, format, wanted, below: `/${method}` };
  switch (method) {
    case 'converse':
    case 'converse-stream':
      return { kind: 'metered', ...ofConverse, isStream: method === 'converse-stream' };
    case 'count-tokens':
      return { kind: 'free', ...ofConverse };
    case 'invoke':
    case 'invoke-with-response-stream': {
      const isStream = method === 'invoke-with-response-stream';
      return isOfAnthropic(deployment)
        ? {
            kind: 'metered',
            ...path,
            format: messages,
            wanted: { format: messages },
            below: '',
            isStream,
            envelope,
            errors: format.errors,
          }
        : { kind: 'unserved', reason: unservedInvocation };
    }
    default:
      return undefined;
  }
}

/** The body of a direct call has the format of the vendor. */
const unservedInvocation =
  'The gateway serves `InvokeModel` for models of Anthropic only, because it cannot bound the output of others. Use `Converse` instead.';

/** A resource that does not name its model is called with the format of Anthropic. */
function isOfAnthropic(model: string): boolean {
  const named = bedrockNameOf(model.slice(model.lastIndexOf('/') + 1));
  return named === undefined || named.id.startsWith('anthropic.');
}
