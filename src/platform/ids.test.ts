import { expect, test } from 'vitest';
import { createIds } from './ids.ts';

test('ids sort by the time of their creation', () => {
  let nowMs = Date.parse('2026-01-01T00:00:00Z');
  const ids = createIds({ now: () => new Date(nowMs) });
  const made = Array.from({ length: 500 }, () => {
    nowMs += 1 + (nowMs % 1_000_003);
    return ids.next('key');
  });
  expect(made).toEqual([...made].sort());
});

test('the random part uses all 80 bits', () => {
  const at = { now: () => new Date(0) };
  const ones = createIds(at, (size) => new Uint8Array(size).fill(255)).next('org');
  const zeros = createIds(at, (size) => new Uint8Array(size)).next('org');
  expect(ones).toBe(`org_${'0'.repeat(10)}${'z'.repeat(16)}`);
  expect(zeros).toBe(`org_${'0'.repeat(26)}`);
});
