/** The operations of OpenAI below the version in the path. */
import type { WantedConnection } from '../../capabilities/integration/connections/index.ts';
import type { CallFormat } from '../../kernel/providers/call-format.ts';
import { callFormats } from '../../kernel/providers/formats.ts';
import type { GatewayOperation, ModelList, PathRequest } from './operation.ts';

const { chat, responses, embeddings } = callFormats;

/** Formats by path. */
export const openAiFormats: ReadonlyMap<string, CallFormat> = new Map(
  [chat, responses, embeddings].map((format) => [format.path.slice(1), format]),
);

const storedResponse = /^responses\/([\w-]{1,200})(\/cancel)?$/;

/** Returns the operation. `wanted` selects the connections. If it is undefined, those that speak the format are called. */
export function openAiOperation(
  { verb, segments, query }: PathRequest,
  wanted: WantedConnection | undefined,
): GatewayOperation | undefined {
  const path = segments.join('/');
  const format = verb === 'POST' ? openAiFormats.get(path) : undefined;
  if (format !== undefined) {
    return { kind: 'metered', format, wanted: wanted ?? { format }, below: '', query };
  }
  if (verb === 'GET' && path === 'models') {
    return { kind: 'models', wanted: wanted ?? { format: chat }, list: openAiModels };
  }
  const [, responseId, action] = storedResponse.exec(path) ?? [];
  const isServed = action === undefined ? verb === 'GET' || verb === 'DELETE' : verb === 'POST';
  return responseId !== undefined && isServed
    ? {
        kind: 'stored-response',
        format: responses,
        wanted: wanted ?? { format: responses },
        below: path.slice('responses'.length),
        query,
        responseId,
      }
    : undefined;
}

const openAiModels: ModelList = {
  lists: (provider) => provider !== 'anthropic',
  bodyOf: (models) => ({
    object: 'list',
    data: models.map(({ model, provider }) => ({
      id: model,
      object: 'model',
      created: 0,
      owned_by: provider ?? 'unknown',
    })),
  }),
};

/** Decodes a path segment; undefined if it is empty or malformed. */
export function decoded(segment: string): string | undefined {
  try {
    const text = decodeURIComponent(segment);
    return text === '' ? undefined : text;
  } catch {
    return undefined;
  }
}
