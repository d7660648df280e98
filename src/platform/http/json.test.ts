import { expect, test } from 'vitest';
import { parseJsonLines } from './json.ts';

const list = { field: 'runs', max: 3 };

test('lines are objects, whatever space is between them', () => {
  const lines = Buffer.from('\n \r\n {"a":1} \n\n\t{"b":\t2}\r\n\n');
  expect(parseJsonLines(lines, list)).toEqual([{ a: 1 }, { b: 2 }]);
  expect(parseJsonLines(Buffer.alloc(8_000_000, '\n'), list)).toEqual([]);
});

test('of too many, one too many is parsed', () => {
  expect(parseJsonLines(Buffer.from('{}\n'.repeat(9)), list)).toHaveLength(4);
});
