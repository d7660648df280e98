/** Models that LiteLLM's list no longer has: retired ones, and those of providers whose names it prefixes. */
import type { CatalogModel } from '../../src/capabilities/spend/models/catalog.ts';

interface GenaiModel extends Pick<CatalogModel, 'model' | 'provider'> {
  /** The id in the price list, which finds names by patterns: a different one would be a different model. */
  readonly id: string;
  readonly context_tokens?: number;
  readonly max_output_tokens?: number;
  readonly capabilities?: readonly string[];
}

export const genaiModels: readonly GenaiModel[] = [
  {
    provider: 'anthropic',
    model: 'claude-3-5-haiku-20241022',
    id: 'claude-3-5-haiku-latest',
    context_tokens: 200000,
    max_output_tokens: 8192,
    capabilities: ['json', 'tools', 'vision'],
  },
  {
    provider: 'anthropic',
    model: 'claude-3-5-sonnet-20241022',
    id: 'claude-3-5-sonnet',
    context_tokens: 200000,
    max_output_tokens: 8192,
    capabilities: ['json', 'tools', 'vision'],
  },
  {
    provider: 'anthropic',
    model: 'claude-3-7-sonnet-20250219',
    id: 'claude-3-7-sonnet-latest',
    context_tokens: 200000,
    max_output_tokens: 64000,
    capabilities: ['json', 'reasoning', 'tools', 'vision'],
  },
  {
    provider: 'anthropic',
    model: 'claude-sonnet-4-0',
    id: 'claude-sonnet-4-0',
    context_tokens: 200000,
    max_output_tokens: 64000,
    capabilities: ['json', 'reasoning', 'tools', 'vision'],
  },
  {
    provider: 'anthropic',
    model: 'claude-opus-4-0',
    id: 'claude-opus-4-0',
    context_tokens: 200000,
    max_output_tokens: 32000,
    capabilities: ['json', 'reasoning', 'tools', 'vision'],
  },
  {
    provider: 'anthropic',
    model: 'claude-opus-4-1',
    id: 'claude-opus-4-1',
    context_tokens: 200000,
    max_output_tokens: 32000,
    capabilities: ['json', 'reasoning', 'tools', 'vision'],
  },
  {
    provider: 'google',
    model: 'gemini-1.5-flash',
    id: 'gemini-1.5-flash',
    context_tokens: 1048576,
    max_output_tokens: 8192,
    capabilities: ['audio', 'json', 'tools', 'vision'],
  },
  {
    provider: 'google',
    model: 'gemini-1.5-pro',
    id: 'gemini-1.5-pro',
    context_tokens: 2097152,
    max_output_tokens: 8192,
    capabilities: ['audio', 'json', 'tools', 'vision'],
  },
  {
    provider: 'google',
    model: 'gemini-2.0-flash',
    id: 'gemini-2.0-flash',
    context_tokens: 1048576,
    max_output_tokens: 8192,
    capabilities: ['audio', 'json', 'tools', 'vision'],
  },
  {
    provider: 'google',
    model: 'gemini-2.0-flash-lite',
    id: 'gemini-2.0-flash-lite',
    context_tokens: 1048576,
    max_output_tokens: 8192,
    capabilities: ['audio', 'json', 'tools', 'vision'],
  },
  {
    provider: 'groq',
    model: 'llama-3.1-8b-instant',
    id: 'llama-3.1-8b-instant',
    context_tokens: 131072,
    max_output_tokens: 131072,
    capabilities: ['json', 'tools'],
  },
  {
    provider: 'groq',
    model: 'llama-3.3-70b-versatile',
    id: 'llama-3.3-70b-versatile',
    context_tokens: 131072,
    max_output_tokens: 32768,
    capabilities: ['json', 'tools'],
  },
  {
    provider: 'groq',
    model: 'groq/meta-llama/llama-4-maverick-17b-128e-instruct',
    id: 'meta-llama/llama-4-maverick-17b-128e-instruct',
    context_tokens: 131072,
    capabilities: ['json', 'tools', 'vision'],
  },
  {
    provider: 'groq',
    model: 'groq/meta-llama/llama-4-scout-17b-16e-instruct',
    id: 'meta-llama/llama-4-scout-17b-16e-instruct',
    context_tokens: 131072,
    capabilities: ['json', 'tools', 'vision'],
  },
  {
    provider: 'groq',
    model: 'groq/moonshotai/kimi-k2-instruct-0905',
    id: 'moonshotai/kimi-k2-instruct',
    context_tokens: 262144,
    capabilities: ['json', 'tools'],
  },
  {
    provider: 'groq',
    model: 'groq/qwen/qwen3-32b',
    id: 'qwen/qwen3-32b',
    context_tokens: 131072,
    capabilities: ['json', 'reasoning', 'tools'],
  },
  {
    provider: 'together',
    model: 'meta-llama/Llama-3.3-70B-Instruct-Turbo',
    id: 'meta-llama/Llama-3.3-70B-Instruct-Turbo',
    context_tokens: 131072,
    capabilities: ['json', 'tools'],
  },
  {
    provider: 'together',
    model: 'meta-llama/Llama-4-Maverick-17B-128E-Instruct-FP8',
    id: 'meta-llama/Llama-4-Maverick-17B-128E-Instruct-FP8',
    context_tokens: 1048576,
    capabilities: ['json', 'tools', 'vision'],
  },
  { provider: 'openai', model: 'chatgpt-4o-latest', id: 'chatgpt-4o-latest' },
  { provider: 'openai', model: 'codex-mini-latest', id: 'codex-mini' },
  { provider: 'openai', model: 'gpt-3.5-turbo-0301', id: 'gpt-3.5-0301' },
  { provider: 'openai', model: 'gpt-3.5-turbo-0613', id: 'gpt-3.5-turbo-0613' },
  { provider: 'openai', model: 'gpt-3.5-turbo-16k-0613', id: 'gpt-3.5-turbo-16k' },
  { provider: 'openai', model: 'gpt-4-0125-preview', id: 'gpt-4-turbo' },
  { provider: 'openai', model: 'gpt-4-0314', id: 'gpt-4' },
  { provider: 'openai', model: 'gpt-4-32k', id: 'gpt-4-32k' },
  { provider: 'openai', model: 'gpt-4-32k-0314', id: 'gpt-4-32k' },
  { provider: 'openai', model: 'gpt-4-32k-0613', id: 'gpt-4-32k' },
  { provider: 'openai', model: 'gpt-4-turbo-preview', id: 'gpt-4-turbo' },
  { provider: 'openai', model: 'gpt-4-vision-preview', id: 'gpt-4-vision-preview' },
  { provider: 'openai', model: 'o1-mini', id: 'o1-mini' },
  { provider: 'openai', model: 'o1-mini-2024-09-12', id: 'o1-mini' },
  { provider: 'openai', model: 'o1-preview', id: 'o1-preview' },
  { provider: 'openai', model: 'o1-preview-2024-09-12', id: 'o1-preview' },
  { provider: 'openai', model: 'text-moderation-latest', id: 'moderation' },
  { provider: 'openai', model: 'text-moderation-stable', id: 'moderation' },
];

/** Neither list has these: list prices of a standard image of 1024 × 1024. */
export const imageModels: readonly CatalogModel[] = [
  {
    model: 'dall-e-3',
    provider: 'openai',
    source: 'openai',
    as_of: '2026-11-16',
    rates: { input_usd_per_million: '0', image_usd: '0.04' },
    capabilities: ['images'],
  },
  {
    model: 'dall-e-2',
    provider: 'openai',
    source: 'openai',
    as_of: '2026-11-16',
    rates: { input_usd_per_million: '0', image_usd: '0.02' },
    capabilities: ['images'],
  },
];

/** Names that a provider uses for a dated model which the lists have. */
export const aliasesOfDated: Readonly<Record<string, readonly string[]>> = {
  'claude-3-7-sonnet-20250219': ['claude-3-7-sonnet'],
  'claude-opus-4-0': ['claude-opus-4-20250514'],
  'claude-opus-4-1': ['claude-opus-4-1-20250805'],
  'claude-sonnet-4-0': ['claude-sonnet-4-20250514'],
  'gpt-4o-audio-preview-2024-12-17': ['gpt-4o-audio-preview'],
  'gpt-4o-mini-audio-preview-2024-12-17': ['gpt-4o-mini-audio-preview'],
};
