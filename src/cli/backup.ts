/** `purser backup`: writes the whole installation to one file. The service may be running or stopped. */
import { existsSync } from 'node:fs';
import { rm } from 'node:fs/promises';
import { resolve } from 'node:path';
import { Command } from 'commander';
import { snapshotDirectory } from '../capabilities/compliance/snapshots/index.ts';
import { type Config, loadConfig } from '../config/settings.ts';
import { counted } from '../platform/counted.ts';
import { requireNotMoved } from '../platform/db/moved-marker.ts';
import { DirectoryInUse, lockDirectory } from '../platform/db/pglite/directory-lock.ts';
import { fileExists, writeBackupFile } from '../platform/db/transfer/backup-file.ts';
import type { TransferSource } from '../platform/db/transfer/frames.ts';
import { createApi, isRunning, operatorKey, serviceUrl } from './running-service.ts';
import { showProgress } from './transfer-progress.ts';
import { withEmbeddedSource, withPostgresSource } from './transfer-source.ts';
import { print } from './with-database.ts';

export function backupCommand(): Command {
  return new Command('backup')
    .description(
      'Write all data and open holds of one instant to a file, also while the service runs. ' +
        'The file does not contain SVC_SECRETS_KEY: keep that key separately.',
    )
    .argument('<file>', 'the file to create')
    .option('--force', 'replace the file if it exists')
    .option('--no-compress', 'write the data uncompressed')
    .option('--url <url>', 'URL of the running service, embedded engine only (default: from the settings)')
    .action(backup);
}

interface BackupOptions {
  readonly force?: boolean;
  readonly compress: boolean;
  readonly url?: string;
}

async function backup(name: string, { force = false, compress, url }: BackupOptions): Promise<void> {
  const config = loadConfig();
  const path = resolve(name);
  if (!force && existsSync(path)) {
    throw fileExists(path);
  }
  const progress = showProgress('reading');
  const write = async (source: TransferSource) => {
    const written = await writeBackupFile(path, source, {
      compressed: compress,
      replace: force,
      onFrame: progress.onFrame,
    });
    progress.done();
    const { rows, holds } = progress.totals();
    print(`backup      ${path}, ${written.bytes} bytes, complete`);
    const content = [
      `${counted(rows, 'row', 'rows')} in ${counted(source.header.tables.length, 'table', 'tables')}`,
      counted(holds, 'open hold', 'open holds'),
    ];
    print(`contains    ${content.join(', ')}`);
    print(
      `as of       ${source.header.createdAt}, ${source.header.engine}, version ${source.header.version}`,
    );
    print('not in it   SVC_SECRETS_KEY: a restore needs it, so keep it separately');
  };
  await (config.databaseUrl === undefined
    ? backupEmbedded(config, url, write)
    : withPostgresSource(config.databaseUrl, write));
}

/** Reads the directory of a stopped service directly. Requests a snapshot from a running service. */
async function backupEmbedded(
  config: Config,
  url: string | undefined,
  write: (source: TransferSource) => Promise<void>,
): Promise<void> {
  requireNotMoved(config.dataDir);
  if (!existsSync(config.dataDir)) {
    throw new Error(`there is no database in ${config.dataDir} (SVC_DATA_DIR)`);
  }
  const lock = await lockDirectory(config.dataDir).catch((error: Error) => {
    if (error instanceof DirectoryInUse) {
      return undefined;
    }
    throw error;
  });
  if (lock === undefined) {
    await withSnapshot(config, url, (directory, createdAt) =>
      withEmbeddedSource(directory, { createdAt }, write),
    );
    return;
  }
  try {
    await withEmbeddedSource(config.dataDir, {}, write);
  } finally {
    await lock.release();
  }
}

interface Snapshot {
  readonly id: string;
  readonly created_at: string;
  readonly paused_ms: number;
}

async function withSnapshot(
  config: Config,
  given: string | undefined,
  work: (directory: string, createdAt: Date) => Promise<void>,
): Promise<void> {
  const url = serviceUrl(config, given);
  if (!(await isRunning(url))) {
    throw new Error(
      `a process uses ${config.dataDir}, but there is no service at ${url}: pass its URL with --url`,
    );
  }
  process.stderr.write(`requesting a snapshot from ${url}\n`);
  const { id, created_at, paused_ms } = await createApi(url)<Snapshot>(
    await operatorKey(config),
    'POST',
    '/v1/admin/snapshots',
  );
  process.stderr.write(`snapshot complete; the database paused for ${paused_ms} ms\n`);
  const directory = snapshotDirectory(config.dataDir, id);
  if (!existsSync(directory)) {
    throw new Error(
      `the service at ${url} has another data directory than ${config.dataDir}: pass the URL of the right one with --url`,
    );
  }
  const lock = await lockDirectory(directory);
  const remove = () => rm(directory, { recursive: true, force: true });
  const interrupted = () => void remove().finally(() => process.exit(130));
  process.once('SIGINT', interrupted);
  process.once('SIGTERM', interrupted);
  try {
    await work(directory, new Date(created_at));
  } finally {
    process.off('SIGINT', interrupted);
    process.off('SIGTERM', interrupted);
    await lock.release();
    await remove();
  }
}
