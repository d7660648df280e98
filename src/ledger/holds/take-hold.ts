/** Taking a hold that was admitted, the same on both engines. */
import {
  type Admission,
  type ApplicableCounters,
  admit,
  applicableCounters,
  type Charge,
  type Counter,
  reserve,
  reserveDebits,
} from '../../kernel/admission.ts';
import type { Denial } from '../../kernel/denial.ts';
import type { Limit } from '../../kernel/limits.ts';
import type { Ids } from '../../platform/ids.ts';
import type { Hold } from './hold.ts';
import { holdKeyOf } from './hold-keys.ts';
import { type AdmissionPreview, type Held, type HoldRequest, holdSecondsMax } from './hold-request.ts';
import type { OpenHold, OrgLedgerState } from './org-ledger-state.ts';

export interface Admitted {
  readonly request: HoldRequest;
  readonly charge: Charge;
  readonly applicable: ApplicableCounters;
  readonly admission: Extract<Admission, { kind: 'allowed' }>;
}

/** Takes what it holds in the book; to keep it there and to make it durable is for whoever has the book. */
export function takeHold(
  ids: Ids,
  orgState: OrgLedgerState,
  { request, charge, applicable, admission }: Admitted,
): Held {
  const { amounts } = request;
  const left: bigint[] = [];
  reserveDebits(orgState.counters, admission.packs);
  for (const { key, limit } of applicable.counters) {
    const counter = orgState.counters.get(key) as Counter;
    if (limit.kind !== 'credits') {
      counter.held += amounts[limit.unit];
    }
    left.push(remaining(limit, counter));
  }
  const hold: Hold = {
    id: ids.next('dec'),
    orgId: request.orgId,
    runId: null,
    surface: request.surface,
    scope: request.scope,
    amounts: request.amounts,
    admittedAtMs: charge.atMs,
    expiresAtMs: charge.atMs + request.holdSeconds * 1_000,
    shares: applicable.shares,
    packs: admission.packs,
    priceVersion: request.priceVersion,
    idempotency: null,
  };
  const held: Held = {
    kind: 'held',
    hold,
    applicable,
    left,
  };
  return request.key === undefined ? held : withKey(held, request.key);
}

/** What would refuse it. Takes nothing; every counter must exist. */
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

/** Takes a hold that was given without asking. */
export function importHold(orgState: OrgLedgerState, given: Hold, { shares }: ApplicableCounters): OpenHold {
  const hold: Hold = { ...given, shares };
  reserve(orgState.counters, hold);
  return orgState.keep(hold);
}

function withKey(held: Held, key: NonNullable<HoldRequest['key']>): Held {
  const answer = key.answerOf(held);
  return { ...held, response: answer, hold: { ...held.hold, idempotency: holdKeyOf(key, answer) } };
}

/** Stops at zero: a limit may have been lowered below what is spent. */
function remaining({ capacity }: Limit, { settled, held }: Counter): bigint {
  const left = capacity - settled - held;
  return left > 0n ? left : 0n;
}

/** Never earlier than it was, never later than a day after the admission. */
export function extendedTo(hold: Hold, nowMs: number, seconds: number): number {
  const latestMs = hold.admittedAtMs + holdSecondsMax * 1_000;
  return Math.max(hold.expiresAtMs, Math.min(nowMs + seconds * 1_000, latestMs));
}

export function keyName(orgId: string, digest: string): string {
  return `${orgId} ${digest}`;
}
