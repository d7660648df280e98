/**
 * Posting of the embedded engine: those that wait for each other share a transaction. What they took is concluded in
 * memory as soon as its commit is known, undone where it was rolled back, and held where nobody knows.
 */
import { commitSettlement } from '../../kernel/settlement.ts';
import { type Database, DatabaseUnavailable } from '../../platform/db/database.ts';
import type { Log } from '../../platform/log.ts';
import type { OpenHold, OrgLedgerState } from '../holds/org-ledger-state.ts';
import type { GroupResult, PostingGroup } from '../posting.ts';
import { advanceClock } from '../postings/ledger-writes.ts';
import {
  addCounters,
  type Batch,
  type BatchDependencies,
  decideBatch,
  markAllAlerted,
  type OrgAlerts,
  writeBatch,
} from '../postings/posting-batch.ts';
import { PostingQueue, type WaitingGroup } from '../postings/posting-queue.ts';
import { rollBackAll, type UncommittedPosting } from '../postings/uncommitted-posting.ts';
import type { DurableHolds } from './durable-holds.ts';
import { HoldsNotDurable } from './hold-log.ts';
import type { LedgerStates } from './ledger-states.ts';
import { UnresolvedHoldEnd, type UnresolvedHoldEnds } from './unresolved-hold-ends.ts';

export interface EmbeddedPostingsDependencies<Run> extends BatchDependencies<Run> {
  readonly db: Database;
  readonly log: Log;
  readonly states: LedgerStates;
  readonly durable: DurableHolds;
  readonly doubts: UnresolvedHoldEnds;
  now(): number;
}

export class EmbeddedPostings<Run> {
  readonly #parts: EmbeddedPostingsDependencies<Run>;
  readonly #queue = new PostingQueue<Run>((waiting) => this.#bookBatch(waiting));

  constructor(parts: EmbeddedPostingsDependencies<Run>) {
    this.#parts = parts;
  }

  get waiting(): number {
    return this.#queue.size;
  }

  add(group: PostingGroup<Run>): Promise<GroupResult<Run>> {
    return this.#queue.add(group);
  }

  idle(): Promise<void> {
    return this.#queue.idle();
  }

  async #bookBatch(waiting: readonly WaitingGroup<Run>[]): Promise<void> {
    const { db, states, durable, doubts } = this.#parts;
    const groups = waiting.map(({ group }) => group);
    const orgIds = [...new Set(groups.map(({ orgId }) => orgId))];
    let batch: Batch<Run> | undefined;
    let alerts: OrgAlerts[] = [];
    try {
      await Promise.all(orgIds.map((orgId) => states.open(orgId)));
      const nowMs = this.#parts.now();
      await db.transaction(async (tx) => {
        doubts.refuse(groups.flatMap(({ postings }) => postings.map(({ decisionId }) => decisionId)));
        batch = await decideBatch(tx, this.#parts, {
          groups,
          nowMs,
          bookOf: (orgId) => states.get(orgId) as OrgLedgerState,
          makeCounters: async (orgState, missing) => {
            await addCounters(tx, orgState, missing);
          },
        });
        [alerts] = await Promise.all([
          writeBatch(tx, this.#parts, batch, nowMs),
          batch.prepared.length > 0 ? advanceClock(tx.unanswered, orgIds, nowMs) : undefined,
        ]);
        if (batch.newHolds.length > 0) {
          // Before the commit: a run must not be told to go on without its hold. Without the run it just expires.
          durable.add(batch.newHolds);
        }
      });
    } catch (error) {
      this.#bookingFailed(batch, error);
      await this.#retryApart(waiting, error);
      return;
    }
    this.#conclude(batch?.prepared ?? []);
    markAllAlerted(alerts);
    for (const open of batch?.newHolds ?? []) {
      states.remember(open);
    }
    // The next batch goes to the database first: answering these takes as long as writing those does.
    setImmediate(() => {
      for (const { group, resolve } of waiting) {
        resolve(batch?.results.get(group) as GroupResult<Run>);
      }
    });
  }

  #conclude(prepared: readonly UncommittedPosting<Run>[]): void {
    const ended: OpenHold[] = [];
    for (const { orgState, posted, ends } of prepared) {
      if (posted.charged !== null) {
        // The hold as it is: while its end was in doubt it may have come to take a counter more, or another.
        commitSettlement(
          orgState.counters,
          ends === null ? posted.charged : { ...posted.charged, reservation: ends.hold },
        );
      }
      if (ends !== null) {
        this.#parts.states.drop(ends);
        ended.push(ends);
      }
    }
    this.#parts.durable.remove(ended);
  }

  /** Rolled back for sure: undone at once. Not known: it stays held until the database can be asked. */
  #bookingFailed(batch: Batch<Run> | undefined, error: unknown): void {
    if (batch === undefined) {
      return;
    }
    if (isUnknown(error)) {
      void this.#resolveLater(batch.prepared);
    } else {
      this.#parts.durable.remove(batch.newHolds);
      rollBackAll(batch.prepared);
    }
  }

  /** One group's fault is not to be the others'. */
  async #retryApart(waiting: readonly WaitingGroup<Run>[], error: unknown): Promise<void> {
    if (waiting.length === 1 || isUnknown(error)) {
      for (const { reject } of waiting) {
        reject(error);
      }
      return;
    }
    for (const one of waiting) {
      await this.#bookBatch([one]);
    }
  }

  /** The answer to COMMIT was lost. Each posting is held until its entry, or that it has none, can be read. */
  async #resolveLater(prepared: readonly UncommittedPosting<Run>[]): Promise<void> {
    const doubtful = prepared.flatMap(({ ends: open, posted: { posting, hold } }) =>
      open !== null ? open.hold.id : posting.kind === 'open' && hold !== null ? hold.id : [],
    );
    await this.#parts.doubts.resolve(doubtful, async () => {
      const written = await this.#written(prepared);
      for (const one of prepared) {
        this.#resolve(one, written);
      }
      this.#parts.log.info(
        { postings: prepared.length },
        'postings whose outcome was not known are resolved',
      );
    });
  }

  /** The ids of the runs and entries that are in the database. */
  async #written(prepared: readonly UncommittedPosting<Run>[]): Promise<ReadonlySet<string>> {
    const rows = await this.#parts.db.query<{ id: string }>(
      `SELECT run_id AS id FROM run_identities WHERE org_id = ANY($1) AND run_id = ANY($2) UNION ALL
       SELECT id FROM ledger_entries WHERE org_id = ANY($1) AND charged_at = ANY($3::timestamptz[]) AND id = ANY($4)`,
      [
        prepared.map(({ orgState }) => orgState.orgId),
        prepared.map(({ posted }) => posted.posting.runId),
        prepared.map(({ posted }) => new Date(posted.chargedAtMs)),
        prepared.map(({ posted }) => posted.posting.entryId),
      ],
    );
    return new Set(rows.map(({ id }) => id));
  }

  #resolve(one: UncommittedPosting<Run>, written: ReadonlySet<string>): void {
    const { posting, charged, hold } = one.posted;
    const isNewRun = posting.kind !== 'complete' && posting.kind !== 'adjust';
    const committed = written.has(isNewRun && charged === null ? posting.runId : posting.entryId);
    const opened = posting.kind === 'open' ? one.orgState.holds.get(hold?.id ?? '') : undefined;
    if (committed) {
      this.#conclude([one]);
      if (opened !== undefined) {
        // It is in the log, where it was put before the commit.
        this.#parts.states.remember(opened);
      }
    } else {
      one.undo();
      this.#parts.durable.remove(opened === undefined ? [] : [opened]);
    }
  }
}

/** Whether it is not known what became of a transaction that failed with this. */
function isUnknown(error: unknown): boolean {
  return (
    error instanceof DatabaseUnavailable &&
    !(error instanceof HoldsNotDurable || error instanceof UnresolvedHoldEnd)
  );
}
