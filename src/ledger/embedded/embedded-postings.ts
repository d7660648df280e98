/**
 * Postings on the embedded engine. Queued postings share a transaction. Their settlements are committed in memory as soon as the
 * commit is known, rolled back if the transaction was rolled back, and kept as holds while the outcome is unknown.
 *
 * A batch of charges may be followed by the next batch before its commit is known, so that neither the database nor this thread
 * waits for the other. The following batch is decided while the amounts of the first one are reserved. If the first one is rolled
 * back, less was spent than assumed. So what the following batch has allowed stands, and what it has denied is decided again. Reads
 * for its decisions happen after the first commit.
 */
import { commitSettlement } from '../../kernel/settlement.ts';
import {
  type Database,
  DatabaseUnavailable,
  type StartTransaction,
  type Transaction,
} from '../../platform/db/database.ts';
import type { Log } from '../../platform/log.ts';
import { OverCapacity } from '../../platform/service-unavailable.ts';
import type { Hold } from '../holds/hold.ts';
import type { OpenHold, OrgLedgerState } from '../holds/org-ledger-state.ts';
import { createsRun, type GroupResult, isPlainCharge, type Posted, type PostingGroup } from '../posting.ts';
import { advanceClock } from '../postings/ledger-writes.ts';
import { NewRunsAssumption } from '../postings/new-runs-assumption.ts';
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
import type { EmbeddedState } from './embedded-state.ts';
import { HoldsNotDurable } from './hold-log.ts';
import { UnresolvedHoldEnd } from './unresolved-hold-ends.ts';

export interface EmbeddedPostingsDependencies<Run>
  extends BatchDependencies<Run>,
    Pick<EmbeddedState, 'db' | 'states' | 'durable' | 'unresolvedEnds' | 'time'> {
  readonly log: Log;
}

type GroupsOfBatch<Run> = readonly PostingGroup<Run>[];

/** A batch without any decision yet. */
const emptyBatch: Batch<never> = { results: new Map(), uncommitted: [], newHolds: [] };

/** A batch of the queue, from its start until all its groups are resolved or rejected. */
class BatchInProgress<Run> {
  readonly waiting: readonly WaitingGroup<Run>[];
  /** The batch whose commit was unknown when this one started. Unset when that batch ends. */
  preceding: BatchInProgress<Run> | undefined;
  following: BatchInProgress<Run> | undefined;
  uncommitted: readonly UncommittedPosting<Run>[] = [];
  /** Starts the transaction of the following batch. Set while the commit of this one is unknown. */
  startNext: StartTransaction | undefined;
  /** True once the database has written the runs: the commit is near. */
  isWritten = false;
  hasFailed = false;
  /** True if the batch is decided without searching for its runs (`NewRunsAssumption`). */
  assumesNewRuns = false;
  done: Promise<void> = Promise.resolve();
  /** Resolves when the batch is committed or rolled back in memory, or its outcome is unknown. */
  readonly ended: Promise<void>;
  #resolveEnded: () => void = () => undefined;

  constructor(waiting: readonly WaitingGroup<Run>[], preceding: BatchInProgress<Run> | undefined) {
    this.waiting = waiting;
    this.preceding = preceding;
    this.ended = new Promise((resolve) => {
      this.#resolveEnded = resolve;
    });
  }

  end(): void {
    this.startNext = undefined;
    this.preceding = undefined;
    this.#resolveEnded();
  }
}

export class EmbeddedPostings<Run> {
  readonly #deps: EmbeddedPostingsDependencies<Run>;
  readonly #queue = new PostingQueue<Run>((waiting) => this.#postBatch(waiting));
  readonly #newRuns = new NewRunsAssumption();

  constructor(deps: EmbeddedPostingsDependencies<Run>) {
    this.#deps = deps;
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

  /**
   * Posts the held amounts of expired holds of an org, in a separate transaction. `stillOpen` is called inside it, when no
   * settlement is in progress.
   */
  async expire(orgId: string, stillOpen: () => readonly Hold[]): Promise<void> {
    await this.#post([orgId], async (tx) => {
      const postings = await this.#deps.unsettledRuns.postingsFor(tx, orgId, stillOpen());
      return [{ orgId, postings, skipRejected: true }];
    });
  }

  /** Posts a batch and the batches that follow it. */
  async #postBatch(waiting: readonly WaitingGroup<Run>[]): Promise<void> {
    let current: BatchInProgress<Run> | undefined = this.#begin(waiting);
    while (current !== undefined) {
      await current.done;
      current = current.following;
    }
  }

  #begin(waiting: readonly WaitingGroup<Run>[], preceding?: BatchInProgress<Run>): BatchInProgress<Run> {
    const batch = new BatchInProgress<Run>(waiting, preceding);
    batch.done = this.#postInProgress(batch);
    return batch;
  }

  async #postInProgress(current: BatchInProgress<Run>): Promise<void> {
    const { waiting, preceding } = current;
    const groups = waiting.map(({ group }) => group);
    let batch: Batch<Run>;
    try {
      batch = await this.#post([...new Set(groups.map(({ orgId }) => orgId))], () => groups, current);
    } catch (error) {
      current.hasFailed = true;
      current.end();
      await (current.assumesNewRuns && this.#newRuns.hasFailed(error)
        ? this.#postBatch(waiting)
        : this.#retrySeparately(waiting, error));
      return;
    }
    current.end();
    const isFinal = ({ kind }: GroupResult<Run>) => kind === 'done' || preceding?.hasFailed !== true;
    const deniedWrongly = waiting.filter(
      ({ group }) => !isFinal(batch.results.get(group) as GroupResult<Run>),
    );
    // The next batch is sent to the database first, because resolving these promises takes as long as writing that batch.
    setImmediate(() => {
      for (const { group, resolve } of waiting) {
        const result = batch.results.get(group) as GroupResult<Run>;
        if (isFinal(result)) {
          resolve(result);
        }
      }
    });
    for (const one of deniedWrongly) {
      await this.#postBatch([one]);
    }
  }

  /**
   * Starts the next batch of the queue before the commit of this one is known, unless other work waits for the database. Both
   * batches must have plain charges only: a group that skips rejected postings could not be decided again.
   */
  #follow(batch: BatchInProgress<Run>): void {
    const { startNext, isWritten, waiting } = batch;
    if (
      startNext === undefined ||
      !isWritten ||
      batch.following !== undefined ||
      this.#deps.db.stats().waiting > 0 ||
      !waiting.every(({ group }) => isPlainCharge(group))
    ) {
      return;
    }
    const next = this.#queue.takeIf(
      (group) => isPlainCharge(group) && this.#deps.states.peek(group.orgId) !== undefined,
    );
    if (next !== undefined) {
      batch.following = this.#begin(next, batch);
    }
  }

  /**
   * Posts groups of these orgs in one transaction and commits them in memory. `current` is undefined if no batch may follow this
   * transaction.
   */
  async #post(
    orgIds: readonly string[],
    groupsOf: (tx: Transaction) => GroupsOfBatch<Run> | Promise<GroupsOfBatch<Run>>,
    current?: BatchInProgress<Run>,
  ): Promise<Batch<Run>> {
    const { db, states, durable, unresolvedEnds } = this.#deps;
    const preceding = current?.preceding;
    const transact: Database['transaction'] = preceding?.startNext ?? db.transaction;
    const deps: BatchDependencies<Run> = current === undefined ? this.#deps : this.#reportingDeps(current);
    let batch: Batch<Run> = emptyBatch;
    let alerts: OrgAlerts[] = [];
    try {
      if (preceding === undefined) {
        await Promise.all(orgIds.map((orgId) => states.open(orgId)));
      }
      const nowMs = this.#deps.time.now();
      await transact(async (tx) => {
        const groups = await groupsOf(tx);
        unresolvedEnds.throwIfUnresolved(
          groups.flatMap(({ postings }) => postings.map(({ decisionId }) => decisionId)),
        );
        const assumesNewRuns = this.#newRuns.appliesTo(groups);
        if (current !== undefined) {
          current.assumesNewRuns = assumesNewRuns;
        }
        batch = await decideBatch(tx, deps, {
          groups,
          nowMs,
          assumesNewRuns,
          orgStateOf: (orgId) => states.get(orgId) as OrgLedgerState,
          makeCounters: async (orgState, missing) => {
            await addCounters(tx, orgState, missing);
          },
        });
        // The holds are written before the commit: a run must not start without a durable hold. If the commit fails, the
        // hold is removed again; if the process ends before that, `restoreHolds` drops it.
        [alerts] = await Promise.all([
          writeBatch(tx, deps, batch, nowMs, preceding),
          batch.uncommitted.length > 0 ? advanceClock(tx.pipelined, orgIds, nowMs) : undefined,
          batch.newHolds.length > 0 ? durable.add(batch.newHolds) : undefined,
        ]);
        if (current !== undefined) {
          current.uncommitted = batch.uncommitted;
        }
      }, current && this.#followedBy(current));
    } catch (error) {
      this.#handleFailure(batch, error);
      throw error;
    }
    // The holds are tracked before the commit in memory, which removes those that ended in the same batch.
    for (const open of batch.newHolds) {
      states.track(open);
    }
    this.#commit(batch.uncommitted);
    markAllAlerted(alerts);
    return batch;
  }

  #followedBy(current: BatchInProgress<Run>): { committing(start: StartTransaction): void } {
    return {
      committing: (start) => {
        current.startNext = start;
        this.#follow(current);
      },
    };
  }

  /** Starts the next batch when the runs are written. Earlier the next batch would be small, later the database would wait for it. */
  #reportingDeps(current: BatchInProgress<Run>): BatchDependencies<Run> {
    return {
      ...this.#deps,
      writeRuns: async (tx: Transaction, posted: readonly Posted<Run>[]) => {
        const written = this.#deps.writeRuns(tx, posted);
        void tx.executed?.().then(() => {
          current.isWritten = true;
          this.#follow(current);
        });
        await written;
      },
    };
  }

  #commit(uncommitted: readonly UncommittedPosting<Run>[]): void {
    const ended: OpenHold[] = [];
    for (const { orgState, posted, ends } of uncommitted) {
      if (posted.charged !== null) {
        // Uses the current hold, because its counters may have changed while its end was unresolved.
        commitSettlement(
          orgState.counters,
          ends === null ? posted.charged : { ...posted.charged, reservation: ends.hold },
        );
      }
      if (ends !== null) {
        this.#deps.states.remove(ends);
        ended.push(ends);
      }
    }
    this.#deps.durable.remove(ended);
  }

  /**
   * If the transaction was rolled back, the postings are rolled back at once. If the outcome is unknown, they stay
   * held until the database can be queried.
   */
  #handleFailure(batch: Batch<Run>, error: unknown): void {
    if (isOutcomeUnknown(error)) {
      void this.#resolveLater(batch.uncommitted);
    } else {
      this.#deps.durable.remove(batch.newHolds);
      rollBackAll(batch.uncommitted);
    }
  }

  /**
   * Retries each group separately, so that an error in one group does not fail the others. Rejects them instead if
   * there is only one, the outcome is unknown or a queue is full.
   */
  async #retrySeparately(waiting: readonly WaitingGroup<Run>[], error: unknown): Promise<void> {
    if (waiting.length === 1 || isOutcomeUnknown(error) || error instanceof OverCapacity) {
      for (const { reject } of waiting) {
        reject(error);
      }
      return;
    }
    for (const one of waiting) {
      await this.#postBatch([one]);
    }
  }

  /**
   * The response to COMMIT may be lost. Each posting stays held until the database shows whether its run or entry
   * exists.
   */
  async #resolveLater(uncommitted: readonly UncommittedPosting<Run>[]): Promise<void> {
    const unresolvedHoldIds = uncommitted.flatMap(({ ends: open, posted: { posting, hold } }) =>
      open !== null ? open.hold.id : posting.kind === 'open' && hold !== null ? hold.id : [],
    );
    await this.#deps.unresolvedEnds.resolve(unresolvedHoldIds, async () => {
      const written = await this.#written(uncommitted);
      for (const one of uncommitted) {
        this.#resolve(one, written);
      }
      // Logged at `debug` if nothing was written: each failed request has logged a line already, and an outage has thousands of
      // them.
      this.#deps.log[written.size > 0 ? 'info' : 'debug'](
        { postings: uncommitted.length },
        'resolved postings with unknown outcome',
      );
    });
  }

  /** Returns the ids of the runs and entries that are in the database. */
  async #written(uncommitted: readonly UncommittedPosting<Run>[]): Promise<ReadonlySet<string>> {
    const rows = await this.#deps.db.query<{ id: string }>(
      `SELECT run_id AS id FROM run_identities WHERE org_id = ANY($1) AND run_id = ANY($2) UNION ALL
       SELECT id FROM ledger_entries WHERE org_id = ANY($1) AND charged_at = ANY($3::timestamptz[]) AND id = ANY($4)`,
      [
        uncommitted.map(({ orgState }) => orgState.orgId),
        uncommitted.map(({ posted }) => posted.posting.runId),
        uncommitted.map(({ posted }) => new Date(posted.chargedAtMs)),
        uncommitted.map(({ posted }) => posted.posting.entryId),
      ],
    );
    return new Set(rows.map(({ id }) => id));
  }

  #resolve(one: UncommittedPosting<Run>, written: ReadonlySet<string>): void {
    const { posting, charged, hold } = one.posted;
    const committed = written.has(createsRun(posting) && charged === null ? posting.runId : posting.entryId);
    const opened = posting.kind === 'open' ? one.orgState.holds.get(hold?.id ?? '') : undefined;
    if (committed) {
      this.#commit([one]);
      if (opened !== undefined) {
        // The hold has been in the log since before the commit.
        this.#deps.states.track(opened);
      }
    } else {
      one.undo();
      this.#deps.durable.remove(opened === undefined ? [] : [opened]);
    }
  }
}

/** Returns true if the outcome of a transaction that failed with this error is unknown. */
function isOutcomeUnknown(error: unknown): boolean {
  return (
    error instanceof DatabaseUnavailable &&
    !(error instanceof HoldsNotDurable || error instanceof UnresolvedHoldEnd)
  );
}
