/** Opens the data of an installation for a backup or a move: PostgreSQL in a snapshot transaction, or a data directory. */
import { randomUUID } from 'node:crypto';
import { existsSync } from 'node:fs';
import { join } from 'node:path';
import { version } from '../config/version.ts';
import { readStoredHolds, recordBatches } from '../ledger/embedded/stored-holds.ts';
import { isInstanceTable } from '../ledger/instance-tables.ts';
import { readHoldRecords } from '../ledger/postgres/stored-holds.ts';
import { isDistributed } from '../platform/db/citus/citus-cluster.ts';
import { openPglite } from '../platform/db/pglite/pglite.ts';
import {
  type BulkConnection,
  openPgliteBulk,
  openPostgresBulk,
} from '../platform/db/transfer/bulk-connection.ts';
import { openDatabaseSource } from '../platform/db/transfer/database-source.ts';
import type { TransferSource } from '../platform/db/transfer/frames.ts';
import { createLog } from '../platform/log.ts';

/** Reads a data directory that no service has open: the caller has locked it, or it is a snapshot. */
export async function withEmbeddedSource<Result>(
  dataDir: string,
  { id = randomUUID(), createdAt = new Date() }: { readonly id?: string; readonly createdAt?: Date },
  work: (source: TransferSource) => Promise<Result>,
): Promise<Result> {
  const directory = join(dataDir, 'database');
  if (!existsSync(join(directory, 'PG_VERSION'))) {
    throw new Error(`there is no database in ${dataDir} (SVC_DATA_DIR)`);
  }
  const db = await openPglite({ directory, durability: 'sync', log: createLog('silent') });
  const holds = await readStoredHolds(db, join(dataDir, 'holds')).finally(() => db.close());
  const connection = await openPgliteBulk(directory);
  try {
    return await work(
      await openDatabaseSource(connection, {
        id,
        createdAt,
        version,
        engine: 'embedded',
        isExcluded: isInstanceTable,
        holds: () => recordBatches(holds),
      }),
    );
  } finally {
    await connection.close();
  }
}

/** Reads a database. Other sessions are not blocked, but the server keeps rows that they delete until the end. */
export async function withPostgresSource<Result>(
  url: string,
  work: (source: TransferSource) => Promise<Result>,
): Promise<Result> {
  const connection = await openPostgresBulk(url);
  try {
    await requireOneServer(connection);
    await connection.query('BEGIN ISOLATION LEVEL REPEATABLE READ READ ONLY');
    return await work(
      await openDatabaseSource(connection, {
        id: randomUUID(),
        createdAt: new Date(),
        version,
        engine: 'postgres',
        isExcluded: isInstanceTable,
        holds: () => readHoldRecords(connection),
      }),
    );
  } finally {
    await connection.close();
  }
}

/** Throws for a database on several servers. A snapshot covers one server, so rows from several would be inconsistent. */
async function requireOneServer(connection: BulkConnection): Promise<void> {
  if (await isDistributed({ engine: 'postgres', query: (sql) => connection.query(sql) })) {
    throw new Error(
      'the database is distributed over a Citus cluster; use the physical backups of its nodes with a common restore point (citus_create_restore_point)',
    );
  }
}
