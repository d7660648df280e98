/**
 * An org's own regular expressions. They run on an engine that takes linear time, but "linear" is the length of the
 * content times the size of the compiled pattern, so both are bounded, and so is their product: no pattern, however
 * hostile, holds the process up for longer than some tens of milliseconds.
 */
import { RE2JS, RE2JSSyntaxException } from 're2js';
import { invalidField } from '../../../contract/api-error.ts';
import type { Finder, Match } from './scanning.ts';

export const patternCharactersMax = 500;
const instructionsMax = 400;
/** Content beyond is not looked at. */
const looksAtMax = 65_536;
/** Instructions times characters; the engine's worst is some 40 ns for each. */
const stepsMax = 1_500_000;

export interface OwnPattern {
  readonly find: Finder;
  /** How many characters of a content it looks at, from the first on. */
  readonly looksAt: number;
}

/** Refuses what is no pattern, naming where; the engine knows neither look-around nor back-references. */
export function checkPattern(pattern: string): void {
  let compiled: RE2JS;
  try {
    compiled = RE2JS.compile(pattern);
  } catch (error) {
    if (!(error instanceof RE2JSSyntaxException)) {
      throw error;
    }
    const position = faultPosition(pattern, error);
    throw invalidField(
      'pattern',
      'invalid_format',
      `At position ${position}: ${error.getDescription()}. Patterns have the syntax of RE2.`,
    );
  }
  if (compiled.programSize() > instructionsMax) {
    throw invalidField(
      'pattern',
      'out_of_range',
      'This compiles into too much: use fewer or smaller repetitions.',
    );
  }
  if (compiled.test('')) {
    throw invalidField(
      'pattern',
      'invalid_value',
      'This matches nothing at all, so it would match everywhere.',
    );
  }
}

export function compilePattern(pattern: string): OwnPattern {
  const compiled = RE2JS.compile(pattern);
  const looksAt = Math.min(looksAtMax, Math.floor(stepsMax / compiled.programSize()));
  return { looksAt, find: (content) => findIn(compiled, content.slice(0, looksAt)) };
}

function* findIn(compiled: RE2JS, content: string): Generator<Match | null> {
  // Asking whether costs a fraction of asking where, and mostly the answer is no.
  if (compiled.test(content)) {
    yield null;
    const matcher = compiled.matcher(content);
    while (matcher.find()) {
      yield { start: matcher.start(), end: matcher.end() };
    }
  }
  yield null;
}

/** Counted from 1. The engine tells the part that it could not read; of parentheses, the whole pattern. */
function faultPosition(pattern: string, error: RE2JSSyntaxException): number {
  const part = error.getPattern() ?? '';
  const at = part === pattern ? loneParenthesis(pattern) : pattern.lastIndexOf(part);
  return Math.max(at, 0) + 1;
}

/** Where a parenthesis stands that has no partner; 0 where all have. */
function loneParenthesis(pattern: string): number {
  const open: number[] = [];
  let inClass = false;
  for (let i = 0; i < pattern.length; i += 1) {
    const character = pattern.charAt(i);
    if (character === '\\') {
      i += 1;
    } else if (inClass) {
      inClass = character !== ']';
    } else if (character === '[') {
      inClass = true;
    } else if (character === '(') {
      open.push(i);
    } else if (character === ')' && open.pop() === undefined) {
      return i;
    }
  }
  return open.at(-1) ?? 0;
}
