import { expect, test } from 'vitest';
import {
  afterFailure,
  afterSuccess,
  type BreakerRules,
  type BreakerState,
  phaseOf,
  tryHalfOpen,
} from './circuit-breaker.ts';

const rules: BreakerRules = {
  failuresMax: 3,
  window: 10,
  windowFailuresMax: 5,
  waitMs: 1_000,
  waitMaxMs: 3_000,
  trialEveryMs: 100,
};

/** Applies outcomes at a time: `x` is a failure, `.` a success. */
function after(outcomes: string, nowMs = 0, from?: BreakerState): BreakerState | undefined {
  return [...outcomes].reduce<BreakerState | undefined>(
    (state, outcome) =>
      outcome === 'x' ? afterFailure(state, rules, nowMs) : afterSuccess(state, rules, nowMs),
    from,
  );
}

test('opens after consecutive failures', () => {
  expect(phaseOf(after('xx'), 0)).toBe('closed');
  expect(phaseOf(after('xx.xx'), 0)).toBe('closed');
  expect(phaseOf(after('xxx'), 0)).toBe('open');
});

test('opens at a share of failures, once there are enough outcomes', () => {
  expect(phaseOf(after('x.x.x.x.x'), 0)).toBe('closed');
  expect(phaseOf(after('x.x.x.x.x.'), 0)).toBe('closed');
  expect(phaseOf(after('x.x.x.x.x.x'), 0)).toBe('open');
  expect(phaseOf(after('x..x..x..x..x..x..x..'), 0)).toBe('closed');
});

test('forgets a failure after a window of successes', () => {
  expect(after('x.........')).toBeDefined();
  expect(after('x..........')).toBeUndefined();
  expect(after('.')).toBeUndefined();
});

test('a circuit breaker is half-open after the wait, for one trial per interval', () => {
  const open = after('xxx') as BreakerState;
  expect(phaseOf(open, 999)).toBe('open');
  expect(tryHalfOpen(open, rules, 999)).toBeUndefined();
  expect(phaseOf(open, 1_000)).toBe('half_open');
  const tried = tryHalfOpen(open, rules, 1_000) as BreakerState;
  expect(tryHalfOpen(tried, rules, 1_099)).toBeUndefined();
  expect(tryHalfOpen(tried, rules, 1_100)).toBeDefined();
});

test('closes after a successful trial, and waits longer after a failed one', () => {
  const open = after('xxx') as BreakerState;
  expect(after('.', 1_000, open)).toBeUndefined();
  const again = after('x', 1_000, open) as BreakerState;
  expect([phaseOf(again, 2_999), phaseOf(again, 3_000)]).toEqual(['open', 'half_open']);
  const third = after('x', 3_000, again) as BreakerState;
  expect([phaseOf(third, 5_999), phaseOf(third, 6_000)]).toEqual(['open', 'half_open']);
});

test('ignores outcomes of earlier calls while it is open', () => {
  const open = after('xxx') as BreakerState;
  expect(after('x.x.', 500, open)).toBe(open);
});
