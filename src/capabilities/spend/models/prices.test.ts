import { afterEach, beforeAll, describe, expect, test } from 'vitest';
import { useOrg, useWorld } from '../../../../test/harness.ts';
import { eventually } from '../../../../test/support/eventually.ts';
import { costOf } from '../../../kernel/prices.ts';
import type { Database } from '../../../platform/db/database.ts';
import { createPrices, type PriceInForce, type Prices } from './index.ts';

const world = useWorld();
const org = useOrg(world);
let watched: Watched;
let prices: Prices;

interface Watched {
  readonly db: Database;
  reads: number;
  /** The result of `notificationsHealthy`, which is also false if the database reports false. */
  current: boolean;
  failing: boolean;
}

function watch(db: Database): Watched {
  const watching: Watched = {
    reads: 0,
    current: true,
    failing: false,
    db: {
      ...db,
      query<Row extends object>(sql: string, params?: readonly unknown[]) {
        watching.reads += 1;
        return watching.failing ? Promise.reject(new Error('away')) : db.query<Row>(sql, params);
      },
      notificationsHealthy: () => watching.current && db.notificationsHealthy(),
    },
  };
  return watching;
}

beforeAll(() => {
  watched = watch(world.db);
  prices = createPrices(watched.db);
});
afterEach(() => {
  Object.assign(watched, { current: true, failing: false });
});

async function admin(method: string, path: string, body?: unknown) {
  const answer = await world.request(method, `/v1/admin${path}`, {
    key: world.operatorKey,
    ...(body !== undefined && { body }),
  });
  expect(answer.status).toBeLessThan(300);
  return answer.json;
}
const put = (model: string, body: object) => admin('PUT', `/models/${model}`, body);
const putOwn = (model: string, body: object, id = org.id) =>
  admin('PUT', `/orgs/${id}/prices/${model}`, body);
const nowMs = () => world.clock.now().getTime();
const input = (price: PriceInForce | undefined) => price?.rates.inputNanosPerMillion;

/**
 * Returns the price once it is cached. On PostgreSQL a notification returns to its sender, and a new channel is not
 * listened to at once, so this may take a few calls.
 */
async function findWarm(model: string, atMs = nowMs()): Promise<PriceInForce | undefined> {
  return eventually(async () => {
    await prices.find(org.id, model, atMs);
    const answer = prices.find(org.id, model, atMs);
    expect(answer).not.toBeInstanceOf(Promise);
    return answer;
  });
}

describe('the price in force', () => {
  test('the price in force is the version in force at the given instant', async () => {
    const startMs = nowMs();
    const at = (seconds: number) => new Date(startMs + seconds * 1_000).toISOString();
    const first = await put('timed', { input_usd_per_million: '1', effective_from: at(0) });
    const second = await put('timed', { input_usd_per_million: '2', effective_from: at(100) });
    const own = await putOwn('timed', { input_usd_per_million: '3', effective_from: at(200) });
    const discount = await putOwn('timed', { discount_percent: '50', effective_from: at(300) });
    const seen: unknown[] = [];
    for (const seconds of [-0.001, 0, 99.999, 100, 199.999, 200, 299.999, 300]) {
      const price = await findWarm('timed', startMs + seconds * 1_000);
      seen.push([seconds, price?.versionId, input(price)]);
    }
    expect(seen).toEqual([
      [-0.001, undefined, undefined],
      [0, first.id, 1_000_000_000n],
      [99.999, first.id, 1_000_000_000n],
      [100, second.id, 2_000_000_000n],
      [199.999, second.id, 2_000_000_000n],
      [200, own.id, 3_000_000_000n],
      [299.999, own.id, 3_000_000_000n],
      [300, `${second.id}+${discount.id}`, 1_000_000_000n],
    ]);
  });

  test('the price in force is unchanged for the time before a removal', async () => {
    await put('was', { input_usd_per_million: '9' });
    await putOwn('was', { input_usd_per_million: '1' });
    const beforeMs = nowMs();
    world.clock.advanceSeconds(10);
    await admin('DELETE', `/orgs/${org.id}/prices/was`);
    expect(input(await findWarm('was', beforeMs))).toBe(1_000_000_000n);
    expect(input(await findWarm('was', nowMs() - 1))).toBe(1_000_000_000n);
    expect(input(await findWarm('was'))).toBe(9_000_000_000n);
  });

  test('the price in force with a discount charges exactly the rates shown, to the nanodollar', async () => {
    await put('exact', { input_usd_per_million: '0.075', output_usd_per_million: '0.3' });
    await putOwn('exact', { discount_percent: '33.33' });
    const price = await findWarm('exact');
    // 75,000,000 × 0.6667 and 300,000,000 × 0.6667
    expect(price?.rates).toMatchObject({
      inputNanosPerMillion: 50_002_500n,
      outputNanosPerMillion: 200_010_000n,
      cachedInputNanosPerMillion: null,
    });
    const counts = { inputTokens: 1n, cachedInputTokens: 0n, cacheWriteTokens: 0n, outputTokens: 1n };
    // 50.0025 + 200.01 nanodollars
    expect(price && costOf(price.rates, counts)).toBe(251n);
  });

  test('the price in force is the price that the list shows', async () => {
    const { json } = await world.request('GET', '/v1/models?limit=200', { key: org.ownerKey });
    expect(json.data.length).toBeGreaterThan(2);
    for (const { model, price_version } of json.data) {
      expect((await findWarm(model))?.versionId).toBe(price_version);
    }
    expect(await findWarm('no-such-model')).toBeUndefined();
    expect(await findWarm('__proto__')).toBeUndefined();
  });
});

describe('a version that a run references', () => {
  const inputOf = async (model: string, versionId: string, orgId = org.id) =>
    input(await prices.version(orgId, model, versionId));

  test('a version that a run references is found even if it is no longer in force, was withdrawn or ended', async () => {
    const first = await put('named', { input_usd_per_million: '1' });
    const second = await put('named', { input_usd_per_million: '2' });
    const discount = await putOwn('named', { discount_percent: '50' });
    world.clock.advanceSeconds(1);
    const own = await putOwn('named', { input_usd_per_million: '3' });
    world.clock.advanceSeconds(1);
    await admin('DELETE', `/orgs/${org.id}/prices/named`);
    expect(await inputOf('named', first.id)).toBe(1_000_000_000n);
    expect(await inputOf('named', second.id)).toBe(2_000_000_000n);
    expect(await inputOf('named', own.id)).toBe(3_000_000_000n);
    expect(await inputOf('named', `${first.id}+${discount.id}`)).toBe(500_000_000n);
    expect(await inputOf('named', `${second.id}+${discount.id}`)).toBe(1_000_000_000n);
  });

  test('a version that a run references is not found for another model, for another org, or by a part of its id', async () => {
    const other = await world.createOrg();
    const { id } = await put('named-once', { input_usd_per_million: '1' });
    const own = await putOwn('named-once', { discount_percent: '50' });
    expect(await inputOf('named', id)).toBeUndefined();
    expect(await inputOf('named-once', `${id}+${own.id}`, other.id)).toBeUndefined();
    expect(await inputOf('named-once', own.id)).toBeUndefined();
    expect(await inputOf('named-once', `${id}+prc_none`)).toBeUndefined();
  });
});

describe('the price cache', () => {
  test('returns a price without a query and without a promise', async () => {
    await put('quick', { input_usd_per_million: '1' });
    await eventually(async () => {
      await findWarm('quick');
      const readsBefore = watched.reads;
      for (let i = 0; i < 100; i += 1) {
        expect(prices.find(org.id, 'quick', nowMs())).toMatchObject({
          rates: { inputNanosPerMillion: 1_000_000_000n },
        });
      }
      expect(watched.reads).toBe(readsBefore);
    });
  });

  test('the price cache applies a change from the first call after the response', async () => {
    const find = async () => input(await prices.find(org.id, 'changing', nowMs()));
    for (let i = 1; i <= 5; i += 1) {
      world.clock.advanceSeconds(1);
      await put('changing', { input_usd_per_million: String(i) });
      expect(await find()).toBe(BigInt(i) * 1_000_000_000n);
      await putOwn('changing', { input_usd_per_million: `0.${i}` });
      expect(await find()).toBe(BigInt(i) * 100_000_000n);
      world.clock.advanceSeconds(1);
      await admin('DELETE', `/orgs/${org.id}/prices/changing`);
      expect(await find()).toBe(BigInt(i) * 1_000_000_000n);
    }
  });

  test('the price cache is bypassed while notifications may be missed', async () => {
    await put('doubtful', { input_usd_per_million: '1' });
    watched.current = false;
    // Changes the price without a notification.
    await world.db.query(`UPDATE model_prices SET input_nanos_per_million = 7 WHERE model = 'doubtful'`, []);
    expect(input(await prices.find(org.id, 'doubtful', nowMs()))).toBe(7n);
    expect((await prices.list(org.id, nowMs())).find(({ model }) => model === 'doubtful')).toMatchObject({
      rates: { inputNanosPerMillion: 7n },
    });
    await putOwn('doubtful', { discount_percent: '100' });
    expect(input(await prices.find(org.id, 'doubtful', nowMs()))).toBe(0n);
  });

  test('caches nothing from a failed load', async () => {
    await put('failing', { input_usd_per_million: '1' });
    watched.failing = true;
    await expect(prices.find(org.id, 'failing', nowMs())).rejects.toThrow('away');
    watched.failing = false;
    expect(input(await prices.find(org.id, 'failing', nowMs()))).toBe(1_000_000_000n);
  });
});
