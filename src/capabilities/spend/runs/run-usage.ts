/** The usage of a run in its three forms: in requests, in the ledger, and stored. */
import { parseUsd } from '../../../kernel/money.ts';
import type { TokenCounts } from '../../../kernel/prices.ts';
import type { RunUsage } from '../../../ledger/posting.ts';
import type { RunRow } from './queries.ts';
import type { Measured } from './schema.ts';

type MeasuredTokens = Omit<Measured, 'other_models'>;

export function countsOf(body: MeasuredTokens): TokenCounts {
  return {
    inputTokens: countOf(body.input_tokens),
    cachedInputTokens: countOf(body.cached_input_tokens),
    cachedImageInputTokens: countOf(body.cached_image_input_tokens),
    cacheWriteTokens: countOf(body.cache_write_tokens),
    cacheWrite1hTokens: countOf(body.cache_write_1h_tokens),
    outputTokens: countOf(body.output_tokens),
    reasoningTokens: countOf(body.reasoning_tokens),
    audioInputTokens: countOf(body.audio_input_tokens),
    imageInputTokens: countOf(body.image_input_tokens),
    audioOutputTokens: countOf(body.audio_output_tokens),
    images: countOf(body.images),
  };
}

/** Returns the counts without those of the other models. */
export function ownCounts(counts: TokenCounts, others: readonly MeasuredTokens[]): TokenCounts {
  return others.map(countsOf).reduce(difference, counts);
}

function difference(counts: TokenCounts, other: TokenCounts): TokenCounts {
  const less = (name: keyof TokenCounts) => (counts[name] ?? 0n) - (other[name] ?? 0n);
  return {
    ...counts,
    inputTokens: less('inputTokens'),
    cachedInputTokens: less('cachedInputTokens'),
    cachedImageInputTokens: less('cachedImageInputTokens'),
    cacheWriteTokens: less('cacheWriteTokens'),
    cacheWrite1hTokens: less('cacheWrite1hTokens'),
    imageInputTokens: less('imageInputTokens'),
    outputTokens: less('outputTokens'),
    reasoningTokens: less('reasoningTokens'),
  };
}

function countOf(tokens: number | undefined): bigint {
  return tokens === undefined ? 0n : BigInt(tokens);
}

/**
 * Returns the counts of a stored run. Audio tokens, images and reasoning tokens are not stored. So audio and image input are priced as
 * text, images are free, and reasoning is priced as other output.
 */
export function storedCounts(run: RunRow): TokenCounts {
  const cacheWrite1hTokens = run.cache_write_1h_tokens ?? 0n;
  return {
    inputTokens: run.input_tokens,
    cachedInputTokens: run.cached_input_tokens,
    cacheWriteTokens: run.cache_write_tokens - cacheWrite1hTokens,
    cacheWrite1hTokens,
    outputTokens: run.output_tokens,
  };
}

export function hasUsage({ input_tokens = 0, output_tokens = 0, images = 0, units }: Measured): boolean {
  return (
    input_tokens > 0 ||
    output_tokens > 0 ||
    images > 0 ||
    (units !== undefined && Object.values(units).some((count) => count > 0))
  );
}

export function usageOf(body: Measured, counts: TokenCounts, status: string): RunUsage {
  return {
    status,
    inputTokens: counts.inputTokens,
    cachedInputTokens: counts.cachedInputTokens,
    cacheWriteTokens: counts.cacheWriteTokens + (counts.cacheWrite1hTokens ?? 0n),
    outputTokens: counts.outputTokens,
    valueNanos: body.value_usd === undefined ? null : (parseUsd(body.value_usd) ?? null),
    latencyMs: body.latency_ms === undefined ? null : BigInt(body.latency_ms),
  };
}

export const noUsage: RunUsage = {
  status: 'running',
  inputTokens: 0n,
  cachedInputTokens: 0n,
  cacheWriteTokens: 0n,
  outputTokens: 0n,
  valueNanos: null,
  latencyMs: null,
};
