/** A bound of received output that is closer than its bytes, and more expensive: for streams whose hold follows what was received. */
import { familyOf } from '../kernel/providers/model-family.ts';
import type { OutputBound } from '../kernel/providers/stream-usage.ts';
import { textScore } from './body/text-score.ts';
import { safeRatio, safeRatioOfOthers } from './body/token-ratios.ts';

export function scoreBoundOf(model: string): OutputBound {
  const ratio = familyOf(model) === 'o200k' ? safeRatio : safeRatioOfOthers;
  return (text) => {
    const { bytes, score } = textScore(text);
    return Math.min(bytes, score * ratio);
  };
}
