/**
 * The tokens of a text as o200k counts them, and how many another tokenizer may make of it. Texts are read piece by piece, so that a long
 * one does not have to block the event loop. The count is exact, except for parts of more than about 1,000 bytes, and for
 * characters that not every version of Unicode knows: there each byte counts as a token, and no tokenizer makes more.
 */
import type { TextScore } from '../../kernel/providers/estimate-input.ts';
import { addTokens } from './byte-pairs.ts';
import { endOfPart, endOfUncertain, isCutOff, isUncertain, type TextBytes } from './text-parts.ts';
import { ambiguous } from './vocabulary-format.ts';

/** The most UTF-16 code units that one call of `continueScoring` reads: less than a millisecond of work. */
export const unitsPerStep = 4_096;

/** A text that is being scored. */
export interface Scoring {
  readonly text: string;
  /** Code units that are scored. */
  at: number;
  bytes: number;
  tokens: number;
  otherHalves: number;
  isUncertain: boolean;
  before: number;
}

const bytesPerUnit = 3;
/** Decoding reads up to three bytes beyond the last character that is complete. */
const shared = Buffer.alloc(unitsPerStep * bytesPerUnit + 4);

export function startScoring(text: string): Scoring {
  return { text, at: 0, bytes: 0, tokens: 0, otherHalves: 0, isUncertain: false, before: ambiguous };
}

/** Scores the next piece of a text. Returns false if there is none. */
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

/** The score of the text so far. */
export function scoreOf({ bytes, tokens, otherHalves }: Scoring): TextScore {
  return { bytes, score: tokens, floor: Math.ceil(otherHalves / 2) };
}

/** Returns the bytes that are scored: all, or up to the start of the part that is cut off. */
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

/** UTF-16 code units of these bytes. Characters of four bytes have two. */
function unitsOf(bytes: Uint8Array, length: number): number {
  let units = 0;
  for (let at = 0; at < length; at += 1) {
    const byte = bytes[at] as number;
    units += (byte & 0xc0) === 0x80 ? 0 : byte >= 0xf0 ? 2 : 1;
  }
  return units;
}
