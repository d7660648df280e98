/**
 * Caches scores of long texts by their digest. Agents send their whole conversation with every call, so most long texts were scored
 * before, and a digest takes a fraction of the time of a score. The texts themselves are not stored.
 */
import { createHash, hash } from 'node:crypto';
import type { TextScore } from '../../kernel/providers/estimate-input.ts';
import type { Sliced } from '../../platform/sliced-work.ts';
import { continueScoring, scoreOf, startScoring, textScore, unitsPerStep } from './text-score.ts';

/** Minimum length of cached texts. For shorter ones the digest would take as long as the score. */
const lengthMin = 384;
const entriesMax = 20_000;
/** Number of characters whose digest takes a fraction of a millisecond. */
const hashedPerStep = 65_536;

/** Scores by digest, least recently used first. */
const scores = new Map<string, TextScore>();

export function cachedTextScore(text: string): TextScore {
  if (text.length < lengthMin) {
    return textScore(text);
  }
  // SHA-256, because processors have instructions for it: it takes half the time of BLAKE2.
  const digest = hash('sha256', text, 'base64');
  return keep(digest, scores.get(digest) ?? textScore(text));
}

/** Returns the score of a text of any length, computed in slices. */
export function* slicedTextScore(text: string): Sliced<TextScore> {
  if (text.length <= unitsPerStep) {
    return cachedTextScore(text);
  }
  const hashing = createHash('sha256');
  for (let from = 0; from < text.length; ) {
    let to = Math.min(text.length, from + hashedPerStep);
    // Keeps the two halves of a surrogate pair together.
    to += to < text.length && (text.charCodeAt(to - 1) & 0xfc00) === 0xd800 ? 1 : 0;
    hashing.update(text.slice(from, to));
    from = to;
    yield;
  }
  const digest = hashing.digest('base64');
  const known = scores.get(digest);
  if (known !== undefined) {
    return keep(digest, known);
  }
  const scoring = startScoring(text);
  while (continueScoring(scoring)) {
    yield;
  }
  return keep(digest, scoreOf(scoring));
}

function keep(digest: string, score: TextScore): TextScore {
  scores.delete(digest);
  scores.set(digest, score);
  if (scores.size > entriesMax) {
    scores.delete(scores.keys().next().value as string);
  }
  return score;
}
