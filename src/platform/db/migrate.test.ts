/** Expand, backfill and contract: which migrations are applied when, and which builds may use the result. */
import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import { eventually } from '../../../test/support/eventually.ts';
import { engine, makePlace, openPlace, type Place } from '../../../test/support/test-database.ts';
import { backfillJob } from '../jobs/backfill-job.ts';
import { createProcesses } from '../jobs/processes.ts';
import { createLog } from '../log.ts';
import { type Database, DatabaseUnavailable } from './database.ts';
import { type Migration, migrate, pendingMigrations, readMigrations } from './migrate.ts';
import { parseMigration } from './migration-files.ts';
import { guardSchema } from './schema-guard.ts';

let place: Place;
let db: Database;
let ours: Migration[];
beforeEach(async () => {
  place = await makePlace({ migrated: true });
  db = await openPlace(place);
  ours = await readMigrations();
});
afterEach(async () => {
  await db.close();
  await place.remove();
});

const declared = (name: string, lines: readonly string[], sql: string) =>
  parseMigration(name, [...lines.map((line) => `-- ${line}`), sql].join('\n'));

/** A later release: a new column, its values, and the removal of the column that it replaces. */
const table = declared(
  '9001_teapots.sql',
  ['phase: expand', 'readable-from: 0.1.0'],
  `CREATE TABLE teapots (id text PRIMARY KEY, litres text, millilitres int4);
   INSERT INTO teapots (id, litres) SELECT 'pot_' || lpad(n::text, 3, '0'), n::text FROM generate_series(1, 25) n;`,
);
const backfill = declared(
  '9002_teapots_in_millilitres.sql',
  ['phase: backfill', 'readable-from: 0.1.0'],
  `WITH batch AS (SELECT id FROM teapots WHERE id > $1 ORDER BY id LIMIT 10),
   changed AS (
     UPDATE teapots SET millilitres = coalesce(millilitres, 0) + 1000 * litres::int4
       FROM batch WHERE teapots.id = batch.id
   )
   SELECT max(id) AS next_cursor FROM batch`,
);
const contract = declared(
  '9003_teapots_without_litres.sql',
  ['phase: contract', 'readable-from: 0.2.0'],
  'ALTER TABLE teapots DROP COLUMN litres',
);
const later = () => [...ours, table, backfill, contract];
const names = (migrations: readonly Migration[]) => migrations.map(({ name }) => name);

describe('a start', () => {
  test('a start applies what older builds can live with and postpones the rest until it is asked for', async () => {
    expect(await pendingMigrations(db, later(), { build: '0.2.0' })).toEqual({
      due: [table],
      postponed: [backfill, contract],
    });
    expect(names(await migrate(db, later(), { build: '0.2.0' }))).toEqual(['9001_teapots.sql']);
    expect(names(await migrate(db, later(), { build: '0.2.0', contract: true }))).toEqual([
      '9002_teapots_in_millilitres.sql',
      '9003_teapots_without_litres.sql',
    ]);
    expect(await db.query('SELECT sum(millilitres)::int4 AS sum FROM teapots')).toEqual([{ sum: 325_000 }]);
  });

  test('a start applies a contract migration that its build requires, after the backfills before it', async () => {
    const required = { ...contract, requiredFrom: '0.3.0' };
    const migrations = [...ours, table, backfill, required];
    expect(names(await migrate(db, migrations, { build: '0.2.0' }))).toEqual(['9001_teapots.sql']);
    expect(names(await migrate(db, migrations, { build: '0.3.0' }))).toEqual([
      '9002_teapots_in_millilitres.sql',
      '9003_teapots_without_litres.sql',
    ]);
  });

  test('a start applies everything to an empty database', async () => {
    const empty = await makePlace({ migrated: false });
    const fresh = await openPlace(empty);
    expect(names(await migrate(fresh, later(), { build: '0.2.0' }))).toEqual(names(later()));
    await fresh.close();
    await empty.remove();
  });
});

describe('an older build', () => {
  test('an older build starts on a newer schema that it can read', async () => {
    await migrate(db, later(), { build: '0.2.0' });
    expect(await migrate(db, ours, { build: '0.1.0' })).toEqual([]);
  });

  test('refuses a schema that it cannot read, and names the migration and the version to run', async () => {
    await migrate(db, later(), { build: '0.2.0', contract: true });
    await expect(migrate(db, ours, { build: '0.1.0' })).rejects.toThrow(
      'the database has migration 9003_teapots_without_litres.sql, which Purser 0.1.0 cannot read; run 0.2.0 or newer',
    );
    expect(await migrate(db, ours, { build: '0.2.0' })).toEqual([]);
  });

  test('refuses a migration without a stored declaration', async () => {
    await migrate(db, later(), { build: '0.2.0' });
    await db.query('UPDATE schema_migrations SET readable_from = NULL WHERE version = 9001', []);
    await expect(migrate(db, ours, { build: '0.2.0' })).rejects.toThrow(
      '9001_teapots.sql, which Purser 0.2.0 cannot read; run a newer version',
    );
  });
});

test('databases from before declarations were stored are adopted', async () => {
  await db.query('ALTER TABLE schema_migrations DROP COLUMN phase, DROP COLUMN readable_from');
  expect((await pendingMigrations(db, later(), { build: '0.2.0' })).due).toEqual([table]);
  expect(names(await migrate(db, later(), { build: '0.2.0' }))).toEqual(['9001_teapots.sql']);
  expect(await db.query('SELECT phase, readable_from FROM schema_migrations WHERE version > 9000')).toEqual([
    { phase: 'expand', readable_from: '0.1.0' },
  ]);
});

describe('a backfill', () => {
  const cursor = () => db.query('SELECT cursor, batches FROM schema_backfills');
  const applied = () => db.query('SELECT name FROM schema_migrations WHERE version = 9002');

  test('runs in batches beside the service, resumes where it was, and touches each row once', async () => {
    await migrate(db, later(), { build: '0.2.0' });
    const job = backfillJob(db, later());
    expect(await job.runOnce()).toBe(true);
    expect(await cursor()).toEqual([{ cursor: 'pot_010', batches: 1n }]);
    // Another process takes over.
    const successor = backfillJob(db, later());
    expect(await successor.runOnce()).toBe(true);
    expect(await cursor()).toEqual([{ cursor: 'pot_020', batches: 2n }]);
    expect(await successor.runOnce()).toBe(true);
    expect(await applied()).toEqual([]);
    expect(await successor.runOnce()).toBe(true);
    expect(await applied()).toEqual([{ name: '9002_teapots_in_millilitres.sql' }]);
    expect(await cursor()).toEqual([]);
    expect(await job.runOnce()).toBe(false);
    expect(await db.query('SELECT sum(millilitres)::int4 AS sum FROM teapots')).toEqual([{ sum: 325_000 }]);
  });

  test('a backfill that fails keeps the batches before it', async () => {
    await migrate(db, later(), { build: '0.2.0' });
    await db.query("UPDATE teapots SET litres = 'many' WHERE id = 'pot_015'", []);
    const job = backfillJob(db, later());
    await job.runOnce();
    await expect(job.runOnce()).rejects.toThrow('invalid input syntax');
    expect(await cursor()).toEqual([{ cursor: 'pot_010', batches: 1n }]);
  });

  test.each([
    ['SELECT 1 AS one WHERE $1::text IS NOT NULL', 'must return one row with the column next_cursor'],
    ['SELECT $1::text AS next_cursor', 'made no progress'],
  ])('a backfill that cannot end is refused: %s', async (sql, message) => {
    const endless = { ...backfill, sql };
    await migrate(db, [...ours, table], { build: '0.2.0' });
    await expect(migrate(db, [...ours, table, endless], { build: '0.2.0', contract: true })).rejects.toThrow(
      message,
    );
  });
});

describe.runIf(engine === 'postgres')('beside other processes on PostgreSQL', () => {
  test('nothing is removed while a process runs that needs it', async () => {
    const [older, newer] = [createProcesses(db, '0.1.0'), createProcesses(db, '0.2.0')];
    await older.beat();
    await newer.beat();
    await migrate(db, later(), { build: '0.2.0' });
    await expect(migrate(db, later(), { build: '0.2.0', contract: true })).rejects.toThrow(
      'migration 9003_teapots_without_litres.sql is readable from 0.2.0 on, and older processes are running: 1 of 0.1.0. Upgrade or stop them',
    );
    await older.leave();
    expect(names(await migrate(db, later(), { build: '0.2.0', contract: true }))).toEqual([
      '9003_teapots_without_litres.sql',
    ]);
  });

  test('processes that do not record their version count as older', async () => {
    await migrate(db, later(), { build: '0.2.0' });
    await db.query("INSERT INTO processes (id, seen_at) VALUES ('p', now())", []);
    await expect(migrate(db, later(), { build: '0.2.0', contract: true })).rejects.toThrow(
      'older processes are running: 1 of a version before 0.1.0',
    );
  });

  test('a migration that waits for a long transaction stops no one else, and succeeds after it', async () => {
    const rename = { ...table, sql: 'ALTER TABLE orgs ADD COLUMN teapot text' };
    let end = () => {};
    const isOver = new Promise<void>((resolve) => {
      end = resolve;
    });
    let begun = () => {};
    const hasBegun = new Promise<void>((resolve) => {
      begun = resolve;
    });
    const long = db.transaction(async (tx) => {
      await tx.query('SELECT count(*) FROM orgs');
      begun();
      await isOver;
    });
    await hasBegun;
    const failing = migrate(db, [...ours, rename], { build: '0.2.0', lockRetriesMs: [0] });
    // Would wait behind the migration until the long transaction has ended.
    expect(await db.query('SELECT count(*)::int4 AS orgs FROM orgs')).toEqual([{ orgs: 0 }]);
    await expect(failing).rejects.toThrow(
      /9001_teapots\.sql could not lock its tables, 2 times: oldest transactions: pid \d+ \(purser\), \d+ s/,
    );
    const patient = migrate(db, [...ours, rename], {
      build: '0.2.0',
      lockRetriesMs: new Array(1_000).fill(10),
    });
    // A queued lock request of the migration shows that it is waiting.
    await eventually(async () =>
      expect(
        await db.query("SELECT 1 FROM pg_locks WHERE NOT granted AND locktype = 'relation'"),
      ).toHaveLength(1),
    );
    end();
    await long;
    expect(names(await patient)).toEqual(['9001_teapots.sql']);
  });
});

describe.runIf(engine === 'postgres')('a running process', () => {
  const log = createLog('silent');
  let other: Database;
  beforeEach(async () => {
    other = await openPlace(place);
    await migrate(db, [...ours, table], { build: '0.2.0' });
  });
  afterEach(() => other.close());

  function guarded(subject: Database) {
    let unreadable = 0;
    const guard = guardSchema(subject, {
      migrations: ours,
      build: '0.1.0',
      log,
      onUnreadable() {
        unreadable += 1;
      },
    });
    return { ...guard, unreadable: () => unreadable };
  }
  const readOld = (on: Database) => on.query('SELECT count(litres)::int4 AS pots FROM teapots', []);

  test('keeps working while the schema is readable, and reports its own errors as they are', async () => {
    const { db: subject, check, unreadable } = guarded(db);
    await check();
    expect(await readOld(subject)).toEqual([{ pots: 25 }]);
    await expect(subject.query('SELECT nothing FROM teapots', [])).rejects.not.toThrow(DatabaseUnavailable);
    expect(unreadable()).toBe(0);
  });

  test('detects a schema that it cannot read, and is unavailable from then on', async () => {
    const { db: subject, check, unreadable } = guarded(db);
    await eventually(() => expect(db.notificationsHealthy()).toBe(true));
    await migrate(other, [...ours, table, contract], { build: '0.2.0', contract: true });
    // A statement that would still succeed.
    await eventually(() => expect(subject.query('SELECT 1', [])).rejects.toThrow(DatabaseUnavailable));
    await expect(subject.transaction(async (tx) => tx.query('SELECT 1'))).rejects.toThrow(
      'which Purser 0.1.0 cannot read; run 0.2.0 or newer',
    );
    await expect(check()).rejects.toThrow('cannot read');
    expect(unreadable()).toBe(1);
  });

  test('a running process is unavailable also if a statement fails before the notification arrives', async () => {
    const { db: subject, unreadable } = guarded({ ...db, listen: () => undefined });
    await migrate(other, [...ours, table, contract], { build: '0.2.0', contract: true });
    await expect(readOld(subject)).rejects.toThrow(DatabaseUnavailable);
    expect(unreadable()).toBe(1);
  });
});
