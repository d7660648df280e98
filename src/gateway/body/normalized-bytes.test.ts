import { expect, test } from 'vitest';
import { normalizedBytes } from './normalized-bytes.ts';

const bytesAfter = (text: string) => Buffer.byteLength(text.normalize('NFKC'));
const characters = Array.from({ length: 0x11_0000 }, (_, point) => String.fromCodePoint(point));

test('bounds the bytes of every character after normalization, and of its parts when they are composed', () => {
  const above = characters.filter((character) =>
    [character, character.normalize('NFD'), character.normalize('NFKD')].some(
      (text) => normalizedBytes(text) < bytesAfter(text),
    ),
  );
  expect(above).toEqual([]);
  expect(normalizedBytes('\u{fdfa}')).toBe(33);
});

test('counts the bytes of ordinary text', () => {
  for (const text of ['A ship sails.', 'Ein größeres Schiff', 'Корабль', '船が出る', '배가 떠난다']) {
    expect(normalizedBytes(text)).toBe(Buffer.byteLength(text));
  }
});
