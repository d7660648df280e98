/**
 * Regular expressions of users, on an engine whose time is linear in the length of the text. The time per character grows with the
 * size of the compiled pattern, so that is bounded too.
 */
import { RE2JS } from 're2js';

export const programSizeMax = 200;
/** Maximum length of a matched text. A longer text is an error. */
export const matchedTextMax = 500;

export interface LinearPattern {
  readonly programSize: number;
  isIn(text: string): boolean;
}

/** Compiles a pattern. Returns an error message if it is invalid or too large. */
export function linearPattern(source: string): LinearPattern | string {
  let compiled: RE2JS;
  try {
    compiled = RE2JS.compile(source);
  } catch (error) {
    return error instanceof Error ? error.message : 'invalid pattern';
  }
  const programSize = compiled.programSize();
  if (programSize > programSizeMax) {
    return `the pattern is too large: ${programSize} steps, the maximum is ${programSizeMax}`;
  }
  return {
    programSize,
    isIn: (text) => compiled.matcher(text).find(),
  };
}
