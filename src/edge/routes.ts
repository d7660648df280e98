/** `POST /v1/edge/decision`: may this call to a model go ahead, and who pays? */
import { createHash } from 'node:crypto';
import { refuse, refuseFields } from '../contract/refusal.ts';
import { canonicalJson } from '../platform/canonical-json.ts';
import { DatabaseUnavailable } from '../platform/db/database.ts';
import type { Caller } from '../platform/http/access.ts';
import { decision, type Route } from '../platform/http/route.ts';
import type { Exhaustions } from '../platform/ledger/exhaustion.ts';
import type { HoldResult, Ledger } from '../platform/ledger/ledger.ts';
import { decisionCounts } from '../platform/ledger/metrics.ts';
import type { OrgLimitsCache } from '../platform/ledger/org-limits.ts';
import { refuseDenial } from '../platform/ledger/refusals.ts';
import { rateRefusal, takeGateRates } from '../platform/rates/gate-rates.ts';
import type { RateLimiter } from '../platform/rates/rate-limiter.ts';
import { type Price, questionOf, verdictText } from './decision.ts';
import type { Degraded } from './degraded.ts';
import { AskDecision, Verdict } from './schema.ts';

export interface EdgeDependencies {
  readonly ledger: Ledger;
  readonly orgLimits: OrgLimitsCache;
  readonly rates: RateLimiter;
  readonly exhaustions: Exhaustions;
  /** What to do while the books cannot be asked; undefined: refuse. */
  readonly degraded?: Degraded | undefined;
  findPrice(orgId: string, model: string, atMs: number): Price | undefined | Promise<Price | undefined>;
  /** Whether the org has policies. They are not asked here, only named. */
  isGoverned(orgId: string): boolean | Promise<boolean>;
}

export function edgeRoutes(deps: EdgeDependencies): Route[] {
  return [
    decision({
      id: 'edge.decide',
      method: 'POST',
      path: '/v1/edge/decision',
      summary: 'Ask whether a call to a model may go ahead',
      description:
        'Holds what it may cost of every limit that applies, or of none. Settle by posting the run with its `decision_id`; ' +
        'what nobody settles is given back when it expires. An `Idempotency-Key` is kept as long as the hold is open.',
      access: { kind: 'org', scope: 'edge:decide', role: 'member' },
      body: AskDecision,
      success: 200,
      response: Verdict,
      errors: ['budget_exceeded', 'quota_exhausted', 'spend_cap_exceeded', 'rate_limited'],
      async handler({ body, caller, now, outcome }, key) {
        try {
          return await decide(deps, { body, caller, now, key, outcome: outcome as Outcome });
        } catch (error) {
          if (deps.degraded === undefined || !(error instanceof DatabaseUnavailable)) {
            throw error;
          }
          decisionCounts.count('edge', 'allow', '');
          return deps.degraded.allow(body, { orgId: caller.tenantId, keyId: caller.keyId }, now);
        }
      },
    }),
  ];
}

/** What the books have answered already, on the fast path. */
type Outcome = Promise<HoldResult> | undefined;

interface Asked {
  readonly body: AskDecision;
  readonly caller: Caller;
  readonly now: Date;
  readonly key: string | undefined;
  readonly outcome: Outcome;
}

async function decide(deps: EdgeDependencies, { body, caller, now, key, outcome }: Asked): Promise<string> {
  const { ledger, orgLimits, rates, findPrice, exhaustions } = deps;
  const orgId = caller.tenantId;
  const price = await findPrice(orgId, body.model, now.getTime());
  const question = questionOf(body, { orgId, keyId: caller.keyId }, price);
  if ('code' in question) {
    throw refuseFields([question]);
  }
  const isGoverned = await deps.isGoverned(orgId);
  const limits = orgLimits.peek(orgId) ?? (await orgLimits.get(orgId));
  const taken = takeGateRates(rates, limits, [question.request], now.getTime());
  if (taken !== undefined) {
    const refused = rateRefusal(taken, await taken.verdict, 'edge');
    if (refused !== undefined) {
      decisionCounts.count('edge', 'deny', refused.refusal.code);
      refused.tell(exhaustions, orgId, question.request.scope);
      throw refused.refusal;
    }
  }
  const giveBack = () => taken && rates.giveBack(taken.takes, now.getTime());
  try {
    const result = await (outcome ??
      ledger.hold({
        ...question.request,
        ...(key !== undefined && {
          key: {
            digest: sha256(key),
            fingerprint: sha256(canonicalJson({ body, keyId: caller.keyId })),
            answerOf: (held) => verdictText(question, held, isGoverned),
          },
        }),
      }));
    switch (result.kind) {
      case 'held':
        decisionCounts.count('edge', 'allow', '');
        return result.hold.idempotency?.answer ?? verdictText(question, result, isGoverned);
      case 'replayed':
        giveBack();
        return result.answer;
      case 'key_conflict':
        throw refuse('idempotency_key_conflict');
      case 'denied':
        decisionCounts.count('edge', 'deny', result.denial.code);
        exhaustions.refused(orgId, question.request.scope, result.denial);
        throw refuseDenial(result.denial, 'edge');
    }
  } catch (error) {
    giveBack();
    throw error;
  }
}

function sha256(text: string): string {
  return createHash('sha256').update(text).digest('hex');
}
