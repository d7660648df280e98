/** Loads a backup or a moved data directory into PostgreSQL or into a data directory, and verifies the result. */
import { join } from 'node:path';
import { version } from '../config/version.ts';
import { holdsOfRecords, writeHoldLog } from '../ledger/embedded/stored-holds.ts';
import type { Hold } from '../ledger/holds/hold.ts';
import { insertHoldRecords } from '../ledger/postgres/stored-holds.ts';
import type { Database } from '../platform/db/database.ts';
import { readMigrations } from '../platform/db/migrate.ts';
import { openPglite } from '../platform/db/pglite/pglite.ts';
import { openPostgres } from '../platform/db/postgres/postgres.ts';
import { openPgliteBulk, openPostgresBulk } from '../platform/db/transfer/bulk-connection.ts';
import {
  finishSchema,
  type LoadOptions,
  loadFrames,
  markComplete,
  prepareTarget,
} from '../platform/db/transfer/database-target.ts';
import type { TransferSource } from '../platform/db/transfer/frames.ts';
import { createLog } from '../platform/log.ts';
import { type LedgerVerification, verifyLedger } from './verify-ledger.ts';

export interface TransferOptions {
  readonly onFrame: NonNullable<LoadOptions['onFrame']>;
  /** Called once the target is known to be usable and has its schema. */
  onPrepared?(): void;
  /** Called once all rows are loaded and match, before the ledger is reconciled. */
  onVerifying?(): void;
}

/** Loads into PostgreSQL. Continues an interrupted attempt with the same source. */
export async function loadIntoPostgres(
  url: string,
  source: TransferSource,
  { onFrame, onPrepared, onVerifying }: TransferOptions,
): Promise<LedgerVerification & { readonly resumed: boolean }> {
  const open = () =>
    openPostgres({ url, connections: 2, log: createLog('silent') }).catch((error: Error) => {
      throw new Error(`cannot reach PostgreSQL: ${error.message}`, { cause: error });
    });
  const migrations = await readMigrations();
  const { resumes: resumed } = await using(open, (db) =>
    prepareTarget(db, source.header, { migrations, build: version }),
  );
  onPrepared?.();
  const connection = await openPostgresBulk(url);
  try {
    await loadFrames(connection, source, { storeHolds: insertHoldRecords, onFrame });
  } finally {
    await connection.close();
  }
  onVerifying?.();
  return using(open, async (db) => {
    await finishSchema(db, { migrations, build: version });
    const verification = await verifyLedger(db, '');
    await markComplete(db);
    return { ...verification, resumed };
  });
}

/** Loads into a directory, which must not exist yet. An interrupted attempt is deleted and repeated. */
export async function loadIntoDirectory(
  dataDir: string,
  source: TransferSource,
  { onFrame, onVerifying }: TransferOptions,
): Promise<LedgerVerification> {
  const directory = join(dataDir, 'database');
  const open = () => openPglite({ directory, durability: 'sync', log: createLog('silent') });
  const migrations = await readMigrations();
  await using(open, (db) => prepareTarget(db, source.header, { migrations, build: version }));
  const holds: Hold[] = [];
  const connection = await openPgliteBulk(directory);
  try {
    await loadFrames(connection, source, {
      async storeHolds(_, records) {
        holds.push(...holdsOfRecords(records));
      },
      onFrame,
    });
  } finally {
    await connection.close();
  }
  await writeHoldLog(join(dataDir, 'holds'), holds);
  onVerifying?.();
  return using(open, async (db) => {
    await finishSchema(db, { migrations, build: version });
    const verification = await verifyLedger(db, dataDir);
    await markComplete(db);
    return verification;
  });
}

async function using<Result>(
  open: () => Promise<Database>,
  work: (db: Database) => Promise<Result>,
): Promise<Result> {
  const db = await open();
  try {
    return await work(db);
  } finally {
    await db.close();
  }
}
