/**
 * Settling: what is held becomes what was spent, whole, whatever was held for it. In two steps, because the fact becomes
 * durable in between: first the hold is raised to what it is going to cost, then it is let go of and counted.
 */
import {
  type Counters,
  livePacks,
  type Met,
  release,
  releaseAll,
  type Share,
  type Taken,
  take,
  takesOf,
} from './admission.ts';
import { burn, type Take, unburn } from './credits.ts';
import type { Amounts, Limit } from './limits.ts';

export const nothingTaken: Taken = {
  shares: [],
  amounts: { usd: 0n, tokens: 0n, requests: 0n },
  packs: [],
};

export interface SettlementRequest {
  readonly taken: Taken;
  /** The counters that the charge counts in. */
  readonly met: readonly Met[];
  /** What it really takes. */
  readonly amounts: Amounts;
  /** The instant that the charge belongs to. */
  readonly atMs: number;
}

/**
 * A hold on its way to becoming a fact. A batch may have thousands of them, so they refer to what they have in common
 * instead of a list each of counters and amounts.
 */
export interface Raised {
  readonly taken: Taken;
  /** What is held of counters and packs beyond that. */
  readonly more: readonly Take[];
  readonly met: readonly Met[];
  readonly amounts: Amounts;
  /** Which packs pay how much. Below zero where a correction gives back. */
  readonly burned: readonly Take[];
  /** What a customer with credits cannot pay. */
  readonly uncovered: bigint;
  /** What the prepaid balance pays. */
  readonly prepaid: bigint;
}

/** What is counted of a limit, unless it is a credit pack. */
function amountIn({ amounts, prepaid }: Raised, limit: Limit): bigint {
  return limit.kind === 'prepaid' ? prepaid : amounts[limit.unit];
}

/** Holds, of every counter, the larger of what was held and what it really takes. Every pack's counter must exist. */
export function raise(counters: Counters, request: SettlementRequest): Raised {
  const { taken, met, amounts } = request;
  const more: Take[] = [];
  let prepaid = 0n;
  let next = 0;
  for (const { limit, key } of met) {
    if (limit.kind === 'credits') {
      continue;
    }
    const amount = amounts[limit.unit];
    const lacking = amount - heldOf(taken, key, next);
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
  take(counters, more);
  return { taken, more: more.length === 0 ? noTakes : more, met, amounts, burned, uncovered, prepaid };
}

const noTakes: readonly Take[] = [];

/** Most often it is the share in this very place: what was held meets the same limits. */
function heldOf({ shares, amounts }: Taken, key: string, place: number): bigint {
  const there: Share | undefined =
    shares[place]?.key === key ? shares[place] : shares.find((share) => share.key === key);
  return there === undefined ? 0n : amounts[there.unit];
}

/** The packs that were held pay first, even if they expired since; then other live ones; then nobody. */
function burnFor(counters: Counters, { taken: { packs }, met, amounts: { usd }, atMs }: SettlementRequest) {
  const held = total(packs);
  if (usd <= held) {
    return { burned: unburn(packs, held - usd), uncovered: 0n, extra: noTakes };
  }
  const live = livePacks(counters, met, atMs);
  if (live.length === 0 && packs.length === 0) {
    return { burned: noTakes, uncovered: 0n, extra: noTakes };
  }
  const { takes: extra, rest } = burn(live, usd - held);
  return { burned: merged([...packs, ...extra]), uncovered: rest, extra };
}

/** Nothing came of it: the hold is again what it was. */
export function lower(counters: Counters, { taken, more }: Raised, before: Taken): void {
  releaseAll(counters, taken);
  release(counters, more);
  take(
    counters,
    takesOf(before).filter(({ key }) => counters.has(key)),
  );
}

/** It is a fact: the hold is let go of, and what it came to is counted. */
export function conclude(counters: Counters, raised: Raised): void {
  releaseAll(counters, raised.taken);
  release(counters, raised.more);
  for (const { limit, key } of raised.met) {
    if (limit.kind !== 'credits') {
      count(counters, key, amountIn(raised, limit));
    }
  }
  for (const { key, amount } of raised.burned) {
    count(counters, key, amount);
  }
}

/** What the entries of a run took of packs and of the prepaid balance, and left uncovered. */
export interface Paid {
  readonly burned: readonly Take[];
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
  readonly met: readonly Met[];
  /** The difference; its usd is below zero where the run cost less than was booked. */
  readonly amounts: Amounts;
  readonly atMs: number;
}

/** The difference goes where the amount went: more is burned like a cost beyond its hold, less is given back. */
export function correct(counters: Counters, request: CorrectionRequest): Raised {
  const { met, amounts, atMs, burned, uncovered, prepaid } = request;
  const delta = amounts.usd;
  if (delta >= 0n) {
    return raise(counters, { taken: nothingTaken, met, amounts, atMs });
  }
  const forgiven = smaller(uncovered, -delta);
  const back = smaller(total(burned), -delta - forgiven);
  const kept = new Map(unburn(burned, back).map(({ key, amount }) => [key, amount]));
  return {
    taken: nothingTaken,
    more: noTakes,
    met,
    amounts,
    burned: burned
      .map(({ key, amount }) => ({ key, amount: (kept.get(key) ?? 0n) - amount }))
      .filter(({ amount }) => amount !== 0n),
    uncovered: -forgiven,
    // The balance gets back what it paid and no more: the run may be older than it.
    prepaid: met.some(({ limit }) => limit.kind === 'prepaid') ? -smaller(prepaid, -delta) : 0n,
  };
}

export interface Alert {
  readonly met: Met;
  readonly percent: number;
  /** What is settled once the bookings are. */
  readonly settled: bigint;
}

/** The thresholds that these bookings, once counted, reach and that nobody was told of. */
export function alertsDue(counters: Counters, bookings: readonly Raised[]): Alert[] {
  const coming = new Map<string, { met: Met; amount: bigint }>();
  for (const raised of bookings) {
    for (const met of raised.met) {
      const { limit, key } = met;
      if (limit.thresholds.length > 0) {
        const amount =
          limit.kind === 'credits'
            ? (raised.burned.find((one) => one.key === key)?.amount ?? 0n)
            : amountIn(raised, limit);
        const there = coming.get(key);
        if (there === undefined) {
          coming.set(key, { met, amount });
        } else {
          there.amount += amount;
        }
      }
    }
  }
  const alerts: Alert[] = [];
  for (const [key, { met, amount }] of coming) {
    const counter = counters.get(key);
    if (counter !== undefined) {
      const settled = counter.settled + amount;
      for (const percent of met.limit.thresholds) {
        const reached = settled > 0n && settled * 100n >= BigInt(percent) * met.limit.capacity;
        if (reached && percent > counter.alerted) {
          alerts.push({ met, percent, settled });
        }
      }
    }
  }
  return alerts;
}

/** So that nobody is told twice. */
export function markAlerted(counters: Counters, alerts: readonly Alert[]): void {
  for (const { met, percent } of alerts) {
    const counter = counters.get(met.key);
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

function merged(takes: readonly Take[]): Take[] {
  const byKey = new Map<string, bigint>();
  for (const { key, amount } of takes) {
    byKey.set(key, (byKey.get(key) ?? 0n) + amount);
  }
  return [...byKey].map(([key, amount]) => ({ key, amount }));
}

function total(takes: readonly Take[]): bigint {
  return takes.reduce((sum, { amount }) => sum + amount, 0n);
}

function smaller(a: bigint, b: bigint): bigint {
  return a < b ? a : b;
}
