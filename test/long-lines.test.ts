/** The rule of scripts/check-layout.ts that the markup of the console is readable. */
import { expect, test } from 'vitest';
import { findLongLines } from '../scripts/long-lines.ts';

const asLongAsAllowed = 'é'.repeat(160);

test('a line of more than 160 columns is found', () => {
  expect(findLongLines(`short\n${asLongAsAllowed}x\nshort`)).toEqual([
    expect.stringMatching(/^line 2: 161 columns, at most 160: /),
  ]);
});

test('lines of up to 160 columns are allowed', () => {
  expect(findLongLines(`\n${asLongAsAllowed}\n${asLongAsAllowed}\n`)).toEqual([]);
});
