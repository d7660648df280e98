/**
 * The ledger on PostgreSQL. It is exact across any number of processes, because all decisions are made under row
 * locks in PostgreSQL. Each process collects the commands for an org and executes them in one transaction: lock the
 * org, read its counters, decide, write. The org state is created for that transaction and discarded with it.
 */
import { randomUUID } from 'node:crypto';
import type { Denial } from '../../kernel/denial.ts';
import { agreedNow } from '../../platform/db/agreed-now.ts';
import type { Transaction } from '../../platform/db/database.ts';
import { FairShare } from '../../platform/fair-share.ts';
import { OverCapacity, ServiceUnavailable } from '../../platform/service-unavailable.ts';
import { droppedCounters, namePattern, type Renaming, renamedHold } from '../holds/customer-pseudonyms.ts';
import type { Hold } from '../holds/hold.ts';
import type { HoldImport, ImportedHold } from '../holds/hold-import.ts';
import { findStoredKeys, type Replay, type RequestKey, replayOf } from '../holds/hold-keys.ts';
import type {
  AdmissionPreview,
  HoldChange,
  HoldIncrease,
  HoldQuery,
  HoldRequest,
  HoldResult,
  IncreaseResult,
} from '../holds/hold-request.ts';
import type { Inspection, InspectRead, Ledger } from '../ledger.ts';
import { readSettled } from '../limits/counters.ts';
import { emptyScope, type LimitUsage, limitUsageOf, ownCounters } from '../limits/limit-usage.ts';
import { createOrgLimits, type OrgLimitsCache, readOrgLimits } from '../limits/org-limits.ts';
import { type GroupResult, holdsOpenedBy, type PostingGroup } from '../posting.ts';
import { eachIfAllFail } from '../postings/each-if-all-fail.ts';
import { HoldExpiry, leaseExpiry } from './hold-expiry.ts';
import { inspectOrg } from './inspect-org.ts';
import { OpenHoldRoom } from './open-hold-room.ts';
import {
  type LedgerCommand,
  type LedgerResult,
  lockOrg,
  OrgTransaction,
  type PostgresLedgerOptions,
} from './org-transaction.ts';
import { selectHolds, selectHoldsOfCustomer, selectHoldsPage, updateHolds } from './postgres-holds.ts';

interface QueuedCommand<Run> {
  readonly command: LedgerCommand<Run>;
  resolve(result: LedgerResult<Run>): void;
  reject(error: unknown): void;
}

/** Queued commands of one org. */
interface OrgQueue<Run> {
  waiting: QueuedCommand<Run>[];
  busy: boolean;
}

const commandsPerBatch = 500;
const waitingMax = 20_000;
const countersPerEviction = 5_000;
/**
 * Time after which a counter is deleted, counted from the end of its window or its last change, whichever is later;
 * without a window, from its last change. It must be summed from the ledger when it is needed again.
 */
const unusedCounterMs = 3_600_000;

export class PostgresLedger<Run = unknown> implements Ledger<Run> {
  readonly #options: PostgresLedgerOptions<Run>;
  readonly #orgLimits: OrgLimitsCache;
  readonly #queues = new Map<string, OrgQueue<Run>>();
  readonly #places = new FairShare({ capacity: waitingMax });
  readonly #openHolds: OpenHoldRoom;
  readonly #expiry: HoldExpiry;

  constructor(options: PostgresLedgerOptions<Run>) {
    this.#options = options;
    this.#openHolds = new OpenHoldRoom({ processes: () => 1, ...options });
    this.#orgLimits = options.orgLimits ?? createOrgLimits(options.db);
    const { db, clock, monotonicMs, processId = randomUUID() } = options;
    this.#expiry = new HoldExpiry({
      db,
      clock,
      processId,
      ...(monotonicMs !== undefined && { monotonicMs }),
      expire: async (orgId, holdIds) => {
        let isLeased = false;
        await eachIfAllFail(holdIds, async (some) => {
          isLeased = await this.#expire(orgId, some, processId);
        });
        return isLeased;
      },
    });
  }

  decide(): undefined {
    // A decision always needs PostgreSQL, so the caller must use `hold`.
  }

  hold(request: HoldRequest): Promise<HoldResult> {
    const { orgId } = request;
    return this.#openHolds.use(
      orgId,
      1,
      () => this.#enqueue(orgId, { kind: 'hold', request }) as Promise<HoldResult>,
    );
  }

  async replay(orgId: string, key: RequestKey): Promise<Replay | undefined> {
    const { db, clock } = this.#options;
    const [open] = await selectHolds(db, orgId, [], [key.digest]);
    if (open !== undefined) {
      return replayOf(open.idempotency, key);
    }
    // Queried second: a hold that ended meanwhile has stored its key here.
    const [stored] = await findStoredKeys(db, orgId, [key.digest], clock.now().getTime());
    return replayOf(stored, key);
  }

  previewDenials(orgId: string, previews: readonly AdmissionPreview[]): Promise<(Denial | undefined)[]> {
    return this.#enqueue(orgId, { kind: 'preview', previews }) as Promise<(Denial | undefined)[]>;
  }

  importHolds(request: HoldImport): Promise<ImportedHold[]> {
    return this.#enqueue(request.orgId, { kind: 'import', request }) as Promise<ImportedHold[]>;
  }

  post(group: PostingGroup<Run>): Promise<GroupResult<Run>> {
    const { orgId } = group;
    const post = () => this.#enqueue(orgId, { kind: 'post', group }) as Promise<GroupResult<Run>>;
    const opened = holdsOpenedBy(group);
    return opened === 0 ? post() : this.#openHolds.use(orgId, opened, post);
  }

  void(orgId: string, holdId: string): Promise<HoldChange> {
    return this.#enqueue(orgId, { kind: 'void', holdId }) as Promise<HoldChange>;
  }

  extend(orgId: string, holdId: string, seconds: number): Promise<HoldChange> {
    return this.#enqueue(orgId, { kind: 'extend', holdId, seconds }) as Promise<HoldChange>;
  }

  increase(orgId: string, holdId: string, increase: HoldIncrease): Promise<IncreaseResult> {
    return this.#enqueue(orgId, { kind: 'increase', holdId, increase }) as Promise<IncreaseResult>;
  }

  async holds(orgId: string, query: HoldQuery): Promise<Hold[]> {
    return selectHoldsPage(this.#options.db, orgId, query);
  }

  async findHold(orgId: string, holdId: string): Promise<Hold | undefined> {
    return (await selectHolds(this.#options.db, orgId, [holdId]))[0];
  }

  holdsInMemory(): undefined {
    return undefined;
  }

  async limitUsage(orgId: string, limitIds: readonly string[]): Promise<LimitUsage[]> {
    const { db, clock } = this.#options;
    const nowMs = (await agreedNow(db, clock)).getTime();
    const wanted = ownCounters(await readOrgLimits(db, orgId), limitIds, nowMs);
    const rows = await db.query<{ key: string; settled: bigint; held: bigint }>(
      'SELECT key, settled, held FROM counters WHERE org_id = $1 AND key = ANY($2)',
      [orgId, wanted.map(({ key }) => key)],
    );
    const rowsByKey = new Map(rows.map((row) => [row.key, row]));
    const usages: LimitUsage[] = [];
    for (const one of wanted) {
      // A counter that was not needed for a while, or since its limit was changed, has no row. It is not created here:
      // reading changes nothing.
      const { settled } = rowsByKey.get(one.key) ?? (await readSettled(db, orgId, one, emptyScope));
      usages.push(limitUsageOf(one, { settled, held: rowsByKey.get(one.key)?.held ?? 0n }));
    }
    return usages;
  }

  inspect<Result>(orgId: string, read: InspectRead<Result>): Promise<Inspection<Result>> {
    return inspectOrg(this.#options.db, orgId, read);
  }

  async renameCustomer(
    orgId: string,
    renaming: Renaming,
    change: (tx: Transaction) => Promise<void>,
  ): Promise<void> {
    await this.#options.db.transaction(async (tx) => {
      await lockOrg(tx, orgId);
      await change(tx);
      const { tagFields } = (await readOrgLimits(tx, orgId)).index;
      const dropped: string[] = [];
      const renamed = (await selectHoldsOfCustomer(tx, orgId, renaming.from)).flatMap((before) => {
        const hold = renamedHold(before, renaming, tagFields);
        dropped.push(...(hold === undefined ? [] : droppedCounters(before, hold)));
        return hold ?? [];
      });
      await updateHolds(tx, orgId, renamed);
      await deleteCustomerCounters(tx, orgId, renaming.from, dropped);
    });
  }

  expireDue(): Promise<boolean> {
    return this.#expiry.expireDue();
  }

  expiryRestMs(): number {
    return this.#expiry.restMs();
  }

  async evictCounters(): Promise<boolean> {
    const { db, clock } = this.#options;
    const unusedSince = new Date((await agreedNow(db, clock)).getTime() - unusedCounterMs);
    const deleted = await db.query(
      `DELETE FROM counters WHERE (org_id, key) IN (
         SELECT org_id, key FROM counters WHERE held = 0 AND window_end < $1 LIMIT $2)
       RETURNING 1 AS one`,
      [unusedSince, countersPerEviction],
    );
    return deleted.length === countersPerEviction;
  }

  stats() {
    return { openHolds: 0, overdueHolds: 0, oldestOverdueMs: 0, waiting: this.#places.used };
  }

  /** Queued commands are finished before the server stops, so only the leases remain; without them they lapse. */
  async close(): Promise<void> {
    await this.#expiry.close().catch(() => undefined);
  }

  #enqueue(orgId: string, command: LedgerCommand<Run>): Promise<LedgerResult<Run>> {
    if (!this.#places.tryTake(orgId)) {
      return Promise.reject(new OverCapacity('too many ledger commands are queued'));
    }
    return new Promise((resolve, reject) => {
      const queue = this.#queues.get(orgId) ?? { waiting: [], busy: false };
      this.#queues.set(orgId, queue);
      queue.waiting.push({ command, resolve, reject });
      if (!queue.busy) {
        queue.busy = true;
        // Commands that arrive in the same turn of the event loop join the batch.
        setImmediate(() => void this.#work(orgId, queue));
      }
    });
  }

  async #work(orgId: string, queue: OrgQueue<Run>): Promise<void> {
    while (queue.waiting.length > 0) {
      const commands = queue.waiting.splice(0, commandsPerBatch);
      this.#places.release(orgId, commands.length);
      await this.#run(orgId, commands);
    }
    queue.busy = false;
    this.#queues.delete(orgId);
  }

  /** A transaction of its own: decisions that share it would wait for the expiry. */
  #expire(orgId: string, holdIds: readonly string[], processId: string): Promise<boolean> {
    return this.#options.db.transaction(async (tx) => {
      const isLeased = await leaseExpiry(tx, orgId, processId);
      if (isLeased) {
        await new OrgTransaction(this.#options, this.#orgLimits, tx, orgId).run([
          { kind: 'expire', holdIds },
        ]);
      }
      return isLeased;
    });
  }

  async #run(orgId: string, commands: readonly QueuedCommand<Run>[]): Promise<void> {
    let results: readonly LedgerResult<Run>[];
    try {
      results = await this.#options.db.transaction((tx) =>
        new OrgTransaction(this.#options, this.#orgLimits, tx, orgId).run(
          commands.map(({ command }) => command),
        ),
      );
    } catch (error) {
      if (commands.length === 1 || error instanceof ServiceUnavailable) {
        for (const { reject } of commands) {
          reject(error);
        }
        return;
      }
      // Retries each command separately, so that an error in one command does not fail the others.
      for (const command of commands) {
        await this.#run(orgId, [command]);
      }
      return;
    }
    for (const [index, { resolve }] of commands.entries()) {
      resolve(results[index]);
    }
  }
}

/** Deletes the counters that are keyed by the id of a customer, and the given ones. The next decision recounts them. */
async function deleteCustomerCounters(
  tx: Transaction,
  orgId: string,
  customerId: string,
  keys: readonly string[],
): Promise<void> {
  // A counter with several values has them as a JSON list.
  const value = `substr(key, strpos(key, ':') + 1)`;
  await tx.query(
    `DELETE FROM counters
      WHERE org_id = $1
        AND (key = ANY($5) OR strpos(key, ':') > 0
             AND (${value} = $2 OR ${value} ~ $3 OR left(${value}, 1) = '[' AND strpos(${value}, $4) > 0))`,
    [orgId, customerId, namePattern(customerId), JSON.stringify(customerId), keys],
  );
}
