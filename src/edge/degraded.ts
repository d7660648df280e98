/**
 * `SVC_EDGE_FAIL_MODE=open`: while the books cannot be asked, decisions are allowed unchecked, each marked `degraded`.
 * They are remembered and put into the books as holds as soon as those can be reached, whatever the limits say by then;
 * the run that settles one is marked too. A process that ends before that has forgotten them.
 */
import { formatUsd } from '../kernel/money.ts';
import { DatabaseUnavailable } from '../platform/db/database.ts';
import type { Ids } from '../platform/ids.ts';
import type { Job } from '../platform/jobs.ts';
import type { Hold } from '../platform/ledger/hold.ts';
import type { Ledger } from '../platform/ledger/ledger.ts';
import type { Log } from '../platform/log.ts';
import { type Asker, type Price, questionOf } from './decision.ts';
import { type AskDecision, otherGates, type Verdict } from './schema.ts';

export interface DegradedDependencies {
  readonly ids: Ids;
  readonly ledger: Ledger;
  readonly log: Log;
  findPrice(orgId: string, model: string, atMs: number): Price | undefined | Promise<Price | undefined>;
}

export interface Degraded {
  allow(body: AskDecision, asker: Asker, now: Date): string;
  /** Before a run settles such a decision, it has to be in the books. */
  land(decisionId: string): Promise<void>;
  readonly job: Job;
}

/** So many unchecked decisions are enough. */
const pendingMax = 100_000;

interface Pending {
  readonly body: AskDecision;
  readonly asker: Asker;
  readonly id: string;
  readonly atMs: number;
}

export function createDegraded({ ids, ledger, log, findPrice }: DegradedDependencies): Degraded {
  const pending = new Map<string, Pending>();

  async function land(one: Pending): Promise<void> {
    await ledger.adopt(await holdOf(one));
    pending.delete(one.id);
  }

  async function holdOf({ body, asker, id, atMs }: Pending): Promise<Hold> {
    const price = await findPrice(asker.orgId, body.model, atMs);
    const question = questionOf(body, asker, price);
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
      idempotency: null,
      degraded: true,
    };
  }

  function unpriced(body: AskDecision, asker: Asker) {
    const question = questionOf({ ...body, estimated_cost_usd: '0' }, asker, undefined);
    if ('code' in question) {
      throw new Error('a decision with an estimate is always a question');
    }
    return question.request;
  }

  return {
    allow(body, asker, now) {
      if (pending.size >= pendingMax) {
        throw new DatabaseUnavailable('too many decisions were given without the books');
      }
      const one: Pending = { body, asker, id: ids.next('dec'), atMs: now.getTime() };
      pending.set(one.id, one);
      const question = questionOf(body, asker, undefined);
      const request = 'code' in question ? unpriced(body, asker) : question.request;
      const verdict: Verdict = {
        decision: 'allow',
        decision_id: one.id,
        expires_at: new Date(one.atMs + request.holdSeconds * 1_000).toISOString(),
        held_usd: formatUsd(request.amounts.usd),
        max_output_tokens: body.max_output_tokens ?? null,
        limits: [],
        // Which of them the org has cannot be asked either.
        not_checked: [...otherGates],
        degraded: true,
      };
      return JSON.stringify(verdict);
    },
    async land(decisionId) {
      const one = pending.get(decisionId);
      if (one !== undefined) {
        await land(one);
      }
    },
    job: {
      name: 'put decisions that were given without the books into them',
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
