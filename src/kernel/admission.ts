/**
 * Admission: every limit that a charge falls under is taken, or none is. The counters are given, the verdict is a
 * value; where they live and how they become durable is for others to know.
 */
import { burn, inBurnOrder, isLive, type Pack, type Take } from './credits.ts';
import { creditsDenial, type Denial, denialOf, depthDenial } from './denial.ts';
import {
  type Amounts,
  applicable,
  counterKey,
  type Limit,
  type LimitKind,
  type OrgLimits,
  type Scope,
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

/** A limit as one charge meets it. */
export interface Applied {
  readonly limit: Limit;
  readonly window: Window;
  readonly key: string;
  readonly amount: bigint;
}

/** Which gates a hold was taken through, or a booking counts in. */
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

/** What the decision on one surface leaves out although it applies, for the caller to know. */
export function leftOut(surface: Surface, limits: OrgLimits, charge: Charge): readonly LimitKind[] {
  return meetingOf(limits, charge, surface).leftOut;
}

/** The counters that a charge meets, in the order of their gates. */
export function appliedLimits(limits: OrgLimits, charge: Charge, surface: Surface): Applied[] {
  const { amounts } = charge;
  return meetingOf(limits, charge, surface).counters.map(({ limit, window, key }) => ({
    limit,
    window,
    key,
    amount: amounts[limit.unit],
  }));
}

/** Which counters charges of one scope meet while their windows last. */
interface Meeting {
  readonly counters: readonly Omit<Applied, 'amount'>[];
  readonly leftOut: readonly LimitKind[];
  readonly fromMs: number;
  readonly untilMs: number;
}

/** Most charges are like others shortly before. Belongs to one version of the limits, and goes with it. */
const meetings = new WeakMap<OrgLimits, Map<string, Meeting>>();
const meetingsMax = 2_000;

function meetingOf(limits: OrgLimits, { scope, atMs }: Charge, surface: Surface): Meeting {
  let known = meetings.get(limits);
  if (known === undefined) {
    known = new Map();
    meetings.set(limits, known);
  }
  const name = nameOf(limits, scope, surface);
  const there = known.get(name);
  if (there !== undefined && there.fromMs <= atMs && atMs < there.untilMs) {
    return there;
  }
  if (known.size >= meetingsMax) {
    known.clear();
  }
  const meeting = meet(limits, scope, atMs, surface);
  known.set(name, meeting);
  return meeting;
}

/** Unlikely to be shared by two that differ, and harmless only if it never is: hence the lengths. */
function nameOf({ index }: OrgLimits, scope: Scope, surface: Surface): string {
  let name: string = surface;
  for (const field of index.fields) {
    const value = scope[field];
    name += value === null ? ',' : `,${value.length}:${value}`;
  }
  return name;
}

function meet(limits: OrgLimits, scope: Scope, atMs: number, surface: Surface): Meeting {
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
    leftOut: [...new Set(others.map(({ kind }) => kind))],
    fromMs: Math.max(Number.NEGATIVE_INFINITY, ...counters.map(({ window }) => window.startMs)),
    untilMs: Math.min(Number.POSITIVE_INFINITY, ...counters.map(({ window }) => window.endMs)),
  };
}

export type Admission =
  | { readonly kind: 'allowed'; readonly takes: readonly Take[]; readonly packs: readonly Take[] }
  | { readonly kind: 'denied'; readonly denial: Denial };

export interface AdmissionRequest {
  readonly limits: OrgLimits;
  readonly charge: Charge;
  readonly applied: readonly Applied[];
  readonly preFlight: boolean;
}

/** Looks at every gate in order. Takes nothing: `take` does that with what is returned. Every counter must exist. */
export function admit(counters: Counters, request: AdmissionRequest): Admission {
  const { limits, charge, applied, preFlight } = request;
  const takes: Take[] = [];
  const packs: Applied[] = [];
  let depthIsChecked = charge.depth === null;
  for (const one of applied) {
    if (!depthIsChecked && isBehindDepth(one.limit)) {
      depthIsChecked = true;
      const denial = deniedDepth(limits, charge);
      if (denial !== undefined) {
        return { kind: 'denied', denial };
      }
    }
    if (one.limit.kind === 'credits') {
      packs.push(one);
      continue;
    }
    const counter = counterOf(counters, one.key);
    if (overruns(one, counter)) {
      const { limit, window, amount } = one;
      const timezone = (limit.span.kind === 'calendar' ? limit.span.timezone : null) ?? limits.timezone;
      const { settled, held } = counter;
      return {
        kind: 'denied',
        denial: denialOf({ limit, window, settled, held, attempted: amount, timezone, preFlight }),
      };
    }
    if (one.amount > 0n) {
      takes.push({ key: one.key, amount: one.amount });
    }
  }
  if (!depthIsChecked) {
    const denial = deniedDepth(limits, charge);
    if (denial !== undefined) {
      return { kind: 'denied', denial };
    }
  }
  const live = livePacks(counters, packs, charge.atMs);
  if (live.length === 0) {
    return { kind: 'allowed', takes, packs: [] };
  }
  const burned = burn(live, charge.amounts.usd);
  if (burned.rest > 0n) {
    return {
      kind: 'denied',
      denial: creditsDenial(charge.amounts.usd - burned.rest, charge.amounts.usd),
    };
  }
  return { kind: 'allowed', takes, packs: burned.takes };
}

/** Equality passes; a charge of nothing passes everywhere. */
function overruns({ limit, amount }: Applied, { settled, held }: Counter): boolean {
  const sum = settled + held + amount;
  return amount > 0n && (limit.enforcement === 'block' ? sum > limit.capacity : sum > counterMax);
}

/** What a counter can hold; beyond it even a limit that only tells has to refuse. */
const counterMax = 2n ** 63n - 1n;

/** Depth has no counter, so its gate has to be found among those that have. */
function isBehindDepth({ kind }: Limit): boolean {
  return kind === 'chain_tokens' || kind === 'credits';
}

function deniedDepth(limits: OrgLimits, { scope, depth }: Charge): Denial | undefined {
  const limit = applicable(limits, scope).find(({ kind }) => kind === 'chain_depth');
  return limit !== undefined && depth !== null && BigInt(depth) > limit.capacity
    ? depthDenial(limit, depth)
    : undefined;
}

/** The live packs among applied limits, in burn order, with what is left of each. */
export function livePacks(counters: Counters, applied: readonly Applied[], atMs: number): Pack[] {
  return applied
    .filter(({ limit }) => limit.kind === 'credits' && isLive(limit, atMs))
    .sort((a, b) => inBurnOrder(a.limit, b.limit))
    .map(({ limit, key }) => {
      const { settled, held } = counterOf(counters, key);
      const left = limit.capacity - settled - held;
      return { limit, key, left: left > 0n ? left : 0n };
    });
}

export function take(counters: Counters, takes: readonly Take[]): void {
  for (const { key, amount } of takes) {
    counterOf(counters, key).held += amount;
  }
}

/** A counter may be gone by now, with its limit. */
export function release(counters: Counters, takes: readonly Take[]): void {
  for (const { key, amount } of takes) {
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
