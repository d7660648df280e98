/** Outputs of the last calls, per key and model: how much to hold at first with `hold: expected`. */
export interface OutputHistory {
  learn(keyId: string, model: string, outputTokens: number): void;
  /** Returns the 95th percentile; undefined while too few calls were made. */
  expected(keyId: string, model: string): number | undefined;
}

const percentile = 0.95;
const samplesMin = 20;
const samplesMax = 400;
const historiesMax = 10_000;

export function createOutputHistory(): OutputHistory {
  /** Least recently used first; the samples of each are a ring. */
  const histories = new Map<string, { samples: number[]; next: number }>();
  return {
    learn(keyId, model, outputTokens) {
      const name = `${keyId} ${model}`;
      const history = histories.get(name) ?? { samples: [], next: 0 };
      histories.delete(name);
      histories.set(name, history);
      if (histories.size > historiesMax) {
        histories.delete(histories.keys().next().value as string);
      }
      history.samples[history.next] = outputTokens;
      history.next = (history.next + 1) % samplesMax;
    },
    expected(keyId, model) {
      const samples = histories.get(`${keyId} ${model}`)?.samples ?? [];
      if (samples.length < samplesMin) {
        return undefined;
      }
      const sorted = [...samples].sort((a, b) => a - b);
      return sorted[Math.min(sorted.length - 1, Math.ceil(sorted.length * percentile) - 1)];
    },
  };
}
