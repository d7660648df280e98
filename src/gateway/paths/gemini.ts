/** The paths of the Gemini API. They have the model, and the method after a colon. */
import type { WantedConnection } from '../../capabilities/integration/connections/index.ts';
import { callFormats } from '../../kernel/providers/formats.ts';
import { decoded } from './openai-operations.ts';
import type { GatewayOperation, ModelList, ServedModel, ServedPath } from './operation.ts';

const { gemini: format, gemini_embeddings: embeddings } = callFormats;

/** The model of `models/{model}:{method}`. Its name may contain a slash. */
const modelPath = /^(v1|v1beta|v1alpha)\/models\/(.+):([A-Za-z]+)$/;
const modelsPath = /^(?:v1|v1beta|v1alpha)\/models(?:\/([^:]+))?$/;

export const gemini: ServedPath = {
  prefix: '/gemini',
  keyParameter: 'key',
  format,
  operationOf({ verb, segments, query }) {
    const path = segments.join('/');
    if (verb === 'GET') {
      return modelsOf(modelsPath.exec(path));
    }
    const [, version = '', segment = '', method = ''] = modelPath.exec(path) ?? [];
    const deployment = decoded(segment);
    return verb === 'POST' && deployment !== undefined
      ? generatingMethod(method, { version, deployment, query: '' }, query, undefined)
      : undefined;
  },
};

function modelsOf(match: RegExpExecArray | null): GatewayOperation | undefined {
  if (match?.[1] === undefined) {
    return match === null ? undefined : { kind: 'models', wanted: { format }, list: geminiModels };
  }
  const model = decoded(match[1]);
  return model === undefined ? undefined : { kind: 'models', wanted: { format }, list: geminiModel, model };
}

/**
 * Returns the operation of a method. `wanted` selects the connections. If it is undefined, those that speak the format are called. Query
 * parameters of the client are not forwarded: they contain its key.
 */
export function generatingMethod(
  method: string,
  path: { readonly version: string; readonly deployment: string; readonly query: string },
  query: string,
  wanted: WantedConnection | undefined,
): GatewayOperation | undefined {
  const below = `:${method}`;
  const generating = { ...path, format, wanted: wanted ?? { format }, below };
  switch (method) {
    case 'generateContent':
      return { kind: 'metered', ...generating, isStream: false };
    case 'streamGenerateContent':
      return {
        kind: 'metered',
        ...generating,
        below: `${below}?alt=sse`,
        isStream: true,
        isArray: new URLSearchParams(query).get('alt') !== 'sse',
      };
    case 'embedContent':
    case 'batchEmbedContents': {
      const called = wanted ?? { format: embeddings };
      return { kind: 'metered', ...path, format: embeddings, wanted: called, below, isStream: false };
    }
    case 'countTokens':
      return { kind: 'free', ...generating };
    default:
      return undefined;
  }
}

const geminiModels: ModelList = {
  lists: (provider) => provider === null || provider === 'google',
  bodyOf: (models) => ({ models: models.map(shownModel) }),
};

const geminiModel: ModelList = { ...geminiModels, bodyOf: (models) => models.map(shownModel)[0] ?? {} };

function shownModel({ model }: ServedModel): object {
  return {
    name: `models/${model}`,
    version: 'unknown',
    displayName: model,
    supportedGenerationMethods: model.includes('embedding')
      ? ['embedContent', 'batchEmbedContents']
      : ['generateContent', 'countTokens'],
  };
}
