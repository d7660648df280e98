/** Checks of the PostgreSQL settings that Purser's guarantees depend on. */
import type { Database } from '../../platform/db/database.ts';
import { type Check, type Finding, fail, ok, skip, warn } from './check.ts';
import { withDatabase } from './database-checks.ts';
import type { InspectedDeployment } from './deployment.ts';

export const postgresChecks: readonly Check[] = [
  { id: 'postgres-writable', run: withDatabase(checkWritable) },
  { id: 'postgres-durability', run: withDatabase(checkDurability) },
  { id: 'postgres-standby', run: withDatabase(checkStandbys) },
  { id: 'postgres-connections', run: withDatabase(checkConnections) },
  { id: 'postgres-privileges', run: withDatabase(checkPrivileges) },
  { id: 'postgres-settings', run: withDatabase(checkSettings) },
  { id: 'postgres-old-transactions', run: withDatabase(checkOldTransactions) },
];

async function checkWritable(db: Database): Promise<Finding> {
  const [row] = await db.query<{ standby: boolean; read_only: string }>(
    `SELECT pg_is_in_recovery() AS standby, current_setting('transaction_read_only') AS read_only`,
    [],
  );
  if (row?.standby === true) {
    return fail('This is a standby: nothing can be written.', 'Point SVC_DATABASE_URL at the primary.');
  }
  return row?.read_only === 'on'
    ? fail(
        'Transactions are read-only by default.',
        'Run `ALTER DATABASE … RESET default_transaction_read_only`, also for the role.',
      )
    : ok('A primary that accepts writes.');
}

/** Settings that can lose acknowledged writes if they are off. */
const durabilitySettings = ['fsync', 'full_page_writes', 'synchronous_commit'] as const;

async function checkDurability(db: Database): Promise<Finding> {
  const settings = await readSettings(db, durabilitySettings);
  const off = durabilitySettings.filter((name) => settings.get(name) === 'off');
  return off.length === 0
    ? ok(
        durabilitySettings
          .map((name) => `${name} is ${settings.get(name)}`)
          .join(', ')
          .concat('.'),
      )
    : fail(
        `${off.join(' and ')} ${off.length === 1 ? 'is' : 'are'} off: a crash of the server can lose acknowledged spend.`,
        `Set ${off.map((name) => `${name} = on`).join(', ')} in postgresql.conf, and remove it from the role and the database.`,
      );
}

interface Standbys {
  readonly connected: number;
  readonly synchronous: number;
  readonly visible: boolean;
}

async function checkStandbys(db: Database): Promise<Finding> {
  const settings = await readSettings(db, ['synchronous_standby_names', 'synchronous_commit']);
  const names = settings.get('synchronous_standby_names') ?? '';
  const [row] = await db.query<Standbys>(
    `SELECT count(*)::int4 AS connected,
            count(*) FILTER (WHERE sync_state IN ('sync', 'quorum'))::int4 AS synchronous,
            count(sync_state) = count(*) AS visible
       FROM pg_stat_replication`,
    [],
  );
  const { connected = 0, synchronous = 0, visible = true } = row ?? {};
  if (!visible) {
    return skip(
      `The role may not see the ${connected} standbys. To check them: GRANT pg_monitor TO the role.`,
    );
  }
  if (names === '') {
    return connected === 0
      ? ok('No standby is connected.')
      : warn(
          `${connected} standbys are connected, none is synchronous: a failover can lose acknowledged spend.`,
          "Set synchronous_standby_names, for example to 'ANY 1 (*)'.",
        );
  }
  if (synchronous === 0) {
    return fail(
      `synchronous_standby_names is ${names}, but no synchronous standby is connected: writes wait for one.`,
      'Start the standby, or remove it from synchronous_standby_names.',
    );
  }
  return ['local', 'off'].includes(settings.get('synchronous_commit') ?? '')
    ? warn(
        `synchronous_commit is ${settings.get('synchronous_commit')}: commits do not wait for the standby.`,
        'Set synchronous_commit = on.',
      )
    : ok(`${synchronous} synchronous standbys are connected.`);
}

interface ConnectionCounts {
  readonly allowed: number;
  readonly role_limit: number;
  readonly database_limit: number;
  readonly others: number;
  readonly processes: number;
}

async function checkConnections(db: Database, { config }: InspectedDeployment): Promise<Finding> {
  const [row] = await db.query<ConnectionCounts>(
    `SELECT current_setting('max_connections')::int4 - current_setting('superuser_reserved_connections')::int4 AS allowed,
            (SELECT rolconnlimit FROM pg_roles WHERE rolname = current_user) AS role_limit,
            (SELECT datconnlimit FROM pg_database WHERE datname = current_database()) AS database_limit,
            (SELECT count(*) FROM pg_stat_activity
              WHERE backend_type = 'client backend' AND usename <> current_user)::int4 AS others,
            ${await liveProcesses(db)} AS processes`,
    [],
  );
  if (row === undefined) {
    return skip('The server did not return its limits.');
  }
  const limits = [row.allowed - row.others, row.role_limit, row.database_limit].filter((limit) => limit >= 0);
  const available = Math.min(...limits);
  const perProcess = config.databaseConnections + 1;
  // Counts one process more than now, because a rolling update starts a new one before it stops an old one.
  const needed = (Math.max(row.processes, 1) + 1) * perProcess;
  const finding = `${row.processes} processes and one more during an update need ${needed} connections, ${available} are available.`;
  const remedy =
    'Raise max_connections (and CONNECTION LIMIT), lower SVC_DATABASE_CONNECTIONS, or use a pooler.';
  if (available < perProcess) {
    return fail(finding, remedy);
  }
  return available < needed ? warn(finding, remedy) : ok(finding);
}

/** Returns an SQL expression for the number of live processes. The table does not exist before the first migration. */
async function liveProcesses(db: Database): Promise<string> {
  const [table] = await db.query<{ name: string | null }>(
    `SELECT to_regclass('processes')::text AS name`,
    [],
  );
  return table?.name == null
    ? '0'
    : `(SELECT count(*) FROM processes WHERE seen_at > now() - interval '10 seconds')::int4`;
}

async function checkPrivileges(db: Database): Promise<Finding> {
  const [row] = await db.query<{ role: string; schema: string | null; creates: boolean | null }>(
    `SELECT current_user AS role, current_schema() AS schema,
            has_schema_privilege(current_schema(), 'CREATE') AS creates`,
    [],
  );
  return row?.creates === true
    ? ok(`The role ${row.role} may create tables in the schema ${row.schema}.`)
    : fail(
        `The role ${row?.role} may not create tables in the schema ${row?.schema ?? 'public'}: migrations and partitions fail.`,
        `Run \`GRANT CREATE ON SCHEMA ${row?.schema ?? 'public'} TO ${row?.role}\`, or make the role the owner of the database.`,
      );
}

/** Settings and the values that Purser requires. */
const expectedSettings: readonly { name: string; value: string; consequence: string; remedy: string }[] = [
  {
    name: 'server_encoding',
    value: 'UTF8',
    consequence: 'names in other scripts cannot be stored',
    remedy: 'Create the database again with ENCODING UTF8.',
  },
  {
    name: 'default_transaction_isolation',
    value: 'read committed',
    consequence: 'transactions fail and are repeated without need',
    remedy: 'Run `ALTER ROLE … RESET default_transaction_isolation`.',
  },
  {
    name: 'autovacuum',
    value: 'on',
    consequence: 'deleted rows are never reclaimed, and the tables grow without bound',
    remedy: 'Set autovacuum = on.',
  },
  {
    name: 'track_counts',
    value: 'on',
    consequence: 'autovacuum does nothing without it',
    remedy: 'Set track_counts = on.',
  },
];

async function checkSettings(db: Database): Promise<Finding> {
  const settings = await readSettings(
    db,
    expectedSettings.map(({ name }) => name),
  );
  const wrong = expectedSettings.find(({ name, value }) => settings.get(name) !== value);
  return wrong === undefined
    ? ok(
        expectedSettings
          .map(({ name, value }) => `${name} is ${value}`)
          .join(', ')
          .concat('.'),
      )
    : warn(`${wrong.name} is ${settings.get(wrong.name)}: ${wrong.consequence}.`, wrong.remedy);
}

const oldTransactionMinutes = 30;

async function checkOldTransactions(db: Database): Promise<Finding> {
  const [row] = await db.query<{ pid: number; minutes: number }>(
    `SELECT pid, extract(epoch FROM now() - xact_start)::float8 / 60 AS minutes FROM pg_stat_activity
      WHERE datname = current_database() AND xact_start < now() - $1 * interval '1 minute' ORDER BY xact_start LIMIT 1`,
    [oldTransactionMinutes],
  );
  return row === undefined
    ? ok(`No transaction is older than ${oldTransactionMinutes} minutes.`)
    : warn(
        `A transaction has been open for ${row.minutes.toFixed(0)} minutes (pid ${row.pid}): deleted rows cannot be reclaimed.`,
        `End it: SELECT pg_terminate_backend(${row.pid}).`,
      );
}

async function readSettings(db: Database, names: readonly string[]): Promise<ReadonlyMap<string, string>> {
  const rows = await db.query<{ name: string; setting: string }>(
    'SELECT name, current_setting(name) AS setting FROM unnest($1::text[]) AS name',
    [names],
  );
  return new Map(rows.map(({ name, setting }) => [name, setting]));
}
