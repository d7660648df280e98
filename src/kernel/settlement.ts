/**
 * Settlement: replaces a reservation by the full actual cost, whatever was held. It has two steps, because the posting becomes
 * durable in between: first the reservation is raised to the actual cost, then it is released and the cost is counted as settled.
 */
import {
  type Counters,
  changeGrowth,
  debitsOf,
  type LimitWindow,
  livePacks,
  type Reservation,
  releaseDebits,
  releaseReservation,
  reserveDebits,
  reservedIn,
} from './admission.ts';
import { burn, type Debit, merged, total, unburn } from './credits.ts';
import type { Amounts, Limit } from './limits.ts';

export const emptyReservation: Reservation = {
  shares: [],
  amounts: { usd: 0n, tokens: 0n, requests: 0n },
  packs: [],
};

export interface SettlementRequest {
  readonly reservation: Reservation;
  /** The counters that count the charge. */
  readonly windows: readonly LimitWindow[];
  /** The actual amounts. */
  readonly amounts: Amounts;
  /** The time of the charge. */
  readonly atMs: number;
}

/**
 * A prepared settlement that is not committed yet. A batch may have thousands, so they reference shared objects
 * instead of their own lists of counters and amounts.
 */
export interface PendingSettlement {
  readonly reservation: Reservation;
  /** Debits held in addition to the reservation. */
  readonly additional: readonly Debit[];
  readonly windows: readonly LimitWindow[];
  readonly amounts: Amounts;
  /** Debits from credit packs. Negative if a correction gives back credits. */
  readonly burned: readonly Debit[];
  /** The amount that the credit packs of the customer do not cover. */
  readonly uncovered: bigint;
  /** The amount paid from the prepaid balance. */
  readonly prepaid: bigint;
}

/** Returns the amount counted in a limit that is not a credit pack. */
function amountIn(
  { amounts, prepaid }: Pick<PendingSettlement, 'amounts' | 'prepaid'>,
  limit: Limit,
): bigint {
  return limit.kind === 'prepaid' ? prepaid : amounts[limit.unit];
}

/**
 * Raises the held amount of every counter to the larger of the reserved and the actual amount. The counters of all
 * packs must exist.
 */
export function prepareSettlement(counters: Counters, request: SettlementRequest): PendingSettlement {
  const { reservation, windows, amounts } = request;
  const additional: Debit[] = [];
  let prepaid = 0n;
  let index = 0;
  for (const { limit, key } of windows) {
    if (limit.kind === 'credits') {
      continue;
    }
    const amount = amounts[limit.unit];
    const missing = amount - reservedIn(reservation, key, index);
    index += 1;
    if (missing > 0n && counters.has(key)) {
      additional.push({ key, amount: missing });
    }
    if (limit.kind === 'prepaid') {
      prepaid = amount;
    }
  }
  const { burned, uncovered, extra } = burnFor(counters, request);
  additional.push(...extra);
  reserveDebits(counters, additional);
  return {
    reservation,
    additional: additional.length === 0 ? noDebits : additional,
    windows,
    amounts,
    burned,
    uncovered,
    prepaid,
  };
}

const noDebits: readonly Debit[] = [];

/**
 * Debits the packs that the hold reserved first, even if they have expired since, then live packs. The rest is uncovered if there
 * are packs.
 */
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

/** Undoes a prepared settlement and restores the reservation that the hold had before. */
export function rollBackSettlement(
  counters: Counters,
  { reservation, additional }: PendingSettlement,
  before: Reservation,
): void {
  releaseReservation(counters, reservation);
  releaseDebits(counters, additional);
  reserveDebits(
    counters,
    debitsOf(before).filter(({ key }) => counters.has(key)),
  );
  for (const { key, unit } of before.growth === undefined ? [] : before.shares) {
    const counter = counters.get(key);
    if (counter !== undefined) {
      changeGrowth(counter, before.growth?.[unit] ?? 0n);
    }
  }
}

/** Releases the reservation and counts the actual amounts. */
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

/** Sums over the entries of a run: burned from packs, paid from the prepaid balance, left uncovered. */
export interface Paid {
  readonly burned: readonly Debit[];
  readonly uncovered: bigint;
  readonly prepaid: bigint;
}

/** Returns the sums including one more entry. */
export function paidWith(paid: Paid, additional: Paid): Paid {
  return {
    burned: merged([...paid.burned, ...additional.burned]).filter(({ amount }) => amount > 0n),
    uncovered: paid.uncovered + additional.uncovered,
    prepaid: paid.prepaid + additional.prepaid,
  };
}

export interface CorrectionRequest extends Paid {
  readonly windows: readonly LimitWindow[];
  /** The difference to the posted amounts; its usd is negative if the run cost less than posted. */
  readonly amounts: Amounts;
  readonly atMs: number;
}

/** Prepares a correction. An increase burns credits like a cost beyond the hold. A decrease goes back to where the cost was paid from. */
export function correct(counters: Counters, request: CorrectionRequest): PendingSettlement {
  const { windows, amounts, atMs, burned, uncovered, prepaid } = request;
  const delta = amounts.usd;
  if (delta >= 0n) {
    return prepareSettlement(counters, { reservation: emptyReservation, windows, amounts, atMs });
  }
  const forgiven = smaller(uncovered, -delta);
  const refunded = smaller(total(burned), -delta - forgiven);
  const remaining = new Map(unburn(burned, refunded).map(({ key, amount }) => [key, amount]));
  return {
    reservation: emptyReservation,
    additional: noDebits,
    windows,
    amounts,
    burned: burned
      .map(({ key, amount }) => ({ key, amount: (remaining.get(key) ?? 0n) - amount }))
      .filter(({ amount }) => amount !== 0n),
    uncovered: -forgiven,
    // The balance gets back at most the amount that it paid, even while it is disabled.
    prepaid: -smaller(prepaid, -delta),
  };
}

export interface Alert {
  readonly limitWindow: LimitWindow;
  readonly percent: number;
  /** The settled amount, including the new postings. */
  readonly settled: bigint;
}

/** Returns the alerts for thresholds that these postings reach and that have no event yet. */
export function alertsDue(counters: Counters, postings: readonly PendingSettlement[]): Alert[] {
  const postedByCounter = new Map<string, { limitWindow: LimitWindow; amount: bigint }>();
  for (const sum of sumsByWindows(postings)) {
    for (const limitWindow of sum.windows) {
      const { limit, key } = limitWindow;
      if (limit.thresholds.length > 0) {
        const amount =
          limit.kind === 'credits'
            ? total(sum.burned.filter((one) => one.key === key))
            : amountIn(sum, limit);
        const posted = postedByCounter.get(key);
        if (posted === undefined) {
          postedByCounter.set(key, { limitWindow, amount });
        } else {
          posted.amount += amount;
        }
      }
    }
  }
  const alerts: Alert[] = [];
  for (const [key, { limitWindow, amount }] of postedByCounter) {
    const counter = counters.get(key);
    if (counter !== undefined) {
      const settled = counter.settled + amount;
      for (const percent of limitWindow.limit.thresholds) {
        const reached = settled > 0n && settled * 100n >= BigInt(percent) * limitWindow.limit.capacity;
        if (reached && percent > counter.alerted) {
          alerts.push({ limitWindow, percent, settled });
        }
      }
    }
  }
  return alerts;
}

interface SettlementSum {
  readonly windows: readonly LimitWindow[];
  readonly amounts: { -readonly [Unit in keyof Amounts]: Amounts[Unit] };
  readonly burned: Debit[];
  prepaid: bigint;
}

/** Adds up settlements with the same list of counters. Most postings of a batch share one list. */
function sumsByWindows(postings: readonly PendingSettlement[]): Iterable<SettlementSum> {
  const sums = new Map<readonly LimitWindow[], SettlementSum>();
  for (const { windows, amounts, burned, prepaid } of postings) {
    const sum = sums.get(windows);
    if (sum === undefined) {
      sums.set(windows, { windows, amounts: { ...amounts }, burned: [...burned], prepaid });
    } else {
      sum.amounts.usd += amounts.usd;
      sum.amounts.tokens += amounts.tokens;
      sum.amounts.requests += amounts.requests;
      sum.burned.push(...burned);
      sum.prepaid += prepaid;
    }
  }
  return sums.values();
}

/** Marks alerts as emitted, so that none is emitted twice. */
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

function smaller(a: bigint, b: bigint): bigint {
  return a < b ? a : b;
}
