/**
 * Expires holds on PostgreSQL in small transactions, with lower priority than decisions: each transaction holds the lock of its
 * org, so decisions wait for it.
 *
 * An org with more overdue holds than fit into one transaction has a backlog. It gets its next transaction only after a rest, in
 * which other commands have the lock to themselves. Other orgs do not wait for a backlog. A backlog is processed in the order of
 * expiry and then from the beginning again, so that holds that cannot be ended do not keep later ones open.
 */
import { randomUUID } from 'node:crypto';
import { performance } from 'node:perf_hooks';
import { agreedNow } from '../../platform/db/agreed-now.ts';
import { type Searched, searchGroups } from '../../platform/db/citus/search-groups.ts';
import type { Queryable } from '../../platform/db/database.ts';
import { aheadMsMax, ElapsedLifetimes } from '../holds/elapsed-lifetimes.ts';
import type { LedgerExpiry } from '../ledger.ts';
import type { OrgLimitsCache } from '../limits/org-limits.ts';
import { endLeases, expireHolds, leaseSeconds } from './expire-holds.ts';
import type { DueHold } from './ledger-command.ts';
import type { PostgresLedgerOptions } from './ledger-transaction.ts';

export const expiriesPerTransaction = 100;
/** Maximum number of overdue holds that one search returns, for orgs without a backlog. */
const foundMax = 500;
const orgsAtOnce = 2;
/** Rest of an org with a backlog, as a multiple of the duration of its last transaction, including the wait for the lock. */
const restRatio = 3;
/** The maximum makes a backlog shrink under any load. */
const restMs = { min: 10, max: 250 };
const restMsAfterFailure = 1_000;
/**
 * Interval of the searches for other overdue holds while there are backlogs. A search is more expensive then, because it reads past
 * the backlogs.
 */
const searchEveryMs = 500;
/** Interval of the searches for holds that were admitted ahead of the clock, while none are known. They are rare. */
const searchAheadEveryMs = 5_000;
/** Maximum number of holds ahead of the clock whose lifetimes are measured at the same time. The others follow when these have ended. */
const aheadHoldsMax = 10_000;

interface ExpiryPause {
  /** End of the org's rest. */
  readonly notBeforeMs: number;
  /** The last hold of the last batch, if more holds may follow it. */
  readonly after: OverdueRow | undefined;
}

export class HoldExpiry<Run> implements LedgerExpiry {
  readonly #options: PostgresLedgerOptions<Run>;
  readonly #orgLimits: OrgLimitsCache;
  /** Owner of the leases in the database. */
  readonly #processId: string;
  readonly #nowMs: () => number;
  /** Backlogs by org. */
  readonly #backlogs = new Map<string, ExpiryPause>();
  /** Orgs whose lease this process may still have, with the time at which the lease lapses. */
  readonly #leases = new Map<string, number>();
  #searchedAtMs = Number.NEGATIVE_INFINITY;
  readonly #lifetimes: ElapsedLifetimes;
  #searchAheadAtMs = Number.NEGATIVE_INFINITY;

  constructor(options: PostgresLedgerOptions<Run>, orgLimits: OrgLimitsCache) {
    this.#options = options;
    this.#orgLimits = orgLimits;
    this.#processId = options.processId ?? randomUUID();
    this.#nowMs = options.monotonicMs ?? (() => performance.now());
    this.#lifetimes = new ElapsedLifetimes(this.#nowMs);
  }

  /**
   * Runs at most one transaction for each org with overdue holds. Returns true if more holds may be due. Throws the first error
   * after all orgs were tried.
   */
  async expireDue(): Promise<boolean> {
    const { db, clock } = this.#options;
    const dueAt = await agreedNow(db, clock);
    const batches = new Map<string, OverdueRow[]>();
    const failures: unknown[] = [];
    for (const [orgId, { notBeforeMs, after }] of [...this.#backlogs]) {
      if (notBeforeMs <= this.#nowMs()) {
        try {
          batches.set(orgId, await findOverdueOf(db, orgId, dueAt, after));
        } catch (error) {
          // The Citus worker of this org may be unavailable. That must not keep the holds of other orgs open.
          this.#restAfterFailure(orgId, after);
          failures.push(error);
        }
      }
    }
    const found = await this.#search(dueAt);
    for (const hold of found) {
      const batch = batches.get(hold.org_id) ?? [];
      batches.set(hold.org_id, batch);
      if (batch.length < expiriesPerTransaction) {
        batch.push(hold);
      }
    }
    for (const hold of await this.#searchElapsed(dueAt)) {
      const batch = batches.get(hold.org_id) ?? [];
      batches.set(hold.org_id, batch);
      batch.push(hold);
    }
    failures.push(...(await this.#expireEach([...batches])));
    if (failures.length > 0) {
      throw failures[0];
    }
    return this.#backlogs.size > 0 || found.length === foundMax;
  }

  /** Returns the time until the next batch of any org; 0 if an org may have it now. */
  restMs(): number {
    const next = Math.min(...[...this.#backlogs.values()].map(({ notBeforeMs }) => notBeforeMs));
    return Number.isFinite(next) ? Math.max(0, next - this.#nowMs()) : 0;
  }

  /** Releases all leases, so that other processes need not wait until they lapse. */
  async close(): Promise<void> {
    await endLeases(this.#options.db, this.#processId, [...this.#leases.keys()]);
    this.#leases.clear();
  }

  async #search(dueAt: Date): Promise<OverdueRow[]> {
    const { db } = this.#options;
    const processId = this.#processId;
    if (this.#backlogs.size > 0 && this.#nowMs() < this.#searchedAtMs + searchEveryMs) {
      return [];
    }
    this.#searchedAtMs = this.#nowMs();
    const exceptOrgIds = [...this.#backlogs.keys()];
    return searchGroups(
      db,
      () => listOrgIds(db),
      (orgIds) => findOverdue(db, { dueAt, processId, exceptOrgIds, orgIds }),
    );
  }

  /** Returns the holds that were admitted ahead of the clock and whose lifetime has elapsed. */
  async #searchElapsed(dueAt: Date): Promise<OverdueRow[]> {
    if (this.#nowMs() < this.#searchAheadAtMs) {
      return [];
    }
    const { db } = this.#options;
    const aheadOf = new Date(dueAt.getTime() + aheadMsMax);
    const ahead = await searchGroups(
      db,
      () => listOrgIds(db),
      (orgIds) => findAhead(db, aheadOf, orgIds),
    );
    this.#searchAheadAtMs =
      ahead.length === 0 ? this.#nowMs() + searchAheadEveryMs : Number.NEGATIVE_INFINITY;
    const times = ahead.map((row) => ({
      ...row,
      orgId: row.org_id,
      admittedAtMs: row.admitted_at.getTime(),
      expiresAtMs: row.expires_at.getTime(),
    }));
    return this.#lifetimes
      .takeElapsed(times, expiriesPerTransaction - 1)
      .map((row) => ({ ...row, elapsedExpiryMs: row.expiresAtMs }));
  }

  /** Expires each batch. Returns the errors of the orgs that failed. */
  async #expireEach(batches: readonly (readonly [string, OverdueRow[]])[]): Promise<unknown[]> {
    const waiting = [...batches];
    const failures: unknown[] = [];
    const work = async () => {
      for (let next = waiting.shift(); next !== undefined; next = waiting.shift()) {
        const [orgId, holds] = next;
        try {
          await this.#expire(orgId, holds);
        } catch (error) {
          this.#restAfterFailure(orgId, lastOfFull(holds));
          failures.push(error);
        }
      }
    };
    await Promise.all(Array.from({ length: orgsAtOnce }, work));
    return failures;
  }

  #restAfterFailure(orgId: string, after: OverdueRow | undefined): void {
    this.#backlogs.set(orgId, { notBeforeMs: this.#nowMs() + restMsAfterFailure, after });
  }

  async #expire(orgId: string, holds: readonly OverdueRow[]): Promise<void> {
    const startedMs = this.#nowMs();
    const isLeased =
      holds.length > 0 && (await expireHolds(this.#options, this.#orgLimits, this.#processId, orgId, holds));
    const endedMs = this.#nowMs();
    if (isLeased) {
      this.#leases.set(orgId, endedMs + leaseSeconds * 1_000);
    }
    const after = lastOfFull(holds);
    if (isLeased && after !== undefined) {
      const rest = Math.max(restMs.min, (endedMs - startedMs) * restRatio);
      this.#backlogs.set(orgId, { notBeforeMs: endedMs + Math.min(restMs.max, rest), after });
    } else {
      this.#backlogs.delete(orgId);
    }
    for (const [leased, untilMs] of this.#leases) {
      if (untilMs < endedMs) {
        this.#leases.delete(leased);
      }
    }
  }
}

interface OverdueRow extends DueHold {
  readonly org_id: string;
  readonly expires_at: Date;
}

interface AheadRow extends OverdueRow {
  readonly admitted_at: Date;
}

/** Returns the open holds that were admitted after this time, of orgs whose own time is later as well. */
function findAhead(db: Queryable, aheadOf: Date, orgIds: Searched): Promise<AheadRow[]> {
  return db.query<AheadRow>(
    `SELECT h.org_id, h.id, h.admitted_at, h.expires_at FROM ledger_orgs o JOIN holds h ON h.org_id = o.org_id
      WHERE o.last_at > $1 AND h.admitted_at > $1 ${orgIds === null ? '' : 'AND o.org_id = ANY($3) AND h.org_id = ANY($3)'}
      ORDER BY h.expires_at, h.id LIMIT $2`,
    [aheadOf, aheadHoldsMax, ...(orgIds === null ? [] : [orgIds])],
  );
}

/** Returns the last hold of a full batch, which more holds may follow. */
function lastOfFull(batch: readonly OverdueRow[]): OverdueRow | undefined {
  return batch[expiriesPerTransaction - 1];
}

interface OverdueSearch {
  readonly dueAt: Date;
  readonly processId: string;
  readonly exceptOrgIds: readonly string[];
  readonly orgIds: Searched;
}

/** Returns the holds that are overdue longest. Leaves out the given orgs, and orgs that another process has leased. */
function findOverdue(
  db: Queryable,
  { dueAt, processId, exceptOrgIds, orgIds }: OverdueSearch,
): Promise<OverdueRow[]> {
  const isSearched = (column: string) => (orgIds === null ? '' : `AND ${column} = ANY($5)`);
  return db.query<OverdueRow>(
    `SELECT org_id, id, expires_at FROM holds
      WHERE expires_at <= $1 AND org_id <> ALL($2) ${isSearched('org_id')}
        AND NOT EXISTS (SELECT 1 FROM ledger_orgs leased WHERE leased.org_id = holds.org_id ${isSearched('leased.org_id')}
                           AND leased.expiry_process_id <> $3 AND leased.expiry_until > now())
      ORDER BY expires_at, id LIMIT $4`,
    [dueAt, exceptOrgIds, processId, foundMax, ...(orgIds === null ? [] : [orgIds])],
  );
}

async function listOrgIds(db: Queryable): Promise<string[]> {
  return (await db.query<{ id: string }>('SELECT id FROM orgs', [])).map(({ id }) => id);
}

/** Returns the holds of an org that are overdue longest, starting after `after`. */
function findOverdueOf(
  db: Queryable,
  orgId: string,
  dueAt: Date,
  after: OverdueRow | undefined,
): Promise<OverdueRow[]> {
  return db.query<OverdueRow>(
    `SELECT org_id, id, expires_at FROM holds
      WHERE org_id = $1 AND expires_at <= $2 ${after === undefined ? '' : 'AND (expires_at, id) > ($4, $5)'}
      ORDER BY expires_at, id LIMIT $3`,
    [orgId, dueAt, expiriesPerTransaction, ...(after === undefined ? [] : [after.expires_at, after.id])],
  );
}
