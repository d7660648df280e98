/**
 * The write probes of `/readyz`: for the database and, on the embedded engine, the directory of the hold log. Failures of real
 * writes count too.
 */
import { open, rm } from 'node:fs/promises';
import { join } from 'node:path';
import type { Config } from '../config/settings.ts';
import type { Database } from '../platform/db/database.ts';
import type { ProcessHealth } from '../platform/http/server/process-health.ts';
import type { Processes } from '../platform/jobs/processes.ts';
import type { WriteFailures } from '../platform/jobs/write-failures.ts';
import { createWriteProbe, type WriteProbe } from '../platform/jobs/write-probe.ts';
import type { Log } from '../platform/log.ts';

export interface WriteProbesDependencies {
  readonly config: Pick<Config, 'dataDir'>;
  readonly db: Database;
  readonly processes: Pick<Processes, 'beat'>;
  readonly health: Pick<ProcessHealth, 'set'>;
  readonly failures: WriteFailures;
  readonly log: Log;
}

/** Probes once and returns the running probes. A failure makes the process unready but does not reject. */
export async function startWriteProbes(deps: WriteProbesDependencies): Promise<Pick<WriteProbe, 'stop'>> {
  const { config, db, processes, health, failures, log } = deps;
  const database = createWriteProbe({
    target: 'database',
    log,
    // On PostgreSQL each process writes its own row. If its commit hangs, the next probes wait for the lock of that row and time
    // out, so at most one server process is left behind.
    write: () => (db.engine === 'postgres' ? processes.beat() : touchOnlyRow(db)),
    // On the embedded engine the probe waits for its turn after other transactions, which may take longer than the timeout of a
    // probe.
    progressAtMs: () => db.stats().answeredAtMs,
    onChange: (succeeds) => health.set('database_not_writable', !succeeds),
  });
  const dataDirectory = createWriteProbe({
    target: 'data-directory',
    log,
    write: () => writeFile(config.dataDir),
    onChange: (succeeds) => health.set('data_directory_not_writable', !succeeds),
  });
  // The hold log needs its own probe, because the database may still have room in its preallocated files.
  const probes = db.engine === 'embedded' ? [database, dataDirectory] : [database];
  await Promise.all(probes.map((one) => one.probe()));
  for (const one of probes) {
    one.start();
  }
  failures.listen((target, error) => {
    (target === 'database' ? database : dataDirectory).reportFailure(error);
  });
  return {
    stop() {
      failures.listen(undefined);
      for (const one of probes) {
        one.stop();
      }
    },
  };
}

/** Makes a real commit that changes nothing. The row exists once the ledger is open. */
async function touchOnlyRow(db: Database): Promise<void> {
  const rows = await db.query(
    'UPDATE hold_log_generation SET generation = generation RETURNING 1 AS one',
    [],
  );
  if (rows.length === 0) {
    throw new Error('hold_log_generation has no row');
  }
}

const probeBytes = Buffer.alloc(4_096, '.');

/** Writes a new file, because even on a full disk existing blocks can be overwritten. */
async function writeFile(directory: string): Promise<void> {
  const path = join(directory, '.write-probe');
  const file = await open(path, 'w', 0o600);
  try {
    await file.write(probeBytes);
    await file.datasync();
  } finally {
    await file.close();
    await rm(path, { force: true });
  }
}
