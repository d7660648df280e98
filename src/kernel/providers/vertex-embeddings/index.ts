/** Embeddings of text by `predict` of Vertex AI. Other models have this method too, and are charged by images or seconds. */
import type { CallFormat } from '../call-format.ts';
import { type CallUsage, noUsage } from '../call-usage.ts';
import { type Fields, fieldsOf } from '../fields.ts';
import { geminiEmbeddings } from '../gemini-embeddings/index.ts';
import { countOf, isCount } from '../usage-counts.ts';
import { vertexEmbeddingsMembers } from './members.ts';

function inputsOf({ instances }: Fields): number {
  return Array.isArray(instances) ? Math.max(1, instances.length) : 1;
}

/** Returns the sum of the tokens of all predictions; undefined if one has no count. */
function usageOf(answer: unknown): CallUsage | undefined {
  const { predictions } = fieldsOf(answer);
  if (!Array.isArray(predictions) || predictions.length === 0) {
    return undefined;
  }
  let inputTokens = 0;
  for (const prediction of predictions) {
    const { token_count: tokens } = fieldsOf(fieldsOf(fieldsOf(prediction).embeddings).statistics);
    if (!isCount(tokens)) {
      return undefined;
    }
    inputTokens += countOf(tokens);
  }
  return { ...noUsage, inputTokens };
}

export const vertexEmbeddings: CallFormat = {
  ...geminiEmbeddings,
  name: 'vertex_embeddings',
  request: { ...geminiEmbeddings.request, members: vertexEmbeddingsMembers, inputsOf },
  response: { ...geminiEmbeddings.response, usageOf },
};
