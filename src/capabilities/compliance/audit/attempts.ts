/**
 * Audit entries for attempts: requests that were rejected, such as a call without the required scope or a failed login,
 * and requests that are served only if an entry was written, such as those of a support session.
 *
 * Rejected attempts are written in the background through a bounded queue, so that no request waits for the write and a
 * flood of attempts costs little. Per org, actor, action and error code only the first few between two flushes become
 * separate entries; the rest are counted in one additional entry. Attempts that do not fit into the queue are counted
 * per org, and the count becomes an entry. Orgs share the queue fairly: attempts on one org do not fill it.
 */
import { Counter, type Registry } from 'prom-client';
import type { Database, Transaction } from '../../../platform/db/database.ts';
import { FairShare } from '../../../platform/fair-share.ts';
import type { Job } from '../../../platform/jobs/jobs.ts';
import type { Log } from '../../../platform/log.ts';
import type { Clock } from '../../../platform/time/clock.ts';
import { type Appending, appendAudit } from './audit.ts';
import type { AuditDraft, AuditOutcome } from './chain.ts';
import type { Actor } from './journal.ts';

export interface RejectedAttempt {
  readonly tenantId: string;
  readonly actor: Actor;
  /** Operation id, or a name such as `sessions.open`. */
  readonly action: string;
  readonly outcome: AuditOutcome;
  /** Error code of the response. */
  readonly code?: string;
  readonly target: { readonly kind: string; readonly id: string };
  /** Must not contain secrets. */
  readonly detail?: object;
}

export interface Attempts {
  /** Queues a rejected attempt, which is written within about a second. Never blocks and never throws. */
  note(attempt: RejectedAttempt): void;
  /**
   * Writes an entry immediately. Callers that require the entry await this, and must reject the request if it throws.
   */
  record(attempt: RejectedAttempt): Promise<void>;
  /** Writes all queued attempts. */
  flush(): Promise<void>;
  readonly job: Job;
  register(metrics: Registry): void;
}

export interface AttemptsDependencies extends Appending {
  readonly db: Database;
  readonly clock: Clock;
  readonly log: Log;
}

const waitingMax = 5_000;
/** Maximum number of separate entries per org, actor, action and error code between two flushes. */
const singlyMax = 5;
const entriesPerTransaction = 500;
const flushEveryMs = 1_000;
const droppedAction = 'audit.attempts_dropped';

interface Repeated {
  readonly last: RejectedAttempt;
  readonly seen: number;
}

export function createAttempts({ db, ids, heads, clock, log }: AttemptsDependencies): Attempts {
  const appending = { ids, heads };
  let waiting: RejectedAttempt[] = [];
  let repeated = new Map<string, Repeated>();
  const places = new FairShare({ capacity: waitingMax });
  const repeatedPlaces = new FairShare({ capacity: waitingMax });
  const dropped = new Map<string, number>();
  let droppedInAll = 0;
  let flushing: Promise<void> | undefined;

  function drop(tenantId: string, count: number): void {
    droppedInAll += count;
    dropped.set(tenantId, (dropped.get(tenantId) ?? 0) + count);
  }

  function note(attempt: RejectedAttempt): void {
    const { tenantId, actor, action, code } = attempt;
    const name = [tenantId, actor.kind, actor.id, action, code].join('\0');
    const seen = (repeated.get(name)?.seen ?? 0) + 1;
    if (repeated.has(name) || repeatedPlaces.tryTake(tenantId)) {
      repeated.set(name, { last: attempt, seen });
    }
    if (seen > singlyMax) {
      return;
    }
    if (places.tryTake(tenantId)) {
      waiting.push(attempt);
    } else {
      drop(tenantId, 1);
    }
  }

  /** Drains the queue. Returns its attempts, then one attempt for each count of repeated or dropped attempts. */
  function take(): RejectedAttempt[] {
    const counted = [...repeated.values()].filter(({ seen }) => seen > singlyMax);
    const taken = [
      ...waiting,
      ...counted.map(({ last, seen }) => ({
        ...last,
        detail: { ...last.detail, repeated: seen - singlyMax },
      })),
      ...[...dropped].map(([tenantId, count]) => lostAttempts(tenantId, count, clock.now())),
    ];
    waiting = [];
    places.clear();
    repeated = new Map();
    repeatedPlaces.clear();
    dropped.clear();
    return taken;
  }

  function putBack(unwritten: readonly RejectedAttempt[]): void {
    const kept: RejectedAttempt[] = [];
    for (const attempt of unwritten) {
      const { tenantId, action, detail } = attempt;
      if (action === droppedAction) {
        const { count } = detail as { count: number };
        dropped.set(tenantId, (dropped.get(tenantId) ?? 0) + count);
      } else if (places.tryTake(tenantId)) {
        kept.push(attempt);
      } else {
        drop(tenantId, 1);
      }
    }
    waiting = [...kept, ...waiting];
  }

  async function writeAll(): Promise<void> {
    const byTenant = new Map<string, RejectedAttempt[]>();
    for (const attempt of take()) {
      const others = byTenant.get(attempt.tenantId);
      if (others === undefined) {
        byTenant.set(attempt.tenantId, [attempt]);
      } else {
        others.push(attempt);
      }
    }
    const left = [...byTenant];
    try {
      for (let next = left[0]; next !== undefined; next = left[0]) {
        const [tenantId, attempts] = next;
        const some = attempts.slice(0, entriesPerTransaction);
        await db.transaction((tx) => appendAudit(tx, appending, tenantId, some.map(draftOf)));
        attempts.splice(0, some.length);
        if (attempts.length === 0) {
          left.shift();
        }
      }
    } catch (error) {
      putBack(left.flatMap(([, attempts]) => attempts));
      throw error;
    }
  }

  async function flush(): Promise<void> {
    await flushing?.catch(() => undefined);
    flushing = writeAll().finally(() => {
      flushing = undefined;
    });
    await flushing;
  }

  return {
    note,
    async record(attempt) {
      await db.transaction((tx) => recordAttempt(tx, appending, attempt));
    },
    flush,
    job: {
      id: 'audit-refused-attempts',
      everyMs: flushEveryMs,
      async runOnce() {
        await flush();
        if (dropped.size > 0) {
          log.warn({ dropped: droppedInAll }, 'audit attempt queue full; rejected attempts dropped');
        }
        return false;
      },
    },
    register(metrics) {
      new Counter({
        name: 'svc_audit_attempts_dropped_total',
        help: 'Rejected attempts that are only counted in the audit log because the queue was full.',
        registers: [metrics],
        collect() {
          this.reset();
          this.inc(droppedInAll);
        },
      });
    },
  };
}

/** Writes an entry in the caller's transaction, for callers that require the entry. */
export async function recordAttempt(
  tx: Transaction,
  appending: Appending,
  attempt: RejectedAttempt,
): Promise<void> {
  await appendAudit(tx, appending, attempt.tenantId, [draftOf(attempt)]);
}

function draftOf({ actor, action, outcome, code, target, detail }: RejectedAttempt): AuditDraft {
  return {
    actorKind: actor.kind,
    actorId: actor.id,
    action,
    outcome,
    code: code ?? null,
    targetKind: target.kind,
    targetId: target.id,
    before: null,
    after: null,
    detail: detail ?? null,
    address: actor.address ?? null,
    traceId: actor.traceId ?? null,
  };
}

function lostAttempts(tenantId: string, count: number, at: Date): RejectedAttempt {
  return {
    tenantId,
    actor: { kind: 'service', id: 'audit', at },
    action: droppedAction,
    outcome: 'failure',
    target: { kind: 'audit_log', id: tenantId },
    detail: { count },
  };
}
