/** Members of `predict` for embeddings of text. Instances of other models have other members. */
import { bothCases } from '../gemini/members.ts';
import { type FormatMembers, listOrOne, members, objectOf } from '../member-kinds.ts';

export const vertexEmbeddingsMembers: FormatMembers = {
  request: bothCases('model', {
    instances: listOrOne(bothCases('content taskType title')),
    parameters: objectOf(bothCases('autoTruncate outputDimensionality')),
  }),
  tool: members('type'),
};
