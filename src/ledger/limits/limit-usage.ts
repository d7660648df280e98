/** The usage of limits: settled and held amounts in the current window. */
import type { Counter, LimitWindow } from '../../kernel/admission.ts';
import {
  counterKey,
  type Limit,
  type OrgLimits,
  type Scope,
  WILDCARD,
  windowOf,
} from '../../kernel/limits.ts';
import type { Window } from '../../kernel/windows.ts';

export interface LimitUsage {
  readonly limit: Limit;
  readonly window: Window;
  readonly settled: bigint;
  readonly held: bigint;
}

/** A placeholder: the counters of limits without wildcards do not depend on a scope. */
export const emptyScope: Scope = {
  key_id: '',
  model: null,
  provider: null,
  action: null,
  workflow: null,
  deployment: null,
  department: null,
  team: null,
  customer_id: null,
  chain_id: null,
  member_id: null,
  tags: null,
};

/** Returns the counters of these limits, without limits that have no single counter. Rates are counted elsewhere. */
export function ownCounters(limits: OrgLimits, limitIds: readonly string[], atMs: number): LimitWindow[] {
  const wanted = new Set(limitIds);
  return limits.all
    .filter(({ id, kind, match }) => {
      return (
        wanted.has(id) &&
        kind !== 'rate' &&
        kind !== 'chain_depth' &&
        !Object.values(match).includes(WILDCARD)
      );
    })
    .map((limit) => {
      const window = windowOf(limit, limits.timezone, atMs);
      return { limit, window, key: counterKey(limit, window, emptyScope) };
    });
}

export function limitUsageOf(
  { limit, window }: LimitWindow,
  counter: Pick<Counter, 'settled' | 'held'>,
): LimitUsage {
  return { limit, window, settled: counter.settled, held: counter.held };
}
