import { expect, test } from 'vitest';
import { SharedValues } from './shared-values.ts';

test('returns the first of equal values', () => {
  const values = new SharedValues<object>(10);
  const first = {};
  expect(values.shared('a\0é', first)).toBe(first);
  expect(values.shared('a\0é', {})).toBe(first);
  expect(values.shared('b', {})).not.toBe(first);
});

test('keeps names apart that are not valid Unicode', () => {
  const values = new SharedValues<string>(10);
  expect(values.shared('\ud800', 'half a pair')).toBe('half a pair');
  expect(values.shared('\ufffd', 'replacement')).toBe('replacement');
});

test('forgets all values when there are too many', () => {
  const values = new SharedValues<object>(2);
  const [first, second, third, again] = [{}, {}, {}, {}];
  values.shared('a', first);
  values.shared('b', second);
  expect(values.shared('a', again)).toBe(first);
  values.shared('c', third);
  expect(values.shared('a', again)).toBe(again);
  expect(values.shared('c', {})).toBe(third);
});
