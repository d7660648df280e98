import { beforeEach, describe, expect, test } from 'vitest';
import { createNotifiedCache, type NotifiedCache } from './notified-cache.ts';

interface Load {
  readonly key: string;
  finish(value: string): void;
  fail(): void;
}

let current: boolean;
let loads: Load[];
let cache: NotifiedCache<string>;

beforeEach(() => {
  current = true;
  loads = [];
  const load = (key: string) =>
    new Promise<string>((finish, refuse) => {
      loads.push({ key, finish, fail: () => refuse(new Error('away')) });
    });
  cache = createNotifiedCache({ notificationsHealthy: () => current }, 2, load);
});

async function read(key: string, value: string): Promise<void> {
  const answer = cache.get(key);
  loads.at(-1)?.finish(value);
  expect(await answer).toBe(value);
}

test('what was read is answered without a promise', async () => {
  await read('a', 'one');
  expect(cache.get('a')).toBe('one');
  expect(loads).toHaveLength(1);
});

test('those who ask at once share one read', async () => {
  const answers = Promise.all([cache.get('a'), cache.get('a'), cache.get('a')]);
  expect(loads).toHaveLength(1);
  loads[0]?.finish('one');
  expect(await answers).toEqual(['one', 'one', 'one']);
});

describe('after a notice', () => {
  test('what was read is read again, and nothing else is', async () => {
    await read('a', 'one');
    await read('b', 'other');
    cache.invalidate('a');
    await read('a', 'two');
    expect(cache.get('a')).toBe('two');
    expect(cache.get('b')).toBe('other');
    expect(loads.map(({ key }) => key)).toEqual(['a', 'b', 'a']);
  });

  test('a null forgets everything', async () => {
    await read('a', 'one');
    await read('b', 'other');
    cache.invalidate(null);
    expect(cache.get('a')).toBeInstanceOf(Promise);
    expect(cache.get('b')).toBeInstanceOf(Promise);
  });

  test.each([['a'], [null]])(
    'a read that began before it is neither shared nor kept (%s)',
    async (notice) => {
      const early = cache.get('a');
      cache.invalidate(notice);
      const late = cache.get('a');
      expect(loads).toHaveLength(2);
      loads[1]?.finish('new');
      expect(await late).toBe('new');
      loads[0]?.finish('old');
      expect(await early).toBe('old');
      expect(cache.get('a')).toBe('new');
    },
  );

  test('nor when it ends first', async () => {
    const early = cache.get('a');
    cache.invalidate('a');
    const late = cache.get('a');
    loads[0]?.finish('old');
    expect(await early).toBe('old');
    expect(cache.get('a')).toBeInstanceOf(Promise);
    expect(loads).toHaveLength(2);
    loads[1]?.finish('new');
    expect(await late).toBe('new');
    expect(cache.get('a')).toBe('new');
  });
});

test('what was read while notices went missing is not kept', async () => {
  const answer = cache.get('a');
  current = false;
  loads[0]?.finish('one');
  expect(await answer).toBe('one');
  current = true;
  expect(cache.get('a')).toBeInstanceOf(Promise);
});

test('nothing is kept of a read that failed', async () => {
  const answer = cache.get('a');
  loads[0]?.fail();
  await expect(answer).rejects.toThrow('away');
  await read('a', 'one');
});

test('what was used least recently is forgotten first', async () => {
  await read('a', 'a');
  await read('b', 'b');
  expect(cache.get('a')).toBe('a');
  await read('c', 'c');
  expect(cache.get('a')).toBe('a');
  expect(cache.get('c')).toBe('c');
  expect(cache.get('b')).toBeInstanceOf(Promise);
});
