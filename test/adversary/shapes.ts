/** The formats whose requests the lenient provider understands. */
import type { FormatName } from '../../src/kernel/providers/formats.ts';

export type AdversaryShape = FormatName;

export const isEmbeddings = (shape: AdversaryShape) => shape.endsWith('embeddings');
export const isGemini = (shape: AdversaryShape) => /^(gemini|vertex)/.test(shape);
