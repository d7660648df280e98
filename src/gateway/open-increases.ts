/**
 * Increases of holds with `SVC_EDGE_FAIL_MODE=open`: while the ledger is unavailable they are allowed, as calls are. The next increase
 * of the same hold adds what the ledger missed.
 */
import { formatUsd, parseUsd } from '../kernel/money.ts';
import type { IncreaseCallHold } from './hold-coverage.ts';

type CallIncrease = Parameters<IncreaseCallHold>;
type IncreaseBy = CallIncrease[2];
type IncreaseMore = CallIncrease[3];

interface Missed {
  readonly outputTokens: number;
  readonly nanos: bigint;
  readonly tokens: number;
  readonly attemptMaxNanos: bigint;
}

const nothing: Missed = { outputTokens: 0, nanos: 0n, tokens: 0, attemptMaxNanos: 0n };
/** Bounds the memory. A hold that is forgotten stays as small as it was before the outage, and its call is still charged in full. */
const holdsMax = 20_000;

/** `increase` throws if the hold is not increased. */
export function createOpenIncreases(
  increase: (...request: CallIncrease) => Promise<void>,
  isOutage: (error: unknown) => boolean,
): IncreaseCallHold {
  const missed = new Map<string, Missed>();
  return async (orgId, decisionId, by, more) => {
    const before = missed.get(decisionId) ?? nothing;
    try {
      await increase(orgId, decisionId, withMissed(by, before), moreWithMissed(more, before));
      missed.delete(decisionId);
      return true;
    } catch (error) {
      if (!isOutage(error)) {
        return false;
      }
      if (missed.size >= holdsMax && !missed.has(decisionId)) {
        missed.delete(missed.keys().next().value as string);
      }
      missed.set(decisionId, missedWith(by, more, missed.get(decisionId) ?? nothing));
      return true;
    }
  };
}

function withMissed(by: IncreaseBy, { outputTokens, nanos, tokens }: Missed): IncreaseBy {
  return 'output_tokens' in by
    ? { output_tokens: by.output_tokens + outputTokens }
    : { cost_usd: formatUsd((parseUsd(by.cost_usd) ?? 0n) + nanos), tokens: by.tokens + tokens };
}

function moreWithMissed(more: IncreaseMore, { attemptMaxNanos }: Missed): IncreaseMore {
  return attemptMaxNanos === 0n
    ? more
    : { ...more, attemptMaxNanos: (more?.attemptMaxNanos ?? 0n) + attemptMaxNanos };
}

function missedWith(by: IncreaseBy, more: IncreaseMore, missed: Missed): Missed {
  const attemptMaxNanos = missed.attemptMaxNanos + (more?.attemptMaxNanos ?? 0n);
  return 'output_tokens' in by
    ? { ...missed, outputTokens: missed.outputTokens + by.output_tokens, attemptMaxNanos }
    : {
        ...missed,
        nanos: missed.nanos + (parseUsd(by.cost_usd) ?? 0n),
        tokens: missed.tokens + by.tokens,
        attemptMaxNanos,
      };
}
