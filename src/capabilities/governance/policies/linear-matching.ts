/**
 * Regular expressions of users, on an engine whose time grows with the text and never explodes. What it needs per
 * character grows with the pattern's program, so that is bounded too.
 */
import { RE2JS } from 're2js';

export const programSizeMax = 200;
/** Longer text is refused rather than searched. */
export const matchedTextMax = 500;

export interface LinearPattern {
  readonly programSize: number;
  isIn(text: string): boolean;
}

/** Text: why it is none. */
export function linearPattern(source: string): LinearPattern | string {
  let compiled: RE2JS;
  try {
    compiled = RE2JS.compile(source);
  } catch (error) {
    return error instanceof Error ? error.message : 'not a pattern';
  }
  const programSize = compiled.programSize();
  if (programSize > programSizeMax) {
    return `the pattern is too large: ${programSize} steps, where ${programSizeMax} are allowed`;
  }
  return {
    programSize,
    isIn: (text) => compiled.matcher(text).find(),
  };
}
