/** Upper bounds of the tokens of received output. */

/** Returns an upper bound of the tokens of a text. */
export type OutputBound = (text: string) => number;

/** A token has at least one byte. */
export const bytesOf: OutputBound = (text) => Buffer.byteLength(text);
