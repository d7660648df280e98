import { describe, expect, test } from 'vitest';
import type { TextMatch } from './scanning.ts';
import { compileWords } from './word-list.ts';

const found = (words: readonly string[], text: string) =>
  Array.from(compileWords(words)(text))
    .filter((match): match is TextMatch => match !== null)
    .map(({ start, end }) => text.slice(start, end));

describe('a list of words', () => {
  test.each([
    [['cat'], 'Cat, concatenate, CAT!', ['Cat', 'CAT']],
    [['top secret'], 'Top-Secret; top\nsecret; topsecret; top and secret', ['Top-Secret', 'top\nsecret']],
    [
      ['new', 'new york city', 'new york'],
      'New York City or New York or new',
      ['New York City', 'New York', 'new'],
    ],
    [['naïve'], 'NAÏVE naive', ['NAÏVE']],
    [['é'], 'e\u0301 \u00e9', ['e\u0301', '\u00e9']],
    [['机密'], '绝对机密文件', ['机密']],
    [['ㄱ', '강남'], '강남 강남역', ['강남']],
    [['a b c'], 'a b a b c', ['a b c']],
    [['C++'], 'c', ['c']],
    [['x'], '', []],
  ])('%j in %j', (words, text, wanted) => {
    expect(found(words, text)).toEqual(wanted);
  });

  test('finds the same with a list of any size', () => {
    const words = Array.from({ length: 1_000 }, (_, index) => `word${index} of${index % 7}`);
    expect(found(words, 'word999 of5, word998 of5, WORD998 OF4')).toEqual(['word999 of5', 'WORD998 OF4']);
  });

  test('finds the longest of many phrases with the same first words', () => {
    const words = Array.from({ length: 1_000 }, (_, index) => `a b${'.'.repeat(index % 3)} c${index}`);
    expect(found([...words, 'a', 'a b c7 d'], 'a b c999; a b d; a b c7 d')).toEqual([
      'a b c999',
      'a',
      'a b c7 d',
    ]);
  });

  test('yields to the event loop after a number of comparisons, not of words', () => {
    const nulls = (words: readonly string[]) =>
      Array.from(compileWords(words)('a '.repeat(10_000))).filter((match) => match === null).length;
    const phrase = (last: string) => `${'a '.repeat(49)}${last}`;
    expect(nulls(['a b'])).toBeLessThan(15);
    expect(nulls([phrase('b'), phrase('c')])).toBeGreaterThan(200);
  });
});
