/** Writes data that would take too long to create over HTTP directly to the database, before the service starts. */
import { version } from '../src/config/version.ts';
import type { Database } from '../src/platform/db/database.ts';
import { insertMany } from '../src/platform/db/database.ts';
import { migrate, readMigrations } from '../src/platform/db/migrate.ts';
import { openDatabase } from '../src/platform/db/open-database.ts';
import { generateKey, keyDigest, keyHint } from '../src/platform/http/routes/key-format.ts';
import { createLog } from '../src/platform/log.ts';
import { type BenchOrg, plenty, scopes } from './bench-org.ts';
import { temporaryDirectory } from './processes.ts';

export interface Place {
  readonly dataDir: string;
  readonly databaseUrl?: string;
}

/** Opens and migrates the database of a place. */
export async function openPlace({ dataDir, databaseUrl }: Place): Promise<Database> {
  const db = await openDatabase(
    { dataDir, databaseUrl, databaseConnections: 10, durability: 'sync' },
    createLog('silent'),
  );
  await migrate(db, await readMigrations(), { build: version });
  return db;
}

/** Creates a data directory of the embedded engine, filled by `fill`. */
export async function seededDirectory<Result>(
  fill: (db: Database) => Promise<Result>,
): Promise<{ readonly dataDir: string; readonly seeded: Result }> {
  const dataDir = temporaryDirectory();
  const db = await openPlace({ dataDir });
  try {
    return { dataDir, seeded: await fill(db) };
  } finally {
    await db.close();
  }
}

/** Transaction option for statements over many rows, which take longer than the service allows. */
export const patiently = { patient: true };

/** Creates orgs with a key each. */
export async function seedOrgs(db: Database, count: number): Promise<BenchOrg[]> {
  const now = new Date();
  const orgs = Array.from({ length: count }, (_, index) => ({
    id: `org_${String(index).padStart(26, '0')}`,
    key: generateKey('bench'),
  }));
  await db.transaction(async (tx) => {
    await insertMany(
      tx,
      'orgs',
      {
        id: 'text',
        name: 'text',
        slug: 'text',
        timezone: 'text',
        status: 'text',
        created_at: 'timestamptz',
        updated_at: 'timestamptz',
      },
      orgs.map(({ id }, index) => ({
        id,
        name: `Bench ${index}`,
        slug: `bench-${index}`,
        timezone: 'UTC',
        status: 'active',
        created_at: now,
        updated_at: now,
      })),
    );
    await tx.query('INSERT INTO ledger_orgs (org_id, limits_version) SELECT id, 1 FROM orgs');
    await insertMany(
      tx,
      'keys',
      {
        org_id: 'text',
        id: 'text',
        digest: 'text',
        hint: 'text',
        name: 'text',
        role: 'text',
        scopes: 'text[]',
        created_at: 'timestamptz',
      },
      orgs.map(({ id, key }) => ({
        org_id: id,
        id: keyIdOf(id),
        digest: keyDigest(key),
        hint: keyHint(key),
        name: 'bench',
        role: 'owner',
        scopes,
        created_at: now,
      })),
    );
  }, patiently);
  return orgs;
}

export function keyIdOf(orgId: string): string {
  return orgId.replace('org_', 'key_');
}

/** Creates budgets that never deny, numbered from 1; `match` is SQL and may use the number `n`. */
export async function seedBudgets(
  db: Database,
  orgs: readonly BenchOrg[],
  perOrg: number,
  match: string,
): Promise<void> {
  await db.transaction(
    (tx) =>
      tx.query(
        `INSERT INTO limits (org_id, id, kind, name, unit, match, period, capacity, enforcement, alert_thresholds,
                             created_at, updated_at)
         SELECT org_id, 'bud_' || lpad(n::text, 26, '0'), 'budget', 'budget ' || n, 'usd', ${match},
                (ARRAY['day', 'week', 'month'])[1 + n % 3], $3::int8 * 1000000000, 'block', '{80,100}', now(), now()
           FROM unnest($1::text[]) AS org_id CROSS JOIN generate_series(1, $2::int4) AS n`,
        [orgs.map(({ id }) => id), perOrg, plenty],
      ),
    patiently,
  );
}
