/**
 * An upper bound of the tokens of a text, without a tokenizer. The text is split into words, numbers, symbols and white space as
 * o200k splits it. What is a string of its vocabulary is one token. Everything else is cut into the longest strings of the vocabulary,
 * from left to right, and costs more than these, because o200k may cut it elsewhere. Families of models differ by a factor, which is
 * learned (`token-ratios.ts`).
 */
import type { TextScore } from '../../kernel/providers/estimate-input.ts';
import { hashStart, hashStep, isInVocabulary } from './vocabulary.ts';

/** The cost of a string of the vocabulary inside a longer word, in tokens. A single character costs 1. */
const pieceCost = 1.5;
/** Longer words are always cut into pieces, so that a string that passes as a member by chance costs little. */
const wholeMax = 24;
/** Unknown words in ASCII that are this short or this long are not cut: they cost their length. Most are random text. */
const shortMax = 3;
const longMin = 65;
const pieceMax = 64;
/** A piece is extended until this many longer ones in a row are not in the vocabulary. */
const missesMax = 4;

const lower = 0;
const upper = 1;
/** Letters of scripts without case, and all beyond ASCII, with their marks. */
const letter = 2;
const digit = 3;
const space = 4;
const newline = 5;
const whitespace = 6;
const symbol = 7;

const slash = 0x2f;

const classes = classesOfCodeUnits();

/** Code units of the text that is being scored. Typed arrays are several times faster than `charCodeAt`. */
const shared = new Uint16Array(8_192);

export function textScore(text: string): TextScore {
  const { length } = text;
  const units = length <= shared.length ? shared : new Uint16Array(length);
  Buffer.from(units.buffer).write(text, 'utf16le');
  return { bytes: Buffer.byteLength(text), score: scoreOf(units, length) };
}

function scoreOf(units: Uint16Array, length: number): number {
  let score = 0;
  let at = 0;
  while (at < length) {
    const start = at;
    const first = units[at] as number;
    const kind = classes[first] as number;
    if (kind === digit) {
      at = endOfNumber(units, at, length);
      score += 1;
      continue;
    }
    let hash = hashStart;
    if (kind > letter) {
      const next = at + 1 < length ? (classes[units[at + 1] as number] as number) : newline;
      if (next > letter || kind === newline) {
        at =
          kind === symbol || (kind === space && next === symbol)
            ? endOfSymbols(units, at + 1, length)
            : endOfSpace(units, at, length);
        score += costOf(units, start, at);
        continue;
      }
      // A word takes the character before it along.
      hash = hashStep(hash, first);
      at += 1;
    }
    let hasLower = false;
    for (; at < length; at += 1) {
      const unit = units[at] as number;
      const unitKind = classes[unit] as number;
      // A word ends before a capital letter after a small one.
      if (unitKind > letter || (hasLower && unitKind === upper)) {
        break;
      }
      hasLower ||= unitKind === lower;
      hash = hashStep(hash, unit);
    }
    score += at - start <= wholeMax && isInVocabulary(hash) ? 1 : costOfPieces(units, start, at);
  }
  return score;
}

/** Numbers are split into groups of three digits, which are all in the vocabulary. */
function endOfNumber(units: Uint16Array, start: number, length: number): number {
  const last = Math.min(length, start + 3);
  let end = start + 1;
  while (end < last && classes[units[end] as number] === digit) {
    end += 1;
  }
  return end;
}

/** Symbols take the ends of lines and slashes after them along. */
function endOfSymbols(units: Uint16Array, start: number, length: number): number {
  let end = start;
  while (end < length && classes[units[end] as number] === symbol) {
    end += 1;
  }
  while (end < length && (classes[units[end] as number] === newline || units[end] === slash)) {
    end += 1;
  }
  return end;
}

/** White space ends after its last end of a line, else before its last character, which belongs to the next word. */
function endOfSpace(units: Uint16Array, start: number, length: number): number {
  let end = start;
  let lineEnd = -1;
  for (; end < length; end += 1) {
    const kind = classes[units[end] as number] as number;
    if (kind < space || kind === symbol) {
      break;
    }
    if (kind === newline) {
      lineEnd = end + 1;
    }
  }
  if (lineEnd !== -1) {
    return lineEnd;
  }
  return end < length && end - start > 1 ? end - 1 : end;
}

function costOf(units: Uint16Array, start: number, end: number): number {
  if (end - start === 1 && (units[start] as number) < 0x80) {
    return 1;
  }
  if (end - start <= wholeMax) {
    let hash = hashStart;
    for (let at = start; at < end; at += 1) {
      hash = hashStep(hash, units[at] as number);
    }
    if (isInVocabulary(hash)) {
      return 1;
    }
  }
  return costOfPieces(units, start, end);
}

function costOfPieces(units: Uint16Array, start: number, end: number): number {
  const length = end - start;
  if ((length <= shortMax || length >= longMin) && isWordOfAscii(units, start, end)) {
    return length;
  }
  let cost = 0;
  let at = start;
  while (at < end) {
    const piece = longestPiece(units, at, end);
    if (piece > 1) {
      cost += pieceCost;
      at += piece;
    } else if (piece === 1) {
      cost += 1;
      at += 1;
    } else {
      const unit = units[at] as number;
      const isPair = unit >= 0xd800 && unit < 0xdc00 && at + 1 < end;
      cost += isPair ? (unit >= 0xd83c && unit <= 0xd83e ? 3 : 4) : unit < 0x800 ? 2 : 3;
      at += isPair ? 2 : 1;
    }
  }
  return cost;
}

/** The character before a word may be a symbol. */
function isWordOfAscii(units: Uint16Array, start: number, end: number): boolean {
  if ((units[start] as number) >= 0x80) {
    return false;
  }
  for (let at = start + 1; at < end; at += 1) {
    const unit = units[at] as number;
    if (unit >= 0x80 || (classes[unit] as number) > upper) {
      return false;
    }
  }
  return true;
}

/** Returns the length of the longest string of the vocabulary at this place; 0 for a character that is not in it. */
function longestPiece(units: Uint16Array, start: number, end: number): number {
  const first = units[start] as number;
  let hash = hashStep(hashStart, first);
  let length = first < 0x80 || isInVocabulary(hash) ? 1 : 0;
  let misses = 0;
  const last = Math.min(end, start + pieceMax);
  for (let at = start + 1; at < last && misses < missesMax; at += 1) {
    hash = hashStep(hash, units[at] as number);
    if (isInVocabulary(hash)) {
      length = at + 1 - start;
      misses = 0;
    } else {
      misses += 1;
    }
  }
  return length;
}

function classesOfCodeUnits(): Uint8Array {
  const table = new Uint8Array(0x10000).fill(letter);
  const set = (kind: number, ...ranges: readonly (readonly [number, number])[]) => {
    for (const [first, last] of ranges) {
      table.fill(kind, first, last + 1);
    }
  };
  set(symbol, [0, 0x7f], [0x80, 0xa9], [0xab, 0xb4], [0xb6, 0xb9], [0xbb, 0xbf], [0xd7, 0xd7], [0xf7, 0xf7]);
  set(symbol, [0x2000, 0x2bff], [0x3000, 0x303f], [0xd800, 0xf8ff], [0xfe00, 0xff0f]);
  set(lower, [0x61, 0x7a]);
  set(upper, [0x41, 0x5a]);
  set(digit, [0x30, 0x39]);
  set(space, [0x20, 0x20]);
  set(newline, [0x0a, 0x0a], [0x0d, 0x0d]);
  set(whitespace, [0x09, 0x09], [0x0b, 0x0c], [0x85, 0x85], [0xa0, 0xa0], [0x2000, 0x200a], [0x2028, 0x2029]);
  set(whitespace, [0x202f, 0x202f], [0x205f, 0x205f], [0x3000, 0x3000]);
  return table;
}
