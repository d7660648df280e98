/** Admitting, taking and previewing holds, the same on both engines. */
import {
  type Admission,
  type ApplicableCounters,
  admit,
  applicableCounters,
  type Charge,
  type Counter,
  type LimitWindow,
  reserveDebits,
} from '../../kernel/admission.ts';
import type { Denial } from '../../kernel/denial.ts';
import { admitUpTo } from '../../kernel/fit.ts';
import { fullestLimit } from '../../kernel/limit-use.ts';
import type { Limit } from '../../kernel/limits.ts';
import type { Ids } from '../../platform/ids.ts';
import { isAhead } from './elapsed-lifetimes.ts';
import { fieldsOfCall, type Hold } from './hold.ts';
import { holdKeyOf } from './hold-keys.ts';
import { type AdmissionPreview, type Held, type HoldRequest, holdSecondsMax } from './hold-request.ts';
import type { OrgLedgerState } from './org-ledger-state.ts';

/** Message of the error if the maximum number of open holds is reached. */
export const tooManyHolds = 'too many holds are open';

export interface Admitted {
  readonly kind: 'admitted';
  readonly request: HoldRequest;
  readonly charge: Charge;
  readonly applicable: ApplicableCounters;
  readonly admission: Extract<Admission, { kind: 'allowed' }>;
}

/** Checks the limits and reserves nothing. A request with `fit` is reduced to what they allow. Every counter must exist. */
export function admitHold(
  { counters, limits }: OrgLedgerState,
  request: HoldRequest,
  applicable: ApplicableCounters,
  nowMs: number,
): Admitted | Extract<Admission, { kind: 'denied' }> {
  const { scope, amounts, fit, call } = request;
  const charge: Charge = { scope, amounts, depth: call?.depth ?? null, atMs: nowMs };
  const asked = {
    limits,
    charge,
    windows: applicable.counters,
    preFlight: true,
    leavesGrowth: call !== undefined,
  };
  if (fit === undefined) {
    const admission = admit(counters, asked);
    return admission.kind === 'denied'
      ? admission
      : { kind: 'admitted', request, charge, applicable, admission };
  }
  const admission = admitUpTo(counters, asked, fit);
  return admission.kind === 'denied'
    ? admission
    : {
        kind: 'admitted',
        request,
        charge: { ...charge, amounts: admission.amounts },
        applicable,
        admission,
      };
}

/**
 * Reserves the amounts in the counters and returns the hold. The caller adds the hold to the org state and makes it
 * durable.
 */
export function takeHold(
  ids: Ids,
  orgState: OrgLedgerState,
  { request, charge, applicable, admission }: Admitted,
): Held {
  const { amounts } = charge;
  const remaining: bigint[] = [];
  // A hold for less than the request is the maximum of the call, so it neither grows nor can be exceeded.
  const call =
    request.call !== undefined && amounts.tokens < request.amounts.tokens
      ? { holdId: request.call.holdId, depth: request.call.depth }
      : request.call;
  reserveDebits(orgState.counters, admission.packs);
  for (const { key, limit } of applicable.counters) {
    const counter = orgState.counters.get(key) as Counter;
    if (limit.kind !== 'credits') {
      // Holds that an earlier release has ended may have left their growth.
      counter.growth = (counter.held === 0n ? 0n : counter.growth) + (call?.growth?.[limit.unit] ?? 0n);
      counter.held += amounts[limit.unit];
    }
    remaining.push(remainingOf(limit, counter));
  }
  const hold: Hold = {
    id: call?.holdId ?? ids.next('dec'),
    orgId: request.orgId,
    runId: null,
    surface: request.surface,
    scope: request.scope,
    amounts,
    admittedAtMs: charge.atMs,
    expiresAtMs: charge.atMs + request.holdSeconds * 1_000,
    shares: applicable.shares,
    packs: admission.packs,
    priceVersion: request.priceVersion,
    idempotency: null,
    ...(request.service !== undefined && { service: request.service }),
    ...(call !== undefined && fieldsOfCall(call)),
  };
  const held: Held = {
    kind: 'held',
    hold,
    applicable,
    remaining,
    ...(call !== undefined && { fullest: fullestLimit(orgState.counters, applicable.counters) }),
  };
  return request.key === undefined ? held : withKey(held, request.key);
}

/** Returns the denial that a request would get. Reserves nothing; every counter must exist. */
export function denialFor(
  orgState: OrgLedgerState,
  { scope, amounts, surface }: AdmissionPreview,
  nowMs: number,
): Denial | undefined {
  const admission = admit(orgState.counters, {
    limits: orgState.limits,
    charge: { scope, amounts, depth: null, atMs: nowMs },
    windows: applicableCounters(orgState.limits, scope, nowMs, surface).counters,
    preFlight: true,
  });
  return admission.kind === 'denied' ? admission.denial : undefined;
}

function withKey(held: Held, key: NonNullable<HoldRequest['key']>): Held {
  const response = key.responseOf(held);
  return { response, ...held, hold: { ...held.hold, idempotency: holdKeyOf(key, response) } };
}

/** Returns at least zero, because a limit may have been reduced below the amount already spent. */
export function remainingOf({ capacity }: Limit, { settled, held }: Counter): bigint {
  const remaining = capacity - settled - held;
  return remaining > 0n ? remaining : 0n;
}

/** Returns the smallest amount in nanodollars that the cost limits still allow; undefined if no cost limit applies. */
export function smallestRemaining(
  windows: readonly LimitWindow[],
  remaining: (limitWindow: LimitWindow, index: number) => bigint,
): bigint | undefined {
  let smallest: bigint | undefined;
  for (const [index, limitWindow] of windows.entries()) {
    const { unit, kind, enforcement } = limitWindow.limit;
    if (unit === 'usd' && kind !== 'credits' && enforcement === 'block') {
      const amount = remaining(limitWindow, index);
      smallest = smallest === undefined || amount < smallest ? amount : smallest;
    }
  }
  return smallest;
}

/**
 * Returns the extended expiry: never earlier than the current one, and at most one day after the admission. A hold that was
 * admitted ahead of the clock has its lifetime measured by elapsed time, so the extension is added to its expiry.
 */
export function extendedTo(hold: Hold, clockMs: number, seconds: number): number {
  const latestMs = hold.admittedAtMs + holdSecondsMax * 1_000;
  const fromMs = isAhead(hold, clockMs) ? hold.expiresAtMs : clockMs;
  return Math.max(hold.expiresAtMs, Math.min(fromMs + seconds * 1_000, latestMs));
}

export function orgKeyId(orgId: string, digest: string): string {
  return `${orgId} ${digest}`;
}
