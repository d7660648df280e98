/**
 * Loads frames into an empty database of either engine. The migrations that the source had create the schema; later ones are
 * applied to the loaded data. Every frame is a transaction that also stores the progress, so an interrupted load can continue with
 * the same source. The progress table exists until the load is complete, and no service starts while it exists.
 */
import type { Database, Queryable } from '../database.ts';
import { type Migration, migrate } from '../migrate.ts';
import type { BulkConnection } from './bulk-connection.ts';
import { countLines } from './database-source.ts';
import type { TransferFrame, TransferHeader, TransferSource } from './frames.ts';
import { columnList, type Partition, quoted, readTables, readTotals } from './table-catalog.ts';

export const progressTable = 'transfer_progress';

export class TransferError extends Error {
  override readonly name = 'TransferError';
}

/** Prevents a start on a database that is only partly loaded. */
export async function requireCompleteDatabase(db: Queryable): Promise<void> {
  if (await tableExists(db, progressTable)) {
    throw new TransferError(
      'the database contains an unfinished restore or move: run the command again, or drop the database',
    );
  }
}

async function tableExists(db: Queryable, name: string): Promise<boolean> {
  const [row] = await db.query<{ found: string | null }>('SELECT to_regclass($1)::text AS found', [name]);
  return row?.found != null;
}

/** Returns the migrations of the source; throws if this build does not have all of them. */
export function migrationsOf(header: TransferHeader, known: readonly Migration[]): Migration[] {
  return header.migrations.map(({ version, name, checksum }) => {
    const migration = known.find((one) => one.version === version);
    if (migration === undefined) {
      throw new TransferError(
        `the data has migration ${name}, which this version of Purser does not know; use version ${header.version} or newer`,
      );
    }
    if (migration.checksum !== checksum) {
      throw new TransferError(`migration ${name} differs from the one that the data was written with`);
    }
    return migration;
  });
}

/** The migrations that this build has, and its version. */
export interface KnownSchema {
  readonly migrations: readonly Migration[];
  readonly build: string;
}

/** Creates the schema in an empty database. `resumes` is true if an earlier load of the same source continues. */
export async function prepareTarget(
  db: Database,
  header: TransferHeader,
  { migrations: known, build }: KnownSchema,
): Promise<{ readonly resumes: boolean }> {
  const migrations = migrationsOf(header, known);
  const resumes = await tableExists(db, progressTable);
  if (resumes) {
    await requireSameSource(db, header);
  } else {
    await requireEmpty(db);
    await db.query(`CREATE TABLE ${progressTable} (
      source_id text PRIMARY KEY,
      prepared bool NOT NULL DEFAULT false,
      next_frame int8 NOT NULL DEFAULT 0)`);
    await db.query(`INSERT INTO ${progressTable} (source_id) VALUES ($1)`, [header.id]);
  }
  const [progress] = await db.query<{ prepared: boolean }>(`SELECT prepared FROM ${progressTable}`, []);
  if (progress?.prepared !== true) {
    await migrate(db, migrations, { build });
    await createPartitions(db, header.partitions);
    // Deletes rows that migrations have inserted, because the source has them too.
    const tables = header.tables.map(({ name }) => quoted(name)).join(', ');
    await db.transaction(
      async (tx) => {
        await tx.query(`TRUNCATE ${tables}`);
        await tx.query(`UPDATE ${progressTable} SET prepared = true`);
      },
      { patient: true },
    );
  }
  return { resumes };
}

async function requireSameSource(db: Queryable, { id }: TransferHeader): Promise<void> {
  const [progress] = await db.query<{ source_id: string }>(`SELECT source_id FROM ${progressTable}`, []);
  if (progress !== undefined && progress.source_id !== id) {
    throw new TransferError(
      'the target contains an unfinished restore or move of other data; create an empty database and try again',
    );
  }
  await db.query(`INSERT INTO ${progressTable} (source_id) VALUES ($1) ON CONFLICT DO NOTHING`, [id]);
}

async function requireEmpty(db: Queryable): Promise<void> {
  const tables = await db.query<{ name: string }>(
    `SELECT relname::text AS name FROM pg_class
      WHERE relnamespace = current_schema()::regnamespace AND relkind IN ('r', 'p', 'v', 'm') ORDER BY 1 LIMIT 3`,
    [],
  );
  if (tables.length > 0) {
    throw new TransferError(
      `the target is not empty: it has the table ${tables[0]?.name}. Create an empty database and use that.`,
    );
  }
}

const partitionName = /^[a-z][a-z0-9_]{0,62}$/;
const partitionBound = /^(DEFAULT|FOR VALUES FROM \('[0-9 :.+-]+'\) TO \('[0-9 :.+-]+'\))$/;

/** Creates the partitions. Their names and bounds are checked, because they come from a file and become part of a statement. */
async function createPartitions(db: Database, partitions: readonly Partition[]): Promise<void> {
  for (const { name, parent, bound } of partitions) {
    if (!partitionName.test(name) || !partitionName.test(parent) || !partitionBound.test(bound)) {
      throw new TransferError(`the partition ${name} is not valid`);
    }
    await db.query(`CREATE TABLE IF NOT EXISTS ${name} PARTITION OF ${parent} ${bound}`);
  }
}

export interface LoadOptions {
  /** Stores open holds where the engine keeps them, in the transaction of the frame. */
  storeHolds(connection: BulkConnection, records: readonly string[]): Promise<void>;
  onFrame?(frame: TransferFrame): void;
}

/** Loads all frames that are not loaded yet, then compares every table with the source. */
export async function loadFrames(
  connection: BulkConnection,
  { header, frames }: TransferSource,
  { storeHolds, onFrame }: LoadOptions,
): Promise<void> {
  const tables = new Map(header.tables.map((table) => [table.name, table]));
  await requireColumns(connection, header);
  // Commits need not be synced: the progress is in the same transaction, so frames that a crash loses are loaded again.
  await connection.query('SET synchronous_commit = off');
  const [progress] = await connection.query<{ next_frame: bigint }>(
    `SELECT next_frame FROM ${progressTable}`,
  );
  const nextFrame = Number(progress?.next_frame ?? 0n);
  let index = nextFrame;
  let end: Extract<TransferFrame, { kind: 'end' }> | undefined;
  for await (const frame of frames(nextFrame)) {
    if (frame.kind === 'end') {
      end = frame;
    } else {
      await connection.query('BEGIN');
      if (frame.kind === 'rows') {
        const table = tables.get(frame.table);
        if (table === undefined || countLines(frame.data) !== frame.rows) {
          throw new TransferError(`the data of table ${frame.table} is damaged`);
        }
        await connection.copyIn(`COPY ${quoted(table.name)} (${columnList(table)}) FROM STDIN`, frame.data);
      } else {
        await storeHolds(connection, frame.records);
      }
      await connection.query(`UPDATE ${progressTable} SET next_frame = ${index + 1}; COMMIT`);
    }
    index += 1;
    onFrame?.(frame);
  }
  if (end === undefined) {
    throw new TransferError('the data ends early');
  }
  await connection.query('SET synchronous_commit = on');
  await requireEqualTables(connection, header, end);
}

/** Throws unless a table has exactly the columns of the source. */
async function requireColumns(connection: BulkConnection, header: TransferHeader): Promise<void> {
  const here = new Map((await readTables(connection, () => false)).map((table) => [table.name, table]));
  for (const { name, columns } of header.tables) {
    const expected = here.get(name)?.columns ?? [];
    if (columns.join() !== expected.join()) {
      throw new TransferError(
        `table ${name} has the columns ${columns.join(', ')} in the source, and ${expected.join(', ')} in the target`,
      );
    }
  }
}

async function requireEqualTables(
  connection: BulkConnection,
  header: TransferHeader,
  end: Extract<TransferFrame, { kind: 'end' }>,
): Promise<void> {
  for (const table of header.tables) {
    const expected = end.tables[table.name];
    const loaded = await readTotals(connection, table);
    if (expected?.rows !== loaded.rows || expected.digest !== loaded.digest) {
      throw new TransferError(
        `table ${table.name} differs from the source: ${expected?.rows} rows with digest ${expected?.digest} there, ` +
          `${loaded.rows} rows with digest ${loaded.digest} here`,
      );
    }
  }
}

/** Applies the migrations that are newer than the source, and updates the statistics of the query planner. */
export async function finishSchema(db: Database, { migrations, build }: KnownSchema): Promise<void> {
  await migrate(db, migrations, { build });
  await db.transaction((tx) => tx.query('ANALYZE'), { patient: true });
}

/** Ends the load. From now on a service may start on the database. */
export async function markComplete(db: Database): Promise<void> {
  await db.query(`DROP TABLE ${progressTable}`);
}
