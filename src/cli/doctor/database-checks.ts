/** Checks of the database on either engine: reachable, migrated, and its clock. */
import { version } from '../../config/version.ts';
import type { Database } from '../../platform/db/database.ts';
import { pendingMigrations, readMigrations } from '../../platform/db/migrate.ts';
import { type Check, type Finding, fail, ok, skip, warn } from './check.ts';
import type { InspectedDeployment } from './deployment.ts';

export const databaseChecks: readonly Check[] = [
  { id: 'database', run: checkDatabase },
  { id: 'migrations', run: withDatabase(checkMigrations) },
  { id: 'clock', run: withDatabase(checkClock) },
];

/** Runs a check that needs the open database. */
export function withDatabase(
  check: (db: Database, deployment: InspectedDeployment) => Promise<Finding>,
): (deployment: InspectedDeployment) => Promise<Finding> {
  return async (deployment) => {
    const { database } = deployment;
    switch (database.state) {
      case 'open':
        return check(database.db, deployment);
      case 'in-use':
        return skip('The embedded database belongs to the running service.');
      case 'not-created':
        return skip('There is no database yet.');
      case 'unavailable':
        return skip('The database is not available.');
    }
  };
}

const oldestVersion = 150_000;

async function checkDatabase({
  database,
  config,
  service,
  serviceUrl,
}: InspectedDeployment): Promise<Finding> {
  switch (database.state) {
    case 'not-created':
      return ok(`None yet; \`serve\` creates it in ${config.dataDir}.`);
    case 'unavailable':
      return fail(
        `${capitalized(database.reason)}.`,
        config.databaseUrl === undefined
          ? 'Repair or restore the data directory; see the log of the service.'
          : 'Check SVC_DATABASE_URL, the network and the log of PostgreSQL.',
      );
    case 'in-use':
      return service === undefined
        ? warn(
            `${capitalized(database.reason.split('. ')[0] ?? '')}, and no service responds at ${serviceUrl}.`,
            'Pass the URL of the service with --url, or stop that process.',
          )
        : ok('Embedded, in use by the running service.');
    case 'open':
      return checkVersion(database.db);
  }
}

async function checkVersion(db: Database): Promise<Finding> {
  const [row] = await db.query<{ version: string; number: number }>(
    `SELECT split_part(version(), ' on ', 1) AS version, current_setting('server_version_num')::int4 AS number`,
    [],
  );
  const finding = `${row?.version}, ${db.engine === 'embedded' ? 'embedded' : 'reachable'}.`;
  return (row?.number ?? 0) >= oldestVersion
    ? ok(finding)
    : fail(finding, 'Upgrade to PostgreSQL 15 or newer.');
}

async function checkMigrations(db: Database): Promise<Finding> {
  try {
    const { due, postponed } = await pendingMigrations(db, await readMigrations(), { build: version });
    if (due.length > 0) {
      return warn(
        `${due.length} pending, the first is ${due[0]?.name}.`,
        'Run `purser migrate`, or start the service, which applies them.',
      );
    }
    return ok(
      postponed.length === 0
        ? 'All migrations are applied.'
        : `${postponed.length} wait for \`purser migrate --contract\`, which makes a return to the previous version impossible.`,
    );
  } catch (error) {
    return fail(
      `${capitalized((error as Error).message)}.`,
      'Run the version of Purser that this database belongs to, or a newer one.',
    );
  }
}

const skewMs = { warn: 1_000, fail: 60_000 };
const samples = 3;

/** Compares the clocks. Windows follow the clock of the database; sessions, tokens and signatures follow that of this machine. */
async function checkClock(db: Database): Promise<Finding> {
  const remedy = 'Synchronize both machines by NTP (`timedatectl set-ntp true`).';
  const aheadMs = db.engine === 'postgres' ? await databaseAheadMs(db) : await lastWriteAheadMs(db);
  const seconds = (Math.abs(aheadMs) / 1_000).toFixed(1);
  if (db.engine === 'embedded') {
    return aheadMs > skewMs.warn
      ? fail(
          `The clock of this machine is ${seconds} s behind the last migration.`,
          'Set the clock of this machine.',
        )
      : ok('The clock of this machine is not behind the data.');
  }
  const finding = `The clock of this machine is ${seconds} s ${aheadMs > 0 ? 'behind' : 'ahead of'} that of the database.`;
  if (Math.abs(aheadMs) > skewMs.fail) {
    return fail(finding, remedy);
  }
  return Math.abs(aheadMs) > skewMs.warn ? warn(finding, remedy) : ok(finding);
}

/** Uses the sample with the shortest round trip: its error is at most half of that. */
async function databaseAheadMs(db: Database): Promise<number> {
  let best = { aheadMs: 0, roundTripMs: Number.POSITIVE_INFINITY };
  for (let left = samples; left > 0; left -= 1) {
    const sentMs = Date.now();
    const [row] = await db.query<{ now: Date }>('SELECT clock_timestamp() AS now', []);
    const receivedMs = Date.now();
    const roundTripMs = receivedMs - sentMs;
    if (row !== undefined && roundTripMs < best.roundTripMs) {
      best = { aheadMs: row.now.getTime() - (sentMs + receivedMs) / 2, roundTripMs };
    }
  }
  return best.aheadMs;
}

/** The embedded database uses the clock of this machine. So this only detects a clock that was set back to before the last migration. */
async function lastWriteAheadMs(db: Database): Promise<number> {
  const [row] = await db.query<{ last: Date | null }>(
    `SELECT max(applied_at) AS last FROM schema_migrations`,
    [],
  );
  return row?.last == null ? 0 : row.last.getTime() - Date.now();
}

export function capitalized(text: string): string {
  const trimmed = text.trim().replace(/\.$/, '');
  return `${trimmed.charAt(0).toUpperCase()}${trimmed.slice(1)}`;
}
