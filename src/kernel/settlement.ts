/**
 * Settling: what is held becomes what was spent, whole, whatever was held for it. In two steps, because the fact becomes
 * durable in between: first the hold is raised to what it is going to cost, then it is let go of and counted.
 */
import { type Applied, type Counters, livePacks, release, take } from './admission.ts';
import { burn, type Take, unburn } from './credits.ts';

export interface Taken {
  readonly takes: readonly Take[];
  readonly packs: readonly Take[];
}

export interface SettlementRequest extends Taken {
  /** The limits that the charge counts in, with what it really took of each. */
  readonly applied: readonly Applied[];
  readonly usd: bigint;
  /** The instant that the charge belongs to. */
  readonly atMs: number;
}

/** A hold on its way to becoming a fact. */
export interface Raised extends Taken {
  readonly applied: readonly Applied[];
  /** Which packs pay how much. Below zero where a correction gives back. */
  readonly burned: readonly Take[];
  /** What a customer with credits cannot pay. */
  readonly uncovered: bigint;
  /** What the prepaid balance pays. */
  readonly prepaid: bigint;
}

/** Holds, of every counter, the larger of what was held and what it really takes. Every pack's counter must exist. */
export function raise(counters: Counters, request: SettlementRequest): Raised {
  const { takes, applied } = request;
  const taken = new Map(takes.map(({ key, amount }) => [key, amount]));
  const missing: Take[] = [];
  let prepaid = 0n;
  for (const { limit, key, amount } of applied) {
    if (limit.kind === 'credits') {
      continue;
    }
    const lacking = amount - (taken.get(key) ?? 0n);
    if (lacking > 0n && counters.has(key)) {
      missing.push({ key, amount: lacking });
    }
    if (limit.kind === 'prepaid') {
      prepaid = amount;
    }
  }
  const { burned, uncovered, extra } = burnFor(counters, request);
  take(counters, missing);
  take(counters, extra);
  return {
    takes: missing.length === 0 ? takes : merged([...takes, ...missing]),
    packs: extra.length === 0 ? request.packs : merged([...request.packs, ...extra]),
    applied,
    burned,
    uncovered,
    prepaid,
  };
}

/** The packs that were held pay first, even if they expired since; then other live ones; then nobody. */
function burnFor(counters: Counters, { packs, applied, usd, atMs }: SettlementRequest) {
  const held = total(packs);
  if (usd <= held) {
    return { burned: unburn(packs, held - usd), uncovered: 0n, extra: [] };
  }
  const live = livePacks(counters, applied, atMs);
  if (live.length === 0 && packs.length === 0) {
    return { burned: [], uncovered: 0n, extra: [] };
  }
  const { takes: extra, rest } = burn(live, usd - held);
  return { burned: merged([...packs, ...extra]), uncovered: rest, extra };
}

/** Nothing came of it: the hold is again what it was. */
export function lower(counters: Counters, raised: Raised, before: Taken): void {
  release(counters, raised.takes);
  release(counters, raised.packs);
  takeWhatExists(counters, before.takes);
  takeWhatExists(counters, before.packs);
}

/** It is a fact: the hold is let go of, and what it came to is counted. */
export function conclude(counters: Counters, { takes, packs, applied, burned }: Raised): void {
  release(counters, takes);
  release(counters, packs);
  for (const { limit, key, amount } of applied) {
    if (limit.kind !== 'credits') {
      count(counters, key, amount);
    }
  }
  for (const { key, amount } of burned) {
    count(counters, key, amount);
  }
}

export interface CorrectionRequest {
  /** With the difference as the amount of every limit in usd. */
  readonly applied: readonly Applied[];
  /** Below zero where the run cost less than was booked. */
  readonly delta: bigint;
  readonly atMs: number;
  /** What earlier entries of the run burned and left uncovered. */
  readonly burned: readonly Take[];
  readonly uncovered: bigint;
}

/** The difference goes where the amount went: more is burned like a cost beyond its hold, less is given back. */
export function correct(counters: Counters, request: CorrectionRequest): Raised {
  const { applied, delta, atMs, burned, uncovered } = request;
  if (delta >= 0n) {
    return raise(counters, { takes: [], packs: [], applied, usd: delta, atMs });
  }
  const forgiven = smaller(uncovered, -delta);
  const back = smaller(total(burned), -delta - forgiven);
  const kept = new Map(unburn(burned, back).map(({ key, amount }) => [key, amount]));
  return {
    takes: [],
    packs: [],
    applied,
    burned: burned
      .map(({ key, amount }) => ({ key, amount: (kept.get(key) ?? 0n) - amount }))
      .filter(({ amount }) => amount !== 0n),
    uncovered: -forgiven,
    prepaid: applied.find(({ limit }) => limit.kind === 'prepaid')?.amount ?? 0n,
  };
}

export interface Alert {
  readonly applied: Applied;
  readonly percent: number;
  /** What is settled once the bookings are. */
  readonly settled: bigint;
}

/** The thresholds that these bookings, once counted, reach and that nobody was told of. */
export function alertsDue(counters: Counters, bookings: readonly Raised[]): Alert[] {
  const coming = new Map<string, { applied: Applied; amount: bigint }>();
  for (const { applied, burned } of bookings) {
    for (const one of applied) {
      if (one.limit.thresholds.length > 0) {
        const amount =
          one.limit.kind === 'credits'
            ? (burned.find(({ key }) => key === one.key)?.amount ?? 0n)
            : one.amount;
        coming.set(one.key, { applied: one, amount: (coming.get(one.key)?.amount ?? 0n) + amount });
      }
    }
  }
  const alerts: Alert[] = [];
  for (const [key, { applied, amount }] of coming) {
    const counter = counters.get(key);
    if (counter !== undefined) {
      const settled = counter.settled + amount;
      for (const percent of applied.limit.thresholds) {
        const reached = settled > 0n && settled * 100n >= BigInt(percent) * applied.limit.capacity;
        if (reached && percent > counter.alerted) {
          alerts.push({ applied, percent, settled });
        }
      }
    }
  }
  return alerts;
}

/** So that nobody is told twice. */
export function markAlerted(counters: Counters, alerts: readonly Alert[]): void {
  for (const { applied, percent } of alerts) {
    const counter = counters.get(applied.key);
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

function takeWhatExists(counters: Counters, takes: readonly Take[]): void {
  take(
    counters,
    takes.filter(({ key }) => counters.has(key)),
  );
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
