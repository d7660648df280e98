/** Outputs of earlier calls, per key and model. They determine the first hold with `hold: expected`. */
import { type CallCounts, percentileBucket, sumOf } from './call-counts.ts';

export interface OutputSubject {
  readonly orgId: string;
  readonly keyId: string;
  readonly model: string;
}

export interface OutputHistory {
  learn(subject: OutputSubject, outputTokens: number): void;
  /** Returns the 95th percentile, rounded up; undefined while there are too few calls. */
  expected(subject: OutputSubject): number | undefined;
}

const percentile = 0.95;
const samplesMin = 20;
/** Each bucket ends at 1.2 times the end of the previous one, the last one at about 100,000 tokens. */
const shape = { buckets: 64, samplesMax: 400 };
const growth = 1.2;

export function createOutputHistory(learned: CallCounts): OutputHistory {
  return {
    learn({ orgId, keyId, model }, outputTokens) {
      const bucket = Math.ceil(Math.log(Math.max(1, outputTokens)) / Math.log(growth));
      learned.add(orgId, outputName(keyId, model), Math.min(shape.buckets - 1, bucket), shape);
    },
    expected({ orgId, keyId, model }) {
      const counts = learned.find(orgId, outputName(keyId, model));
      if (counts === undefined || sumOf(counts) < samplesMin) {
        return undefined;
      }
      return Math.ceil(growth ** (percentileBucket(counts, percentile) as number));
    },
  };
}

function outputName(keyId: string, model: string): string {
  return `output ${keyId} ${model}`;
}
