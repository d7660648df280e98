/** The offending excerpt, short enough for an error, and never cut through a character. */
import type { Match } from './scanning.ts';

export const sampleCharactersMax = 100;

export function sampleOf(content: string, { start, end }: Match): string {
  // `content` may begin and end in the middle of a pair only where a pattern matched half of it.
  return content.slice(start, Math.min(end, start + sampleCharactersMax)).replaceAll(loneSurrogate, '');
}

const loneSurrogate = /\p{Surrogate}/gu;
