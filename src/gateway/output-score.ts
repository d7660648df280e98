/**
 * A bound of received output that is tighter than its bytes but more expensive to compute. Used for streams whose hold grows with
 * their output.
 */
import { familyOf } from '../kernel/providers/model-family.ts';
import type { OutputBound } from '../kernel/providers/stream-usage.ts';
import { textScore } from './body/text-score.ts';

/** Generated tokens per token of the score. Models may generate words in smaller pieces than a tokenizer would. */
const ratioOfO200k = 1.5;
const ratioOfOthers = 2.5;

export function scoreBoundOf(model: string): OutputBound {
  const isO200k = familyOf(model) === 'o200k';
  const ratio = isO200k ? ratioOfO200k : ratioOfOthers;
  return (text) => {
    const { bytes, score, floor } = textScore(text);
    return Math.min(bytes, Math.max(score * ratio, isO200k ? 0 : floor));
  };
}
