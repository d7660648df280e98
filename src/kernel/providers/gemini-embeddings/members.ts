/** Members of `embedContent`, and of `batchEmbedContents`, which has a list of such requests. */
import { bothCases, geminiContent } from '../gemini/members.ts';
import { type FormatMembers, listOrOne, members, objectOf } from '../member-kinds.ts';

const texts = 'model taskType title outputDimensionality autoTruncate';
const content = { content: objectOf(geminiContent) };

export const geminiEmbeddingsMembers: FormatMembers = {
  request: bothCases(texts, { ...content, requests: listOrOne(bothCases(texts, content)) }),
  tool: members('type'),
};
