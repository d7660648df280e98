/** Increases an open hold over HTTP: prices the increase, checks the rate limits, and lets the ledger check all others. */

import { invalidField } from '../../../contract/api-error.ts';
import type { Amounts } from '../../../kernel/limits.ts';
import type { CalledAt } from '../../../kernel/model-hosts.ts';
import { parseUsd } from '../../../kernel/money.ts';
import { maxTokens, worstCaseOutputCost } from '../../../kernel/prices.ts';
import { maximumRatesFor, type Tariff } from '../../../kernel/rate-modifiers.ts';
import type { Hold } from '../../../ledger/holds/hold.ts';
import type { HoldIncrease, IncreaseResult } from '../../../ledger/holds/hold-request.ts';
import { isApplied } from '../../../ledger/holds/increase-hold.ts';
import type { Ledger } from '../../../ledger/ledger.ts';
import { denialError } from '../../../ledger/ledger-errors.ts';
import { rateDenial, takeAdmissionRates } from '../../../ledger/limits/admission-rates.ts';
import type { LimitEvents } from '../../../ledger/limits/limit-events.ts';
import type { OrgLimitsCache } from '../../../ledger/limits/org-limits.ts';
import { decisionCounts } from '../../../ledger/metrics.ts';
import { endedOrUnknown } from '../../../ledger/postings/ledger-writes.ts';
import type { StoreResponse } from '../../../platform/http/routes/route.ts';
import type { RateLimiter } from '../../../platform/rates/rate-limiter.ts';
import { changed, type HoldDependencies, rejectCallInProgress, viewAndStore } from './holds.ts';
import type { HoldView, IncreaseHold } from './schema.ts';

export interface IncreaseDependencies extends HoldDependencies {
  readonly ledger: HoldDependencies['ledger'] & Pick<Ledger, 'increase'>;
  readonly orgLimits: Pick<OrgLimitsCache, 'peek' | 'get'>;
  readonly rates: RateLimiter;
  readonly limitEvents: LimitEvents;
  /** Returns the terms of a price version, even if it is no longer in force. */
  findTariff(orgId: string, model: string, priceVersion: string, at: CalledAt): Promise<Tariff | undefined>;
}

export interface IncreaseCall {
  readonly orgId: string;
  readonly holdId: string;
  readonly body: IncreaseHold;
  readonly now: Date;
  readonly storeResponse: StoreResponse | undefined;
  /** Null or undefined if the request is not idempotent. */
  readonly requestId: string | null | undefined;
  /** Only stated by the gateway. */
  readonly more?: Pick<HoldIncrease, 'growth' | 'attemptMaxNanos'> | undefined;
}

/**
 * The idempotent response is stored after the change. The hold contains the id of the request, so a retry that finds no
 * response still has no second effect.
 */
export async function increaseHold(deps: IncreaseDependencies, call: IncreaseCall): Promise<HoldView> {
  return viewAndStore(deps, await increasedHold(deps, call, rejectCallInProgress), call.storeResponse);
}

/** Increases the hold of a call for the gateway, which alone may do that. Throws if it is not increased. */
export async function increaseCallHold(
  deps: IncreaseDependencies,
  call: Pick<IncreaseCall, 'orgId' | 'holdId' | 'body' | 'now' | 'more'>,
): Promise<void> {
  await increasedHold(deps, { ...call, storeResponse: undefined, requestId: null }, () => undefined);
}

async function increasedHold(
  deps: IncreaseDependencies,
  call: IncreaseCall,
  check: (hold: Hold) => void,
): Promise<Hold> {
  const { db, ledger, failOpen } = deps;
  const { orgId, holdId, body } = call;
  await failOpen.importNow(orgId, [holdId]);
  const hold = await ledger.reads.findHold(orgId, holdId);
  if (hold === undefined) {
    return changed(deps, orgId, holdId, await endedOrUnknown(db, orgId, holdId));
  }
  check(hold);
  const by = await amountsOf(deps, hold, body);
  const result = await increase(deps, call, hold, by);
  switch (result.kind) {
    case 'denied':
      decisionCounts.count('increase', 'deny', result.denial.code);
      deps.limitEvents.limitDenied(orgId, hold.scope, result.denial);
      throw denialError(result.denial, hold.surface);
    case 'out_of_range':
      throw invalidField(
        body.output_tokens === undefined ? 'cost_usd' : 'output_tokens',
        'out_of_range',
        'The hold would exceed the maximum amount.',
      );
    default: {
      const after = changed(deps, orgId, holdId, result);
      decisionCounts.count('increase', 'allow', '');
      return after;
    }
  }
}

/** Debits the rate limits, then increases the hold; gives the debits back if the hold is not increased. */
async function increase(
  { ledger, orgLimits, rates, limitEvents }: IncreaseDependencies,
  { orgId, holdId, now, requestId = null, more }: IncreaseCall,
  hold: Hold,
  by: Amounts,
): Promise<IncreaseResult> {
  const limits = orgLimits.peek(orgId) ?? (await orgLimits.get(orgId));
  // A retry was debited at its first attempt.
  const reservation = isApplied(hold, requestId)
    ? undefined
    : takeAdmissionRates(rates, limits, [{ scope: hold.scope, amounts: by }], now.getTime());
  const denial = reservation && rateDenial(reservation, await reservation.verdict, hold.surface);
  if (denial !== undefined) {
    decisionCounts.count('increase', 'deny', denial.error.code);
    denial.enqueueEvent(limitEvents, orgId, hold.scope);
    throw denial.error;
  }
  let isIncreased = false;
  try {
    const result = await ledger.increase(orgId, holdId, { by, requestId, ...more });
    isIncreased = result.kind === 'changed';
    return result;
  } finally {
    if (!isIncreased && reservation !== undefined) {
      rates.giveBack(reservation.debits, now.getTime());
    }
  }
}

/** Returns the amounts of an increase. It is not another request, so it counts none. */
async function amountsOf(deps: IncreaseDependencies, hold: Hold, body: IncreaseHold): Promise<Amounts> {
  const { output_tokens, cost_usd, tokens } = body;
  if (output_tokens === undefined && cost_usd === undefined) {
    throw invalidField('output_tokens', 'required', 'Provide `output_tokens` or `cost_usd`.');
  }
  if (output_tokens !== undefined && cost_usd !== undefined) {
    throw invalidField('cost_usd', 'invalid_value', 'Provide either `output_tokens` or `cost_usd`.');
  }
  if (output_tokens !== undefined && tokens !== undefined) {
    throw invalidField('tokens', 'invalid_value', 'Only allowed with `cost_usd`.');
  }
  if (output_tokens === undefined) {
    return { usd: parseUsd(cost_usd ?? '0') ?? 0n, tokens: BigInt(tokens ?? 0), requests: 0n };
  }
  const {
    orgId,
    priceVersion,
    service,
    scope: { model, provider },
  } = hold;
  const tariff =
    priceVersion === null || model === null
      ? undefined
      : await deps.findTariff(orgId, model, priceVersion, { provider, region: service?.region ?? null });
  if (tariff === undefined) {
    throw invalidField('output_tokens', 'invalid_value', 'This hold has no price. Provide `cost_usd`.');
  }
  const added = BigInt(output_tokens);
  const terms = { tier: service?.tier ?? null, region: service?.region ?? null };
  // If no service was stated, the hold has the input and output tokens of the request. If the input is unknown, any rates may
  // apply.
  const inputTokens = service === undefined ? hold.amounts.tokens : BigInt(service.inputTokens ?? maxTokens);
  const rates = maximumRatesFor(tariff, terms, inputTokens);
  return { usd: worstCaseOutputCost(rates, added), tokens: added, requests: 0n };
}
