/** The usage of limits: settled and held amounts in the current window, and the capacity with the raises that are active. */
import type { Counter, LimitWindow } from '../../kernel/admission.ts';
import {
  counterKey,
  emptyScope,
  type Limit,
  type OrgLimits,
  type Scope,
  WILDCARD,
  windowOf,
} from '../../kernel/limits.ts';
import { raisedLimit } from '../../kernel/raises.ts';
import type { Window } from '../../kernel/windows.ts';

export interface LimitUsage {
  readonly limit: Limit;
  readonly window: Window;
  readonly settled: bigint;
  readonly held: bigint;
}

/** Returns the counters of these limits. Leaves out limits that do not have a single counter. */
export function ownCounters(limits: OrgLimits, limitIds: readonly string[], atMs: number): LimitWindow[] {
  const wanted = new Set(limitIds);
  return limits.all
    .filter(
      (limit) => wanted.has(limit.id) && isCounted(limit) && !Object.values(limit.match).includes(WILDCARD),
    )
    .map((limit) => counterIn(limits, limit, emptyScope, atMs));
}

/** Returns the counter of a limit for each scope. Returns none if the limit does not exist or is not counted. */
export function countersOfScopes(
  limits: OrgLimits,
  limitId: string,
  scopes: readonly Scope[],
  atMs: number,
): LimitWindow[] {
  const limit = limits.all.find(({ id }) => id === limitId);
  return limit === undefined || !isCounted(limit)
    ? []
    : scopes.map((scope) => counterIn(limits, limit, scope, atMs));
}

/** Rates and depths have no counter here. */
function isCounted({ kind }: Limit): boolean {
  return kind !== 'rate' && kind !== 'chain_depth';
}

function counterIn({ timezone }: OrgLimits, limit: Limit, scope: Scope, atMs: number): LimitWindow {
  const window = windowOf(limit, timezone, atMs);
  const key = counterKey(limit, window, scope);
  return { limit: raisedLimit(limit, scope, atMs).limit, window, key };
}

export function limitUsageOf(
  { limit, window }: LimitWindow,
  counter: Pick<Counter, 'settled' | 'held'>,
): LimitUsage {
  return { limit, window, settled: counter.settled, held: counter.held };
}
