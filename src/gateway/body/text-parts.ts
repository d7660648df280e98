/**
 * Splits the bytes of a text into the parts that o200k tokenizes separately: words with the character before them, up to three
 * digits, symbols, and white space. The end of a part may be uncertain, because the class of a character is, or because the part is
 * long. `startsCertainly` then finds the next place where a part starts in any case.
 */
import { partBytesMax } from './byte-pairs.ts';
import { classOf } from './vocabulary.ts';
import {
  ambiguous,
  letter,
  lower,
  mark,
  newline,
  number,
  space,
  symbol,
  upper,
} from './vocabulary-format.ts';

/** The class after the last byte. */
const end = 9;

/** The part may continue after the last byte. */
export const isCutOff = -1;
export const isUncertain = -2;
const isNoWord = -3;

/** Maximum length of a scanned part. It leaves room for the character before a word, and for a contraction. */
const scanBytesMax = partBytesMax - 8;

const blank = 0x20;
const apostrophe = 0x27;
const slash = 0x2f;

const classesOfAscii = Uint8Array.from({ length: 128 }, (_, byte) => classOf(byte));

/** Bytes of a text in UTF-8, or of a piece of it that ends with a complete character. */
export interface TextBytes {
  readonly bytes: Uint8Array;
  readonly length: number;
  /** False if more of the text follows. */
  readonly isAll: boolean;
}

/** Length in bytes of the last character that `classAt` read. */
let width = 1;
/** True if a scan has reached the end of the bytes. */
let hasReadEnd = false;

/** Returns the class of the character at this position, and sets `width`. */
function classAt(bytes: Uint8Array, at: number, length: number): number {
  if (at >= length) {
    hasReadEnd = true;
    return end;
  }
  const first = bytes[at] as number;
  if (first < 0x80) {
    width = 1;
    return classesOfAscii[first] as number;
  }
  const second = (bytes[at + 1] as number) & 0x3f;
  if (first < 0xe0) {
    width = 2;
    return classOf(((first & 0x1f) << 6) | second);
  }
  const third = (bytes[at + 2] as number) & 0x3f;
  if (first < 0xf0) {
    width = 3;
    return classOf(((first & 0x0f) << 12) | (second << 6) | third);
  }
  width = 4;
  return classOf(((first & 0x07) << 18) | (second << 12) | (third << 6) | ((bytes[at + 3] as number) & 0x3f));
}

/** Returns the end of the part that starts at `start`, `isUncertain` or `isCutOff`. */
export function endOfPart({ bytes, length, isAll }: TextBytes, start: number): number {
  hasReadEnd = false;
  const found = endInside(bytes, start, length);
  return hasReadEnd && !isAll ? isCutOff : found;
}

/** Class of the last character in bytes whose split into parts is uncertain. */
export interface Uncertain {
  before: number;
}

/** Returns the next place where a part certainly starts, or the end of the bytes. */
export function endOfUncertain({ bytes, length }: TextBytes, start: number, uncertain: Uncertain): number {
  let at = start;
  let { before } = uncertain;
  while (at < length) {
    const kind = classAt(bytes, at, length);
    if (startsCertainly(before, kind, bytes[at] === apostrophe)) {
      break;
    }
    before = kind;
    at += width;
  }
  uncertain.before = before;
  return at;
}

/**
 * Returns true if no part contains a character of the first class followed by one of the second. Inside a part, letters and numbers
 * are never followed by white space or symbols, except for contractions. A number is only in a part with numbers, and a space is
 * always first in its part.
 */
function startsCertainly(before: number, kind: number, isApostrophe: boolean): boolean {
  if (before === ambiguous || kind === ambiguous) {
    return false;
  }
  if ((before === number) !== (kind === number)) {
    return true;
  }
  if (kind === space) {
    return before !== space && before !== newline;
  }
  return before <= letter && (kind === newline || (kind === symbol && !isApostrophe));
}

function endInside(bytes: Uint8Array, start: number, length: number): number {
  const kind = classAt(bytes, start, length);
  if (kind <= mark) {
    return endOfWord(bytes, start, length);
  }
  if (kind === number) {
    return endOfNumber(bytes, start, length);
  }
  if (kind === ambiguous) {
    return isUncertain;
  }
  const afterFirst = start + width;
  if (kind !== newline) {
    const word = endOfWord(bytes, afterFirst, length);
    if (word !== isNoWord) {
      return word;
    }
    const next = classAt(bytes, afterFirst, length);
    if (kind === symbol || (next === symbol && bytes[start] === blank)) {
      return endOfSymbols(bytes, afterFirst, length);
    }
  }
  return endOfSpace(bytes, start, length);
}

/**
 * Returns the end of a word: capital letters, then small letters; letters without case may be anywhere. If no small letter follows
 * the capitals, the word ends after its last letter without case, if there is one.
 */
function endOfWord(bytes: Uint8Array, start: number, length: number): number {
  const limit = start + scanBytesMax;
  let at = start;
  let afterCaseless = -1;
  let kind = classAt(bytes, at, length);
  while ((kind === upper || kind === letter || kind === mark) && at < limit) {
    at += width;
    if (kind !== upper) {
      afterCaseless = at;
    }
    kind = classAt(bytes, at, length);
  }
  if (kind === ambiguous || at >= limit) {
    return isUncertain;
  }
  if (kind === lower) {
    do {
      at += width;
      kind = classAt(bytes, at, length);
    } while ((kind === lower || kind === letter || kind === mark) && at < limit);
    return kind === ambiguous || at >= limit ? isUncertain : afterContraction(bytes, at, length);
  }
  if (afterCaseless !== -1) {
    return afterContraction(bytes, afterCaseless, length);
  }
  return at === start ? isNoWord : afterContraction(bytes, at, length);
}

/** Returns the end of 's, 't, 'm, 'd, 'll, 've or 're at this position; the position itself if there is none. */
function afterContraction(bytes: Uint8Array, at: number, length: number): number {
  if (at < length && bytes[at] !== apostrophe) {
    return at;
  }
  hasReadEnd ||= at + 2 >= length;
  if (at + 1 >= length) {
    return at;
  }
  const first = bytes[at + 1] as number;
  const one = first | 0x20;
  if (one === 0x73 || one === 0x74 || one === 0x6d || one === 0x64) {
    return at + 2;
  }
  if (at + 2 >= length) {
    return at;
  }
  const two = (bytes[at + 2] as number) | 0x20;
  if ((one === 0x6c && two === 0x6c) || ((one === 0x76 || one === 0x72) && two === 0x65)) {
    return at + 3;
  }
  // Engines that fold the case of all letters read a long s as an s.
  return first === 0xc5 && bytes[at + 2] === 0xbf ? isUncertain : at;
}

/** Returns the end of a number. Numbers are split into groups of three digits. */
function endOfNumber(bytes: Uint8Array, start: number, length: number): number {
  let at = start;
  for (let digits = 0; digits < 3; digits += 1) {
    const kind = classAt(bytes, at, length);
    if (kind === ambiguous) {
      return isUncertain;
    }
    if (kind !== number) {
      break;
    }
    at += width;
  }
  return at;
}

/** Returns the end of symbols. They include the line ends and slashes that follow them. */
function endOfSymbols(bytes: Uint8Array, start: number, length: number): number {
  const limit = start + scanBytesMax;
  let at = start;
  let kind = classAt(bytes, at, length);
  while ((kind === symbol || kind === mark) && at < limit) {
    at += width;
    kind = classAt(bytes, at, length);
  }
  while ((kind === newline || (at < length && bytes[at] === slash)) && at < limit) {
    at += 1;
    kind = classAt(bytes, at, length);
  }
  return kind === ambiguous || at >= limit ? isUncertain : at;
}

/**
 * Returns the end of white space. It is after the last line end. Without a line end, it is before the last character, which belongs
 * to the next word.
 */
function endOfSpace(bytes: Uint8Array, start: number, length: number): number {
  const limit = start + scanBytesMax;
  let at = start;
  let lineEnd = -1;
  let last = start;
  let kind = classAt(bytes, at, length);
  while ((kind === space || kind === newline) && at < limit) {
    last = at;
    at += width;
    if (kind === newline) {
      lineEnd = at;
    }
    kind = classAt(bytes, at, length);
  }
  if (kind === ambiguous || at >= limit) {
    return isUncertain;
  }
  if (lineEnd !== -1) {
    return lineEnd;
  }
  return kind !== end && last > start ? last : at;
}
