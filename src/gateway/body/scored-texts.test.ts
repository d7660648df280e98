import { expect, test } from 'vitest';
import { hostileTexts, ordinaryTexts } from '../../../test/support/estimate-texts.ts';
import { completed } from '../../platform/sliced-work.ts';
import { slicedTextScore } from './score-cache.ts';
import { scoredTextsOf, scoreTexts } from './scored-texts.ts';
import { textScore, unitsPerStep } from './text-score.ts';

test.each([
  ['one word', 'a'.repeat(300_000)],
  ['symbols', '#!?'.repeat(100_000)],
  ['symbols and spaces', '#!?* '.repeat(60_000)],
  ['digits', '1234567890'.repeat(30_000)],
  ['characters of two units', '🚢'.repeat(150_000)],
  ['a language without spaces', '古い町は川の岸にあり'.repeat(30_000)],
])('%s: a text of 300,000 characters is scored in steps of bounded length', (_, text) => {
  const work = slicedTextScore(text);
  let steps = 0;
  let step = work.next();
  for (; step.done !== true; step = work.next()) {
    steps += 1;
  }
  expect(steps).toBeGreaterThanOrEqual(Math.floor(text.length / unitsPerStep));
  expect(steps).toBeLessThan((4 * text.length) / unitsPerStep);
  expect(step.value).toEqual(textScore(text));
  // Known texts are recognized by their digest.
  expect([...slicedTextScore(text)].length).toBeLessThan(10);
});

test('the score in slices is that of the whole text, also if a slice ends in a pair of surrogates', () => {
  for (const { text } of [...ordinaryTexts(3, 6), ...hostileTexts(4, 6)]) {
    for (const before of ['', 'a']) {
      const long = before + `${text}🚢`.repeat(Math.ceil(140_000 / (text.length + 2)));
      expect(completed(slicedTextScore(long))).toEqual(textScore(long));
    }
  }
});

test('all texts of a body are scored before it is planned, those of schemas too', () => {
  const long = 'word '.repeat(10_000);
  const body = {
    messages: [{ content: long }, { content: [{ text: `${long}!` }, { text: 'short' }] }],
    tools: [{ function: { parameters: { type: 'object', description: long } } }],
  };
  expect(scoredTextsOf(body)).toBeUndefined();
  completed(scoreTexts(body));
  const scored = scoredTextsOf(body);
  for (const text of [long, `${long}!`, 'short', JSON.stringify(body.tools[0]?.function.parameters)]) {
    expect(scored?.has(text)).toBe(true);
  }
});

test('texts that a plan makes by itself are read up to a bound, and count their bytes beyond it', () => {
  const body = {};
  completed(scoreTexts(body));
  const scored = scoredTextsOf(body);
  const text = 'word '.repeat(13_000);
  expect(scored?.scoreOf(text)).toEqual(textScore(text));
  const bytes = text.length + 1;
  expect(scored?.scoreOf(`${text}a`)).toEqual({ bytes, score: bytes, floor: bytes });
});
