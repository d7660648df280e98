/**
 * Calls that two instrumentations of a program have reported, such as one of a framework and one of the SDK that the framework uses.
 * The inner report is kept: it is the one with the address and the id of the response. The outer one often knows who pays.
 */
import type { CallTokens, ModelCall } from './model-call.ts';

export function withoutRepeated(calls: readonly ModelCall[]): readonly ModelCall[] {
  const spans = new Map(calls.flatMap((call) => (call.spanKey === '' ? [] : [[call.spanKey, call]])));
  const unlinked = unlinkedCalls(calls);
  const outer = new Set<ModelCall>();
  const joined = calls.map((call) => {
    const around = spans.get(call.parentKey) ?? takeAround(unlinked, call);
    if (around === undefined || around === call) {
      return call;
    }
    outer.add(around);
    return withLabelsOf(call, around);
  });
  return joined.filter((_, index) => !outer.has(calls[index] as ModelCall));
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
