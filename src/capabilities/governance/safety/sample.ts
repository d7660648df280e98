/** Returns the matching excerpt, short enough for an error, and never split inside a character. */
import type { TextMatch } from './scanning.ts';

export const sampleCharactersMax = 100;

export function sampleOf(content: string, { start, end }: TextMatch): string {
  // The maximum length can split a surrogate pair, and so can a pattern that matches half of the pair.
  return content.slice(start, Math.min(end, start + sampleCharactersMax)).replaceAll(loneSurrogate, '');
}

const loneSurrogate = /\p{Surrogate}/gu;
