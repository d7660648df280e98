/**
 * Admission check: a charge is reserved in every applicable limit or in none. Pure functions over given counters;
 * storage and durability are handled by the ledger.
 */
import { burn, type Debit, inBurnOrder, isLive, type Pack, total } from './credits.ts';
import { creditsDenial, type Denial, denialOf, depthDenial } from './denial.ts';
import {
  type Amounts,
  applicable,
  type CheckedKind,
  counterKey,
  type Limit,
  type OrgLimits,
  type RunOnlyCheck,
  type Scope,
  type Unit,
  valueIn,
  windowOf,
} from './limits.ts';
import { maxCounter } from './money.ts';
import { raisedLimit } from './raises.ts';
import type { Window } from './windows.ts';

/** The amounts of a limit in one window. */
export interface Counter {
  settled: bigint;
  held: bigint;
  /** What its open holds are expected to be increased by soon. */
  growth: bigint;
  /** The highest threshold, in percent, whose event was emitted. For a limit without a window: since its capacity last changed. */
  alerted: number;
  /** End of the counter's window. */
  readonly endMs: number;
}

export type Counters = ReadonlyMap<string, Counter>;

export interface Charge {
  readonly scope: Scope;
  readonly amounts: Amounts;
  /** Depth of the run in its chain, starting at 1; null if there is no run yet. */
  readonly depth: number | null;
  /** The time of the charge. It determines every window. */
  readonly atMs: number;
}

/** A limit in one of its windows, with the raises that are active at the time of the decision, and the key of its counter. */
export interface LimitWindow {
  readonly limit: Limit;
  readonly window: Window;
  readonly key: string;
}

/**
 * A counter in which a charge reserves its amount, and the unit of that amount. Charges with the same applicable limits share one
 * list of reserved counters.
 */
export interface ReservedCounter {
  readonly key: string;
  readonly unit: Unit;
}

/** Reserved amounts. Each counter in `shares` reserves the amount in its own unit; `packs` lists the amounts reserved in credit packs. */
export interface Reservation {
  readonly shares: readonly ReservedCounter[];
  readonly amounts: Amounts;
  readonly packs: readonly Debit[];
  /** Amounts by which the reservation is expected to be increased soon. New calls leave those of others free. */
  readonly growth?: Amounts;
}

/** Returns a reservation as one debit per counter, without counters whose amount is zero. */
export function debitsOf({ shares, amounts, packs }: Reservation): Debit[] {
  const debits: Debit[] = [];
  for (const { key, unit } of shares) {
    if (amounts[unit] > 0n) {
      debits.push({ key, amount: amounts[unit] });
    }
  }
  debits.push(...packs);
  return debits;
}

/** The entry point of a hold. */
export type HoldSurface = 'edge' | 'run';

/**
 * The entry point of a charge. It determines the kinds of limits that are checked and counted. `charge` is a run that is reported
 * after it finished; `record` is a backfilled run.
 */
export type Surface = HoldSurface | 'charge' | 'record';

const edgeKinds: ReadonlySet<CheckedKind> = new Set([
  'concurrency',
  'prepaid',
  'quota',
  'spend_cap',
  'budget',
  'customer',
]);
const balanceKinds: ReadonlySet<CheckedKind> = new Set(['prepaid', 'credits']);

/**
 * Returns true if charges of a surface count in this kind of limit. Backfilled runs count in windows but burn
 * neither credits nor the prepaid balance.
 */
export function countsIn(surface: Surface, kind: CheckedKind): boolean {
  if (kind === 'rate' || kind === 'chain_depth') {
    return false;
  }
  switch (surface) {
    case 'edge':
      return edgeKinds.has(kind);
    case 'run':
      return true;
    case 'charge':
      return kind !== 'concurrency';
    case 'record':
      return kind !== 'concurrency' && !balanceKinds.has(kind);
  }
}

/** The counters that apply to charges of one scope, valid while their windows last and their limits keep their capacities. */
export interface ApplicableCounters {
  /** In the order in which the limits are checked. */
  readonly counters: readonly LimitWindow[];
  /** All counters except credit packs, which are burned in their own order. */
  readonly shares: readonly ReservedCounter[];
  /** Limits and other checks that apply but are not checked at the edge; reported to the caller. Only valid for `edge`. */
  readonly notChecked: readonly (RunOnlyCheck | CheckedKind)[];
  /** The charges that belong to these windows. */
  readonly fromMs: number;
  readonly untilMs: number;
  /** The decisions for which the limits have these capacities. Without raises: all. */
  readonly decidedFromMs: number;
  readonly decidedUntilMs: number;
}

/** Cache of applicable counters for one version of the limits: most charges have a recent scope. */
interface ApplicableCountersCache {
  readonly byScopeKey: Map<string, ApplicableCounters>;
  /** The last lookup: the next charge often has the identical scope object and needs no cache key. */
  last:
    | { readonly scope: Scope; readonly surface: Surface; readonly applicable: ApplicableCounters }
    | undefined;
}

const caches = new WeakMap<OrgLimits, ApplicableCountersCache>();
const cachedScopesMax = 2_000;

/**
 * Returns the counters of a charge. `atMs` is the time of the charge, which selects the windows. Capacities are those at the time of
 * the decision, which is later for a charge that belongs to an earlier hold: raises that have ended since must not admit more.
 */
export function applicableCounters(
  limits: OrgLimits,
  scope: Scope,
  atMs: number,
  surface: Surface,
  decidedAtMs: number = atMs,
): ApplicableCounters {
  let cache = caches.get(limits);
  if (cache === undefined) {
    cache = { byScopeKey: new Map(), last: undefined };
    caches.set(limits, cache);
  }
  const { last } = cache;
  if (
    last !== undefined &&
    last.scope === scope &&
    last.surface === surface &&
    isCurrent(last.applicable, atMs, decidedAtMs)
  ) {
    return last.applicable;
  }
  const applicable = cachedByScope(cache.byScopeKey, limits, scope, atMs, surface, decidedAtMs);
  cache.last = { scope, surface, applicable };
  return applicable;
}

function isCurrent(
  { fromMs, untilMs, decidedFromMs, decidedUntilMs }: ApplicableCounters,
  atMs: number,
  decidedAtMs: number,
): boolean {
  return fromMs <= atMs && atMs < untilMs && decidedFromMs <= decidedAtMs && decidedAtMs < decidedUntilMs;
}

function cachedByScope(
  byScopeKey: Map<string, ApplicableCounters>,
  limits: OrgLimits,
  scope: Scope,
  atMs: number,
  surface: Surface,
  decidedAtMs: number,
): ApplicableCounters {
  const name = scopeCacheKey(limits, scope, surface);
  const cached = byScopeKey.get(name);
  if (cached !== undefined && isCurrent(cached, atMs, decidedAtMs)) {
    return cached;
  }
  if (byScopeKey.size >= cachedScopesMax) {
    byScopeKey.clear();
  }
  const applicable = findApplicableCounters(limits, scope, atMs, surface, decidedAtMs);
  byScopeKey.set(name, applicable);
  return applicable;
}

/** Cache key. Values are length-prefixed so that different scopes never collide. */
function scopeCacheKey({ index }: OrgLimits, scope: Scope, surface: Surface): string {
  let name: string = surface;
  for (const field of index.fields) {
    const value = scope[field];
    name += value === null ? ',' : `,${value.length}:${value}`;
  }
  for (const field of index.tagFields) {
    const value = valueIn(scope, field);
    name += value === null ? ',' : `,${value.length}:${value}`;
  }
  return name;
}

function findApplicableCounters(
  limits: OrgLimits,
  scope: Scope,
  atMs: number,
  surface: Surface,
  decidedAtMs: number,
): ApplicableCounters {
  const limitsOfScope = applicable(limits, scope);
  let decidedFromMs = Number.NEGATIVE_INFINITY;
  let decidedUntilMs = Number.POSITIVE_INFINITY;
  const counters = limitsOfScope
    .filter(({ kind }) => countsIn(surface, kind))
    .map((unraised) => {
      const { limit, fromMs, untilMs } = raisedLimit(unraised, scope, decidedAtMs);
      decidedFromMs = Math.max(decidedFromMs, fromMs);
      decidedUntilMs = Math.min(decidedUntilMs, untilMs);
      const window = windowOf(limit, limits.timezone, atMs);
      return { limit, window, key: counterKey(limit, window, scope) };
    });
  const unchecked = limitsOfScope.filter(({ kind }) => kind !== 'rate' && !countsIn(surface, kind));
  return {
    counters,
    shares: counters
      .filter(({ limit }) => limit.kind !== 'credits')
      .map(({ key, limit }) => ({ key, unit: limit.unit })),
    notChecked: [
      ...(surface === 'edge' ? limits.runOnlyChecks : []),
      ...new Set(unchecked.map(({ kind }) => kind)),
    ],
    fromMs: Math.max(Number.NEGATIVE_INFINITY, ...counters.map(({ window }) => window.startMs)),
    untilMs: Math.min(Number.POSITIVE_INFINITY, ...counters.map(({ window }) => window.endMs)),
    decidedFromMs,
    decidedUntilMs,
  };
}

export type Admission =
  /** `packs` are the debits from credit packs; all other amounts are those of the charge. */
  | { readonly kind: 'allowed'; readonly packs: readonly Debit[] }
  | { readonly kind: 'denied'; readonly denial: Denial };

export interface AdmissionRequest {
  readonly limits: OrgLimits;
  readonly charge: Charge;
  readonly windows: readonly LimitWindow[];
  readonly preFlight: boolean;
  /** True for a call that leaves the growth of the calls in progress free. */
  readonly leavesGrowth?: boolean;
  /** The existing reservation if the charge is an increase. The charge includes it, so only the rest is checked. */
  readonly reserved?: Reservation;
}

const allowed: Admission = { kind: 'allowed', packs: [] };

/** Checks all limits in order and reserves nothing. Every counter must exist. */
export function admit(counters: Counters, request: AdmissionRequest): Admission {
  const { limits, charge, windows, preFlight, leavesGrowth = false, reserved } = request;
  let packs: LimitWindow[] | undefined;
  let depthIsChecked = charge.depth === null || !limits.hasDepths;
  for (const one of windows) {
    const { limit, window, key } = one;
    if (!depthIsChecked && isCheckedAfterDepth(limit)) {
      depthIsChecked = true;
      const denial = deniedDepth(limits, charge);
      if (denial !== undefined) {
        return { kind: 'denied', denial };
      }
    }
    if (limit.kind === 'credits') {
      packs ??= [];
      packs.push(one);
      continue;
    }
    const counter = counterOf(counters, key);
    const attempted =
      reserved === undefined
        ? charge.amounts[limit.unit]
        : charge.amounts[limit.unit] - reservedIn(reserved, key);
    const growth = leavesGrowth && limit.enforcement === 'block' ? counter.growth : 0n;
    if (overruns(limit, attempted, counter, growth)) {
      const timezone = (limit.span.kind === 'calendar' ? limit.span.timezone : null) ?? limits.timezone;
      const { settled, held } = counter;
      return {
        kind: 'denied',
        denial: denialOf({ limit, window, key, settled, held, growth, attempted, timezone, preFlight }),
      };
    }
  }
  if (!depthIsChecked) {
    const denial = deniedDepth(limits, charge);
    if (denial !== undefined) {
      return { kind: 'denied', denial };
    }
  }
  const live = packs === undefined ? [] : livePacks(counters, packs, charge.atMs);
  if (live.length === 0) {
    return allowed;
  }
  const attempted = reserved === undefined ? charge.amounts.usd : charge.amounts.usd - total(reserved.packs);
  const burned = burn(live, attempted);
  if (burned.rest > 0n) {
    return { kind: 'denied', denial: creditsDenial(attempted - burned.rest, attempted) };
  }
  return { kind: 'allowed', packs: burned.debits };
}

/**
 * A charge that reaches the limit exactly is allowed, and a charge of zero is always allowed. A limit with `alert` enforcement denies
 * only what its counter cannot hold.
 */
function overruns(
  { enforcement, capacity }: Limit,
  amount: bigint,
  { settled, held }: Counter,
  growth: bigint,
): boolean {
  return amount > 0n && settled + held + growth + amount > (enforcement === 'block' ? capacity : maxCounter);
}

/** Depth has no counter, so its position in the order is determined by the limits that are checked after it. */
function isCheckedAfterDepth({ kind }: Limit): boolean {
  return kind === 'chain_tokens' || kind === 'credits';
}

function deniedDepth(limits: OrgLimits, { scope, depth }: Charge): Denial | undefined {
  const limit = applicable(limits, scope).find(({ kind }) => kind === 'chain_depth');
  return limit !== undefined && depth !== null && BigInt(depth) > limit.capacity
    ? depthDenial(limit, depth)
    : undefined;
}

/** Returns the live packs in burn order, with their remaining amounts. */
export function livePacks(counters: Counters, windows: readonly LimitWindow[], atMs: number): Pack[] {
  return windows
    .filter(({ limit }) => limit.kind === 'credits' && isLive(limit, atMs))
    .sort((a, b) => inBurnOrder(a.limit, b.limit))
    .map(({ limit, key }) => {
      const { settled, held } = counterOf(counters, key);
      const left = limit.capacity - settled - held;
      return { limit, key, left: left > 0n ? left : 0n };
    });
}

/** Returns the amount that is reserved in a counter. `index` is a hint: usually the share at this index is that of the counter. */
export function reservedIn({ shares, amounts }: Reservation, key: string, index = 0): bigint {
  const share = shares[index]?.key === key ? shares[index] : shares.find((one) => one.key === key);
  return share === undefined ? 0n : amounts[share.unit];
}

export function reserveDebits(counters: Counters, debits: readonly Debit[]): void {
  for (const { key, amount } of debits) {
    counterOf(counters, key).held += amount;
  }
}

export function reserve(counters: Counters, { shares, amounts, packs, growth }: Reservation): void {
  for (const { key, unit } of shares) {
    const counter = counterOf(counters, key);
    counter.held += amounts[unit];
    if (growth !== undefined) {
      counter.growth += growth[unit];
    }
  }
  reserveDebits(counters, packs);
}

export function releaseReservation(
  counters: Counters,
  { shares, amounts, packs, growth }: Reservation,
): void {
  for (const { key, unit } of shares) {
    const counter = counters.get(key);
    if (counter !== undefined) {
      counter.held -= amounts[unit];
      if (growth !== undefined) {
        changeGrowth(counter, -growth[unit]);
      }
    }
  }
  releaseDebits(counters, packs);
}

/** A counter that was last written by an earlier release has no growth. */
export function changeGrowth(counter: Counter, by: bigint): void {
  const growth = counter.growth + by;
  counter.growth = growth > 0n ? growth : 0n;
}

/** Ignores counters that were deleted with their limit. */
export function releaseDebits(counters: Counters, debits: readonly Debit[]): void {
  for (const { key, amount } of debits) {
    const counter = counters.get(key);
    if (counter !== undefined) {
      counter.held -= amount;
    }
  }
}

function counterOf(counters: Counters, key: string): Counter {
  const counter = counters.get(key);
  if (counter === undefined) {
    throw new Error(`counter ${key} does not exist`);
  }
  return counter;
}
