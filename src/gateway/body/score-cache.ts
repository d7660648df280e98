/**
 * Scores of long texts, by their digest. Agents send their whole conversation with every call, so most long texts were scored before, and
 * a digest takes a fraction of the time of a score. The texts themselves are not kept.
 */
import { hash } from 'node:crypto';
import type { TextScore } from '../../kernel/providers/estimate-input.ts';
import { textScore } from './text-score.ts';

/** For shorter texts the digest would take as long as the score. */
const lengthMin = 384;
const entriesMax = 20_000;

/** Least recently used first. */
const scores = new Map<string, TextScore>();

export function cachedTextScore(text: string): TextScore {
  if (text.length < lengthMin) {
    return textScore(text);
  }
  // Processors have instructions for it: half the time of BLAKE2.
  const digest = hash('sha256', text, 'base64');
  const score = scores.get(digest) ?? textScore(text);
  scores.delete(digest);
  scores.set(digest, score);
  if (scores.size > entriesMax) {
    scores.delete(scores.keys().next().value as string);
  }
  return score;
}
