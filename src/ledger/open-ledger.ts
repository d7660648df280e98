/** Opens the ledger for the engine of the database. */
import { join } from 'node:path';
import type { Database } from '../platform/db/database.ts';
import type { Durability } from '../platform/files/durable-files.ts';
import type { Log } from '../platform/log.ts';
import type { SharedClock } from '../platform/time/clock.ts';
import { EmbeddedLedger } from './embedded/embedded-ledger.ts';
import type { Ledger } from './ledger.ts';
import type { OrgLimitsCache } from './limits/org-limits.ts';
import { PostgresLedger } from './postgres/postgres-ledger.ts';
import type { BatchDependencies } from './postings/posting-batch.ts';

export interface LedgerOptions<Run> extends BatchDependencies<Run> {
  readonly db: Database;
  readonly clock: SharedClock;
  readonly log: Log;
  readonly orgLimits: OrgLimitsCache;
  /** Id of this process among those that share the database. */
  readonly processId: string;
  readonly dataDir: string;
  readonly durability: Durability;
  /** Maximum number of open holds: of all orgs in a process that keeps them in memory, of each org on PostgreSQL. */
  readonly holdsMax: number;
  /** Embedded engine: called when a write to the hold log failed. */
  onHoldLogFailed?(error: unknown): void;
  /** Number of live processes on the database. */
  readonly processes: () => number;
}

export async function openLedger<Run>(options: LedgerOptions<Run>): Promise<Ledger<Run>> {
  return options.db.engine === 'embedded'
    ? EmbeddedLedger.open({ ...options, directory: join(options.dataDir, 'holds') })
    : new PostgresLedger(options);
}
