import { join } from 'node:path';
import { afterEach, beforeEach, expect, test } from 'vitest';
import { makePlace, openPlace, type Place } from '../../../../test/support/test-database.ts';
import { type Migration, migrate, readMigrations } from '../migrate.ts';
import { type BulkConnection, openPgliteBulk, openPostgresBulk } from './bulk-connection.ts';
import { openDatabaseSource } from './database-source.ts';
import {
  finishSchema,
  type KnownSchema,
  loadFrames,
  markComplete,
  migrationsOf,
  prepareTarget,
  requireCompleteDatabase,
} from './database-target.ts';
import type { TransferFrame, TransferSource } from './frames.ts';

const openBulk = ({ databaseUrl, dataDir }: Place): Promise<BulkConnection> =>
  databaseUrl === undefined ? openPgliteBulk(join(dataDir, 'database')) : openPostgresBulk(databaseUrl);

const isExcluded = (table: string) => ['schema_migrations', 'processes', 'transfer_progress'].includes(table);

let places: Place[];
let migrations: Migration[];
let known: KnownSchema;
let connections: BulkConnection[];
beforeEach(async () => {
  places = [await makePlace({ migrated: true }), await makePlace({ migrated: false })];
  migrations = await readMigrations();
  known = { migrations, build: '0.1.0' };
  connections = [];
});
afterEach(async () => {
  await Promise.all(connections.map((one) => one.close().catch(() => undefined)));
  await Promise.all(places.map((place) => place.remove()));
});

const from = () => places[0] as Place;
const to = () => places[1] as Place;

async function bulk(place: Place): Promise<BulkConnection> {
  const connection = await openBulk(place);
  connections.push(connection);
  return connection;
}

/** Values that are written differently in the text format of COPY, in SQL and in JSON. */
const oddTexts = ['\\N', 'tab\tnewline\ncarriage\rback\\slash', 'quote \' and "', '{}', 'ä𝄞', '', '\\.'];

async function fill(): Promise<void> {
  const db = await openPlace(from());
  await db.query(
    `INSERT INTO orgs (id, name, slug, timezone, status, ip_allow_list, created_at, updated_at)
     SELECT 'org_' || i, n, 'slug-' || i, 'UTC', 'active', ARRAY[n, '', 'NULL'], now(), now()
       FROM unnest($1::text[]) WITH ORDINALITY AS t(n, i)`,
    [oddTexts],
  );
  await db.query(
    `INSERT INTO outbox (tenant_id, id, type, created_at, data)
     SELECT 'org_1', 'evt_' || i, 'x', now(), jsonb_build_object('text', n, 'n', 12345678901234567890.000000001)
       FROM unnest($1::text[]) WITH ORDINALITY AS t(n, i)`,
    [oddTexts],
  );
  await db.query(
    `INSERT INTO idempotency_keys (tenant_id, key_digest, fingerprint, owner, reserved_at, expires_at, body)
     SELECT 'org_1', i::text, '', '', now(), 'infinity', sha256(i::text::bytea) FROM generate_series(1, 3000) i`,
    [],
  );
  await db.close();
}

async function openSource(holds: readonly string[] = []): Promise<TransferSource> {
  return openDatabaseSource(await bulk(from()), {
    id: 'transfer 1',
    createdAt: new Date(0),
    version: '0.1.0',
    engine: 'embedded',
    isExcluded,
    holds: () => [holds],
  });
}

async function prepare(source: TransferSource): Promise<{ readonly resumes: boolean }> {
  const db = await openPlace(to());
  return prepareTarget(db, source.header, known).finally(() => db.close());
}

test('copies every table with the same content; continues after an interruption; is startable only at the end', async () => {
  await fill();
  const source = await openSource(['hold']);
  expect(await prepare(source)).toEqual({ resumes: false });
  const loaded: string[] = [];
  const storeHolds = async (_: BulkConnection, records: readonly string[]) => void loaded.push(...records);

  const interrupted = await bulk(to());
  let frames = 0;
  const breakingOff: TransferSource = {
    ...source,
    async *frames(first) {
      for await (const frame of source.frames(first)) {
        frames += 1;
        if (frame.kind === 'rows' && frame.table === 'outbox') {
          throw new Error('interrupted');
        }
        yield frame;
      }
    },
  };
  await expect(loadFrames(interrupted, breakingOff, { storeHolds })).rejects.toThrow('interrupted');
  await interrupted.close();
  expect(frames).toBeGreaterThan(1);

  const db = await openPlace(to());
  await expect(requireCompleteDatabase(db)).rejects.toThrow(/unfinished/);
  await db.close();
  expect(await prepare(source)).toEqual({ resumes: true });
  const target = await bulk(to());
  const again: TransferFrame[] = [];
  await loadFrames(target, source, { storeHolds, onFrame: (frame) => void again.push(frame) });
  // Frames that were loaded before are neither read nor loaded again.
  expect(again.some((frame) => frame.kind === 'rows' && frame.table === 'idempotency_keys')).toBe(false);
  expect(loaded).toEqual(['hold']);
  await target.close();

  const finished = await openPlace(to());
  await finishSchema(finished, known);
  await markComplete(finished);
  await requireCompleteDatabase(finished);
  const rows = await finished.query<{ name: string }>('SELECT name FROM orgs ORDER BY id', []);
  expect(rows.map(({ name }) => name)).toEqual(oddTexts);
  await expect(prepareTarget(finished, source.header, known)).rejects.toThrow(/not empty/);
  await finished.close();
});

test('notices a row that is missing or different in the target', async () => {
  await fill();
  const source = await openSource();
  await prepare(source);
  const target = await bulk(to());
  const load = () => loadFrames(target, source, { storeHolds: async () => undefined });
  await load();
  for (const [tamper, repair] of [
    [
      "UPDATE orgs SET slug = 'other' WHERE id = 'org_2'",
      "UPDATE orgs SET slug = 'slug-2' WHERE id = 'org_2'",
    ],
    ["DELETE FROM orgs WHERE id = 'org_2'", 'SELECT 1'],
  ] as const) {
    await target.query(tamper);
    // Nothing is left to load: the tables are compared again.
    await expect(load()).rejects.toThrow(/table orgs differs from the source/);
    await target.query(repair);
  }
});

test('refuses a target with other data, and data of a newer version', async () => {
  const source = await openSource();
  await prepare(source);
  await expect(prepare({ ...source, header: { ...source.header, id: 'transfer 2' } })).rejects.toThrow(
    /unfinished restore or move of other data/,
  );
  const newer = { version: 9999, name: '9999_future.sql', checksum: 'x' };
  expect(() => migrationsOf({ ...source.header, migrations: [newer] }, migrations)).toThrow(
    /9999_future.sql, which this version of Purser does not know/,
  );
});

test('loads data of an older schema and migrates it', async () => {
  const older = migrations.filter(({ version }) => version < 33);
  const old = await makePlace({ migrated: false });
  places.push(old);
  const db = await openPlace(old);
  await migrate(db, older, { build: '0.1.0' });
  await db.query(
    `INSERT INTO run_identities (org_id, run_id, external_id, charged_at) VALUES ('org_1', 'run_1', 'mine', now())`,
    [],
  );
  await db.close();
  const source = await openDatabaseSource(await bulk(old), {
    id: 'transfer 1',
    createdAt: new Date(0),
    version: '0.0.9',
    engine: 'embedded',
    isExcluded,
    holds: () => [],
  });
  await prepare(source);
  const target = await bulk(to());
  await loadFrames(target, source, { storeHolds: async () => undefined });
  await target.close();
  const migrated = await openPlace(to());
  await finishSchema(migrated, known);
  expect(await migrated.query('SELECT external_id, content_digest FROM run_identities', [])).toEqual([
    { external_id: 'mine', content_digest: null },
  ]);
  await migrated.close();
});
