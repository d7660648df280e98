import { expect, test } from 'vitest';
import { isNewer, isVersion } from './versions.ts';

test('versions are compared by number, not as text', () => {
  expect(isNewer('0.10.0', '0.9.9')).toBe(true);
  expect(isNewer('0.9.9', '0.10.0')).toBe(false);
  expect(isNewer('1.0.0', '0.99.0')).toBe(true);
  expect(isNewer('0.1.1', '0.1.0')).toBe(true);
  expect(isNewer('0.1.0', '0.1.0')).toBe(false);
});

test.each(['0.1', '0.1.0.0', 'v0.1.0', '0.01.0', '0.1.0-beta', ''])('"%s" is not a version', (text) => {
  expect(isVersion(text)).toBe(false);
});

test.each(['0.1.0', '10.20.30'])('"%s" is a version', (text) => {
  expect(isVersion(text)).toBe(true);
});
