import type { Fit } from '../../../kernel/fit.ts';
import type { OrgLimits } from '../../../kernel/limits.ts';
import { withRunIndex } from '../../../ledger/ledger-errors.ts';
import {
  type FittedRates,
  rateDenial,
  takeAdmissionRates,
  takeAdmissionRatesUpTo,
} from '../../../ledger/limits/admission-rates.ts';
import { decisionCounts } from '../../../ledger/metrics.ts';
import { needsAdmission, type Posting } from '../../../ledger/posting.ts';
import type { RateDebit } from '../../../platform/rates/rate-limiter.ts';
import type { RunDependencies } from './dependencies.ts';

/**
 * Debits the rate limits by model, customer, tokens and cost for the postings, and returns the debits. If a limit is exceeded,
 * throws and debits nothing. A run that settles a decision is skipped, because the decision was counted.
 */
export async function takeRates(
  { rates, limitEvents }: Pick<RunDependencies, 'rates' | 'limitEvents'>,
  limits: OrgLimits,
  postings: readonly Posting[],
  { now, bulk }: { readonly now: Date; readonly bulk: boolean },
): Promise<readonly RateDebit[]> {
  const admitted = [...postings.entries()].filter(([, posting]) => needsAdmission(posting));
  const charges = admitted.map(([, posting]) => posting);
  const reservation = takeAdmissionRates(rates, limits, charges, now.getTime());
  const denial = reservation && rateDenial(reservation, await reservation.verdict, 'run');
  if (denial !== undefined) {
    const { error, index } = denial;
    const [runIndex, { scope }] = admitted[index] as [number, Posting];
    decisionCounts.count('run', 'deny', error.code);
    denial.enqueueEvent(limitEvents, limits.orgId, scope);
    throw bulk ? withRunIndex(error, runIndex) : error;
  }
  return reservation?.debits ?? [];
}

/** Debits the rate limits for one posting, as much of it as they allow. */
export async function takeRatesUpTo(
  { rates, limitEvents }: Pick<RunDependencies, 'rates' | 'limitEvents'>,
  limits: OrgLimits,
  { scope }: Posting,
  fit: Fit,
  now: Date,
): Promise<FittedRates> {
  const fitted = await takeAdmissionRatesUpTo(rates, limits, scope, fit, now.getTime());
  const denial = fitted.reservation && rateDenial(fitted.reservation, fitted.verdict, 'run');
  if (denial !== undefined) {
    decisionCounts.count('run', 'deny', denial.error.code);
    denial.enqueueEvent(limitEvents, limits.orgId, scope);
    throw denial.error;
  }
  return fitted;
}
