/**
 * `SVC_EDGE_FAIL_MODE=open`: while the books cannot be asked, decisions are allowed unchecked, each marked `degraded`.
 * They are remembered and put into the books as holds as soon as those can be reached, whatever the limits say by then;
 * the run that settles one is marked too. A process that ends before that has forgotten them.
 */
import { formatUsd } from '../kernel/money.ts';
import type { Hold, HoldKey } from '../ledger/holds/hold.ts';
import { holdKeyOf, type Replay, type RequestKey, replayOf } from '../ledger/holds/hold-keys.ts';
import { orgKeyId } from '../ledger/holds/take-hold.ts';
import type { Ledger } from '../ledger/ledger.ts';
import { DatabaseUnavailable } from '../platform/db/database.ts';
import type { Ids } from '../platform/ids.ts';
import type { Job } from '../platform/jobs/jobs.ts';
import type { Log } from '../platform/log.ts';
import { type DecisionCaller, decisionRequestOf, type Price } from './decision.ts';
import { type DecisionBody, runOnlyChecks, type Verdict } from './schema.ts';

export interface FailOpenDependencies {
  readonly ids: Ids;
  readonly ledger: Ledger;
  readonly log: Log;
  findPrice(orgId: string, model: string, atMs: number): Price | undefined | Promise<Price | undefined>;
}

export interface FailOpenDecisions {
  /** The response to a key that such a decision was given under, until the ledger knows it. */
  replay(orgId: string, key: RequestKey): Replay | undefined;
  allow(body: DecisionBody, asker: DecisionCaller, now: Date, key: RequestKey | undefined): string;
  /** Before a run settles such a decision, it has to be in the books. */
  importIntoLedger(decisionId: string): Promise<void>;
  readonly job: Job;
}

/** So many unchecked decisions are enough. */
const pendingMax = 100_000;

interface Pending {
  readonly body: DecisionBody;
  readonly asker: DecisionCaller;
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

  async function land(one: Pending): Promise<void> {
    await ledger.importHold(await holdOf(one));
    pending.delete(one.id);
    if (one.key !== null) {
      keys.delete(orgKeyId(one.asker.orgId, one.key.digest));
    }
  }

  async function holdOf({ body, asker, id, atMs, key }: Pending): Promise<Hold> {
    const price = await findPrice(asker.orgId, body.model, atMs);
    const question = decisionRequestOf(body, asker, price);
    // What it may cost is not known without a price; what it did cost its run will say.
    const request = 'code' in question ? unpriced(body, asker) : question.request;
    return {
      id,
      orgId: asker.orgId,
      runId: null,
      surface: 'edge',
      scope: request.scope,
      amounts: request.amounts,
      admittedAtMs: atMs,
      expiresAtMs: atMs + request.holdSeconds * 1_000,
      shares: [],
      packs: [],
      priceVersion: request.priceVersion,
      idempotency: key,
      degraded: true,
    };
  }

  function unpriced(body: DecisionBody, asker: DecisionCaller) {
    const request = decisionRequestOf({ ...body, estimated_cost_usd: '0' }, asker, undefined);
    if ('code' in request) {
      throw new Error('a decision with an estimate is always a question');
    }
    return request.request;
  }

  return {
    replay: (orgId, key) => replayOf(keys.get(orgKeyId(orgId, key.digest)), key),
    allow(body, asker, now, key) {
      if (pending.size >= pendingMax) {
        throw new DatabaseUnavailable('too many decisions were given without the books');
      }
      const id = ids.next('dec');
      const atMs = now.getTime();
      const question = decisionRequestOf(body, asker, undefined);
      const request = 'code' in question ? unpriced(body, asker) : question.request;
      const verdict: Verdict = {
        decision: 'allow',
        decision_id: id,
        expires_at: new Date(atMs + request.holdSeconds * 1_000).toISOString(),
        held_usd: formatUsd(request.amounts.usd),
        max_output_tokens: body.max_output_tokens ?? null,
        limits: [],
        // Which of them the org has cannot be asked either.
        not_checked: [...runOnlyChecks],
        degraded: true,
      };
      const text = JSON.stringify(verdict);
      const holdKey = key === undefined ? null : holdKeyOf(key, text);
      pending.set(id, { body, asker, id, atMs, key: holdKey });
      if (holdKey !== null) {
        keys.set(orgKeyId(asker.orgId, holdKey.digest), holdKey);
      }
      return text;
    },
    async importIntoLedger(decisionId) {
      const one = pending.get(decisionId);
      if (one !== undefined) {
        await land(one);
      }
    },
    job: {
      id: 'import-fail-open-decisions',
      everyMs: 1_000,
      async runOnce() {
        const waiting = [...pending.values()];
        for (const one of waiting) {
          await land(one);
        }
        if (waiting.length > 0) {
          log.info({ decisions: waiting.length }, 'decisions that were given without the books are in them');
        }
        return false;
      },
    },
  };
}
