/** Upper bounds of the tokens of received output. */
import { familyOf } from '../body/model-family.ts';
import { textScore } from '../body/text-score.ts';
import { safeRatio, safeRatioOfOthers } from '../body/token-ratios.ts';

/** Returns an upper bound of the tokens of a text. */
export type OutputBound = (text: string) => number;

/** A token has at least one byte. */
export const bytesOf: OutputBound = (text) => Buffer.byteLength(text);

/** Closer than the bytes, and more expensive: for streams whose hold follows what was received. */
export function scoreBoundOf(model: string): OutputBound {
  const ratio = familyOf(model) === 'o200k' ? safeRatio : safeRatioOfOthers;
  return (text) => {
    const { bytes, score } = textScore(text);
    return Math.min(bytes, score * ratio);
  };
}
