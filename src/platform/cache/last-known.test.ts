import { expect, test } from 'vitest';
import { withLastKnown } from './last-known.ts';

class Outage extends Error {}
const options = {
  keyOf: (key: string) => key,
  isOutage: (error: unknown) => error instanceof Outage,
  maxEntries: 2,
};

test('returns the last result of each key during an outage, and no other error instead', async () => {
  let answer: () => number | Promise<number> = () => 1;
  const find = withLastKnown((_: string) => answer(), options);
  expect(find('a')).toBe(1);
  answer = async () => 2;
  expect(await find('a')).toBe(2);
  answer = () => Promise.reject(new Outage());
  expect(await find('a')).toBe(2);
  await expect(find('b')).rejects.toThrow(Outage);
  answer = () => Promise.reject(new Error('a defect'));
  await expect(find('a')).rejects.toThrow('a defect');
});

test('stores a bounded number of results', async () => {
  let isAway = false;
  const find = withLastKnown(
    (key: string) => (isAway ? Promise.reject(new Outage()) : Promise.resolve(key)),
    options,
  );
  for (const key of ['a', 'b', 'c']) {
    await find(key);
  }
  isAway = true;
  expect(await find('c')).toBe('c');
  await expect(find('a')).rejects.toThrow(Outage);
});
