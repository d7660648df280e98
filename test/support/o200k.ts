/** The tokenizer o200k of a maintained package: the reference for estimates. */
import bytePairs from 'gpt-tokenizer/bpeRanks/o200k_base';
import { countTokens } from 'gpt-tokenizer/encoding/o200k_base';

/** Returns the tokens of a text. Names of special tokens in it are plain text. */
export function o200kTokens(text: string): number {
  return countTokens(text, { disallowedSpecial: new Set() });
}

/** The strings of the vocabulary as bytes, in the order of their ranks. */
export function vocabularyStrings(): Buffer[] {
  return bytePairs.map((value) => (typeof value === 'string' ? Buffer.from(value) : Buffer.from(value)));
}
