import { expect, test } from 'vitest';
import { shortened } from './shortened-text.ts';

test('keeps short texts, and cuts long ones between characters', () => {
  expect(shortened('Zoë 😀', 5)).toBe('Zoë 😀');
  expect(shortened('Zoë 😀😀', 5)).toBe('Zoë …');
});

test.each([
  ['a line break', '\r\n'],
  ['a line separator', '\u2028'],
  ['a paragraph separator', '\u2029'],
  ['an override of the direction', '\u202e'],
  ['an isolate', '\u2066'],
])('replaces %s', (_case, characters) => {
  expect(shortened(`a${characters}b${characters}`, 10)).toBe('a b');
});
