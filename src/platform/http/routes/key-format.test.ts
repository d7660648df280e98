import { expect, test } from 'vitest';
import { generateKey, isWellFormedKey, keyDigest, keyHint } from './key-format.ts';

test('generated keys are well-formed and unique', () => {
  const keys = Array.from({ length: 200 }, () => generateKey('live'));
  expect(new Set(keys).size).toBe(200);
  expect(keys.every(isWellFormedKey)).toBe(true);
  expect(keys[0]).toMatch(/^svc_live_[0-9A-Za-z]{39}$/);
});

test('the checksum detects any single wrong character', () => {
  const key = generateKey('live');
  for (let i = 0; i < key.length; i += 1) {
    const wrong = key.slice(0, i) + (key[i] === 'a' ? 'b' : 'a') + key.slice(i + 1);
    expect(isWellFormedKey(wrong)).toBe(false);
  }
});

test.each(['', 'svc_', 'svc_live_', 'Bearer', `${generateKey('live')}x`, ` ${generateKey('live')}`])(
  '"%s" is not a key',
  (token) => {
    expect(isWellFormedKey(token)).toBe(false);
  },
);

test('a hint shows the first characters of the secret and nothing more', () => {
  const key = generateKey('live');
  expect(keyHint(key)).toBe(`${key.slice(0, 13)}…`);
  expect(keyDigest(key)).toMatch(/^[0-9a-f]{64}$/);
});
