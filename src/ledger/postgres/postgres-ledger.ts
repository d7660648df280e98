/**
 * The ledger on PostgreSQL, exact from any number of processes: PostgreSQL itself is the only arbiter. Each process
 * gathers what waits for an org and does it in one transaction: lock the org, read its counters, let the kernel decide,
 * write. The books that the kernel works on are made for that transaction and thrown away with it.
 */
import type { Denial } from '../../kernel/denial.ts';
import { agreedNow } from '../../platform/db/agreed-now.ts';
import { DatabaseUnavailable, type Transaction } from '../../platform/db/database.ts';
import { namePattern, type Renaming, renamedHold } from '../holds/customer-pseudonyms.ts';
import type { Hold } from '../holds/hold.ts';
import { findStoredKeys, type Replay, type RequestKey, replayOf } from '../holds/hold-keys.ts';
import type {
  AdmissionPreview,
  HoldChange,
  HoldQuery,
  HoldRequest,
  HoldResult,
} from '../holds/hold-request.ts';
import type { Inspection, InspectRead, Ledger } from '../ledger.ts';
import { readSettled } from '../limits/counters.ts';
import { emptyScope, type LimitUsage, limitUsageOf, ownCounters } from '../limits/limit-usage.ts';
import { createOrgLimits, type OrgLimitsCache, readOrgLimits } from '../limits/org-limits.ts';
import type { GroupResult, PostingGroup } from '../posting.ts';
import {
  type LedgerCommand,
  type LedgerResult,
  lockOrg,
  OrgTransaction,
  type PostgresLedgerOptions,
} from './org-transaction.ts';
import {
  selectAllHolds,
  selectHolds,
  selectHoldsOfCustomer,
  selectHoldsPage,
  updateHolds,
} from './postgres-holds.ts';

interface QueuedCommand<Run> {
  readonly asked: LedgerCommand<Run>;
  resolve(answer: LedgerResult<Run>): void;
  reject(error: unknown): void;
}

/** What waits for one org. */
interface OrgQueue<Run> {
  waiting: QueuedCommand<Run>[];
  busy: boolean;
}

const commandsPerBatch = 500;
const waitingMax = 20_000;
const expiriesPerBatch = 500;
const countersPerEviction = 5_000;
/** A counter that is not there has to be summed from the books by whoever needs it again. */
const unusedCounterMs = 3_600_000;

export class PostgresLedger<Run = unknown> implements Ledger<Run> {
  readonly #options: PostgresLedgerOptions<Run>;
  readonly #orgLimits: OrgLimitsCache;
  readonly #lanes = new Map<string, OrgQueue<Run>>();
  #waiting = 0;

  constructor(options: PostgresLedgerOptions<Run>) {
    this.#options = options;
    this.#orgLimits = options.orgLimits ?? createOrgLimits(options.db);
  }

  decide(): undefined {
    // Only PostgreSQL knows.
  }

  hold(request: HoldRequest): Promise<HoldResult> {
    return this.#ask(request.orgId, { kind: 'hold', request }) as Promise<HoldResult>;
  }

  async replay(orgId: string, key: RequestKey): Promise<Replay | undefined> {
    const { db, clock } = this.#options;
    const [open] = await selectHolds(db, orgId, [], [key.digest]);
    if (open !== undefined) {
      return replayOf(open.idempotency, key);
    }
    // Behind the other: a hold that has ended meanwhile has left its key there.
    const [stored] = await findStoredKeys(db, orgId, [key.digest], clock.now().getTime());
    return replayOf(stored, key);
  }

  previewDenials(orgId: string, previews: readonly AdmissionPreview[]): Promise<(Denial | undefined)[]> {
    return this.#ask(orgId, { kind: 'look', previews }) as Promise<(Denial | undefined)[]>;
  }

  async importHold(hold: Hold): Promise<void> {
    await this.#ask(hold.orgId, { kind: 'adopt', hold });
  }

  post(group: PostingGroup<Run>): Promise<GroupResult<Run>> {
    return this.#ask(group.orgId, { kind: 'book', group }) as Promise<GroupResult<Run>>;
  }

  void(orgId: string, holdId: string): Promise<HoldChange> {
    return this.#ask(orgId, { kind: 'void', holdId }) as Promise<HoldChange>;
  }

  extend(orgId: string, holdId: string, seconds: number): Promise<HoldChange> {
    return this.#ask(orgId, { kind: 'extend', holdId, seconds }) as Promise<HoldChange>;
  }

  async holds(orgId: string, query: HoldQuery): Promise<Hold[]> {
    return selectHoldsPage(this.#options.db, orgId, query);
  }

  async findHold(orgId: string, holdId: string): Promise<Hold | undefined> {
    return (await selectHolds(this.#options.db, orgId, [holdId]))[0];
  }

  async limitUsage(orgId: string, limitIds: readonly string[]): Promise<LimitUsage[]> {
    const { db, clock } = this.#options;
    const nowMs = (await agreedNow(db, clock)).getTime();
    const wanted = ownCounters(await readOrgLimits(db, orgId), limitIds, nowMs);
    const rows = await db.query<{ key: string; settled: bigint; held: bigint }>(
      'SELECT key, settled, held FROM counters WHERE org_id = $1 AND key = ANY($2)',
      [orgId, wanted.map(({ key }) => key)],
    );
    const known = new Map(rows.map((row) => [row.key, row]));
    const usages: LimitUsage[] = [];
    for (const one of wanted) {
      // One that nobody has asked for yet has no row. It is not made here: reading changes nothing.
      const { settled } = known.get(one.key) ?? (await readSettled(db, orgId, one, emptyScope));
      usages.push(limitUsageOf(one, { settled, held: known.get(one.key)?.held ?? 0n }));
    }
    return usages;
  }

  async inspect<Result>(orgId: string, read: InspectRead<Result>): Promise<Inspection<Result>> {
    return this.#options.db.transaction(async (tx) => {
      await lockOrg(tx, orgId);
      const counters = await tx.query<{ key: string; settled: bigint; held: bigint }>(
        'SELECT key, settled, held FROM counters WHERE org_id = $1',
        [orgId],
      );
      const holds = await selectAllHolds(tx, orgId);
      return { result: await read(tx), counters, holds };
    });
  }

  async renameCustomer(
    orgId: string,
    renaming: Renaming,
    change: (tx: Transaction) => Promise<void>,
  ): Promise<void> {
    await this.#options.db.transaction(async (tx) => {
      await lockOrg(tx, orgId);
      await change(tx);
      const holds = await selectHoldsOfCustomer(tx, orgId, renaming.from);
      await updateHolds(
        tx,
        orgId,
        holds.flatMap((hold) => renamedHold(hold, renaming) ?? []),
      );
      await tx.query(
        `DELETE FROM counters
          WHERE org_id = $1 AND strpos(key, ':') > 0
            AND (substr(key, strpos(key, ':') + 1) = $2 OR substr(key, strpos(key, ':') + 1) ~ $3)`,
        [orgId, renaming.from, namePattern(renaming.from)],
      );
    });
  }

  async expireDue(): Promise<boolean> {
    const { db, clock } = this.#options;
    const due = await db.query<{ org_id: string; id: string }>(
      'SELECT org_id, id FROM holds WHERE expires_at <= $1 ORDER BY expires_at LIMIT $2',
      [await agreedNow(db, clock), expiriesPerBatch],
    );
    const byOrg = new Map<string, string[]>();
    for (const { org_id, id } of due) {
      byOrg.set(org_id, [...(byOrg.get(org_id) ?? []), id]);
    }
    await Promise.all([...byOrg].map(([orgId, holdIds]) => this.#ask(orgId, { kind: 'expire', holdIds })));
    return due.length === expiriesPerBatch;
  }

  async evictCounters(): Promise<boolean> {
    const { db, clock } = this.#options;
    const unusedSince = new Date((await agreedNow(db, clock)).getTime() - unusedCounterMs);
    const forgotten = await db.query(
      `DELETE FROM counters WHERE (org_id, key) IN (
         SELECT org_id, key FROM counters WHERE held = 0 AND window_end < $1 LIMIT $2)
       RETURNING 1 AS one`,
      [unusedSince, countersPerEviction],
    );
    return forgotten.length === countersPerEviction;
  }

  stats() {
    return { openHolds: 0, oldestHoldMs: 0, waiting: this.#waiting };
  }

  async close(): Promise<void> {
    // Nothing is kept here: what waits is answered before the server is gone.
  }

  #ask(orgId: string, asked: LedgerCommand<Run>): Promise<LedgerResult<Run>> {
    if (this.#waiting >= waitingMax) {
      return Promise.reject(new DatabaseUnavailable('too many decisions are waiting'));
    }
    this.#waiting += 1;
    return new Promise((resolve, reject) => {
      const lane = this.#lanes.get(orgId) ?? { waiting: [], busy: false };
      this.#lanes.set(orgId, lane);
      lane.waiting.push({ asked, resolve, reject });
      if (!lane.busy) {
        lane.busy = true;
        // What arrives in the same turn of the event loop goes along.
        setImmediate(() => void this.#work(orgId, lane));
      }
    });
  }

  async #work(orgId: string, lane: OrgQueue<Run>): Promise<void> {
    while (lane.waiting.length > 0) {
      const commands = lane.waiting.splice(0, commandsPerBatch);
      this.#waiting -= commands.length;
      await this.#run(orgId, commands);
    }
    lane.busy = false;
    this.#lanes.delete(orgId);
  }

  async #run(orgId: string, commands: readonly QueuedCommand<Run>[]): Promise<void> {
    let answers: readonly LedgerResult<Run>[];
    try {
      answers = await this.#options.db.transaction((tx) =>
        new OrgTransaction(this.#options, this.#orgLimits, tx, orgId).run(commands.map(({ asked }) => asked)),
      );
    } catch (error) {
      if (commands.length === 1 || error instanceof DatabaseUnavailable) {
        for (const { reject } of commands) {
          reject(error);
        }
        return;
      }
      // One command's fault is not to be the others'.
      for (const command of commands) {
        await this.#run(orgId, [command]);
      }
      return;
    }
    for (const [index, { resolve }] of commands.entries()) {
      resolve(answers[index]);
    }
  }
}
