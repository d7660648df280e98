/**
 * `SVC_EDGE_FAIL_MODE=open`: while the ledger is unavailable, decisions are allowed unchecked and marked `degraded`. Each decision
 * is on disk before its response is sent. As soon as the ledger is available, the decisions are imported as holds, regardless of
 * the limits. A run that settles such a hold is marked too. Decisions of an ended process are imported by the next process with the
 * same data directory, in any fail mode.
 */
import type { Registry } from 'prom-client';
import { invalidFields } from '../contract/api-error.ts';
import { formatUsd } from '../kernel/money.ts';
import { holdKeyOf, type Replay, type RequestKey, replayOf } from '../ledger/holds/hold-keys.ts';
import { replayedResponse } from '../ledger/ledger-errors.ts';
import { DurableSpool, type Segment } from '../platform/durable-spool.ts';
import type { DecisionResponse } from '../platform/http/routes/route.ts';
import { createdAtMsOf, type Ids } from '../platform/ids.ts';
import type { Job } from '../platform/jobs/jobs.ts';
import type { Secrets } from '../platform/secrets/secrets.ts';
import { OverCapacity, ServiceUnavailable } from '../platform/service-unavailable.ts';
import type { SharedClock } from '../platform/time/clock.ts';
import {
  type DecisionCaller,
  decisionRequestOf,
  fieldErrorsOf,
  outputTokenLimit,
  type Price,
} from './decision.ts';
import { createFailOpenIds } from './fail-open-ids.ts';
import { createFailOpenImport, type ImportDependencies, unlimitedRequestOf } from './fail-open-import.ts';
import { type FailOpenCounts, registerFailOpenMetrics } from './fail-open-metrics.ts';
import { type PendingDecision, PendingDecisions, type SpooledDecision } from './fail-open-pending.ts';
import { type DecisionBody, runOnlyChecks, type Verdict } from './schema.ts';

export interface FailOpenDependencies
  extends Pick<ImportDependencies, 'db' | 'ledger' | 'log' | 'findPrice' | 'recordImport'> {
  readonly ids: Ids;
  readonly clock: SharedClock;
  readonly secrets: Secrets;
  /** Directory of the spooled decisions. */
  readonly directory: string;
  /** Maximum total size of the decisions that wait for the ledger. */
  readonly bytesMax: number;
}

export interface FailOpenRequest {
  readonly body: DecisionBody;
  readonly caller: DecisionCaller;
  readonly key: RequestKey | undefined;
  /** The last known price of the model; undefined if there is none. */
  readonly price: Price | undefined;
}

export interface FailOpenDecisions {
  /** Adds the decisions of ended processes. Called once before the first request, then by the job. */
  takeOver(): Promise<void>;
  /** Returns true if the error means that the ledger is unavailable. An overload of this process is not an outage. */
  isOutage(error: unknown): boolean;
  /** Returns the response stored under an idempotency key, if the decision is not in the ledger yet. */
  replay(orgId: string, key: RequestKey): Promise<Replay | undefined>;
  /** Allows a decision. Throws `ServiceUnavailable` if the decision cannot be stored on disk. */
  allow(request: FailOpenRequest): Promise<DecisionResponse>;
  /** Imports the given decisions of the org that this process has not imported yet. Must be called before runs settle them. */
  importNow(orgId: string, decisionIds: readonly string[]): Promise<void>;
  /** Returns the time of a decision if its id proves that any process gave it fail-open to this org. */
  decidedAtMs(orgId: string, decisionId: string): number | undefined;
  readonly job: Job;
  register(metrics: Registry): void;
  close(): Promise<void>;
}

/** Interval of the search for decisions of ended processes. */
const takeOverEveryMs = 10_000;

export function createFailOpenDecisions(deps: FailOpenDependencies): FailOpenDecisions {
  const { db, clock, log } = deps;
  const ids = createFailOpenIds(deps.ids, deps.secrets, clock);
  const spool = new DurableSpool(deps.directory);
  const pending = new PendingDecisions(deps.bytesMax);
  const counts: FailOpenCounts = { spooled: 0, imported: 0, rejected: 0, refused: 0 };
  const imports = createFailOpenImport({ ...deps, spool, pending, counts });
  let takenOverAtMs = Number.NEGATIVE_INFINITY;

  async function takeOver(): Promise<void> {
    takenOverAtMs = performance.now();
    const lines = await spool.takeOver(pending.roomBytes);
    for (const { text, segment } of lines) {
      const decision = parseDecision(text);
      if (decision === undefined) {
        counts.rejected += 1;
        await spool.setAside(text, 'the line is damaged');
        await spool.release(segment);
      } else if (pending.find(decision.id) === undefined) {
        pending.add(pendingOf(decision, text, Promise.resolve(segment), true));
      } else {
        await spool.release(segment);
      }
    }
    if (lines.length > 0) {
      log.warn({ decisions: lines.length }, 'found fail-open decisions of a process that has ended');
    }
  }

  async function store(decision: SpooledDecision): Promise<void> {
    const line = JSON.stringify(decision);
    pending.checkRoom(decision.orgId, Buffer.byteLength(line));
    const one = pendingOf(decision, line, spool.append(line), false);
    pending.add(one);
    try {
      await one.durable;
    } catch (error) {
      pending.remove(one);
      throw error;
    }
    one.isDurable = true;
  }

  return {
    takeOver,
    isOutage(error) {
      // Otherwise an org could get unchecked decisions by filling a queue.
      const isOverload = error instanceof OverCapacity && db.notificationsHealthy();
      return error instanceof ServiceUnavailable && !isOverload;
    },
    async replay(orgId, key) {
      const used = pending.findByKey(orgId, key.digest);
      await used?.durable;
      return replayOf(used?.decision.key, key);
    },
    async allow({ body, caller, key, price }) {
      const used = key && pending.findByKey(caller.orgId, key.digest);
      if (used !== undefined && key !== undefined) {
        // A replay also must not be sent before the decision is durable.
        await used.durable;
        return replayedResponse(replayOf(used.decision.key, key) as Replay);
      }
      checkEstimate(body, caller, price);
      const id = ids.next(caller.orgId);
      // The time in the id, by which other processes recognize the decision. The attempt to reach the ledger may have taken
      // seconds.
      const atMs = createdAtMsOf(id);
      const request = unlimitedRequestOf({ ...caller, body }, price);
      const verdict: Verdict = {
        decision: 'allow',
        decision_id: id,
        expires_at: new Date(atMs + request.request.holdSeconds * 1_000).toISOString(),
        held_usd: formatUsd(request.request.amounts.usd),
        max_output_tokens: outputTokenLimit(request),
        limits: [],
        // Lists all checks, because the org's own cannot be read while the ledger is unavailable.
        not_checked: [...runOnlyChecks],
        degraded: true,
      };
      const text = JSON.stringify(verdict);
      const holdKey = key === undefined ? null : holdKeyOf(key, text);
      try {
        await store({ id, ...caller, atMs, body, key: holdKey });
      } catch (error) {
        counts.refused += 1;
        throw error;
      }
      counts.spooled += 1;
      return { text, replayed: false };
    },
    async importNow(orgId, decisionIds) {
      const found = decisionIds.flatMap((id) => pending.find(id) ?? []);
      const own = found.filter(({ decision, isDurable }) => decision.orgId === orgId && isDurable);
      if (own.length > 0) {
        await imports.importNow(orgId, own);
      }
    },
    decidedAtMs: ids.decidedAtMs,
    job: {
      id: 'import-fail-open-decisions',
      everyMs: 1_000,
      async runOnce() {
        if (db.notificationsHealthy() && performance.now() - takenOverAtMs >= takeOverEveryMs) {
          await takeOver();
        }
        return imports.importBatches();
      },
      async stop() {
        while (db.notificationsHealthy() && (await imports.importBatches())) {
          // Continue with the next batch.
        }
      },
    },
    register(metrics) {
      registerFailOpenMetrics(metrics, {
        counts,
        pending: () => pending.size,
        bytes: () => pending.bytes,
        oldestSeconds() {
          const oldestAtMs = pending.oldestAtMs();
          return oldestAtMs === undefined ? 0 : Math.max(0, clock.now().getTime() - oldestAtMs) / 1_000;
        },
      });
    },
    close: () => spool.close(),
  };
}

/**
 * Throws for a request that would also be rejected while the ledger is available. A missing price is not an error here, because the
 * cost is then unknown.
 */
function checkEstimate(body: DecisionBody, caller: DecisionCaller, price: Price | undefined): void {
  const request = decisionRequestOf(body, caller, price);
  if ('code' in request && request.field !== 'model') {
    throw invalidFields(fieldErrorsOf(request, body, price));
  }
}

function pendingOf(
  decision: SpooledDecision,
  line: string,
  durable: Promise<Segment>,
  isDurable: boolean,
): PendingDecision {
  return { decision, line, bytes: Buffer.byteLength(line), durable, isDurable };
}

/** Parses a line of the spool; undefined if it is damaged. */
function parseDecision(line: string): SpooledDecision | undefined {
  try {
    const decision = JSON.parse(line) as Partial<SpooledDecision>;
    const isWhole =
      typeof decision.id === 'string' &&
      typeof decision.orgId === 'string' &&
      typeof decision.keyId === 'string' &&
      Number.isFinite(decision.atMs) &&
      typeof decision.body?.model === 'string' &&
      decision.key !== undefined;
    return isWhole ? (decision as SpooledDecision) : undefined;
  } catch {
    return undefined;
  }
}
