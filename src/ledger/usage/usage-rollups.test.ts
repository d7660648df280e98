import { afterAll, beforeAll, expect, test } from 'vitest';
import { scopeOf } from '../../../test/support/ledger-values.ts';
import { LedgerWorld } from '../../../test/support/ledger-world.ts';
import { readMigrations } from '../../platform/db/migrate.ts';

let world: LedgerWorld;
beforeAll(async () => {
  world = await LedgerWorld.open();
});
afterAll(() => world.close());

const daysOf = (orgId: string) =>
  world.db.query<Record<string, unknown>>('SELECT * FROM usage_days WHERE org_id = $1 ORDER BY day, digest', [
    orgId,
  ]);

/** Three days of history, with two postings per scope and several 15-minute buckets per day. */
async function orgWithHistory(): Promise<string> {
  const orgId = await world.createOrg();
  const postings = ['13T23:59:59', '14T00:00:00', '14T23:45:00', '15T11:00:00', '15T11:59:59'].flatMap((at) =>
    ['a', 'b'].map((customer_id) =>
      world.postingOf('1.5', {
        kind: 'record',
        atMs: Date.parse(`2026-11-${at}Z`),
        scope: scopeOf({ customer_id }),
      }),
    ),
  );
  await world.ledger.post({ orgId, postings });
  return orgId;
}

test('a day is the sum of its 15-minute buckets, also within one batch', async () => {
  const orgId = await orgWithHistory();
  await world.posted(orgId, '2', { scope: scopeOf({ customer_id: 'a' }) });
  const sums = (await daysOf(orgId)).map(({ day, customer_id, requests, usd_nanos }) => [
    (day as Date).toISOString(),
    customer_id,
    requests,
    usd_nanos,
  ]);
  expect(sums.sort()).toEqual([
    ['2026-11-13T00:00:00.000Z', 'a', 1n, 1_500_000_000n],
    ['2026-11-13T00:00:00.000Z', 'b', 1n, 1_500_000_000n],
    ['2026-11-14T00:00:00.000Z', 'a', 2n, 3_000_000_000n],
    ['2026-11-14T00:00:00.000Z', 'b', 2n, 3_000_000_000n],
    ['2026-11-15T00:00:00.000Z', 'a', 3n, 5_000_000_000n],
    ['2026-11-15T00:00:00.000Z', 'b', 2n, 3_000_000_000n],
  ]);
});

test('the migration builds the days of earlier postings from the buckets once', async () => {
  const orgId = await orgWithHistory();
  const before = await daysOf(orgId);
  await world.db.query('DELETE FROM usage_days WHERE org_id = $1', [orgId]);
  const migration = (await readMigrations()).find(({ name }) => name === '0006_usage_days.sql');
  for (let time = 0; time < 2; time += 1) {
    await world.db.query(migration?.sql ?? '');
    expect(await daysOf(orgId)).toEqual(before);
  }
});
