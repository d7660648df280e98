/** Upper bounds of the tokens of received output. */
import type { OutputBound } from '../../kernel/providers/stream-usage.ts';

/** A token has at least one byte. */
export const bytesOf: OutputBound = (text) => Buffer.byteLength(text);
