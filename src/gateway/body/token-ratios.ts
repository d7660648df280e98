/**
 * The ratio of input tokens to the text score, per org and family of models. It starts high and is learned from settled calls:
 * the 99.9th percentile plus 5 %. An org learns from its own calls only, so that none can lower the estimates of others.
 */
export interface TokenRatios {
  of(orgId: string, model: string): number;
  /** Adds a call whose input was text only. */
  learn(orgId: string, model: string, textScore: number, inputTokens: number): void;
}

/** Above the ratio of every kind of text that the score was chosen for, also random words. */
const initialRatio = 2.1;
/** Tokenizers of other families make more tokens than o200k. */
const initialRatioOfOthers = 2.8;
const samplesMin = 1_000;
const percentile = 0.999;
const margin = 1.05;
/** Shorter texts say little about the ratio: the tokens around messages are most of them. */
const scoreMin = 200;

const bucketWidth = 0.01;
const buckets = 400;
const histogramsMax = 5_000;
/** Older samples lose half of their weight when this many were counted. */
const samplesMax = 100_000;

interface Histogram {
  readonly counts: Float64Array;
  samples: number;
  ratio: number | undefined;
}

export function createTokenRatios(): TokenRatios {
  /** Least recently used first. */
  const histograms = new Map<string, Histogram>();

  function find(orgId: string, model: string): Histogram | undefined {
    return histograms.get(`${orgId} ${familyOf(model)}`);
  }

  return {
    of(orgId, model) {
      const found = find(orgId, model);
      if (found === undefined || found.samples < samplesMin) {
        return isOpenAi(model) ? initialRatio : initialRatioOfOthers;
      }
      found.ratio ??= learnedRatio(found);
      return found.ratio;
    },
    learn(orgId, model, textScore, inputTokens) {
      if (textScore < scoreMin || inputTokens <= 0) {
        return;
      }
      const name = `${orgId} ${familyOf(model)}`;
      const histogram = histograms.get(name) ?? {
        counts: new Float64Array(buckets),
        samples: 0,
        ratio: undefined,
      };
      histograms.delete(name);
      histograms.set(name, histogram);
      if (histograms.size > histogramsMax) {
        histograms.delete(histograms.keys().next().value as string);
      }
      const bucket = Math.min(buckets - 1, Math.floor(inputTokens / textScore / bucketWidth));
      histogram.counts[bucket] = (histogram.counts[bucket] as number) + 1;
      histogram.samples += 1;
      histogram.ratio = undefined;
      if (histogram.samples >= samplesMax) {
        histogram.counts.forEach((count, index) => {
          histogram.counts[index] = count / 2;
        });
        histogram.samples /= 2;
      }
    },
  };
}

function learnedRatio({ counts, samples }: Histogram): number {
  let seen = 0;
  for (let bucket = 0; bucket < counts.length; bucket += 1) {
    seen += counts[bucket] as number;
    if (seen >= samples * percentile) {
      return (bucket + 1) * bucketWidth * margin;
    }
  }
  return buckets * bucketWidth * margin;
}

/** Returns the family of a model: its name up to the first digit after a letter, such as `gpt-4` or `claude`. */
export function familyOf(model: string): string {
  const name = model.slice(model.lastIndexOf('/') + 1).toLowerCase();
  return /^(claude|[a-z]+-?\d+)/.exec(name)?.[0] ?? name;
}

function isOpenAi(model: string): boolean {
  return /(^|\/)(gpt|o\d|text-embedding|chatgpt)/.test(model.toLowerCase());
}
