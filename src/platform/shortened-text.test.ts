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

test('returns no half of a character, wherever the cut is', () => {
  const controls = '\x01'.repeat(1_000);
  for (let charsMax = 2; charsMax <= 20; charsMax += 1) {
    for (const before of ['', 'x', 'xy', '😀']) {
      for (const text of [`${before}${controls}`.slice(0, 2 * charsMax + 1), before, `${before}\ud83d`]) {
        const cut = shortened(`${text}${'😀'.repeat(30)}`, charsMax);
        expect(cut.isWellFormed(), JSON.stringify(cut)).toBe(true);
      }
    }
  }
  expect(shortened(`x${'\x01'.repeat(20)}😀`, 10)).toBe('x \ufffd');
});

test.each(['\ud83d', '\ude00', '\ude00\ud83d'])(
  'replaces halves of characters in the text itself',
  (halves) => {
    expect(shortened(`a${halves}b`, 10)).toBe(`a${'\ufffd'.repeat(halves.length)}b`);
  },
);
