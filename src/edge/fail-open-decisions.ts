/**
 * `SVC_EDGE_FAIL_MODE=open`: while the ledger is unavailable, decisions are allowed unchecked and marked
 * `degraded`. They are kept in memory and imported into the ledger as holds as soon as it is available, regardless
 * of the limits; the run that settles one is marked too. They are lost if the process ends before that.
 */
import { formatUsd } from '../kernel/money.ts';
import type { Hold, HoldKey } from '../ledger/holds/hold.ts';
import { holdKeyOf, type Replay, type RequestKey, replayOf } from '../ledger/holds/hold-keys.ts';
import { orgKeyId } from '../ledger/holds/take-hold.ts';
import type { Ledger } from '../ledger/ledger.ts';
import type { Ids } from '../platform/ids.ts';
import type { Job } from '../platform/jobs/jobs.ts';
import type { Log } from '../platform/log.ts';
import { OverCapacity } from '../platform/service-unavailable.ts';
import { type DecisionCaller, decisionRequestOf, type Price } from './decision.ts';
import { type DecisionBody, runOnlyChecks, type Verdict } from './schema.ts';

export interface FailOpenDependencies {
  readonly ids: Ids;
  readonly ledger: Ledger;
  readonly log: Log;
  findPrice(orgId: string, model: string, atMs: number): Price | undefined | Promise<Price | undefined>;
}

export interface FailOpenDecisions {
  /** Returns the response to an idempotency key of a pending fail-open decision. */
  replay(orgId: string, key: RequestKey): Replay | undefined;
  allow(body: DecisionBody, caller: DecisionCaller, now: Date, key: RequestKey | undefined): string;
  /** Imports a decision now if it is pending. Must be called before a run settles the decision. */
  importIntoLedger(decisionId: string): Promise<void>;
  readonly job: Job;
}

/** Maximum number of unchecked decisions in memory. */
const pendingMax = 100_000;

interface Pending {
  readonly body: DecisionBody;
  readonly caller: DecisionCaller;
  readonly id: string;
  readonly atMs: number;
  readonly key: HoldKey | null;
}

export function createFailOpenDecisions({
  ids,
  ledger,
  log,
  findPrice,
}: FailOpenDependencies): FailOpenDecisions {
  const pending = new Map<string, Pending>();
  const keys = new Map<string, HoldKey>();

  async function importPending(one: Pending): Promise<void> {
    await ledger.importHold(await holdOf(one));
    pending.delete(one.id);
    if (one.key !== null) {
      keys.delete(orgKeyId(one.caller.orgId, one.key.digest));
    }
  }

  async function holdOf({ body, caller, id, atMs, key }: Pending): Promise<Hold> {
    const price = await findPrice(caller.orgId, body.model, atMs);
    const request = decisionRequestOf(body, caller, price);
    // Without an estimate, or without a price for it, the maximum cost is unknown; the run will report the actual cost.
    const holdRequest = 'code' in request ? unpriced(body, caller) : request.request;
    return {
      id,
      orgId: caller.orgId,
      runId: null,
      surface: 'edge',
      scope: holdRequest.scope,
      amounts: holdRequest.amounts,
      admittedAtMs: atMs,
      expiresAtMs: atMs + holdRequest.holdSeconds * 1_000,
      shares: [],
      packs: [],
      priceVersion: holdRequest.priceVersion,
      idempotency: key,
      degraded: true,
    };
  }

  function unpriced(body: DecisionBody, caller: DecisionCaller) {
    const request = decisionRequestOf({ ...body, estimated_cost_usd: '0' }, caller, undefined);
    if ('code' in request) {
      throw new Error('a decision with an estimated cost must be valid');
    }
    return request.request;
  }

  return {
    replay: (orgId, key) => replayOf(keys.get(orgKeyId(orgId, key.digest)), key),
    allow(body, caller, now, key) {
      if (pending.size >= pendingMax) {
        throw new OverCapacity('too many fail-open decisions are pending');
      }
      const id = ids.next('dec');
      const atMs = now.getTime();
      const request = decisionRequestOf(body, caller, undefined);
      const holdRequest = 'code' in request ? unpriced(body, caller) : request.request;
      const verdict: Verdict = {
        decision: 'allow',
        decision_id: id,
        expires_at: new Date(atMs + holdRequest.holdSeconds * 1_000).toISOString(),
        held_usd: formatUsd(holdRequest.amounts.usd),
        max_output_tokens: body.max_output_tokens ?? null,
        limits: [],
        // All of them: the checks that apply to the org cannot be read while the ledger is unavailable.
        not_checked: [...runOnlyChecks],
        degraded: true,
      };
      const text = JSON.stringify(verdict);
      const holdKey = key === undefined ? null : holdKeyOf(key, text);
      pending.set(id, { body, caller, id, atMs, key: holdKey });
      if (holdKey !== null) {
        keys.set(orgKeyId(caller.orgId, holdKey.digest), holdKey);
      }
      return text;
    },
    async importIntoLedger(decisionId) {
      const one = pending.get(decisionId);
      if (one !== undefined) {
        await importPending(one);
      }
    },
    job: {
      id: 'import-fail-open-decisions',
      everyMs: 1_000,
      async runOnce() {
        const batch = [...pending.values()];
        for (const one of batch) {
          await importPending(one);
        }
        if (batch.length > 0) {
          log.info({ decisions: batch.length }, 'imported fail-open decisions');
        }
        return false;
      },
    },
  };
}
