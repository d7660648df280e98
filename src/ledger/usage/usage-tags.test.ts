import { expect, test } from 'vitest';
import { otherValues, TagLimiter, tagBounds } from './usage-tags.ts';

const day = 20_000;
const range = (length: number) => Array.from({ length }, (_, i) => i);
const distinct = (all: readonly object[]) => new Set(all.map((one) => JSON.stringify(one))).size;

test('a tag set is independent of the order of its tags', () => {
  const memory = new TagLimiter();
  const kept = [
    { b: '1', a: '2' },
    { a: '2', b: '1' },
  ].map((tags) => memory.keep('o', day, tags));
  expect(kept.map((tags) => JSON.stringify(tags))).toEqual(Array(2).fill('{"a":"2","b":"1"}'));
});

test('a tag with a different value for every run does not affect other tags', () => {
  const memory = new TagLimiter();
  const kept = range(5_000).map((i) => memory.keep('o', day, { request: `${i}`, env: `${i % 3}` }));
  expect(kept.map(({ env }) => env)).toEqual(range(5_000).map((i) => `${i % 3}`));
  expect(kept.at(-1)?.request).toBe(otherValues);
  expect(distinct(kept)).toBe(tagBounds.valuesPerName + 3);
});

test('the numbers of sets and names are bounded too', () => {
  const memory = new TagLimiter();
  const sets = range(20_000).map((i) =>
    memory.keep('o', day, { a: `${i % 99}`, b: `${i % 97}`, c: `${i % 95}` }),
  );
  expect(distinct(sets)).toBe(tagBounds.setsPerDay + 1);
  const names = range(100).map((i) => memory.keep('other', day, { [`n${i}`]: 'v' }));
  expect(distinct(names)).toBe(tagBounds.namesPerDay + 1);
});

test('each org and day has its own bounds', () => {
  const memory = new TagLimiter();
  for (const i of range(5_000)) {
    memory.keep('o', day, { request: `${i}` });
  }
  expect(memory.keep('o', day, { request: 'x' })).toEqual({ request: otherValues });
  expect(memory.keep('o', day + 1, { request: 'x' })).toEqual({ request: 'x' });
  expect(memory.keep('p', day, { request: 'x' })).toEqual({ request: 'x' });
});
