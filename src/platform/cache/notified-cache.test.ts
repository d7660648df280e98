import { beforeEach, describe, expect, test } from 'vitest';
import type { Database } from '../db/database.ts';
import { NotifiedCache, NotifiedMap } from './notified-cache.ts';

interface Load {
  readonly key: string;
  finish(value: string | undefined): void;
  fail(): void;
}

let healthy: boolean;
let notify: (key: string | null) => void;
let loads: Load[];
let cache: NotifiedCache<string | undefined>;

const db = { notificationsHealthy: () => healthy } as Database;

function createCache(shareLoadsWhenUnhealthy = false): NotifiedCache<string | undefined> {
  return new NotifiedCache<string | undefined>(db, {
    maxEntries: 2,
    shareLoadsWhenUnhealthy,
    onChange: (_, listener) => {
      notify = listener;
    },
    load: (key) =>
      new Promise((finish, reject) => {
        loads.push({ key, finish, fail: () => reject(new Error('away')) });
      }),
  });
}

beforeEach(() => {
  healthy = true;
  loads = [];
  cache = createCache();
});

async function load(key: string, value: string): Promise<void> {
  const loaded = cache.get(key);
  loads.at(-1)?.finish(value);
  expect(await loaded).toBe(value);
}

test('returns a cached value without a promise', async () => {
  expect(cache.peek('a')).toBeUndefined();
  await load('a', 'one');
  expect(cache.get('a')).toBe('one');
  expect(cache.peek('a')).toBe('one');
  expect(loads).toHaveLength(1);
});

test('shares one load among concurrent callers', async () => {
  const values = Promise.all([cache.get('a'), cache.get('a'), cache.get('a')]);
  expect(loads).toHaveLength(1);
  loads[0]?.finish('one');
  expect(await values).toEqual(['one', 'one', 'one']);
});

test('does not cache undefined', async () => {
  const first = cache.get('a');
  loads[0]?.finish(undefined);
  expect(await first).toBeUndefined();
  await load('a', 'one');
  expect(cache.get('a')).toBe('one');
});

describe('after a change notification', () => {
  test('loads the changed key again, and no other key', async () => {
    await load('a', 'one');
    await load('b', 'other');
    notify('a');
    expect(cache.peek('a')).toBeUndefined();
    await load('a', 'two');
    expect(cache.get('a')).toBe('two');
    expect(cache.get('b')).toBe('other');
    expect(loads.map(({ key }) => key)).toEqual(['a', 'b', 'a']);
  });

  test('drops all keys if the notification is null', async () => {
    await load('a', 'one');
    await load('b', 'other');
    notify(null);
    expect(cache.get('a')).toBeInstanceOf(Promise);
    expect(cache.get('b')).toBeInstanceOf(Promise);
  });

  test.each([['a'], [null]])(
    'neither shares nor caches a load that began before the notification (%s)',
    async (key) => {
      const early = cache.get('a');
      notify(key);
      const late = cache.get('a');
      expect(loads).toHaveLength(2);
      loads[1]?.finish('new');
      expect(await late).toBe('new');
      loads[0]?.finish('old');
      expect(await early).toBe('old');
      expect(cache.get('a')).toBe('new');
    },
  );

  test('does not cache a load that began before the notification and ends first', async () => {
    const early = cache.get('a');
    notify('a');
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

describe('invalidateWhere', () => {
  test('drops the entries that match', async () => {
    await load('a', 'one');
    await load('b', 'two');
    cache.invalidateWhere((value) => value === 'one');
    cache.invalidateWhere((_, key) => key === 'c');
    expect([cache.peek('a'), cache.peek('b')]).toEqual([undefined, 'two']);
  });

  test('neither shares nor caches a load in flight, whose value could match', async () => {
    const early = cache.get('a');
    cache.invalidateWhere(() => false);
    const late = cache.get('a');
    loads[0]?.finish('old');
    expect(await early).toBe('old');
    expect(cache.peek('a')).toBeUndefined();
    loads[1]?.finish('new');
    expect(await late).toBe('new');
    expect(cache.peek('a')).toBe('new');
  });
});

describe('while notifications may be missed', () => {
  test('does not return a cached value, and loads for each call', async () => {
    await load('a', 'one');
    healthy = false;
    expect(cache.peek('a')).toBeUndefined();
    const values = Promise.all([cache.get('a'), cache.get('a')]);
    expect(loads).toHaveLength(3);
    loads[1]?.finish('two');
    loads[2]?.finish('three');
    expect(await values).toEqual(['two', 'three']);
  });

  test('does not share a load that began while notifications were healthy', async () => {
    const early = cache.get('a');
    healthy = false;
    const late = cache.get('a');
    expect(loads).toHaveLength(2);
    loads[1]?.finish('new');
    expect(await late).toBe('new');
    loads[0]?.finish('old');
    expect(await early).toBe('old');
  });

  test('does not cache a load that ends then', async () => {
    const loaded = cache.get('a');
    healthy = false;
    loads[0]?.finish('one');
    expect(await loaded).toBe('one');
    healthy = true;
    expect(cache.get('a')).toBeInstanceOf(Promise);
  });

  test('does not cache a load that began then', async () => {
    healthy = false;
    const loaded = cache.get('a');
    healthy = true;
    loads[0]?.finish('one');
    expect(await loaded).toBe('one');
    expect(cache.peek('a')).toBeUndefined();
  });

  test('does not cache a load during which notifications were lost and came back', async () => {
    const loaded = cache.get('a');
    healthy = false;
    // The change listener does this when its connection is lost, and again when it has reconnected.
    notify(null);
    notify(null);
    healthy = true;
    loads[0]?.finish('one');
    expect(await loaded).toBe('one');
    expect(cache.peek('a')).toBeUndefined();
  });

  test('ignores a value that the owner sets', () => {
    const map = new NotifiedMap<string>(db, { maxEntries: 2, onChange: () => undefined });
    healthy = false;
    map.set('a', 'one');
    healthy = true;
    expect(map.peek('a')).toBeUndefined();
    map.set('a', 'two');
    expect(map.peek('a')).toBe('two');
  });

  test('shares loads if told to, but never one that began before a notification', async () => {
    cache = createCache(true);
    await load('a', 'one');
    healthy = false;
    const shared = [cache.get('a'), cache.get('a')];
    expect(loads).toHaveLength(2);
    notify('a');
    const late = cache.get('a');
    expect(loads).toHaveLength(3);
    loads[1]?.finish('two');
    loads[2]?.finish('three');
    expect(await Promise.all([...shared, late])).toEqual(['two', 'two', 'three']);
    healthy = true;
    expect(cache.peek('a')).toBeUndefined();
  });
});

test('caches nothing from a failed load', async () => {
  const loaded = cache.get('a');
  loads[0]?.fail();
  await expect(loaded).rejects.toThrow('away');
  await load('a', 'one');
});

describe('eviction', () => {
  test('spares entries that were used since they were inserted', async () => {
    await load('a', 'a');
    await load('b', 'b');
    expect(cache.peek('a')).toBe('a');
    await load('c', 'c');
    expect(cache.get('a')).toBe('a');
    expect(cache.get('c')).toBe('c');
    expect(cache.get('b')).toBeInstanceOf(Promise);
  });

  test('makes room for a new entry also when all others are in use', async () => {
    await load('a', 'a');
    await load('b', 'b');
    expect([cache.peek('a'), cache.peek('b')]).toEqual(['a', 'b']);
    await load('c', 'c');
    expect([cache.peek('a'), cache.peek('b'), cache.peek('c')]).toEqual([undefined, 'b', 'c']);
  });

  test('keeps to the bound however many entries are in use', () => {
    const map = new NotifiedMap<number>(db, { maxEntries: 1_000, onChange: () => undefined });
    for (let i = 0; i < 1_500; i += 1) {
      map.set(String(i), i);
      map.peek(String(i));
    }
    const kept = Array.from({ length: 1_500 }, (_, i) => map.peek(String(i))).filter((i) => i !== undefined);
    expect(kept).toHaveLength(1_000);
    expect(kept.at(-1)).toBe(1_499);
  });

  test('does not evict another entry when a key is set again', () => {
    const map = new NotifiedMap<number>(db, { maxEntries: 2, onChange: () => undefined });
    map.set('a', 1);
    map.set('b', 2);
    map.set('b', 3);
    expect([map.peek('a'), map.peek('b')]).toEqual([1, 3]);
  });
});
