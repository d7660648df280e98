/** The common part of kinds with the API of OpenAI. */
import { callFormats } from '../../../../kernel/providers/formats.ts';
import type { ProviderKind } from './provider-kind.ts';

const { chat, responses, embeddings } = callFormats;

export const openAiPaths: ProviderKind['paths'] = new Map(
  [chat, responses, embeddings].map((format) => [format, format.path]),
);

/** A call that the chats of OpenAI and the messages of Anthropic have in common. */
export const messageBody: ProviderKind['test']['bodyOf'] = (model, content, maxOutputTokens) => ({
  model,
  max_tokens: maxOutputTokens,
  messages: [{ role: 'user', content }],
});
