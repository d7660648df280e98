/** The registry of wire formats. */
import type { CallFormat } from './call-format.ts';
import { chat } from './chat/index.ts';
import { converse } from './converse/index.ts';
import { embeddings } from './embeddings/index.ts';
import { gemini } from './gemini/index.ts';
import { geminiEmbeddings } from './gemini-embeddings/index.ts';
import { messages } from './messages/index.ts';
import { responses } from './responses/index.ts';
import { vertexEmbeddings } from './vertex-embeddings/index.ts';

export const callFormats = {
  chat,
  responses,
  embeddings,
  messages,
  gemini,
  gemini_embeddings: geminiEmbeddings,
  vertex_embeddings: vertexEmbeddings,
  converse,
} as const satisfies Record<string, CallFormat>;
export type FormatName = keyof typeof callFormats;

export const allFormats: readonly CallFormat[] = Object.values(callFormats);
