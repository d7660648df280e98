/** `purser migrate --distribute`: on an empty and a filled database, repeated, and where it must refuse. */
import { randomBytes } from 'node:crypto';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { version } from '../../src/config/version.ts';
import { distributionProblems } from '../../src/platform/db/citus/verify-distribution.ts';
import type { Database } from '../../src/platform/db/database.ts';
import { type Migration, migrate, readMigrations } from '../../src/platform/db/migrate.ts';
import { parseMigration } from '../../src/platform/db/migration-files.ts';
import { openPostgres } from '../../src/platform/db/postgres/postgres.ts';
import { createLog } from '../../src/platform/log.ts';
import { endAllProcesses, runPurser } from '../support/child-process.ts';
import { createOnAllNodes, joinNodes, runOn } from '../support/citus-cluster.ts';
import { type CitusWorld, migrateWith, openCitusWorld } from '../support/citus-world.ts';
import { databaseUrl } from '../support/global-setup.ts';
import { createSpendingOrg, spending } from '../support/money.ts';
import { settingsOf, startPurser } from '../support/service-process.ts';

let world: CitusWorld;
beforeAll(async () => {
  world = await openCitusWorld();
});
afterAll(async () => {
  await endAllProcesses();
  await world?.close();
});

const nodes = () => [world.cluster.coordinator, ...world.cluster.workers].map(({ url }) => url);

/** Creates a database, without the extension or as a cluster. Returns its URL. */
async function newDatabase({ joined }: { joined: boolean }): Promise<string> {
  const name = `purser_${randomBytes(4).toString('hex')}`;
  await createOnAllNodes(nodes(), name);
  if (joined) {
    await joinNodes(nodes(), name);
  }
  return databaseUrl(world.cluster.url, name);
}

const migrateAt = (url: string, ...options: string[]) => migrateWith(url, world.place.dataDir, ...options);

async function withDatabase(url: string, use: (db: Database) => Promise<void>): Promise<void> {
  const db = await openPostgres({ url, connections: 2, log: createLog('silent') });
  try {
    await use(db);
  } finally {
    await db.close();
  }
}

describe('an empty database', () => {
  test('an empty database has every table in its place, and stays so when it is distributed again', async () => {
    expect(world.distributed).toContain('distributed ledger_entries by org_id');
    expect(world.distributed).toContain('distributed audit_log by tenant_id');
    expect(world.distributed).toContain('copied orgs to every node');
    expect(world.distributed).toContain('kept sessions on the coordinator');
    await withDatabase(world.url, async (db) => {
      expect(await distributionProblems(db)).toEqual([]);
    });
    const again = await migrateAt(world.url, '--distribute');
    expect(again).toEqual({
      code: 0,
      output:
        'The database is up to date.\nThe database is distributed: every table and shard is in its place.\n',
    });
  });

  test('an empty database is found sound by the doctor', async () => {
    const { stdout } = await runPurser(['doctor'], {
      SVC_DATABASE_URL: world.url,
      SVC_DATA_DIR: world.place.dataDir,
    });
    expect(stdout).toMatch(/ok\s+citus\b.*every table and shard is in its place/i);
  });

  test('distributes the tables of later migrations', async () => {
    const url = await newDatabase({ joined: true });
    expect(await migrateAt(url, '--distribute')).toMatchObject({ code: 0 });
    const added: Migration = parseMigration(
      '9001_teapots.sql',
      [
        '-- phase: expand',
        '-- readable-from: 0.1.0',
        'CREATE TABLE teapots (org_id text NOT NULL REFERENCES orgs (id), id text NOT NULL, PRIMARY KEY (org_id, id));',
        'ALTER TABLE runs ADD COLUMN teapot text;',
        'CREATE INDEX teapots_by_id ON teapots (id);',
      ].join('\n'),
    );
    await withDatabase(url, async (db) => {
      await migrate(db, [...(await readMigrations()), added], { build: version });
      expect(await distributionProblems(db)).toEqual([]);
      const rows = await db.query<{ column: string }>(
        `SELECT column_to_column_name(logicalrelid, partkey) AS column FROM pg_dist_partition
          WHERE logicalrelid = 'teapots'::regclass AND partmethod = 'h'`,
        [],
      );
      expect(rows).toEqual([{ column: 'org_id' }]);
    });
  });
});

describe('a filled database', () => {
  test('keeps its orgs, keys and ledger', async () => {
    const url = await newDatabase({ joined: true });
    const place = { ...world.place, databaseUrl: url };
    const before = await startPurser(settingsOf(place));
    const orgs = [await createSpendingOrg(before, 'One'), await createSpendingOrg(before, 'Two')];
    const runIds = new Map<string, string>();
    for (const org of orgs) {
      const through = spending(before, org);
      expect((await through.cap('10')).status).toBe(200);
      const run = await through.run({ cost_usd: '2.5', external_id: 'first' });
      expect(run.status).toBe(201);
      runIds.set(org.id, run.json.id);
      expect((await through.decide({ estimated_cost_usd: '1' })).status).toBe(200);
    }
    const running = await migrateAt(url, '--distribute');
    expect(running.code).not.toBe(0);
    expect(running.output).toContain('processes of Purser are running');
    await before.end('SIGTERM');

    expect(await migrateAt(url, '--distribute')).toMatchObject({ code: 0 });
    const after = await startPurser(settingsOf(place));
    for (const org of orgs) {
      const through = spending(after, org);
      const { settled, held } = await balanceOf(through);
      expect({ settled, held }).toEqual({ settled: '2.5', held: '1' });
      // The same external id is the same run; 6.5 of 10 dollars are left.
      const again = await through.run({ cost_usd: '2.5', external_id: 'first' });
      expect(again.json.id).toBe(runIds.get(org.id));
      expect((await through.decide({ estimated_cost_usd: '6.6' })).status).toBe(402);
      expect((await through.decide({ estimated_cost_usd: '6.5' })).status).toBe(200);
      await through.balanced();
    }
    await after.end('SIGTERM');
  });

  async function balanceOf(through: ReturnType<typeof spending>) {
    const { json } = await through.send('GET', '/v1/runs?limit=10');
    const holds = await through.holds();
    return {
      settled: json.data[0].cost_usd as string,
      held: (holds[0] as unknown as { held_usd: string }).held_usd,
    };
  }
});

describe('is refused', () => {
  test('where Citus is missing', async () => {
    const url = await newDatabase({ joined: false });
    const { code, output } = await migrateAt(url, '--distribute');
    expect(code).not.toBe(0);
    expect(output).toContain('the extension citus is not installed in this database');
  });

  test('distribution is refused on the embedded engine', async () => {
    const { code, stderr } = await runPurser(['migrate', '--distribute'], {
      SVC_DATA_DIR: world.place.dataDir,
    });
    expect(code).not.toBe(0);
    expect(stderr).toContain('the embedded database cannot be distributed');
  });

  test('distribution is refused if the cluster has no workers', async () => {
    const url = await newDatabase({ joined: false });
    await runOn(url, 'CREATE EXTENSION citus');
    const without = await migrateAt(url, '--distribute');
    expect(without.output).toContain('the coordinator has no address');
    const { hostname, port } = new URL(url);
    await runOn(url, `SELECT citus_set_coordinator_host('${hostname}', ${port})`);
    expect((await migrateAt(url, '--distribute')).output).toContain('no node takes shards');
  });

  test('distribution is refused if a table has no tenant column, or a unique index without it', async () => {
    const url = await newDatabase({ joined: true });
    expect(await migrateAt(url)).toMatchObject({ code: 0 });
    await runOn(
      url,
      'CREATE TABLE kettles (id text PRIMARY KEY)',
      'CREATE TABLE cups (org_id text NOT NULL, id text PRIMARY KEY)',
    );
    const { code, output } = await migrateAt(url, '--distribute');
    expect(code).not.toBe(0);
    expect(output).toContain('table kettles has no column org_id or tenant_id');
    expect(output).toContain('the unique index cups_pkey of table cups does not contain org_id');
  });
});
