/**
 * What a run costs: token counts times the rates of its model, exactly. A cost is rounded once, at its end, up to a
 * whole nanodollar, so that a sum of costs is never below what the tokens are worth.
 *
 * Counts follow the usage reports of OpenAI: `inputTokens` is the total, and cached, cache-write and audio input tokens
 * are parts of it that do not overlap; audio output tokens are a part of `outputTokens`. Where parts exceed their total,
 * the parts are charged.
 */

/**
 * Null where a model has no such unit. Tokens without a rate of their own are charged as what they are a part of:
 * cached, cache-write and audio input, audio output. Images, output and requests without a rate cost
 * nothing.
 */
export interface Rates {
  readonly inputNanosPerMillion: bigint;
  readonly cachedInputNanosPerMillion: bigint | null;
  readonly cacheWriteNanosPerMillion: bigint | null;
  readonly outputNanosPerMillion: bigint | null;
  readonly audioInputNanosPerMillion: bigint | null;
  readonly audioOutputNanosPerMillion: bigint | null;
  readonly imageNanosEach: bigint | null;
  /** Once for every run, however many tokens it has. */
  readonly requestNanosEach: bigint | null;
}

/** None is below zero. */
export interface TokenCounts {
  readonly inputTokens: bigint;
  readonly cachedInputTokens: bigint;
  readonly cacheWriteTokens: bigint;
  readonly outputTokens: bigint;
  readonly audioInputTokens?: bigint;
  readonly audioOutputTokens?: bigint;
  readonly images?: bigint;
}

/** Stands for "as many as you like" where tokens cost nothing; JSON can hold it. */
export const maxTokens = BigInt(Number.MAX_SAFE_INTEGER);

export const basisPointsMax = 10_000n;

const million = 1_000_000n;

export function costOf(rates: Rates, counts: TokenCounts): bigint {
  const { inputTokens, cachedInputTokens, cacheWriteTokens, outputTokens } = counts;
  const audioInputTokens = counts.audioInputTokens ?? 0n;
  const audioOutputTokens = counts.audioOutputTokens ?? 0n;
  const input = rates.inputNanosPerMillion;
  const output = rates.outputNanosPerMillion ?? 0n;
  const millionths =
    rest(inputTokens, cachedInputTokens + cacheWriteTokens + audioInputTokens) * input +
    cachedInputTokens * (rates.cachedInputNanosPerMillion ?? input) +
    cacheWriteTokens * (rates.cacheWriteNanosPerMillion ?? input) +
    audioInputTokens * (rates.audioInputNanosPerMillion ?? input) +
    rest(outputTokens, audioOutputTokens) * output +
    audioOutputTokens * (rates.audioOutputNanosPerMillion ?? output);
  return divideUp(millionths, million) + apartFromTokens(rates, counts.images ?? 0n);
}

/**
 * The most that a run of so many tokens and images can cost, whatever the tokens turn out to be: cached, written to a
 * cache, spoken.
 */
export function worstCaseCost(
  rates: Rates,
  inputTokens: bigint,
  maxOutputTokens: bigint,
  images = 0n,
): bigint {
  const millionths = inputTokens * dearestInput(rates) + maxOutputTokens * dearestOutput(rates);
  return divideUp(millionths, million) + apartFromTokens(rates, images);
}

function apartFromTokens({ imageNanosEach, requestNanosEach }: Rates, images: bigint): bigint {
  return images * (imageNanosEach ?? 0n) + (requestNanosEach ?? 0n);
}

/**
 * The largest number of output tokens whose worst case stays within the budget, at most `maxTokens`. Zero too where the
 * budget does not even cover the input: `worstCaseCost` with no output tells these apart.
 */
export function affordableOutputTokens(
  rates: Rates,
  inputTokens: bigint,
  budgetNanos: bigint,
  images = 0n,
): bigint {
  // A sum of millionths rounds up to at most the budget exactly when it is at most the budget's millionths.
  const left = (budgetNanos - apartFromTokens(rates, images)) * million - inputTokens * dearestInput(rates);
  if (left < 0n) {
    return 0n;
  }
  const each = dearestOutput(rates);
  return each === 0n ? maxTokens : smaller(left / each, maxTokens);
}

/**
 * The rates less a discount in hundredths of a percent. Each is rounded up to a whole nanodollar, which is what a price
 * on the wire can say: so the price that is shown is the price that is charged.
 */
export function discounted(rates: Rates, basisPoints: bigint): Rates {
  const kept = basisPointsMax - basisPoints;
  const reduce = (rate: bigint) => divideUp(rate * kept, basisPointsMax);
  const reduceIfAny = (rate: bigint | null) => (rate === null ? null : reduce(rate));
  return {
    inputNanosPerMillion: reduce(rates.inputNanosPerMillion),
    cachedInputNanosPerMillion: reduceIfAny(rates.cachedInputNanosPerMillion),
    cacheWriteNanosPerMillion: reduceIfAny(rates.cacheWriteNanosPerMillion),
    outputNanosPerMillion: reduceIfAny(rates.outputNanosPerMillion),
    audioInputNanosPerMillion: reduceIfAny(rates.audioInputNanosPerMillion),
    audioOutputNanosPerMillion: reduceIfAny(rates.audioOutputNanosPerMillion),
    imageNanosEach: reduceIfAny(rates.imageNanosEach),
    requestNanosEach: reduceIfAny(rates.requestNanosEach),
  };
}

function dearestInput(rates: Rates): bigint {
  const cached = rates.cachedInputNanosPerMillion ?? 0n;
  const written = rates.cacheWriteNanosPerMillion ?? 0n;
  const spoken = rates.audioInputNanosPerMillion ?? 0n;
  return larger(larger(rates.inputNanosPerMillion, cached), larger(written, spoken));
}

function dearestOutput(rates: Rates): bigint {
  return larger(rates.outputNanosPerMillion ?? 0n, rates.audioOutputNanosPerMillion ?? 0n);
}

function rest(total: bigint, parts: bigint): bigint {
  return total > parts ? total - parts : 0n;
}

/** For what is not below zero. */
function divideUp(numerator: bigint, denominator: bigint): bigint {
  return (numerator + denominator - 1n) / denominator;
}

function larger(a: bigint, b: bigint): bigint {
  return a > b ? a : b;
}

function smaller(a: bigint, b: bigint): bigint {
  return a < b ? a : b;
}
