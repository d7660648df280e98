/**
 * The paths of Vertex AI. Clients put their project and location in front of a model; those of the connection are called instead, because
 * they select the bill. Endpoints, tuned models and other resources of a project are refused: their names do not say what they cost.
 */
import { kindOf, type WantedConnection } from '../../capabilities/integration/connections/index.ts';
import { callFormats } from '../../kernel/providers/formats.ts';
import { generatingMethod } from './gemini.ts';
import { decoded } from './openai-operations.ts';
import type { GatewayOperation, ModelList, ServedModel, ServedPath } from './operation.ts';

const { chat, messages, gemini: format, vertex_embeddings: predictions } = callFormats;
const wanted: WantedConnection = { kind: 'vertex' };
const envelope = kindOf({ kind: 'vertex' }).envelopes.get(messages);

/** Clients of Anthropic's SDK have the version in their base URL or not. */
const place = String.raw`^(?:(v1|v1beta1)/)?(?:projects/[a-zA-Z0-9][\w.:-]*/locations/[a-z][a-z0-9-]*/)?`;
/** A name with a slash would be another resource, except that of the routing policy. */
const modelName = String.raw`([A-Za-z0-9][\w.@-]*|purser(?:/|%2[Ff])auto)`;
const modelPath = new RegExp(String.raw`${place}publishers/([a-z][\w-]*)/models/${modelName}:([A-Za-z]+)$`);
const modelsPath = new RegExp(`${place}publishers/google/models(?:/${modelName})?$`);
const chatPath = new RegExp(`${place}endpoints/openapi/chat/completions$`);
const endpointPath = new RegExp(`${place}(endpoints|models)/`);

/** Models whose `predict` returns embeddings of text. That of other models makes images, videos, sound and translations. */
const textEmbeddings = /^(?!multimodal).*embed/;

export const vertex: ServedPath = {
  prefix: '/vertex',
  keyParameter: 'key',
  format,
  operationOf({ verb, segments, query }) {
    const path = segments.join('/');
    if (verb === 'GET') {
      return modelsOf(modelsPath.exec(path));
    }
    const [, version = 'v1', publisher, segment = '', method = ''] = modelPath.exec(path) ?? [];
    const deployment = decoded(segment);
    if (verb !== 'POST') {
      return undefined;
    }
    if (deployment === undefined || publisher === undefined) {
      if (chatPath.test(path)) {
        return { kind: 'metered', format: chat, wanted, below: '', query: '' };
      }
      return endpointPath.test(path) ? { kind: 'unserved', reason: unservedEndpoint } : undefined;
    }
    switch (publisher) {
      case 'google':
        return methodOf(method, { version, deployment, query: '' }, query);
      case 'anthropic':
        return claudeOperation(deployment, method);
      default:
        return { kind: 'unserved', reason: unservedPublisher };
    }
  },
};

const unservedEndpoint =
  'The gateway cannot know what an endpoint or a tuned model costs. Call a model below `publishers/`.';
const unservedPublisher = 'The gateway does not serve models of this publisher below its own path.';
const unservedPrediction =
  '`predict` is served for embeddings of text alone. Images, videos, music and speech are not charged by tokens, and the gateway ' +
  'does not limit what they cost.';

function methodOf(
  method: string,
  path: { readonly version: string; readonly deployment: string; readonly query: string },
  query: string,
): GatewayOperation | undefined {
  switch (method) {
    case 'predict':
      return textEmbeddings.test(path.deployment)
        ? {
            kind: 'metered',
            ...path,
            format: predictions,
            wanted,
            below: ':predict',
            isStream: false,
          }
        : { kind: 'unserved', reason: unservedPrediction };
    case 'predictLongRunning':
    case 'fetchPredictOperation':
      return { kind: 'unserved', reason: unservedPrediction };
    case 'batchEmbedContents':
      return undefined;
    default:
      return generatingMethod(method, path, query, wanted);
  }
}

/** Returns a call of a Claude model. Its clients need not know which provider serves it, so every connection with the format may. */
function claudeOperation(model: string, method: string): GatewayOperation | undefined {
  const call = { format: messages, wanted: { format: messages }, query: '', ...(envelope && { envelope }) };
  if (model === 'count-tokens') {
    return method === 'rawPredict' ? { kind: 'free', ...call, below: '/count_tokens' } : undefined;
  }
  const deployment = envelope?.nameOf?.(model) ?? model;
  switch (method) {
    case 'rawPredict':
      return { kind: 'metered', ...call, below: '', deployment, isStream: false };
    case 'streamRawPredict':
      return { kind: 'metered', ...call, below: '', deployment, isStream: true };
    default:
      return undefined;
  }
}

function modelsOf(match: RegExpExecArray | null): GatewayOperation | undefined {
  if (match === null) {
    return undefined;
  }
  const model = match[2] === undefined ? undefined : decoded(match[2]);
  return model === undefined
    ? { kind: 'models', wanted, list: vertexModels }
    : { kind: 'models', wanted, list: vertexModel, model };
}

const vertexModels: ModelList = {
  lists: (provider) => provider === null || provider === 'google' || provider === 'vertex_ai',
  bodyOf: (models) => ({ publisherModels: models.map(shownModel) }),
};

const vertexModel: ModelList = { ...vertexModels, bodyOf: (models) => models.map(shownModel)[0] ?? {} };

function shownModel({ model }: ServedModel): object {
  return { name: `publishers/google/models/${model}`, versionId: 'default', launchStage: 'GA' };
}
