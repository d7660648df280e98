import { expect, test } from 'vitest';
import { compilePattern } from './own-pattern.ts';
import type { TextMatch } from './scanning.ts';

const found = (pattern: string, content: string) =>
  Array.from(compilePattern(pattern).find(content))
    .filter((match): match is TextMatch => match !== null)
    .map(({ start, end }) => content.slice(start, end));

test('finds every match of a long content', () => {
  expect(found('SEC-[0-9]{4}', 'SEC-1234 '.repeat(7_000))).toEqual(new Array(7_000).fill('SEC-1234'));
  expect(found('(?i)alpha|beta|gamma', 'Alpha or BETA, '.repeat(40))).toHaveLength(80);
});

test('stops if each of many matches reads the rest of the content', () => {
  const matches = found('x[^y]*y|x', 'x'.repeat(65_536));
  expect(matches.length).toBeGreaterThan(0);
  expect(matches.length).toBeLessThan(20);
});
