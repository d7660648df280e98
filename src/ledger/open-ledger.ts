/** Opens the ledger for the engine of the database. */
import { join } from 'node:path';
import type { SharedClock } from '../platform/time/clock.ts';
import { EmbeddedLedger } from './embedded/embedded-ledger.ts';
import type { EmbeddedStateOptions } from './embedded/embedded-state.ts';
import type { Ledger } from './ledger.ts';
import type { OrgLimitsCache } from './limits/org-limits.ts';
import { createPostgresLedger } from './postgres/postgres-ledger.ts';
import type { BatchDependencies } from './postings/posting-batch.ts';

export interface LedgerOptions<Run> extends BatchDependencies<Run>, Omit<EmbeddedStateOptions, 'directory'> {
  readonly clock: SharedClock;
  readonly orgLimits: OrgLimitsCache;
  /** Id of this process among those that share the database. */
  readonly processId: string;
  readonly dataDir: string;
  /** Maximum number of open holds: of all orgs together if the process keeps them in memory, of each org on PostgreSQL. */
  readonly holdsMax: number;
  /** Number of live processes on the database. */
  readonly processes: () => number;
}

export async function openLedger<Run>(options: LedgerOptions<Run>): Promise<Ledger<Run>> {
  return options.db.engine === 'embedded'
    ? EmbeddedLedger.open({ ...options, directory: join(options.dataDir, 'holds') })
    : createPostgresLedger(options);
}
