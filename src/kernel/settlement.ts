/**
 * Settling: what is held becomes what was spent, whole, whatever was held for it. In two steps, because the fact becomes
 * durable in between: first the hold is raised to what it is going to cost, then it is let go of and counted.
 */
import {
  type Counters,
  debitsOf,
  type LimitWindow,
  livePacks,
  type Reservation,
  type ReservedCounter,
  releaseDebits,
  releaseReservation,
  reserveDebits,
} from './admission.ts';
import { burn, type Debit, unburn } from './credits.ts';
import type { Amounts, Limit } from './limits.ts';

export const emptyReservation: Reservation = {
  shares: [],
  amounts: { usd: 0n, tokens: 0n, requests: 0n },
  packs: [],
};

export interface SettlementRequest {
  readonly reservation: Reservation;
  /** The counters that the charge counts in. */
  readonly windows: readonly LimitWindow[];
  /** What it really takes. */
  readonly amounts: Amounts;
  /** The instant that the charge belongs to. */
  readonly atMs: number;
}

/**
 * A hold on its way to becoming a fact. A batch may have thousands of them, so they refer to what they have in common
 * instead of a list each of counters and amounts.
 */
export interface PendingSettlement {
  readonly reservation: Reservation;
  /** What is held of counters and packs beyond that. */
  readonly additional: readonly Debit[];
  readonly windows: readonly LimitWindow[];
  readonly amounts: Amounts;
  /** Which packs pay how much. Below zero where a correction gives back. */
  readonly burned: readonly Debit[];
  /** What a customer with credits cannot pay. */
  readonly uncovered: bigint;
  /** What the prepaid balance pays. */
  readonly prepaid: bigint;
}

/** What is counted of a limit, unless it is a credit pack. */
function amountIn({ amounts, prepaid }: PendingSettlement, limit: Limit): bigint {
  return limit.kind === 'prepaid' ? prepaid : amounts[limit.unit];
}

/** Holds, of every counter, the larger of what was held and what it really takes. Every pack's counter must exist. */
export function prepareSettlement(counters: Counters, request: SettlementRequest): PendingSettlement {
  const { reservation, windows, amounts } = request;
  const more: Debit[] = [];
  let prepaid = 0n;
  let next = 0;
  for (const { limit, key } of windows) {
    if (limit.kind === 'credits') {
      continue;
    }
    const amount = amounts[limit.unit];
    const lacking = amount - heldOf(reservation, key, next);
    next += 1;
    if (lacking > 0n && counters.has(key)) {
      more.push({ key, amount: lacking });
    }
    if (limit.kind === 'prepaid') {
      prepaid = amount;
    }
  }
  const { burned, uncovered, extra } = burnFor(counters, request);
  more.push(...extra);
  reserveDebits(counters, more);
  return {
    reservation,
    additional: more.length === 0 ? noDebits : more,
    windows,
    amounts,
    burned,
    uncovered,
    prepaid,
  };
}

const noDebits: readonly Debit[] = [];

/** Most often it is the share in this very place: what was held meets the same limits. */
function heldOf({ shares, amounts }: Reservation, key: string, place: number): bigint {
  const there: ReservedCounter | undefined =
    shares[place]?.key === key ? shares[place] : shares.find((share) => share.key === key);
  return there === undefined ? 0n : amounts[there.unit];
}

/** The packs that were held pay first, even if they expired since; then other live ones; then nobody. */
function burnFor(
  counters: Counters,
  { reservation: { packs }, windows, amounts: { usd }, atMs }: SettlementRequest,
) {
  const held = total(packs);
  if (usd <= held) {
    return { burned: unburn(packs, held - usd), uncovered: 0n, extra: noDebits };
  }
  const live = livePacks(counters, windows, atMs);
  if (live.length === 0 && packs.length === 0) {
    return { burned: noDebits, uncovered: 0n, extra: noDebits };
  }
  const { debits: extra, rest } = burn(live, usd - held);
  return { burned: merged([...packs, ...extra]), uncovered: rest, extra };
}

/** Nothing came of it: the hold is again what it was. */
export function rollBackSettlement(
  counters: Counters,
  { reservation, additional: more }: PendingSettlement,
  before: Reservation,
): void {
  releaseReservation(counters, reservation);
  releaseDebits(counters, more);
  reserveDebits(
    counters,
    debitsOf(before).filter(({ key }) => counters.has(key)),
  );
}

/** It is a fact: the hold is let go of, and what it came to is counted. */
export function commitSettlement(counters: Counters, settlement: PendingSettlement): void {
  releaseReservation(counters, settlement.reservation);
  releaseDebits(counters, settlement.additional);
  for (const { limit, key } of settlement.windows) {
    if (limit.kind !== 'credits') {
      count(counters, key, amountIn(settlement, limit));
    }
  }
  for (const { key, amount } of settlement.burned) {
    count(counters, key, amount);
  }
}

/** What the entries of a run took of packs and of the prepaid balance, and left uncovered. */
export interface Paid {
  readonly burned: readonly Debit[];
  readonly uncovered: bigint;
  readonly prepaid: bigint;
}

/** What it comes to with one more entry. */
export function paidWith(paid: Paid, more: Paid): Paid {
  return {
    burned: merged([...paid.burned, ...more.burned]).filter(({ amount }) => amount > 0n),
    uncovered: paid.uncovered + more.uncovered,
    prepaid: paid.prepaid + more.prepaid,
  };
}

export interface CorrectionRequest extends Paid {
  readonly windows: readonly LimitWindow[];
  /** The difference; its usd is below zero where the run cost less than was posted. */
  readonly amounts: Amounts;
  readonly atMs: number;
}

/** The difference goes where the amount went: more is burned like a cost beyond its hold, less is given back. */
export function correct(counters: Counters, request: CorrectionRequest): PendingSettlement {
  const { windows, amounts, atMs, burned, uncovered, prepaid } = request;
  const delta = amounts.usd;
  if (delta >= 0n) {
    return prepareSettlement(counters, { reservation: emptyReservation, windows, amounts, atMs });
  }
  const forgiven = smaller(uncovered, -delta);
  const back = smaller(total(burned), -delta - forgiven);
  const kept = new Map(unburn(burned, back).map(({ key, amount }) => [key, amount]));
  return {
    reservation: emptyReservation,
    additional: noDebits,
    windows,
    amounts,
    burned: burned
      .map(({ key, amount }) => ({ key, amount: (kept.get(key) ?? 0n) - amount }))
      .filter(({ amount }) => amount !== 0n),
    uncovered: -forgiven,
    // The balance gets back what it paid and no more: the run may be older than it.
    prepaid: windows.some(({ limit }) => limit.kind === 'prepaid') ? -smaller(prepaid, -delta) : 0n,
  };
}

export interface Alert {
  readonly limitWindow: LimitWindow;
  readonly percent: number;
  /** What is settled once the postings are. */
  readonly settled: bigint;
}

/** The thresholds that these postings, once counted, reach and that nobody was told of. */
export function alertsDue(counters: Counters, postings: readonly PendingSettlement[]): Alert[] {
  const coming = new Map<string, { limitWindow: LimitWindow; amount: bigint }>();
  for (const settlement of postings) {
    for (const limitWindow of settlement.windows) {
      const { limit, key } = limitWindow;
      if (limit.thresholds.length > 0) {
        const amount =
          limit.kind === 'credits'
            ? (settlement.burned.find((one) => one.key === key)?.amount ?? 0n)
            : amountIn(settlement, limit);
        const there = coming.get(key);
        if (there === undefined) {
          coming.set(key, { limitWindow, amount });
        } else {
          there.amount += amount;
        }
      }
    }
  }
  const alerts: Alert[] = [];
  for (const [key, { limitWindow: met, amount }] of coming) {
    const counter = counters.get(key);
    if (counter !== undefined) {
      const settled = counter.settled + amount;
      for (const percent of met.limit.thresholds) {
        const reached = settled > 0n && settled * 100n >= BigInt(percent) * met.limit.capacity;
        if (reached && percent > counter.alerted) {
          alerts.push({ limitWindow: met, percent, settled });
        }
      }
    }
  }
  return alerts;
}

/** So that nobody is told twice. */
export function markAlerted(counters: Counters, alerts: readonly Alert[]): void {
  for (const { limitWindow, percent } of alerts) {
    const counter = counters.get(limitWindow.key);
    if (counter !== undefined && counter.alerted < percent) {
      counter.alerted = percent;
    }
  }
}

function count(counters: Counters, key: string, amount: bigint): void {
  const counter = counters.get(key);
  if (counter !== undefined) {
    counter.settled += amount;
  }
}

function merged(debits: readonly Debit[]): Debit[] {
  const byKey = new Map<string, bigint>();
  for (const { key, amount } of debits) {
    byKey.set(key, (byKey.get(key) ?? 0n) + amount);
  }
  return [...byKey].map(([key, amount]) => ({ key, amount }));
}

function total(debits: readonly Debit[]): bigint {
  return debits.reduce((sum, { amount }) => sum + amount, 0n);
}

function smaller(a: bigint, b: bigint): bigint {
  return a < b ? a : b;
}
