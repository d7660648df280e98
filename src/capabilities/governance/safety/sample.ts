/** Returns the matching excerpt. It is short enough for an error, and never splits a character. */
import type { TextMatch } from './scanning.ts';

export const sampleCharactersMax = 100;

export function sampleOf(content: string, { start, end }: TextMatch): string {
  // A surrogate pair may be split by the maximum length, or by a pattern that matches half of it.
  return content.slice(start, Math.min(end, start + sampleCharactersMax)).replaceAll(loneSurrogate, '');
}

const loneSurrogate = /\p{Surrogate}/gu;
