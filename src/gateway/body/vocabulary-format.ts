/**
 * The format of the file with the vocabulary of o200k: two numbers, then a hash table with open addressing, a table of the strings of two bytes,
 * the classes of characters, and the strings in the order of their ranks. Numbers are little-endian.
 */

export const vocabularyFile = new URL('../../../assets/o200k-vocabulary.bin', import.meta.url);

/** No string of the vocabulary is longer. */
export const stringBytesMax = 128;

/** Classes of characters. Small and capital letters differ from letters of scripts without case and from modifiers. */
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

/** The file has the classes of the characters below. Above are only tags, variation selectors and private use. */
export const classifiedMax = 0x40000;

/** A slot has the offset of a string in the upper 24 bits, and its length in the lower 8. Empty slots are 0. */
export const slotsLength = 2 ** 19;
const slotShift = 32 - 19;

export const pairsLength = 2 ** 16;

const multiplier = 0x2c1b3c6d;

/** Returns the hash of a string that is one byte longer. That of the empty string is 0. */
export function hashStep(hash: number, byte: number): number {
  return (Math.imul(hash, multiplier) + byte + 1) | 0;
}

/** By length of a string: the factor by which the hash of what is before it counts in the hash of both together. */
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
