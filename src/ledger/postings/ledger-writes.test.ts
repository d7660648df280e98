import { afterAll, beforeAll, expect, test } from 'vitest';
import { engine, makePlace, openPlace, type Place } from '../../../test/support/test-database.ts';
import type { Database } from '../../platform/db/database.ts';
import { findExistingRuns } from './ledger-writes.ts';

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
