import { afterAll, beforeAll, expect, test } from 'vitest';
import { engine, makePlace, openPlace, type Place } from '../../../test/support/test-database.ts';
import type { Database } from '../../platform/db/database.ts';
import { deleteOldAlerts, findExistingRuns } from './ledger-writes.ts';

let place: Place;
let db: Database;
beforeAll(async () => {
  place = await makePlace({ migrated: true });
  db = await openPlace(place);
});
afterAll(async () => {
  await db.close();
  await place.remove();
});

/** Only the embedded engine, PostgreSQL 16 or newer, shows the plan that it uses from the sixth execution on. */
test.runIf(engine === 'embedded')(
  'runs are looked up by their external ids, also with a plan that is kept',
  async () => {
    const plan: string[] = [];
    await findExistingRuns(
      {
        isDistributed: false,
        async query(sql) {
          const rows = await db.query<{ 'QUERY PLAN': string }>(`EXPLAIN (GENERIC_PLAN) ${sql}`);
          plan.push(...rows.map((row) => row['QUERY PLAN']));
          return [];
        },
      },
      [{ orgId: 'org_1', externalId: 'a' }],
    );
    expect(plan.join('\n')).toContain('run_identities_external');
    // A list of orgs in the condition would be searched for every run.
    expect(plan.join('\n')).not.toContain('ANY');
  },
);

test('deletes old alerts, but not those of limits without a window, which would be repeated', async () => {
  const old = new Date('2025-01-01T00:00:00Z');
  const recent = new Date('2026-01-01T00:00:00Z');
  const add = (keys: readonly string[], at: Date) =>
    db.query(
      `INSERT INTO limit_alerts (org_id, counter_key, threshold, at) SELECT 'org_1', unnest($1::text[]), 80, $2`,
      [keys, at],
    );
  const kept = ['pack@0', 'pack@0#1000', 'pack@1735689600000#1000'];
  await add(['cap@1735689600000', 'each@1735689600000:a', 'chain@0:a', 'chain@0:a#1000'], old);
  await add(kept, old);
  await add(['cap@1767225600000', 'chain@0:b'], recent);
  expect(await deleteOldAlerts(db, recent, 3)).toBe(true);
  expect(await deleteOldAlerts(db, recent, 3)).toBe(false);
  const left = await db.query<{ key: string }>('SELECT counter_key AS key FROM limit_alerts', []);
  expect(left.map(({ key }) => key).sort()).toEqual(['cap@1767225600000', 'chain@0:b', ...kept].sort());
});

test('old alerts are found without reading those that are kept', async () => {
  const at = new Date('2025-01-01T00:00:00Z');
  await db.query(
    `INSERT INTO limit_alerts (org_id, counter_key, threshold, at)
     SELECT 'org_2', key, 80, $1::timestamptz + days * interval '1 day'
       FROM generate_series(1, 1000) AS n, LATERAL (VALUES ('cap@' || n, 1), ('pack@0#' || n, -1)) AS alert (key, days)`,
    [at],
  );
  await db.query('ANALYZE limit_alerts');
  const plan: string[] = [];
  await deleteOldAlerts(
    {
      async query(sql, params) {
        const rows = await db.query<object>(`EXPLAIN (ANALYZE, COSTS OFF, TIMING OFF) ${sql}`, params);
        plan.push(...rows.flatMap((row) => Object.values(row) as string[]));
        return [];
      },
    },
    at,
    500,
  );
  expect(plan.join('\n')).toContain('limit_alerts_age');
  expect(plan.filter((line) => line.includes('Rows Removed by Filter'))).toEqual([]);
});
