/**
 * Temporary raises of limits. The capacity of a limit is a pure function of the limit, its raises and the time of the decision, so a
 * raise ends by itself: nothing has to be reset.
 */
import { fieldsOf, type Limit, type Raise, type Scope, valueIn, WILDCARD } from './limits.ts';
import { maxCounter } from './money.ts';

/** A limit with the capacity that it has at a time, and the time span in which it has this capacity. */
export interface LimitAtTime {
  readonly limit: Limit;
  readonly fromMs: number;
  readonly untilMs: number;
}

/**
 * Returns the limit that applies to a scope at a time: its capacity includes the raises that are active then. Returns the limit
 * itself if it was never raised.
 */
export function raisedLimit(limit: Limit, scope: Scope, atMs: number): LimitAtTime {
  let amount = 0n;
  let fromMs = Number.NEGATIVE_INFINITY;
  let untilMs = Number.POSITIVE_INFINITY;
  for (const raise of limit.raises ?? noRaises) {
    if (!raisesValue(limit, raise, scope)) {
      continue;
    }
    if (atMs < raise.untilMs) {
      amount += raise.amount;
      untilMs = Math.min(untilMs, raise.untilMs);
    } else {
      fromMs = Math.max(fromMs, raise.untilMs);
    }
  }
  if (amount === 0n) {
    return { limit, fromMs, untilMs };
  }
  const raised = limit.capacity + amount;
  const capacity = raised < maxCounter ? raised : maxCounter;
  return {
    limit: { ...limit, capacity, raised: { amount: capacity - limit.capacity, untilMs } },
    fromMs,
    untilMs,
  };
}

const noRaises: readonly Raise[] = [];

/** Returns true if the raise applies to every value of the limit, or to the value that the scope has. */
function raisesValue({ match }: Limit, { value }: Raise, scope: Scope): boolean {
  if (value === null) {
    return true;
  }
  const wildcard = fieldsOf(match).find((field) => match[field] === WILDCARD);
  return wildcard !== undefined && valueIn(scope, wildcard) === value;
}
