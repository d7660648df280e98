/**
 * Admission: every limit that a charge falls under is taken, or none is. The counters are given, the verdict is a
 * value; where they live and how they become durable is for others to know.
 */
import { burn, type Debit, inBurnOrder, isLive, type Pack } from './credits.ts';
import { creditsDenial, type Denial, denialOf, depthDenial } from './denial.ts';
import {
  type Amounts,
  applicable,
  counterKey,
  type Limit,
  type LimitKind,
  type OrgLimits,
  type RunOnlyCheck,
  type Scope,
  type Unit,
  windowOf,
} from './limits.ts';
import type { Window } from './windows.ts';

/** What a limit has seen in one window. */
export interface Counter {
  settled: bigint;
  held: bigint;
  /** The highest threshold, in percent, whose event is out. */
  alerted: number;
  /** The end of its window. */
  readonly endMs: number;
}

export type Counters = ReadonlyMap<string, Counter>;

export interface Charge {
  readonly scope: Scope;
  readonly amounts: Amounts;
  /** How deep in its chain the run is, from 1; null where no run is known yet. */
  readonly depth: number | null;
  /** The instant that the charge belongs to. It selects every window. */
  readonly atMs: number;
}

/** A limit in one of its windows, and the counter of both. */
export interface LimitWindow {
  readonly limit: Limit;
  readonly window: Window;
  readonly key: string;
}

/** A counter of which a charge takes its amount in this unit. Charges that meet the same limits have them in common. */
export interface ReservedCounter {
  readonly key: string;
  readonly unit: Unit;
}

/** What is set aside: of the counter of every share the amount in its unit, and of credit packs what is named. */
export interface Reservation {
  readonly shares: readonly ReservedCounter[];
  readonly amounts: Amounts;
  readonly packs: readonly Debit[];
}

/** The same, counter by counter. */
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

/** Which gates a hold was taken through, or a posting counts in. */
export type Surface = 'edge' | 'run' | 'record';

const edgeKinds: ReadonlySet<LimitKind> = new Set(['prepaid', 'quota', 'spend_cap', 'budget', 'customer']);
const moneyOfTheMoment: ReadonlySet<LimitKind> = new Set(['prepaid', 'credits']);

/** History that is recorded past the gates counts in windows but burns neither credits nor the prepaid balance. */
export function countsIn(surface: Surface, kind: LimitKind): boolean {
  if (kind === 'rate' || kind === 'chain_depth') {
    return false;
  }
  return surface === 'edge' ? edgeKinds.has(kind) : surface === 'run' || !moneyOfTheMoment.has(kind);
}

/** Which counters charges of one scope meet while their windows last. */
export interface ApplicableCounters {
  /** In the order of their gates. */
  readonly counters: readonly LimitWindow[];
  /** Of all of them but credit packs, which are burned in an order of their own. */
  readonly shares: readonly ReservedCounter[];
  /** What applies and is not looked at on this surface, for the caller to know. */
  readonly notChecked: readonly (RunOnlyCheck | LimitKind)[];
  readonly fromMs: number;
  readonly untilMs: number;
}

/** Most charges are like others shortly before. Belongs to one version of the limits, and goes with it. */
interface ApplicableCountersCache {
  readonly byName: Map<string, ApplicableCounters>;
  /** The last one that was asked for: often the next charge has the very same scope, and needs no name. */
  last:
    | { readonly scope: Scope; readonly surface: Surface; readonly applicable: ApplicableCounters }
    | undefined;
}

const caches = new WeakMap<OrgLimits, ApplicableCountersCache>();
const cachedScopesMax = 2_000;

export function applicableCounters(
  limits: OrgLimits,
  scope: Scope,
  atMs: number,
  surface: Surface,
): ApplicableCounters {
  let known = caches.get(limits);
  if (known === undefined) {
    known = { byName: new Map(), last: undefined };
    caches.set(limits, known);
  }
  const { last } = known;
  if (
    last !== undefined &&
    last.scope === scope &&
    last.surface === surface &&
    isCurrent(last.applicable, atMs)
  ) {
    return last.applicable;
  }
  const applicable = cachedByScope(known.byName, limits, scope, atMs, surface);
  known.last = { scope, surface, applicable };
  return applicable;
}

function isCurrent({ fromMs, untilMs }: ApplicableCounters, atMs: number): boolean {
  return fromMs <= atMs && atMs < untilMs;
}

function cachedByScope(
  byName: Map<string, ApplicableCounters>,
  limits: OrgLimits,
  scope: Scope,
  atMs: number,
  surface: Surface,
): ApplicableCounters {
  const name = scopeCacheKey(limits, scope, surface);
  const there = byName.get(name);
  if (there !== undefined && isCurrent(there, atMs)) {
    return there;
  }
  if (byName.size >= cachedScopesMax) {
    byName.clear();
  }
  const applicable = findApplicableCounters(limits, scope, atMs, surface);
  byName.set(name, applicable);
  return applicable;
}

/** Unlikely to be shared by two that differ, and harmless only if it never is: hence the lengths. */
function scopeCacheKey({ index }: OrgLimits, scope: Scope, surface: Surface): string {
  let name: string = surface;
  for (const field of index.fields) {
    const value = scope[field];
    name += value === null ? ',' : `,${value.length}:${value}`;
  }
  return name;
}

function findApplicableCounters(
  limits: OrgLimits,
  scope: Scope,
  atMs: number,
  surface: Surface,
): ApplicableCounters {
  const all = applicable(limits, scope);
  const counters = all
    .filter(({ kind }) => countsIn(surface, kind))
    .map((limit) => {
      const window = windowOf(limit, limits.timezone, atMs);
      return { limit, window, key: counterKey(limit, window, scope) };
    });
  const others = all.filter(({ kind }) => kind !== 'rate' && !countsIn(surface, kind));
  return {
    counters,
    shares: counters
      .filter(({ limit }) => limit.kind !== 'credits')
      .map(({ key, limit }) => ({ key, unit: limit.unit })),
    notChecked: [
      ...(surface === 'edge' ? limits.runOnlyChecks : []),
      ...new Set(others.map(({ kind }) => kind)),
    ],
    fromMs: Math.max(Number.NEGATIVE_INFINITY, ...counters.map(({ window }) => window.startMs)),
    untilMs: Math.min(Number.POSITIVE_INFINITY, ...counters.map(({ window }) => window.endMs)),
  };
}

export type Admission =
  /** Of credit packs it names how much is to be taken; of everything else that is the charge's to say. */
  | { readonly kind: 'allowed'; readonly packs: readonly Debit[] }
  | { readonly kind: 'denied'; readonly denial: Denial };

export interface AdmissionRequest {
  readonly limits: OrgLimits;
  readonly charge: Charge;
  readonly windows: readonly LimitWindow[];
  readonly preFlight: boolean;
}

const allowed: Admission = { kind: 'allowed', packs: [] };

/** Looks at every gate in order, and takes nothing. Every counter must exist. */
export function admit(counters: Counters, request: AdmissionRequest): Admission {
  const { limits, charge, windows, preFlight } = request;
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
    const attempted = charge.amounts[limit.unit];
    if (overruns(limit, attempted, counter)) {
      const timezone = (limit.span.kind === 'calendar' ? limit.span.timezone : null) ?? limits.timezone;
      const { settled, held } = counter;
      return {
        kind: 'denied',
        denial: denialOf({ limit, window, settled, held, attempted, timezone, preFlight }),
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
  const burned = burn(live, charge.amounts.usd);
  if (burned.rest > 0n) {
    return {
      kind: 'denied',
      denial: creditsDenial(charge.amounts.usd - burned.rest, charge.amounts.usd),
    };
  }
  return { kind: 'allowed', packs: burned.debits };
}

/** Equality passes; a charge of nothing passes everywhere. */
function overruns({ enforcement, capacity }: Limit, amount: bigint, { settled, held }: Counter): boolean {
  return amount > 0n && settled + held + amount > (enforcement === 'block' ? capacity : counterMax);
}

/** What a counter can hold; beyond it even a limit that only tells has to refuse. */
const counterMax = 2n ** 63n - 1n;

/** Depth has no counter, so its gate has to be found among those that have. */
function isCheckedAfterDepth({ kind }: Limit): boolean {
  return kind === 'chain_tokens' || kind === 'credits';
}

function deniedDepth(limits: OrgLimits, { scope, depth }: Charge): Denial | undefined {
  const limit = applicable(limits, scope).find(({ kind }) => kind === 'chain_depth');
  return limit !== undefined && depth !== null && BigInt(depth) > limit.capacity
    ? depthDenial(limit, depth)
    : undefined;
}

/** The live packs among these, in burn order, with what is left of each. */
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

export function reserveDebits(counters: Counters, debits: readonly Debit[]): void {
  for (const { key, amount } of debits) {
    counterOf(counters, key).held += amount;
  }
}

export function reserve(counters: Counters, { shares, amounts, packs }: Reservation): void {
  for (const { key, unit } of shares) {
    counterOf(counters, key).held += amounts[unit];
  }
  reserveDebits(counters, packs);
}

export function releaseReservation(counters: Counters, { shares, amounts, packs }: Reservation): void {
  for (const { key, unit } of shares) {
    const counter = counters.get(key);
    if (counter !== undefined) {
      counter.held -= amounts[unit];
    }
  }
  releaseDebits(counters, packs);
}

/** A counter may be gone by now, with its limit. */
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
    throw new Error(`the counter ${key} was not made before the decision`);
  }
  return counter;
}
