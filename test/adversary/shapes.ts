/** The formats whose requests the lenient provider understands. */
import type { FormatName } from '../../src/kernel/providers/formats.ts';

export type AdversaryShape = FormatName;

export const isEmbeddings = (shape: AdversaryShape) => shape.endsWith('embeddings');
export const isConverse = (shape: AdversaryShape) => shape === 'converse';
/** True if the path of a call has its model. */
export const hasModelInPath = (shape: AdversaryShape) => isGemini(shape) || isConverse(shape);
export const isGemini = (shape: AdversaryShape) => /^(gemini|vertex)/.test(shape);
