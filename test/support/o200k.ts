/** The tokenizer o200k of a maintained package: the reference for estimates. */
import bytePairs from 'gpt-tokenizer/bpeRanks/o200k_base';
import { countTokens } from 'gpt-tokenizer/encoding/o200k_base';

/** Returns the tokens of a text. Names of special tokens in it are plain text. */
export function o200kTokens(text: string): number {
  return countTokens(text, { disallowedSpecial: new Set() });
}

/** Longer strings of the vocabulary are mostly white space and lines. */
const lengthMax = 64;

/** The strings of the vocabulary. Single characters of ASCII and parts of characters are left out. */
export function* vocabularyStrings(): Generator<string> {
  for (const text of bytePairs) {
    if (typeof text === 'string' && text.length <= lengthMax && (text.length > 1 || text >= '\u0080')) {
      yield text;
    }
  }
}
