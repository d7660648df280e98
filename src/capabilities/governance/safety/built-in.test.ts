import { describe, expect, test } from 'vitest';
import { judge, safetyCases } from '../../../../test/support/safety-cases.ts';
import { builtIns } from './built-in.ts';
import { passesLuhn } from './credit-card.ts';
import { remainderOf97 } from './iban.ts';
import type { Finder, TextMatch } from './scanning.ts';

const matchesIn = (find: Finder, text: string) =>
  Array.from(find(text)).filter((match): match is TextMatch => match !== null);
const textsIn = (find: Finder, text: string) =>
  matchesIn(find, text).map(({ start, end }) => text.slice(start, end));

describe.each(builtIns.map(({ id, find }) => [id, find] as const))('%s', (id, find) => {
  const cases = safetyCases(id);

  test('has a precision of 0.95 and a recall of 0.90 on the labelled texts', () => {
    expect(cases.filter(({ positive }) => positive).length).toBeGreaterThanOrEqual(250);
    expect(cases.filter(({ positive }) => !positive).length).toBeGreaterThanOrEqual(250);
    const { precision, recall } = judge(find, cases);
    expect(precision).toBeGreaterThanOrEqual(0.95);
    expect(recall).toBeGreaterThanOrEqual(0.9);
  });

  test('finds the same match at any position in a long text, also across chunk boundaries', () => {
    const [{ text } = { text: '' }] = cases.filter(
      (one) => one.positive && one.text.length < 400 && matchesIn(find, one.text).length === 1,
    );
    const [alone] = textsIn(find, text);
    // Positions before, on and after the end of the first chunk.
    for (let padding = 16_384 - text.length - 40; padding < 16_384 + 40; padding += 1) {
      const long = `${'. '.repeat(padding / 2)}${padding % 2 === 0 ? '' : ' '}\n${text}\n`;
      expect([padding, textsIn(find, long)]).toEqual([padding, [alone]]);
    }
  });

  test.each([
    ['letters', 'a'],
    ['digits', '1'],
    ['spaced digits', '4 '],
    ['at signs', 'a@'],
    ['dots', 'a.'],
    ['dashes', '-----BEGIN '],
    ['prefixes', 'sk-'],
    ['words', 'ignore all the '],
    ['countries', 'DE89 '],
    ['numbers', '+49 30 '],
    ['brackets', '(0'],
    ['everything', 'a1 @.+-(DE12 sk-ignore 0'],
  ])('takes linear time for half a megabyte of %s', (_, part) => {
    /** CPU time, which excludes other processes. */
    const cpuMsOf = (characters: number) => {
      const text = part.repeat(characters / part.length);
      const before = process.cpuUsage();
      matchesIn(find, text);
      return process.cpuUsage(before).user / 1_000;
    };
    cpuMsOf(25_000);
    // The text is ten times as long; with quadratic time it would take a hundred times as long. Short times are too
    // noisy to compare.
    const [short, long] = [Math.max(cpuMsOf(50_000), 25), cpuMsOf(500_000)];
    expect(long / short).toBeLessThan(40);
  });
});

test('a built-in detector finds no number with wrong check digits', () => {
  expect(passesLuhn('4242424242424242')).toBe(true);
  expect(passesLuhn('4242424242424241')).toBe(false);
  expect(remainderOf97('GB82WEST12345698765432')).toBe(1);
  expect(remainderOf97('GB82WEST12345698765423')).not.toBe(1);
});
