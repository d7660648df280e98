/** The circuit breakers of the connections that this process uses. Connections without a recent failure have no entry. */
import {
  afterFailure,
  afterSuccess,
  type BreakerPhase,
  type BreakerRules,
  type BreakerState,
  phaseOf,
  tryHalfOpen,
} from '../../../kernel/circuit-breaker.ts';
import type { AttemptFailure } from './connection.ts';
import type { BreakerView } from './schema.ts';

export const breakerRules: BreakerRules = {
  failuresMax: 5,
  window: 20,
  windowFailuresMax: 10,
  waitMs: 5_000,
  waitMaxMs: 60_000,
  trialEveryMs: 1_000,
};

/** Entries of deleted connections stay until this bound evicts the oldest. */
const entriesMax = 10_000;

export interface Breakers {
  succeeded(connectionId: string): void;
  failed(connectionId: string, failure: AttemptFailure): void;
  /** Returns whether a call may try the connection first. Half-open: true once per interval. */
  mayTry(connectionId: string): boolean;
  view(connectionId: string): BreakerView;
  /** Returns the connections whose breaker is not closed. */
  notClosed(): { readonly connectionId: string; readonly phase: BreakerPhase }[];
  /** Returns how often a breaker was opened. */
  opened(): number;
}

export function createBreakers(nowMs: () => number, rules: BreakerRules = breakerRules): Breakers {
  const states = new Map<string, BreakerState>();
  /** Kept while the breaker is closed again, so that a connection that fails now and then shows why. */
  const lastFailures = new Map<string, AttemptFailure & { readonly atMs: number }>();
  let opened = 0;

  function set(connectionId: string, state: BreakerState | undefined): void {
    if (state === undefined) {
      states.delete(connectionId);
    } else {
      setBounded(states, connectionId, state);
    }
  }

  return {
    succeeded(connectionId) {
      const state = states.get(connectionId);
      if (state !== undefined) {
        set(connectionId, afterSuccess(state, rules, nowMs()));
      }
    },
    failed(connectionId, failure) {
      const atMs = nowMs();
      setBounded(lastFailures, connectionId, { ...failure, atMs });
      const before = states.get(connectionId);
      const after = afterFailure(before, rules, atMs);
      if (after.openedAtMs !== null && after.openedAtMs !== before?.openedAtMs) {
        opened += 1;
      }
      set(connectionId, after);
    },
    mayTry(connectionId) {
      const state = states.get(connectionId);
      if (state === undefined || state.openedAtMs === null) {
        return true;
      }
      const tried = tryHalfOpen(state, rules, nowMs());
      if (tried !== undefined) {
        set(connectionId, tried);
      }
      return tried !== undefined;
    },
    view(connectionId) {
      const state = states.get(connectionId);
      const last = lastFailures.get(connectionId);
      return {
        state: phaseOf(state, nowMs()),
        consecutive_failures: state?.consecutiveFailures ?? 0,
        retry_at:
          state == null || state.openedAtMs === null
            ? null
            : new Date(state.openedAtMs + state.waitMs).toISOString(),
        last_failure:
          last === undefined
            ? null
            : {
                at: new Date(last.atMs).toISOString(),
                reason: last.reason,
                status: last.reason === 'status' ? last.status : null,
              },
      };
    },
    notClosed() {
      const now = nowMs();
      return [...states]
        .map(([connectionId, state]) => ({ connectionId, phase: phaseOf(state, now) }))
        .filter(({ phase }) => phase !== 'closed');
    },
    opened: () => opened,
  };
}

function setBounded<Value>(map: Map<string, Value>, key: string, value: Value): void {
  if (map.size >= entriesMax && !map.has(key)) {
    const [oldest = ''] = map.keys();
    map.delete(oldest);
  }
  map.set(key, value);
}
