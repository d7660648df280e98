/** Holds that were open during the migration to the text format. */
import { afterAll, beforeAll, expect, test } from 'vitest';
import { makePlace, openPlace, type Place } from '../../../test/support/test-database.ts';
import type { Database } from '../../platform/db/database.ts';
import { migrate, readMigrations } from '../../platform/db/migrate.ts';
import { type Hold, holdRecord } from '../holds/hold.ts';
import { selectHolds, selectHoldsOfCustomer } from './postgres-holds.ts';

let place: Place;
let db: Database;
beforeAll(async () => {
  place = await makePlace({ migrated: false });
  db = await openPlace(place);
});
afterAll(async () => {
  await db.close();
  await place.remove();
});

const hold: Hold = {
  id: 'dec_1',
  orgId: 'org_1',
  runId: null,
  surface: 'edge',
  scope: {
    key_id: 'key_1',
    model: 'a "model"',
    provider: null,
    action: null,
    workflow: 'ö',
    deployment: null,
    department: null,
    team: null,
    customer_id: 'c1',
    chain_id: 'chain',
    member_id: null,
    project: null,
    tags: null,
  },
  amounts: { usd: 2n ** 62n, tokens: 7n, requests: 1n },
  admittedAtMs: Date.parse('2026-11-15T12:00:00.123Z'),
  expiresAtMs: Date.parse('2026-11-15T12:15:00.123Z'),
  shares: [{ key: 'cap_1@0', unit: 'usd' }],
  packs: [{ key: 'crp_1@0', amount: 5n }],
  priceVersion: null,
  idempotency: { digest: 'd', fingerprint: 'f', answer: '{"decision":"allow"}' },
};

/** The stored form of a hold, as release 0.1.0 wrote it. */
function storedByFirstRelease(): object {
  const { scope, ...stored } = JSON.parse(holdRecord(hold));
  const { member_id: _, tags: __, ...written } = scope;
  return { ...stored, scope: written };
}

test('holds of earlier releases are found unchanged by id, key, customer and the new columns', async () => {
  const migrations = await readMigrations();
  await migrate(
    db,
    migrations.filter(({ version }) => version < 28),
    { build: '0.1.0' },
  );
  await db.query(
    'INSERT INTO holds (org_id, id, expires_at, idempotency_digest, body) VALUES ($1, $2, $3, $4, $5::jsonb)',
    [hold.orgId, hold.id, new Date(hold.expiresAtMs), 'd', JSON.stringify(storedByFirstRelease())],
  );
  await migrate(db, migrations, { build: '0.1.0' });
  expect(await selectHolds(db, [{ orgId: 'org_1', id: 'dec_1' }])).toEqual([hold]);
  expect(await selectHolds(db, [], [{ orgId: 'org_1', id: 'd' }])).toEqual([hold]);
  expect(await selectHolds(db, [{ orgId: 'org_2', id: 'dec_1' }], [{ orgId: 'org_2', id: 'd' }])).toEqual([]);
  expect(await selectHoldsOfCustomer(db, 'org_1', 'c1')).toEqual([hold]);
  expect(await db.query('SELECT chain_id, admitted_at, body FROM holds', [])).toEqual([
    { chain_id: 'chain', admitted_at: new Date(hold.admittedAtMs), body: null },
  ]);
});
