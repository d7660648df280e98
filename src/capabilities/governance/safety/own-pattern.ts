/**
 * Custom regular expressions of an org, on a linear-time engine. Its time is the length of the content times the size of the
 * compiled pattern. So both are bounded, and so is their product: even a hostile pattern blocks the process for only some tens of
 * milliseconds. All matches together take at most a few times as long.
 */
import { type Matcher, MatcherInput, RE2JS, RE2JSSyntaxException } from 're2js';
import { invalidField } from '../../../contract/api-error.ts';
import type { Finder, TextMatch } from './scanning.ts';

export const patternCharactersMax = 500;
const instructionsMax = 400;
/** Maximum number of characters that a pattern checks. */
const charactersCheckedMax = 65_536;
/** Maximum product of instructions and characters. The engine takes at most about 40 ns for each. */
const stepsMax = 1_500_000;
/**
 * Maximum number of reads per checked character, over all searches of a content. The engine reads each character three times, or
 * once per alternative in a short content. It may read far beyond the end of a match (`x[^y]*y|x`), and the next search then reads
 * the same characters again.
 */
const readsPerCharacterMax = 20;

export interface OwnPattern {
  readonly find: Finder;
  /** Number of characters to check, from the start of the content. */
  readonly charactersMax: number;
}

/** Throws if the pattern is invalid, with the position of the error. The engine supports neither look-around nor back-references. */
export function checkPattern(pattern: string): void {
  let compiled: RE2JS;
  try {
    compiled = RE2JS.compile(pattern);
  } catch (error) {
    if (!(error instanceof RE2JSSyntaxException)) {
      throw error;
    }
    const position = errorPosition(pattern, error);
    throw invalidField(
      'pattern',
      'invalid_format',
      `At position ${position}: ${error.getDescription()}. Patterns use the RE2 syntax.`,
    );
  }
  if (compiled.programSize() > instructionsMax) {
    throw invalidField(
      'pattern',
      'out_of_range',
      'The pattern is too complex. Use fewer or smaller repetitions.',
    );
  }
  if (compiled.test('')) {
    throw invalidField('pattern', 'invalid_value', 'The pattern must not match empty text.');
  }
}

export function compilePattern(pattern: string): OwnPattern {
  const compiled = RE2JS.compile(pattern);
  const charactersMax = Math.min(charactersCheckedMax, Math.floor(stepsMax / compiled.programSize()));
  const readsMax = readsPerCharacterMax * charactersMax;
  return { charactersMax, find: (content) => findIn(compiled, content.slice(0, charactersMax), readsMax) };
}

function* findIn(compiled: RE2JS, content: string, readsMax: number): Generator<TextMatch | null> {
  // Tested first, because that costs a fraction of finding the position, and most content does not match.
  if (compiled.test(content)) {
    yield null;
    const matcher = compiled.matcher(MatcherInput.utf16(new BoundedText(content, readsMax)));
    while (findNext(matcher)) {
      yield { start: matcher.start(), end: matcher.end() };
    }
  }
  yield null;
}

/** Finds the next match. Returns false if there is none, or if the search takes too many reads. */
function findNext(matcher: Matcher): boolean {
  try {
    return matcher.find();
  } catch (error) {
    if (error instanceof TooManyReads) {
      return false;
    }
    throw error;
  }
}

class TooManyReads extends Error {}

/** A text with a limited number of reads. The engine accepts subclasses of strings, and reads them with `charCodeAt`. */
class BoundedText extends String {
  /** The plain string, because reading from the object itself takes twice as long. */
  readonly #text: string;
  #readsLeft: number;

  constructor(text: string, readsMax: number) {
    super(text);
    this.#text = text;
    this.#readsLeft = readsMax;
  }

  override charCodeAt(index: number): number {
    this.#readsLeft -= 1;
    if (this.#readsLeft < 0) {
      throw new TooManyReads();
    }
    return this.#text.charCodeAt(index);
  }
}

/** Returns the position of the error, from 1. The engine only reports the invalid part; for parentheses, that is the whole pattern. */
function errorPosition(pattern: string, error: RE2JSSyntaxException): number {
  const part = error.getPattern() ?? '';
  const at = part === pattern ? unmatchedParenthesis(pattern) : pattern.lastIndexOf(part);
  return Math.max(at, 0) + 1;
}

/** Returns the index of an unmatched parenthesis; 0 if there is none. */
function unmatchedParenthesis(pattern: string): number {
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
