/**
 * The fastest that a model generates at a provider, before anything was measured: above what any of its models was reported to reach.
 */
import type { Pace } from './pace.ts';

/** Usual providers: their fastest models generate about 250 tokens per second. */
const usual: Pace = { burstTokensPerSecond: 1_500, burstTokens: 2_000, sustainedTokensPerSecond: 500 };
/** Providers of small models that generate up to 900 tokens per second. */
const fast: Pace = { burstTokensPerSecond: 3_000, burstTokens: 2_000, sustainedTokensPerSecond: 2_000 };
/** Chips for inference, at most 3,000 tokens per second, and hosts that may forward a call to them. */
const fastest: Pace = {
  burstTokensPerSecond: 10_000,
  burstTokens: 5_000,
  sustainedTokensPerSecond: 7_500,
};

const byProvider: Readonly<Record<string, Pace>> = {
  openai: usual,
  anthropic: usual,
  azure_openai: usual,
  aws: fast,
  google: fast,
  vertex_ai: fast,
  mistral: fast,
  deepseek: usual,
  cohere: usual,
  moonshot: usual,
};

/** Models that a provider serves on such chips beside its usual ones. */
const fastModel = /(?<![a-z0-9])spark(?![a-z0-9])/i;

/** Returns the documented pace of a model at a provider; that of the fastest providers if the provider is not known. */
export function documentedPace(provider: string | null | undefined, model: string): Pace {
  return fastModel.test(model) ? fastest : (byProvider[provider ?? ''] ?? fastest);
}
