/** A denial: the error code of the contract, its details, and the limit that denied. */
import type { Limit } from './limits.ts';
import { formatUsd } from './money.ts';
import { type ScopeKind, scopeKindOf } from './scope-kinds.ts';
import { formatInstant, lifetime, type Window } from './windows.ts';

/** The limit that denied, for events. */
export interface DenyingLimit {
  readonly limit: Limit;
  readonly window: Window;
  /** Key of the counter; null for chain depth, which has none. */
  readonly key: string | null;
  /** Settled and held amount; for chain depth, the current depth. */
  readonly used: bigint;
}

/** `by` is null for credits: not a single limit denied, but all packs together did not suffice. */
export type Denial = DeniedDetails & { readonly by: DenyingLimit | null };

type DeniedDetails =
  | { readonly code: 'rate_limited'; readonly details: { readonly retry_after_seconds: number } }
  | {
      readonly code: 'plan_limit_exceeded';
      readonly details: {
        readonly limit_kind: 'runs' | 'tokens';
        readonly limit: number;
        readonly used: number;
      };
    }
  | {
      readonly code: 'quota_exhausted';
      readonly details: {
        readonly quota_kind: 'prepaid' | 'window';
        readonly unit: string;
        readonly limit: string | number;
        readonly used: string | number;
        readonly window_start: string | null;
        readonly window_end: string | null;
      };
    }
  | {
      readonly code: 'spend_cap_exceeded';
      readonly details: {
        readonly cap_usd: string;
        readonly spent_usd: string;
        readonly held_usd: string;
        readonly reserved_usd?: string;
        readonly raised_usd?: string;
        readonly raised_until?: string;
        readonly attempted_usd: string;
        readonly resets_at: string;
        readonly reason?: 'pre_flight';
      };
    }
  | {
      readonly code: 'budget_exceeded';
      readonly details: {
        readonly budget_id: string;
        readonly scope_kind: ScopeKind | 'customer';
        readonly limit_usd: string;
        readonly spent_usd: string;
        readonly held_usd: string;
        readonly reserved_usd?: string;
        readonly raised_usd?: string;
        readonly raised_until?: string;
        readonly attempted_usd: string;
        readonly period_start: string;
        readonly period_end: string;
      };
    }
  | {
      readonly code: 'chain_budget_exceeded';
      readonly details: {
        readonly reason: 'cost' | 'depth' | 'tokens';
        readonly current: string | number;
        readonly attempted: string | number;
        readonly limit: string | number;
      };
    }
  | {
      readonly code: 'credits_exhausted';
      readonly details: { readonly available_usd: string; readonly attempted_usd: string };
    };

export interface Overrun {
  readonly limit: Limit;
  readonly window: Window;
  readonly key: string;
  readonly settled: bigint;
  readonly held: bigint;
  /** The amount that is kept free for calls in progress. */
  readonly growth: bigint;
  readonly attempted: bigint;
  readonly timezone: string;
  /** True if the request is denied before any cost was incurred. */
  readonly preFlight: boolean;
}

type CountedKind = Exclude<Limit['kind'], 'rate' | 'credits' | 'chain_depth'>;

export function denialOf(overrun: Overrun): Denial {
  const { limit, window, key, settled, held } = overrun;
  return { ...denialDetailsOf(overrun), by: { limit, window, key, used: settled + held } };
}

function denialDetailsOf(overrun: Overrun): DeniedDetails {
  const { limit, window, settled, held, growth, attempted, timezone } = overrun;
  const spent = settled + held;
  const start = formatInstant(window.startMs, timezone);
  const end = formatInstant(window.endMs, timezone);
  switch (limit.kind as CountedKind) {
    case 'concurrency':
      return { code: 'rate_limited', details: { retry_after_seconds: concurrencyRetrySeconds } };
    case 'plan_runs':
    case 'plan_tokens':
      return {
        code: 'plan_limit_exceeded',
        details: {
          limit_kind: limit.kind === 'plan_runs' ? 'runs' : 'tokens',
          limit: Number(limit.capacity),
          used: Number(spent),
        },
      };
    case 'prepaid':
      return {
        code: 'quota_exhausted',
        details: {
          quota_kind: 'prepaid',
          unit: limit.unit,
          limit: formatUsd(limit.capacity),
          used: formatUsd(spent),
          window_start: null,
          window_end: null,
        },
      };
    case 'quota':
      return {
        code: 'quota_exhausted',
        details: {
          quota_kind: 'window',
          unit: limit.unit,
          limit: inUnit(limit, limit.capacity),
          used: inUnit(limit, spent),
          window_start: start,
          window_end: end,
        },
      };
    case 'spend_cap':
      return {
        code: 'spend_cap_exceeded',
        details: {
          cap_usd: formatUsd(limit.capacity),
          spent_usd: formatUsd(spent),
          held_usd: formatUsd(held),
          ...(growth > 0n && { reserved_usd: formatUsd(growth) }),
          ...raisedDetails(limit, timezone),
          attempted_usd: formatUsd(attempted),
          resets_at: end,
          ...(overrun.preFlight && { reason: 'pre_flight' as const }),
        },
      };
    case 'budget':
    case 'customer':
      return {
        code: 'budget_exceeded',
        details: {
          budget_id: limit.id,
          scope_kind: scopeKindOf(limit),
          limit_usd: formatUsd(limit.capacity),
          spent_usd: formatUsd(spent),
          held_usd: formatUsd(held),
          ...(growth > 0n && { reserved_usd: formatUsd(growth) }),
          ...raisedDetails(limit, timezone),
          attempted_usd: formatUsd(attempted),
          period_start: start,
          period_end: end,
        },
      };
    case 'chain_cost':
    case 'chain_tokens':
      return {
        code: 'chain_budget_exceeded',
        details: {
          reason: limit.kind === 'chain_cost' ? 'cost' : 'tokens',
          current: inUnit(limit, spent),
          attempted: inUnit(limit, attempted),
          limit: inUnit(limit, limit.capacity),
        },
      };
  }
}

/** The part of the limit that active raises add, and when the first of them ends. */
function raisedDetails({ raised }: Limit, timezone: string) {
  return (
    raised !== undefined && {
      raised_usd: formatUsd(raised.amount),
      raised_until: formatInstant(raised.untilMs, timezone),
    }
  );
}

/** A place is free as soon as any request in flight ends, at an unknown time. So clients should retry soon. */
const concurrencyRetrySeconds = 1;

/** Denies a run at `depth`. It would be the deepest run of its chain, so the current depth is one less. */
export function depthDenial(limit: Limit, depth: number): Denial {
  return {
    code: 'chain_budget_exceeded',
    details: { reason: 'depth', current: depth - 1, attempted: depth, limit: Number(limit.capacity) },
    by: { limit, window: lifetime, key: null, used: BigInt(depth - 1) },
  };
}

export function creditsDenial(available: bigint, attempted: bigint): Denial {
  return {
    code: 'credits_exhausted',
    details: { available_usd: formatUsd(available), attempted_usd: formatUsd(attempted) },
    by: null,
  };
}

/** Returns money as a decimal string, other units as a number. */
export function inUnit({ unit }: Pick<Limit, 'unit'>, amount: bigint): string | number {
  return unit === 'usd' ? formatUsd(amount) : Number(amount);
}
