/**
 * The format of the vocabulary file of o200k: two numbers, a hash table with open addressing, a table of the two-byte strings, the
 * classes of characters, and the strings in rank order. Numbers are little-endian.
 */

export const vocabularyFile = new URL('../../../assets/o200k-vocabulary.bin', import.meta.url);

/** Length of the longest string in the vocabulary. */
export const stringBytesMax = 128;

/** Classes of characters. `letter` has letters without case and modifiers. */
export const upper = 0;
export const lower = 1;
export const letter = 2;
export const mark = 3;
export const number = 4;
export const space = 5;
export const newline = 6;
export const symbol = 7;
/** Characters whose class depends on the version of Unicode, or on the tokenizer's engine. */
export const ambiguous = 8;

/** Characters from here on have no class in the file: they are only tags, variation selectors and private use. */
export const classifiedMax = 0x40000;

/** Number of slots. A slot has the offset of a string in the upper 24 bits, and its length in the lower 8. An empty slot is 0. */
export const slotsLength = 2 ** 19;
const slotShift = 32 - 19;

export const pairsLength = 2 ** 16;

const multiplier = 0x2c1b3c6d;

/** Returns the hash of a string extended by one byte. The hash of the empty string is 0. */
export function hashStep(hash: number, byte: number): number {
  return (Math.imul(hash, multiplier) + byte + 1) | 0;
}

/** Factors to combine hashes, by the length of the second string: the hash of the first string is multiplied by the factor. */
export const hashPowers = powersOfMultiplier();

export function firstSlotOf(hash: number): number {
  return Math.imul(hash ^ (hash >>> 15), 0x85ebca6b) >>> slotShift;
}

function powersOfMultiplier(): Int32Array {
  const powers = new Int32Array(stringBytesMax + 1).fill(1);
  for (let length = 1; length <= stringBytesMax; length += 1) {
    powers[length] = Math.imul(powers[length - 1] as number, multiplier);
  }
  return powers;
}
