/**
 * Counts the tokens of a text as o200k does, and bounds the number for other tokenizers. Texts are read in pieces, so that a long
 * one does not block the event loop. The count is exact except in parts of more than about 1,000 bytes, and for characters that not
 * every version of Unicode knows. There each byte counts as a token, and no tokenizer makes more.
 */
import type { TextScore } from '../../kernel/providers/estimate-input.ts';
import { addTokens } from './byte-pairs.ts';
import { endOfPart, endOfUncertain, isCutOff, isUncertain, type TextBytes } from './text-parts.ts';
import { ambiguous } from './vocabulary-format.ts';

/** Maximum number of UTF-16 code units that one call of `continueScoring` reads, which takes less than a millisecond. */
export const unitsPerStep = 4_096;

/** A text that is being scored. */
export interface Scoring {
  readonly text: string;
  /** Number of scored code units. */
  at: number;
  bytes: number;
  tokens: number;
  otherHalves: number;
  isUncertain: boolean;
  before: number;
}

const bytesPerUnit = 3;
/** The buffer has four more bytes, because decoding reads up to three bytes after the last complete character. */
const shared = Buffer.alloc(unitsPerStep * bytesPerUnit + 4);

export function startScoring(text: string): Scoring {
  return { text, at: 0, bytes: 0, tokens: 0, otherHalves: 0, isUncertain: false, before: ambiguous };
}

/** Scores the next piece of a text. Returns false at the end. */
export function continueScoring(scoring: Scoring): boolean {
  const { text, at } = scoring;
  if (at >= text.length) {
    return false;
  }
  let last = Math.min(text.length, at + unitsPerStep);
  const isAll = last === text.length;
  if (!isAll && (text.charCodeAt(last - 1) & 0xfc00) === 0xd800) {
    last -= 1;
  }
  const piece = at === 0 && isAll ? text : text.slice(at, last);
  const length = shared.write(piece, 'utf8');
  const scored = scoreBytes(scoring, { bytes: shared, length, isAll });
  scoring.bytes += scored;
  scoring.at = isAll ? last : at + unitsOf(shared, scored);
  return true;
}

export function textScore(text: string): TextScore {
  const scoring = startScoring(text);
  while (continueScoring(scoring));
  return scoreOf(scoring);
}

/** Returns the score of the text so far. */
export function scoreOf({ bytes, tokens, otherHalves }: Scoring): TextScore {
  return { bytes, score: tokens, floor: Math.ceil(otherHalves / 2) };
}

/** Scores the bytes of a piece and returns their number: all, or those before a part that is cut off. */
function scoreBytes(scoring: Scoring, piece: TextBytes): number {
  let at = 0;
  while (at < piece.length) {
    const partEnd = scoring.isUncertain ? isUncertain : endOfPart(piece, at);
    if (partEnd === isCutOff) {
      return at;
    }
    if (partEnd !== isUncertain) {
      addTokens(scoring, piece.bytes, at, partEnd);
      at = partEnd;
      continue;
    }
    if (!scoring.isUncertain) {
      scoring.isUncertain = true;
      scoring.before = ambiguous;
    }
    const certain = endOfUncertain(piece, at, scoring);
    scoring.tokens += certain - at;
    scoring.otherHalves += 2 * (certain - at);
    scoring.isUncertain = certain === piece.length;
    at = certain;
  }
  return at;
}

/** Returns the number of UTF-16 code units in these bytes. Characters of four bytes have two. */
function unitsOf(bytes: Uint8Array, length: number): number {
  let units = 0;
  for (let at = 0; at < length; at += 1) {
    const byte = bytes[at] as number;
    units += (byte & 0xc0) === 0x80 ? 0 : byte >= 0xf0 ? 2 : 1;
  }
  return units;
}
