/** The count of tokens against o200k: a search for texts with more tokens, and all strings of the vocabulary. */
import { readFileSync } from 'node:fs';
import { countTokens as cl100kTokens } from 'gpt-tokenizer/encoding/cl100k_base';
import { expect, test } from 'vitest';
import { ordinaryTexts } from '../../../test/support/estimate-texts.ts';
import { o200kTokens, vocabularyStrings } from '../../../test/support/o200k.ts';
import { seedsOf } from '../../../test/support/seeds.ts';
import { climb, wordsWithHashOf } from '../../../test/support/token-search.ts';
import { characterClasses, vocabularyBytes } from '../../../test/support/vocabulary-bytes.ts';
import { continueScoring, startScoring, textScore, unitsPerStep } from './text-score.ts';
import { classOf } from './vocabulary.ts';
import { ambiguous, classifiedMax, hashStep, vocabularyFile } from './vocabulary-format.ts';

const { seeds } = seedsOf('text-scores');
const stepsPerSeed = 3_000;
const strings = vocabularyStrings();
/** The strings of whole characters: others are a part of the bytes of one. */
const texts = strings.map((bytes) => bytes.toString()).filter((text) => !text.includes('\ufffd'));

const scoreOf = (text: string) => textScore(text).score;

function isCertain(text: string): boolean {
  return [...text].every((character) => classOf(character.codePointAt(0) as number) !== ambiguous);
}

test.each(seeds)('a search finds no text with more tokens than its score (seed %d)', (seed) => {
  let tried = 0;
  for (const { text, estimate, tokens } of climb(seed, stepsPerSeed, scoreOf, o200kTokens)) {
    tried += 1;
    if (estimate < tokens || estimate > Math.max(tokens, Buffer.byteLength(text))) {
      expect({ text, estimate, tokens }).toBe('at least the tokens, at most the bytes');
    }
    if (estimate !== tokens && isCertain(text) && !text.includes("'\u017f")) {
      expect({ text, estimate, tokens }).toBe('the tokens');
    }
  }
  expect(tried).toBe(stepsPerSeed);
});

test('the score of every string of the vocabulary, alone and half of them followed by another, is its number of tokens', () => {
  const wrong: unknown[] = [];
  let uncertain = 0;
  const check = (text: string) => {
    const [score, tokens] = [scoreOf(text), o200kTokens(text)];
    if (score < tokens || (score > tokens && isCertain(text))) {
      wrong.push({ text, score, tokens });
    }
    uncertain += score > tokens ? 1 : 0;
  };
  for (const [index, text] of texts.entries()) {
    check(text);
    if (index % 2 === 0) {
      check(`${text}${texts[(index * 7_919) % texts.length]}`);
    }
  }
  expect(wrong).toEqual([]);
  expect(texts.length).toBeGreaterThan(198_000);
  expect(uncertain).toBeLessThan(200);
});

test('a word with the hash and the length of a string of the vocabulary is not taken for it', () => {
  const target = Buffer.from(' photosynthesis');
  expect(scoreOf(target.toString())).toBe(o200kTokens(target.toString()));
  const words = [1, 2].flatMap((seed) => wordsWithHashOf(target, seed));
  expect(words.length).toBeGreaterThan(2);
  for (const word of words) {
    const hash = Buffer.from(word).reduce((sum, byte) => hashStep(sum, byte), 0);
    expect([word.length, hash]).toEqual([
      target.length,
      target.reduce((sum, byte) => hashStep(sum, byte), 0),
    ]);
    expect([word, scoreOf(word)]).toEqual([word, o200kTokens(word)]);
    expect(scoreOf(word)).toBeGreaterThan(3);
  }
});

test('a long text has the same score in pieces, wherever they are cut', () => {
  const long = ordinaryTexts(31, 60)
    .map(({ text }) => text)
    .join('\n😀');
  for (let before = 0; before < 40; before += 1) {
    const text = '字'.repeat(before) + long.slice(0, 3 * unitsPerStep);
    const scoring = startScoring(text);
    let at = 0;
    while (continueScoring(scoring)) {
      expect(scoring.at - at).toBeGreaterThan(0);
      expect(scoring.at - at).toBeLessThanOrEqual(unitsPerStep);
      at = scoring.at;
    }
    expect([before, scoring.at, scoring.bytes]).toEqual([before, text.length, Buffer.byteLength(text)]);
    expect([before, scoring.tokens]).toEqual([before, o200kTokens(text)]);
  }
});

test('parts that are too long to merge count their bytes, and what follows them is exact', () => {
  const sentence = ' The ship left the harbour at noon.';
  for (const unit of ['a', 'A', '字', '=', ' ', '\n', '\u0301', '🔥', 'аб', 'xY字']) {
    const text = `${unit.repeat(3_000)}.${sentence}`;
    const { bytes, score } = textScore(text);
    const rest = o200kTokens(sentence);
    expect(score).toBeGreaterThanOrEqual(o200kTokens(unit.repeat(1_000)));
    expect(score).toBeLessThanOrEqual(bytes - Buffer.byteLength(sentence) + rest);
    expect(score).toBeGreaterThanOrEqual(rest + Buffer.byteLength(unit.repeat(900)) / 128);
  }
});

test('no string of the vocabulary has more than three times its floor as tokens of another tokenizer', () => {
  const above = texts.filter((text) => cl100kTokens(text) > 3 * textScore(text).floor);
  expect(above).toEqual([]);
});

test('the floor of ordinary text is at most twice the tokens of another tokenizer', () => {
  const sums = new Map<string, { floor: number; tokens: number }>();
  for (const { kind, text } of ordinaryTexts(41, 600)) {
    const { floor, tokens } = sums.get(kind) ?? { floor: 0, tokens: 0 };
    sums.set(kind, { floor: floor + textScore(text).floor, tokens: tokens + cl100kTokens(text) });
  }
  expect(sums.size).toBeGreaterThanOrEqual(20);
  expect([...sums].filter(([, { floor, tokens }]) => floor > 2 * tokens)).toEqual([]);
});

test('the file has the strings of the tokenizer, and the classes of characters of every version of Unicode since 13', () => {
  const classes = Uint8Array.from({ length: classifiedMax }, (_, codePoint) => classOf(codePoint));
  expect(readFileSync(vocabularyFile).equals(vocabularyBytes(strings, classes))).toBe(true);
  const wrong = characterClasses().findIndex(
    (kind, codePoint) => classes[codePoint] !== ambiguous && classes[codePoint] !== kind,
  );
  expect(wrong).toBe(-1);
  // Planes above the file.
  for (const codePoint of [0x40000, 0xe0000, 0xe0020, 0xe007f, 0xe0100, 0xe01ef, 0xf0000, 0x10fffd]) {
    const character = String.fromCodePoint(codePoint);
    const isMark = /\p{M}/u.test(character);
    const isAssigned = !/\p{Cn}/u.test(character);
    expect([codePoint, classOf(codePoint)]).toEqual([codePoint, isMark ? 3 : isAssigned ? 7 : ambiguous]);
  }
});
