import { expect, test } from 'vitest';
import { canonicalJson } from './canonical-json.ts';

test('the order of keys does not matter, the order of items does', () => {
  expect(canonicalJson({ b: [1, { d: 1, c: 2 }], a: null })).toBe('{"a":null,"b":[1,{"c":2,"d":1}]}');
  expect(canonicalJson([1, 2])).not.toBe(canonicalJson([2, 1]));
});

test('omits undefined members and encodes dates as text', () => {
  expect(canonicalJson({ a: undefined, b: new Date(0) })).toBe('{"b":"1970-01-01T00:00:00.000Z"}');
});

test('escapes strings, so that they cannot be mistaken for structure', () => {
  expect(canonicalJson({ a: '","b":"' })).toBe('{"a":"\\",\\"b\\":\\""}');
});
