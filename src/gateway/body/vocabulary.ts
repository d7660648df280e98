/**
 * The vocabulary of o200k, the tokenizer of current OpenAI models, and the character classes by which it splits texts. A lookup
 * compares the bytes, so that a hash collision cannot pass as a member. `scripts/vocabulary-file.ts` creates the file, which is
 * used without conversion.
 */
import { readFileSync } from 'node:fs';
import {
  ambiguous,
  classifiedMax,
  firstSlotOf,
  mark,
  pairsLength,
  slotsLength,
  symbol,
  vocabularyFile,
} from './vocabulary-format.ts';

interface Vocabulary {
  /** Slots with the offset of a string in the upper 24 bits, and its length in the lower 8. An empty slot is 0. */
  readonly slots: Uint32Array;
  /** Offset of the string for each pair of bytes; 0 if there is none. */
  readonly pairs: Uint32Array;
  /** Runs of characters of one class: the start in the upper bits, and the class below. */
  readonly runs: Uint32Array;
  /** The strings. The byte before each has the number of tokens, in halves, that other tokenizers may need. */
  readonly strings: Uint8Array;
}

const { slots, pairs, runs, strings } = readVocabulary();
const classes = classesOfRuns(runs);

/**
 * Returns the offset of a string in the vocabulary; 0 if it is not in it. Strings with smaller offsets are merged first. `hash` is
 * that of the bytes from `start` to `end`.
 */
export function findString(bytes: Uint8Array, start: number, end: number, hash: number): number {
  const length = end - start;
  for (let at = firstSlotOf(hash); ; at = (at + 1) & (slotsLength - 1)) {
    const slot = slots[at] as number;
    if (slot === 0) {
      return 0;
    }
    if ((slot & 0xff) === length) {
      const offset = slot >>> 8;
      let same = 0;
      while (same < length && strings[offset + same] === bytes[start + same]) {
        same += 1;
      }
      if (same === length) {
        return offset;
      }
    }
  }
}

/** Does the same as `findString` for two bytes, with which merging starts. */
export function findPair(first: number, second: number): number {
  return pairs[(first << 8) | second] as number;
}

/** Returns the number of tokens, in halves, that other tokenizers may need for the string at this offset. */
export function halvesOfOthers(offset: number): number {
  return strings[offset - 1] as number;
}

export function classOf(codePoint: number): number {
  if (codePoint < classifiedMax) {
    return classes[codePoint] as number;
  }
  if (codePoint >= 0xe0020 && codePoint < 0xe0080) {
    return symbol;
  }
  if (codePoint >= 0xe0100 && codePoint < 0xe01f0) {
    return mark;
  }
  return codePoint >= 0xf0000 ? symbol : ambiguous;
}

function readVocabulary(): Vocabulary {
  const file = readFileSync(vocabularyFile);
  const { buffer } = file.byteOffset % 4 === 0 ? file : Uint8Array.from(file);
  const start = buffer === file.buffer ? file.byteOffset : 0;
  const [runsLength = 0, stringsLength = 0] = new Uint32Array(buffer, start, 2);
  const pairsStart = start + 8 + slotsLength * 4;
  const runsStart = pairsStart + pairsLength * 4;
  return {
    slots: new Uint32Array(buffer, start + 8, slotsLength),
    pairs: new Uint32Array(buffer, pairsStart, pairsLength),
    runs: new Uint32Array(buffer, runsStart, runsLength),
    strings: new Uint8Array(buffer, runsStart + runsLength * 4, stringsLength),
  };
}

function classesOfRuns(all: Uint32Array): Uint8Array {
  const table = new Uint8Array(classifiedMax);
  for (let index = 0; index < all.length; index += 1) {
    const run = all[index] as number;
    const next = all[index + 1];
    table.fill(run & 0xff, run >>> 8, next === undefined ? classifiedMax : next >>> 8);
  }
  return table;
}
