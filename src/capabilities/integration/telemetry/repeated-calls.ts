/**
 * Calls that two instrumentations of a program have reported, such as one of a framework and one of the SDK that the framework uses.
 * The inner report is kept: it is the one with the address and the id of the response. The outer one often knows who pays. Only if no
 * inner report has usage, as those of streams, the outer one is kept for its own.
 */
import type { CallTokens, ModelCall } from './model-call.ts';

export function withoutRepeated(reported: readonly ModelCall[]): readonly ModelCall[] {
  const calls = eachOnce(reported);
  const spans = new Map(calls.flatMap((call) => (call.spanKey === '' ? [] : [[call.spanKey, call]])));
  const unlinked = unlinkedCalls(calls);
  const innerOf = new Map<ModelCall, ModelCall[]>();
  const aroundOf = new Map<ModelCall, ModelCall>();
  for (const call of calls) {
    const around = parentOf(call, spans) ?? takeAround(unlinked, call);
    if (around !== undefined) {
      aroundOf.set(call, around);
      innerOf.set(around, [...(innerOf.get(around) ?? []), call]);
    }
  }
  const isDropped = (call: ModelCall): boolean => {
    const around = aroundOf.get(call);
    const inner = innerOf.get(call);
    return (
      (inner !== undefined && !hasUsageOfItsOwn(call, inner)) ||
      (around !== undefined && !call.isFailed && hasUsageOfItsOwn(around, innerOf.get(around) ?? []))
    );
  };
  return calls
    .filter((call) => !isDropped(call))
    .map((call) => {
      const around = aroundOf.get(call);
      return around === undefined ? call : withLabelsOf(call, around);
    });
}

/** A collector may send a span twice in one request. */
function eachOnce(calls: readonly ModelCall[]): readonly ModelCall[] {
  const seen = new Set<string>();
  return calls.filter(({ spanKey, externalId, usage }) => {
    const key = JSON.stringify([spanKey, externalId, usage]);
    const isFirst = spanKey === '' || !seen.has(key);
    seen.add(key);
    return isFirst;
  });
}

/** Two spans that name each other as parents are two calls. */
function parentOf(call: ModelCall, spans: ReadonlyMap<string, ModelCall>): ModelCall | undefined {
  const parent = spans.get(call.parentKey);
  return parent !== undefined &&
    parent.spanKey !== call.spanKey &&
    parent.parentKey !== call.spanKey &&
    parent.isEmbedding === call.isEmbedding
    ? parent
    : undefined;
}

function hasUsageOfItsOwn(call: ModelCall, inner: readonly ModelCall[]): boolean {
  return call.usage.isKnown && !inner.some(({ usage }) => usage.isKnown);
}

function withLabelsOf(call: ModelCall, around: ModelCall): ModelCall {
  const tags = { ...around.labels.tags, ...call.labels.tags };
  return { ...call, chainId: around.chainId, labels: { ...around.labels, ...call.labels, tags } };
}

/**
 * Some instrumentations are no parents of the spans of SDKs, and report no ids of responses. Their calls are found by model, counts and
 * time.
 */
function unlinkedCalls(calls: readonly ModelCall[]): Map<string, ModelCall[]> {
  const unlinked = new Map<string, ModelCall[]>();
  for (const call of calls) {
    if (call.responseId === undefined && hasCounts(call.usage)) {
      const key = countsOf(call);
      unlinked.set(key, [...(unlinked.get(key) ?? []), call]);
    }
  }
  return unlinked;
}

/** Each call is around one other at most. */
function takeAround(unlinked: Map<string, ModelCall[]>, call: ModelCall): ModelCall | undefined {
  if (call.responseId === undefined || !hasCounts(call.usage)) {
    return undefined;
  }
  const candidates = unlinked.get(countsOf(call)) ?? [];
  const index = candidates.findIndex(
    ({ instrumentation, startMs, endMs }) =>
      instrumentation !== call.instrumentation && startMs <= call.startMs && endMs >= call.endMs,
  );
  return index === -1 ? undefined : candidates.splice(index, 1)[0];
}

function hasCounts({ input, output }: CallTokens): boolean {
  return input + output > 0;
}

function countsOf({ requestModel, usage }: ModelCall): string {
  return JSON.stringify([requestModel, usage.input, usage.cached, usage.cacheWrite, usage.output]);
}
