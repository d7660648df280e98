/**
 * Lists of words and phrases. Content and list are split into words in the same way. So case and the characters between words
 * (blanks, hyphens, line ends) are ignored, and `cat` is not found in `concatenate`. Scripts without blanks are split into
 * characters. The phrases form a trie, so the time at each word depends on the longest phrase, not on their number.
 */
import { invalidField } from '../../../contract/api-error.ts';
import type { Finder, TextMatch } from './scanning.ts';

export const wordsMax = 1_000;
export const wordCharactersMax = 100;

const spaceless = String.raw`\p{sc=Han}\p{sc=Hiragana}\p{sc=Katakana}\p{sc=Thai}\p{sc=Lao}\p{sc=Khmer}\p{sc=Myanmar}`;
const wordSource = String.raw`[${spaceless}]|[[\p{L}\p{M}\p{N}_]--[${spaceless}]]+`;
/** Maximum distance between two words of a phrase. */
const gapMax = 3;
/** Number of words compared between two yields. */
const yieldEvery = 2_000;

interface Word extends TextMatch {
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

/** A node of the trie of all phrases. */
interface PhraseNode {
  readonly next: Map<string, PhraseNode>;
  /** True if a phrase ends here. */
  isEnd: boolean;
}

const newNode = (): PhraseNode => ({ next: new Map(), isEnd: false });

export function compileWords(words: readonly string[]): Finder {
  const root = newNode();
  let longest = 0;
  for (const phrase of words) {
    let node = root;
    let length = 0;
    for (const { folded } of wordsOf(phrase)) {
      const next = node.next.get(folded) ?? newNode();
      node.next.set(folded, next);
      node = next;
      length += 1;
    }
    node.isEnd = true;
    longest = Math.max(longest, length);
  }
  return (content) => findIn(root, longest, content);
}

function* findIn(root: PhraseNode, longest: number, content: string): Generator<TextMatch | null> {
  const source = wordsOf(content);
  const upcoming: Word[] = [];
  let steps = 0;
  for (;;) {
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
    const { compared, matched } = longestPhrase(root, upcoming);
    steps += 1 + compared;
    const last = upcoming[matched - 1];
    upcoming.splice(0, Math.max(matched, 1));
    if (last !== undefined) {
      yield { start: first.start, end: last.end };
    } else if (steps >= yieldEvery) {
      steps = 0;
      yield null;
    }
  }
}

/** Returns the number of words of the longest phrase at the start, and the number of words that were compared. */
function longestPhrase(root: PhraseNode, upcoming: readonly Word[]): { compared: number; matched: number } {
  let node = root;
  let compared = 0;
  let matched = 0;
  for (const [index, word] of upcoming.entries()) {
    const before = upcoming[index - 1];
    const next =
      before !== undefined && word.start - before.end > gapMax ? undefined : node.next.get(word.folded);
    if (next === undefined) {
      break;
    }
    node = next;
    compared += 1;
    matched = node.isEnd ? compared : matched;
  }
  return { compared, matched };
}
