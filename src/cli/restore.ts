/** `purser restore`: restores a backup file into a new data directory, or into an empty PostgreSQL database. */
import { existsSync } from 'node:fs';
import { mkdir, rename, rm } from 'node:fs/promises';
import { join, resolve } from 'node:path';
import { Command } from 'commander';
import { type Config, loadConfig } from '../config/settings.ts';
import { counted } from '../platform/counted.ts';
import { readMigrations } from '../platform/db/migrate.ts';
import { removeMovedMarker } from '../platform/db/moved-marker.ts';
import { lockDirectory } from '../platform/db/pglite/directory-lock.ts';
import { openBackupFile } from '../platform/db/transfer/backup-file.ts';
import { migrationsOf } from '../platform/db/transfer/database-target.ts';
import type { TransferHeader, TransferSource } from '../platform/db/transfer/frames.ts';
import { syncTree } from '../platform/files/durable-files.ts';
import { readKeyFile, secretsKeyFile } from '../platform/secrets/key-ring.ts';
import { checkContext, findKey } from '../platform/secrets/secrets.ts';
import { removeSessionMarker } from '../server/unsynced-session.ts';
import { showProgress } from './transfer-progress.ts';
import { loadIntoDirectory, loadIntoPostgres } from './transfer-target.ts';
import type { LedgerVerification } from './verify-ledger.ts';
import { print } from './with-database.ts';

export function restoreCommand(): Command {
  return new Command('restore')
    .description(
      'Restore a backup into the data directory, or into an empty PostgreSQL database if SVC_DATABASE_URL is set. ' +
        'A backup of either engine can be restored into the other. Stop the service first.',
    )
    .argument('<file>', 'a file that `purser backup` has written')
    .option('--check', 'only check the file, its schema and the encryption key; write nothing')
    .option('--replace', 'move an existing database aside, to `replaced-…` in the data directory')
    .action(restore);
}

interface RestoreOptions {
  readonly check?: boolean;
  readonly replace?: boolean;
}

async function restore(name: string, { check = false, replace = false }: RestoreOptions): Promise<void> {
  const config = loadConfig();
  process.stderr.write('checking the SHA-256 of the file\n');
  const source = await openBackupFile(resolve(name));
  try {
    const { header } = source;
    migrationsOf(header, await readMigrations());
    await requireKey(config, header);
    print(`backup      ok: ${header.createdAt}, ${header.engine}, version ${header.version}`);
    if (check) {
      return;
    }
    const verified = await (config.databaseUrl === undefined
      ? restoreDirectory(config.dataDir, source, replace)
      : restorePostgres(config.databaseUrl, source, replace));
    printVerification(verified);
    print(
      `restored    ${config.databaseUrl === undefined ? config.dataDir : 'the database of SVC_DATABASE_URL'}; start the service with \`purser serve\``,
    );
  } finally {
    await source.close();
  }
}

export function printVerification(verification: LedgerVerification): void {
  print('tables      equal to the source: row counts and content digests');
  printReconciliation(verification);
}

export function printReconciliation({ orgs, counters, openHolds }: LedgerVerification): void {
  const verified = [
    counted(orgs, 'organization', 'organizations'),
    counted(counters, 'counter', 'counters'),
    counted(openHolds, 'open hold', 'open holds'),
  ];
  print(`ledger      reconciled: ${verified.join(', ')}, no drift`);
}

/** Throws if the key differs from that of the backup. The restore would succeed, but nothing could be decrypted. */
async function requireKey({ secretsKeys, dataDir }: Config, { keyCheck }: TransferHeader): Promise<void> {
  if (keyCheck === null) {
    return;
  }
  const file = secretsKeyFile(dataDir);
  const keys = secretsKeys ?? readKeyFile(file);
  if (keys === undefined) {
    throw new Error(
      'the backup contains secrets, and there is no key to open them: set SVC_SECRETS_KEY to the key that the backup ' +
        `was made with, or copy that installation's key file to ${file}`,
    );
  }
  if (findKey(keys, Buffer.from(keyCheck, 'base64'), checkContext) === undefined) {
    const given = secretsKeys === undefined ? `the key in ${file}` : 'SVC_SECRETS_KEY';
    throw new Error(
      `${given} cannot open the secrets in the backup: use the key that the backup was made with`,
    );
  }
}

async function restorePostgres(
  url: string,
  source: TransferSource,
  replace: boolean,
): Promise<LedgerVerification> {
  if (replace) {
    throw new Error('--replace is for data directories; create an empty PostgreSQL database instead');
  }
  const progress = showProgress('loading');
  return loadIntoPostgres(url, source, {
    onFrame: progress.onFrame,
    onVerifying() {
      progress.done();
      process.stderr.write('reconciling the ledger\n');
    },
  });
}

const restoringName = 'restoring';
const parts = ['holds', 'database'] as const;

/**
 * Loads into a directory next to the final one and renames it at the end, so that an interrupted restore leaves no database that
 * could be started.
 */
async function restoreDirectory(
  dataDir: string,
  source: TransferSource,
  replace: boolean,
): Promise<LedgerVerification> {
  const lock = await lockDirectory(dataDir);
  const restoring = join(dataDir, restoringName);
  try {
    const interrupted = existsSync(restoring);
    if (existsSync(join(dataDir, 'database')) && !replace) {
      throw new Error(
        `${dataDir} already has a database: choose another SVC_DATA_DIR, or pass --replace to move the existing one aside`,
      );
    }
    if (interrupted && !existsSync(join(dataDir, 'database'))) {
      // The interrupted restore may have moved its holds already.
      await rm(join(dataDir, 'holds'), { recursive: true, force: true });
    } else if (existsSync(join(dataDir, 'holds')) && !replace) {
      throw new Error(
        `${dataDir} has open holds of another database in \`holds\`: choose another SVC_DATA_DIR, or pass --replace to move them aside`,
      );
    }
    await rm(restoring, { recursive: true, force: true });
    await mkdir(restoring, { recursive: true, mode: 0o700 });
    const progress = showProgress('loading');
    const verified = await loadIntoDirectory(restoring, source, {
      onFrame: progress.onFrame,
      onVerifying() {
        progress.done();
        process.stderr.write('reconciling the ledger\n');
      },
    });
    // The database may not have synced its files.
    await syncTree(restoring);
    await moveAside(dataDir);
    for (const part of parts) {
      await rename(join(restoring, part), join(dataDir, part));
    }
    await removeMovedMarker(dataDir);
    removeSessionMarker(dataDir);
    await rm(restoring, { recursive: true });
    return verified;
  } finally {
    await lock.release();
  }
}

async function moveAside(dataDir: string): Promise<void> {
  const existing = parts.filter((part) => existsSync(join(dataDir, part)));
  if (existing.length === 0) {
    return;
  }
  const aside = join(dataDir, `replaced-${new Date().toISOString().replace(/[:.]/g, '-')}`);
  await mkdir(aside, { mode: 0o700 });
  for (const part of existing) {
    await rename(join(dataDir, part), join(aside, part));
  }
  process.stderr.write(`moved the previous database to ${aside}\n`);
}
