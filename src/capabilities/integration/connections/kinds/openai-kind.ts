/** The common part of kinds with the API of OpenAI. */
import { callFormats } from '../../../../kernel/providers/formats.ts';
import type { ProviderKind } from './provider-kind.ts';

const { chat, responses, embeddings } = callFormats;

export const openAiPaths: ProviderKind['paths'] = new Map(
  [chat, responses, embeddings].map((format) => [format, format.path]),
);

export const bearerToken: ProviderKind['authenticate'] = ({ headers }, apiKey) => {
  headers.authorization = `Bearer ${apiKey}`;
};
