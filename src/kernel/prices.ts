/**
 * The cost of a run: token counts times the rates of its model, exact. A cost is rounded once, at the end, up to a
 * whole nanodollar, so that a sum of costs is never below the value of the tokens.
 *
 * Counts follow the usage reports of OpenAI: `inputTokens` is the total, of which cached, cache-write, audio and
 * image input tokens are parts that do not overlap; reasoning and audio output tokens are parts of `outputTokens`. Cached images are a
 * part of the cached tokens. If the parts exceed their total, the parts are charged.
 *
 * The rates of a run depend on how it is served: `rate-modifiers.ts`.
 */
import { type CostPart, nanosOfParts, type PartCode } from './cost-parts.ts';
import { maxNanos } from './money.ts';

/**
 * Rates of a model; null if it has no such rate. Cached, cache-write, audio and image input tokens without a rate are
 * charged as input, cached image tokens without a rate as other cached ones, audio output tokens without a rate as output. Images, output and requests without a rate are
 * free.
 */
export interface Rates {
  readonly inputNanosPerMillion: bigint;
  readonly cachedInputNanosPerMillion: bigint | null;
  readonly cachedImageInputNanosPerMillion: bigint | null;
  readonly cacheWriteNanosPerMillion: bigint | null;
  /** The rate of tokens that are cached for one hour, computed by modifiers. Left out: charged like other cache writes. */
  readonly cacheWrite1hNanosPerMillion?: bigint;
  readonly outputNanosPerMillion: bigint | null;
  readonly audioInputNanosPerMillion: bigint | null;
  readonly imageInputNanosPerMillion: bigint | null;
  readonly audioOutputNanosPerMillion: bigint | null;
  readonly imageNanosEach: bigint | null;
  /** Charged once per run. */
  readonly requestNanosEach: bigint | null;
}

/** Counts of a run, not negative. */
export interface TokenCounts {
  readonly inputTokens: bigint;
  readonly cachedInputTokens: bigint;
  /** The part of `cachedInputTokens` that images have. */
  readonly cachedImageInputTokens?: bigint;
  readonly cacheWriteTokens: bigint;
  /** Written to a cache for one hour; not included in `cacheWriteTokens`. */
  readonly cacheWrite1hTokens?: bigint;
  readonly outputTokens: bigint;
  /** Charged like other output. */
  readonly reasoningTokens?: bigint;
  readonly audioInputTokens?: bigint;
  readonly imageInputTokens?: bigint;
  readonly audioOutputTokens?: bigint;
  readonly images?: bigint;
}

/** Upper bounds of charges that are not included in the highest token rates. */
export interface OtherCharges {
  readonly images: bigint;
  /** Included in the input tokens. Their rate is too high to be assumed for all input tokens. */
  readonly cacheWrite1hTokens: bigint;
  readonly unitNanos: bigint;
}

export const noOtherCharges: OtherCharges = { images: 0n, cacheWrite1hTokens: 0n, unitNanos: 0n };

/** Used as "unlimited" if tokens are free; fits into a JSON number. */
export const maxTokens = BigInt(Number.MAX_SAFE_INTEGER);

export const basisPointsMax = 10_000n;

const million = 1_000_000n;

export function costOf(rates: Rates, counts: TokenCounts): bigint {
  return nanosOfParts(partsOf(rates, counts));
}

/**
 * Returns the cost by kind. The sum of the tokens is rounded, not each kind. So each kind has the amount that it adds to the
 * rounded cost of the kinds before it.
 */
export function partsOf(rates: Rates, counts: TokenCounts): CostPart[] {
  const { inputTokens, cachedInputTokens, cacheWriteTokens, outputTokens } = counts;
  const {
    cachedImageInputTokens = 0n,
    cacheWrite1hTokens = 0n,
    reasoningTokens = 0n,
    audioInputTokens = 0n,
    imageInputTokens = 0n,
    audioOutputTokens = 0n,
  } = counts;
  const { images = 0n } = counts;
  const input = rates.inputNanosPerMillion;
  const output = rates.outputNanosPerMillion ?? 0n;
  const cacheWrite = rates.cacheWriteNanosPerMillion ?? input;
  const parts: CostPart[] = [];
  let millionths = 0n;
  let costSoFar = 0n;
  const addTokens = (code: PartCode, quantity: bigint, rate: bigint) => {
    if (quantity > 0n) {
      millionths += quantity * rate;
      const cost = divideUp(millionths, million);
      parts.push({ code, quantity, nanos: cost - costSoFar });
      costSoFar = cost;
    }
  };
  const inputParts =
    cachedInputTokens + cacheWriteTokens + cacheWrite1hTokens + audioInputTokens + imageInputTokens;
  addTokens('i', rest(inputTokens, inputParts), input);
  addTokens('c', rest(cachedInputTokens, cachedImageInputTokens), rates.cachedInputNanosPerMillion ?? input);
  addTokens('d', cachedImageInputTokens, cachedImageRate(rates));
  addTokens('w', cacheWriteTokens, cacheWrite);
  addTokens('l', cacheWrite1hTokens, rates.cacheWrite1hNanosPerMillion ?? cacheWrite);
  addTokens('a', audioInputTokens, rates.audioInputNanosPerMillion ?? input);
  addTokens('m', imageInputTokens, rates.imageInputNanosPerMillion ?? input);
  addTokens('o', rest(outputTokens, reasoningTokens + audioOutputTokens), output);
  addTokens('r', reasoningTokens, output);
  addTokens('s', audioOutputTokens, rates.audioOutputNanosPerMillion ?? output);
  if (images > 0n) {
    parts.push({ code: 'g', quantity: images, nanos: images * (rates.imageNanosEach ?? 0n) });
  }
  if (rates.requestNanosEach !== null) {
    parts.push({ code: 'q', quantity: 1n, nanos: rates.requestNanosEach });
  }
  return parts;
}

/** Returns by how much more the cached tokens would have cost as input that was not cached. */
export function cacheSavings(
  rates: Rates,
  { cachedInputTokens, cachedImageInputTokens = 0n }: TokenCounts,
): bigint {
  const { inputNanosPerMillion: input, cachedInputNanosPerMillion: cached } = rates;
  const ofText = rest(cachedInputTokens, cachedImageInputTokens) * (input - (cached ?? input));
  const image = rates.imageInputNanosPerMillion ?? input;
  const ofImages = cachedImageInputTokens * (image - cachedImageRate(rates));
  const saved = (ofText + ofImages) / million;
  // Savings are no money: they must not reject a cost that can be posted.
  return saved > maxNanos ? maxNanos : saved < -maxNanos ? -maxNanos : saved;
}

/**
 * Returns the maximum cost of a run with this number of tokens and these other charges, for any mix of cached, cache-write,
 * audio and image tokens.
 */
export function worstCaseCost(
  rates: Rates,
  inputTokens: bigint,
  maxOutputTokens: bigint,
  others: OtherCharges = noOtherCharges,
): bigint {
  const millionths = worstCaseInput(rates, inputTokens, others) + maxOutputTokens * highestOutputRate(rates);
  return divideUp(millionths, million) + nonTokenCost(rates, others.images) + others.unitNanos;
}

/** Returns the maximum cost of this many more output tokens. It is never below the cost that they add to a run. */
export function worstCaseOutputCost(rates: Rates, outputTokens: bigint): bigint {
  return divideUp(outputTokens * highestOutputRate(rates), million);
}

function nonTokenCost({ imageNanosEach, requestNanosEach }: Rates, images: bigint): bigint {
  return images * (imageNanosEach ?? 0n) + (requestNanosEach ?? 0n);
}

/**
 * Returns the largest number of output tokens whose worst case stays within the budget, at most `maxTokens`. Returns zero also if
 * the budget does not cover the input; `worstCaseCost` without output distinguishes the two cases.
 */
export function affordableOutputTokens(
  rates: Rates,
  inputTokens: bigint,
  budgetNanos: bigint,
  others: OtherCharges = noOtherCharges,
): bigint {
  // A sum of millionths rounds up to at most the budget if and only if it is at most the budget in millionths.
  const forTokens = budgetNanos - nonTokenCost(rates, others.images) - others.unitNanos;
  const left = forTokens * million - worstCaseInput(rates, inputTokens, others);
  if (left < 0n) {
    return 0n;
  }
  const each = highestOutputRate(rates);
  return each === 0n ? maxTokens : smaller(left / each, maxTokens);
}

/**
 * Returns the rates after a discount in basis points. Each rate is rounded up to a whole nanodollar, the precision
 * of prices on the wire, so that the displayed price is the charged price.
 */
export function discounted(rates: Rates, basisPoints: bigint): Rates {
  const reduce = (rate: bigint) => discountedAmount(rate, basisPoints);
  const reduceOptional = (rate: bigint | null) => (rate === null ? null : reduce(rate));
  return {
    inputNanosPerMillion: reduce(rates.inputNanosPerMillion),
    cachedInputNanosPerMillion: reduceOptional(rates.cachedInputNanosPerMillion),
    cachedImageInputNanosPerMillion: reduceOptional(rates.cachedImageInputNanosPerMillion),
    cacheWriteNanosPerMillion: reduceOptional(rates.cacheWriteNanosPerMillion),
    outputNanosPerMillion: reduceOptional(rates.outputNanosPerMillion),
    audioInputNanosPerMillion: reduceOptional(rates.audioInputNanosPerMillion),
    imageInputNanosPerMillion: reduceOptional(rates.imageInputNanosPerMillion),
    audioOutputNanosPerMillion: reduceOptional(rates.audioOutputNanosPerMillion),
    imageNanosEach: reduceOptional(rates.imageNanosEach),
    requestNanosEach: reduceOptional(rates.requestNanosEach),
  };
}

/** Returns an amount after a discount, rounded up to a whole nanodollar. */
export function discountedAmount(nanos: bigint, basisPoints: bigint): bigint {
  return divideUp(nanos * (basisPointsMax - basisPoints), basisPointsMax);
}

/** Returns the maximum cost of the input tokens in millionths. */
function worstCaseInput(rates: Rates, inputTokens: bigint, { cacheWrite1hTokens }: OtherCharges): bigint {
  const highest = highestInputRate(rates);
  if (cacheWrite1hTokens === 0n) {
    return inputTokens * highest;
  }
  const ofOneHour = larger(highest, rates.cacheWrite1hNanosPerMillion ?? 0n);
  return rest(inputTokens, cacheWrite1hTokens) * highest + cacheWrite1hTokens * ofOneHour;
}

function highestInputRate(rates: Rates): bigint {
  const cached = larger(rates.cachedInputNanosPerMillion ?? 0n, rates.cachedImageInputNanosPerMillion ?? 0n);
  const written = rates.cacheWriteNanosPerMillion ?? 0n;
  const spoken = rates.audioInputNanosPerMillion ?? 0n;
  const shown = rates.imageInputNanosPerMillion ?? 0n;
  return larger(larger(rates.inputNanosPerMillion, cached), larger(larger(written, spoken), shown));
}

function cachedImageRate(rates: Rates): bigint {
  const { cachedInputNanosPerMillion, cachedImageInputNanosPerMillion, inputNanosPerMillion } = rates;
  return cachedImageInputNanosPerMillion ?? cachedInputNanosPerMillion ?? inputNanosPerMillion;
}

function highestOutputRate(rates: Rates): bigint {
  return larger(rates.outputNanosPerMillion ?? 0n, rates.audioOutputNanosPerMillion ?? 0n);
}

function rest(total: bigint, parts: bigint): bigint {
  return total > parts ? total - parts : 0n;
}

/** Division rounded up, for non-negative numbers. */
export function divideUp(numerator: bigint, denominator: bigint): bigint {
  return (numerator + denominator - 1n) / denominator;
}

function larger(a: bigint, b: bigint): bigint {
  return a > b ? a : b;
}

function smaller(a: bigint, b: bigint): bigint {
  return a < b ? a : b;
}
