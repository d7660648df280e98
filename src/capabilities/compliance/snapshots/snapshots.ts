/** Creates snapshots of the data directory of the embedded engine. */
import { mkdir, readdir, rm, stat } from 'node:fs/promises';
import { join } from 'node:path';
import { apiError } from '../../../contract/api-error.ts';
import { readGeneration } from '../../../ledger/embedded/hold-generation.ts';
import { writeHoldLog } from '../../../ledger/embedded/stored-holds.ts';
import type { Hold } from '../../../ledger/holds/hold.ts';
import type { LedgerReads } from '../../../ledger/ledger.ts';
import type { Database } from '../../../platform/db/database.ts';
import { isLocked } from '../../../platform/db/pglite/directory-lock.ts';
import { snapshotDatabase } from '../../../platform/db/pglite/snapshot.ts';
import type { Ids } from '../../../platform/ids.ts';
import type { SnapshotView } from './schema.ts';

export interface SnapshotSources {
  readonly db: Database;
  readonly ids: Ids;
  readonly ledger: Pick<LedgerReads, 'holdsInMemory'>;
  readonly dataDir: string;
}

/** Time that a reader has to lock a new snapshot, before another request may delete it. */
const unlockedMsMax = 60_000;

export function snapshotDirectory(dataDir: string, id: string): string {
  return join(dataDir, 'snapshots', id);
}

export function createSnapshots({ db, ids, ledger, dataDir }: SnapshotSources) {
  let inProgress = false;

  async function create(now: Date): Promise<SnapshotView> {
    const id = ids.next('snp');
    const directory = snapshotDirectory(dataDir, id);
    await removeAbandoned(join(dataDir, 'snapshots'));
    await mkdir(directory, { recursive: true, mode: 0o700 });
    let holds: Hold[] = [];
    let generation: string | null = null;
    try {
      const report = await snapshotDatabase({
        db,
        directory: join(dataDir, 'database'),
        target: join(directory, 'database'),
        async inPause(tx) {
          generation = await readGeneration(tx);
          // Holds end in transactions only, so none can end before the pause is over.
          holds = ledger.holdsInMemory() ?? [];
        },
      });
      await writeHoldLog(join(directory, 'holds'), holds, generation ?? undefined);
      return {
        id,
        created_at: now.toISOString(),
        bytes: report.bytes,
        open_holds: holds.length,
        paused_ms: Math.ceil(report.pausedMs),
      };
    } catch (error) {
      await rm(directory, { recursive: true, force: true });
      throw error;
    }
  }

  return {
    async create(now: Date): Promise<SnapshotView> {
      if (db.engine === 'postgres') {
        throw apiError(
          'conflict',
          'The database is PostgreSQL, which needs no snapshot. Use `purser backup`, or the backups of PostgreSQL.',
        );
      }
      if (inProgress) {
        throw apiError('conflict', 'Another snapshot is in progress. Try again when it is complete.');
      }
      inProgress = true;
      try {
        return await create(now);
      } finally {
        inProgress = false;
      }
    },
  };
}

/** Deletes snapshots whose reader has ended without deleting them. */
async function removeAbandoned(directory: string): Promise<void> {
  const names = await readdir(directory).catch(() => [] as string[]);
  for (const name of names) {
    const path = join(directory, name);
    const { mtimeMs } = await stat(path);
    if (Date.now() - mtimeMs > unlockedMsMax && !(await isLocked(path))) {
      await rm(path, { recursive: true, force: true });
    }
  }
}
