/** Opens the state that the parts of the embedded ledger share: reads it from the database and the hold log. */
import type { Database } from '../../platform/db/database.ts';
import { createFailureLog } from '../../platform/failure-log.ts';
import type { Durability } from '../../platform/files/durable-files.ts';
import type { Log } from '../../platform/log.ts';
import type { Clock } from '../../platform/time/clock.ts';
import { createOrgLimits, type OrgLimitsCache } from '../limits/org-limits.ts';
import { findLatestPosting, readLastTime } from '../postings/latest-times.ts';
import { DurableHolds } from './durable-holds.ts';
import { beginGeneration } from './hold-generation.ts';
import { openHoldLog } from './hold-log.ts';
import { KeysInFlight } from './keys-in-flight.ts';
import { LedgerStates } from './ledger-states.ts';
import { LedgerTime } from './ledger-time.ts';
import { restoreHolds } from './restore-holds.ts';
import { UnresolvedHoldEnds } from './unresolved-hold-ends.ts';

export interface EmbeddedState {
  readonly db: Database;
  readonly states: LedgerStates;
  readonly durable: DurableHolds;
  readonly unresolvedEnds: UnresolvedHoldEnds;
  readonly keysInFlight: KeysInFlight;
  readonly time: LedgerTime;
}

export interface EmbeddedStateOptions {
  readonly db: Database;
  readonly clock: Clock;
  readonly log: Log;
  /** Directory of the hold log. */
  readonly directory: string;
  readonly durability: Durability;
  readonly holdsMax: number;
  readonly orgLimits?: OrgLimitsCache;
  /** Called when a write to the hold log failed. */
  onHoldLogFailed?(error: unknown): void;
}

export async function openEmbeddedState(options: EmbeddedStateOptions): Promise<EmbeddedState> {
  const { db, clock, log, holdsMax } = options;
  const holdLog = openHoldLog(options.directory, options);
  try {
    await beginGeneration(db, holdLog);
    const lastMs = await readLastTime(db);
    const restored = await restoreHolds(db, holdLog);
    const time = new LedgerTime(
      clock,
      Math.max(lastMs, ...restored.slice(-1).map(({ hold }) => hold.admittedAtMs)),
    );
    const states = new LedgerStates({
      orgLimits: options.orgLimits ?? createOrgLimits(db),
      restored,
      latestPostingMs: await findLatestPosting(db, clock.now()),
      holdsMax,
      now: () => time.now(),
    });
    const failures = createFailureLog({
      log,
      fields: {},
      messages: {
        failed: 'hold log write failed',
        stillFails: 'hold log writes still fail',
        recovered: 'hold log writes succeed again',
      },
    });
    const durable = new DurableHolds(
      holdLog,
      (lost, error) => {
        failures.failed(error);
        options.onHoldLogFailed?.(error);
        for (const open of lost) {
          states.release(open);
        }
      },
      () => failures.succeeded(),
    );
    return {
      db,
      states,
      durable,
      unresolvedEnds: new UnresolvedHoldEnds(),
      keysInFlight: new KeysInFlight(),
      time,
    };
  } catch (error) {
    holdLog.close();
    throw error;
  }
}
