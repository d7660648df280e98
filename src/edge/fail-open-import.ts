/**
 * Imports fail-open decisions into the ledger, in batches per org. A decision that the ledger rejects is moved to a separate file,
 * so that it blocks neither the other decisions of its org nor other orgs.
 */
import type { CalledAt } from '../kernel/model-hosts.ts';
import { formatUsd, maxNanos } from '../kernel/money.ts';
import type { Hold } from '../ledger/holds/hold.ts';
import type { HoldImport, ImportedHold } from '../ledger/holds/hold-import.ts';
import type { Ledger } from '../ledger/ledger.ts';
import type { Database } from '../platform/db/database.ts';
import type { DurableSpool } from '../platform/durable-spool.ts';
import type { Log } from '../platform/log.ts';
import { ServiceUnavailable } from '../platform/service-unavailable.ts';
import { type DecisionRequest, decisionRequestOf, type Price } from './decision.ts';
import type { FailOpenCounts } from './fail-open-metrics.ts';
import type { PendingDecision, PendingDecisions, SpooledDecision } from './fail-open-pending.ts';

export interface ImportDependencies {
  readonly db: Database;
  readonly ledger: Ledger;
  readonly log: Log;
  readonly spool: DurableSpool;
  readonly pending: PendingDecisions;
  readonly counts: FailOpenCounts;
  findPrice(
    orgId: string,
    model: string,
    atMs: number,
    at: CalledAt,
  ): Price | undefined | Promise<Price | undefined>;
  /** Returns a function that records the import of decisions where the org can see it. */
  recordImport(orgId: string): NonNullable<HoldImport['record']>;
}

const decisionsPerBatch = 500;
const orgsAtATime = 4;

export interface FailOpenImport {
  /** Imports one batch of each org. Returns true if more decisions are left and the ledger is available. */
  importBatches(): Promise<boolean>;
  /** Imports these decisions now. Throws `ServiceUnavailable` if the ledger is unavailable. */
  importNow(orgId: string, decisions: readonly PendingDecision[]): Promise<void>;
}

export function createFailOpenImport(deps: ImportDependencies): FailOpenImport {
  const { db, ledger, log, spool, pending, counts } = deps;

  async function importNow(orgId: string, decisions: readonly PendingDecision[]): Promise<void> {
    const holds: Hold[] = [];
    for (const { decision } of decisions) {
      holds.push(await holdOf(decision));
    }
    let results: ImportedHold[];
    try {
      results = await ledger.importHolds({ orgId, holds, record: deps.recordImport(orgId) });
    } catch (error) {
      if (error instanceof ServiceUnavailable) {
        throw error;
      }
      await importSeparately(orgId, decisions, error);
      return;
    }
    await finish(decisions, results);
  }

  /** Imports the decisions of a failed batch in smaller parts, to find those that the ledger rejects. */
  async function importSeparately(
    orgId: string,
    decisions: readonly PendingDecision[],
    error: unknown,
  ): Promise<void> {
    const [only] = decisions;
    if (only !== undefined && decisions.length === 1) {
      await reject(only, error);
      return;
    }
    for (const one of decisions) {
      await importNow(orgId, [one]);
    }
  }

  async function finish(
    decisions: readonly PendingDecision[],
    results: readonly ImportedHold[],
  ): Promise<void> {
    for (const [index, one] of decisions.entries()) {
      const result = results[index];
      if (result?.kind === 'added' && result.reduced) {
        log.warn(
          {
            tenant: one.decision.orgId,
            decision: one.decision.id,
            heldUsd: formatUsd(result.hold.amounts.usd),
          },
          'fail-open decision exceeds the largest amount of a counter; less is held',
        );
      }
      if (pending.remove(one)) {
        counts.imported += 1;
        await release(one);
      }
    }
  }

  async function reject(one: PendingDecision, error: unknown): Promise<void> {
    // Written to the separate file first. A crash in between only rejects the decision again instead of losing it.
    await spool.setAside(one.line, String(error));
    if (pending.remove(one)) {
      counts.rejected += 1;
      await release(one);
    }
    log.error(
      { err: error, tenant: one.decision.orgId, decision: one.decision.id },
      'fail-open decision cannot be imported; it was set aside in rejected.ndjson',
    );
  }

  /**
   * Releases a decision from the spool. If its file cannot be deleted, the decision is imported again after a restart, which
   * changes nothing.
   */
  async function release(one: PendingDecision): Promise<void> {
    try {
      await spool.release(await one.durable);
    } catch (error) {
      log.warn({ err: error }, 'spool file cannot be deleted');
    }
  }

  async function holdOf(decision: SpooledDecision): Promise<Hold> {
    const { id, orgId, atMs, body, key } = decision;
    const price = await deps.findPrice(orgId, body.model, atMs, body);
    const { request } = unlimitedRequestOf(decision, price);
    return {
      id,
      orgId,
      runId: null,
      surface: 'edge',
      scope: request.scope,
      amounts: request.amounts,
      admittedAtMs: atMs,
      expiresAtMs: atMs + request.holdSeconds * 1_000,
      shares: [],
      packs: [],
      priceVersion: request.priceVersion,
      ...(request.service !== undefined && { service: request.service }),
      idempotency: key,
      degraded: true,
    };
  }

  /** Imports one batch. Returns false if the ledger is unavailable. */
  async function importBatchOf(orgId: string): Promise<boolean> {
    const batch = pending.durableOf(orgId, decisionsPerBatch);
    try {
      await importNow(orgId, batch);
      return true;
    } catch (error) {
      log.warn(
        { err: error, tenant: orgId, decisions: batch.length },
        'fail-open decisions not imported yet',
      );
      return false;
    }
  }

  return {
    importNow,
    async importBatches() {
      if (pending.size === 0) {
        return false;
      }
      // Tests the database with one query instead of a failure per org.
      await db.query('SELECT 1 AS one');
      const before = counts.imported;
      const orgIds = pending.orgIds;
      let allImported = true;
      const worker = async () => {
        for (let orgId = orgIds.pop(); orgId !== undefined; orgId = orgIds.pop()) {
          const imported = await importBatchOf(orgId);
          allImported &&= imported;
          if (!imported && !db.notificationsHealthy()) {
            return;
          }
        }
      };
      await Promise.all(Array.from({ length: orgsAtATime }, worker));
      if (counts.imported > before) {
        log.info(
          { decisions: counts.imported - before, pending: pending.size },
          'imported fail-open decisions',
        );
      }
      return allImported && pending.size > 0;
    },
  };
}

/**
 * Returns the hold request of a decision that was already allowed. Without a price the maximum cost is unknown, so nothing is held;
 * the run will report the actual cost. A cost above the largest amount is held as the largest amount. A decision with `fit` was
 * allowed with all requested output tokens.
 */
export function unlimitedRequestOf(
  {
    orgId,
    keyId,
    body: { fit: _, min_output_tokens: __, ...body },
  }: Pick<SpooledDecision, 'orgId' | 'keyId' | 'body'>,
  price: Price | undefined,
): DecisionRequest {
  const caller = { orgId, keyId };
  const request = decisionRequestOf(body, caller, price);
  if (!('code' in request)) {
    return request;
  }
  const estimated_cost_usd = request.code === 'out_of_range' ? formatUsd(maxNanos) : '0';
  const bounded = decisionRequestOf({ ...body, estimated_cost_usd }, caller, price);
  if ('code' in bounded) {
    throw new Error('a decision with an estimated cost must be valid');
  }
  return bounded;
}
