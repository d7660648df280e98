/**
 * Lists of words and phrases. Content and list are split into words in the same way, so that case and the characters
 * between words (blanks, hyphens, line ends) are ignored, `cat` is not found in `concatenate`, and the time depends on
 * the phrases with the same first word, not on the whole list. Scripts without blanks are split into characters.
 */
import { invalidField } from '../../../contract/api-error.ts';
import type { Finder, Match } from './scanning.ts';

export const wordsMax = 1_000;
export const wordCharactersMax = 100;

const spaceless = String.raw`\p{sc=Han}\p{sc=Hiragana}\p{sc=Katakana}\p{sc=Thai}\p{sc=Lao}\p{sc=Khmer}\p{sc=Myanmar}`;
const wordSource = String.raw`[${spaceless}]|[[\p{L}\p{M}\p{N}_]--[${spaceless}]]+`;
/** Maximum distance between two words of a phrase. */
const gapMax = 3;
const yieldEvery = 2_000;

interface Word extends Match {
  readonly folded: string;
}

function* wordsOf(text: string): Generator<Word> {
  const pattern = new RegExp(wordSource, 'gv');
  for (let found = pattern.exec(text); found !== null; found = pattern.exec(text)) {
    yield { start: found.index, end: pattern.lastIndex, folded: fold(found[0]) };
  }
}

/** Normalizes full-width letters, ligatures and case. */
function fold(word: string): string {
  const lower = word.toLowerCase();
  // biome-ignore lint/suspicious/noControlCharactersInRegex: all of ASCII, which has only one form.
  return /^[\u0000-\u007f]*$/.test(lower) ? lower : lower.normalize('NFKC').toLowerCase();
}

export function checkWords(words: readonly string[]): void {
  const empty = words.findIndex((word) => wordsOf(word).next().done === true);
  if (empty !== -1) {
    throw invalidField(`words[${empty}]`, 'invalid_value', 'Must contain a letter or a digit.');
  }
}

export function compileWords(words: readonly string[]): Finder {
  const byFirst = new Map<string, string[][]>();
  for (const word of words) {
    const [first = '', ...rest] = Array.from(wordsOf(word), ({ folded }) => folded);
    byFirst.set(first, [...(byFirst.get(first) ?? []), rest]);
  }
  for (const phrases of byFirst.values()) {
    phrases.sort((a, b) => b.length - a.length);
  }
  const longest = Math.max(...[...byFirst.values()].flat().map((rest) => rest.length + 1));
  return (content) => findIn(byFirst, longest, content);
}

function* findIn(
  byFirst: ReadonlyMap<string, readonly string[][]>,
  longest: number,
  content: string,
): Generator<Match | null> {
  const source = wordsOf(content);
  const upcoming: Word[] = [];
  for (let seen = 1; ; seen += 1) {
    while (upcoming.length < longest) {
      const next = source.next();
      if (next.done === true) {
        break;
      }
      upcoming.push(next.value);
    }
    const first = upcoming[0];
    if (first === undefined) {
      yield null;
      return;
    }
    const phrase = byFirst.get(first.folded)?.find((rest) => follows(upcoming, rest));
    const last = phrase && upcoming[phrase.length];
    upcoming.splice(0, phrase === undefined ? 1 : phrase.length + 1);
    if (last !== undefined) {
      yield { start: first.start, end: last.end };
    } else if (seen % yieldEvery === 0) {
      yield null;
    }
  }
}

/** Returns true if the words after the first match the phrase, close together. */
function follows(upcoming: readonly Word[], rest: readonly string[]): boolean {
  return rest.every((folded, index) => {
    const [before, word] = [upcoming[index], upcoming[index + 1]];
    return before !== undefined && word?.folded === folded && word.start - before.end <= gapMax;
  });
}
