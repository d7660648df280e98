/** The models of the provider, with their prices. The gateway gets the same prices, and the provider computes its bill from them. */
import { formatUsd } from '../../src/kernel/money.ts';
import type { World } from '../harness.ts';
import type { AdversaryShape } from './shapes.ts';
import type { Tokenizer } from './token-counts.ts';

export interface PricedModel {
  readonly name: string;
  readonly provider: 'openai' | 'anthropic' | 'google' | 'bedrock';
  readonly tokenizer: Tokenizer;
  /** In nanodollars for each token. */
  readonly input: bigint;
  readonly output: bigint;
  /** Of a token that is cached for an hour. */
  readonly cacheWrite1h: bigint;
  readonly contextTokens: number;
  readonly maxOutputTokens: number;
}

const usual = {
  input: 1_000n,
  output: 10_000n,
  cacheWrite1h: 2_000n,
  contextTokens: 30_000,
  maxOutputTokens: 2_000,
};
const expensive = { ...usual, input: 20_000n, output: 200_000n, cacheWrite1h: 40_000n };

export const models: readonly PricedModel[] = [
  { ...usual, name: 'gpt-4o-usual', provider: 'openai', tokenizer: 'o200k' },
  { ...expensive, name: 'gpt-4o-expensive', provider: 'openai', tokenizer: 'o200k' },
  { ...usual, name: 'gpt-4-usual', provider: 'openai', tokenizer: 'cl100k' },
  // No public tokenizer counts as Claude does; that of GPT is a lower bound.
  { ...usual, name: 'claude-usual', provider: 'anthropic', tokenizer: 'o200k' },
  { ...expensive, name: 'claude-expensive', provider: 'anthropic', tokenizer: 'o200k' },
  { ...usual, name: 'text-embedding-usual', provider: 'openai', tokenizer: 'cl100k', output: 0n },
  { ...expensive, name: 'text-embedding-expensive', provider: 'openai', tokenizer: 'cl100k', output: 0n },
  // As for Claude, no public tokenizer counts as Gemini does.
  { ...usual, name: 'gemini-3-usual', provider: 'google', tokenizer: 'o200k' },
  { ...expensive, name: 'gemini-3-expensive', provider: 'google', tokenizer: 'o200k' },
  { ...usual, name: 'claude-bedrock-usual', provider: 'bedrock', tokenizer: 'o200k' },
  { ...expensive, name: 'claude-bedrock-expensive', provider: 'bedrock', tokenizer: 'o200k' },
  { ...usual, name: 'gemini-embedding-usual', provider: 'google', tokenizer: 'o200k', output: 0n },
  { ...expensive, name: 'gemini-embedding-expensive', provider: 'google', tokenizer: 'o200k', output: 0n },
];

export function modelNamed(name: unknown): PricedModel | undefined {
  return models.find((model) => model.name === name);
}

export function usualModelOf(shape: AdversaryShape): string {
  return {
    chat: 'gpt-4o-usual',
    responses: 'gpt-4o-usual',
    messages: 'claude-usual',
    embeddings: 'text-embedding-usual',
    gemini: 'gemini-3-usual',
    gemini_embeddings: 'gemini-embedding-usual',
    vertex_embeddings: 'gemini-embedding-usual',
    converse: 'claude-bedrock-usual',
  }[shape];
}

export function expensiveModelOf(shape: AdversaryShape): string {
  return usualModelOf(shape).replace('usual', 'expensive');
}

/** Prices of calls of tools that the provider runs, in nanodollars. Others are free. */
export const unitNanos: Readonly<Record<string, bigint>> = {
  web_search: 10_000_000n,
  file_search: 2_500_000n,
  code_interpreter: 30_000_000n,
  image_generation: 40_000_000n,
  maps_query: 25_000_000n,
};

/** Tiers that cost more than the usual one. */
export const tierFactors: Readonly<Record<string, bigint>> = { priority: 2n, fast: 3n };

const usdPerMillion = (nanosPerToken: bigint) => String(Number(nanosPerToken) / 1_000);

export async function putModels(world: World): Promise<void> {
  for (const model of models) {
    const { status, text } = await world.request('PUT', `/v1/admin/models/${model.name}`, {
      key: world.operatorKey,
      body: {
        provider: model.provider,
        input_usd_per_million: usdPerMillion(model.input),
        output_usd_per_million: usdPerMillion(model.output),
        context_tokens: model.contextTokens,
        max_output_tokens: model.maxOutputTokens,
        modifiers: [
          ...Object.entries(tierFactors).map(([tier, factor]) => ({ tier, multiplier: String(factor) })),
          { cache_write_ttl: '1h', cache_write_usd_per_million: usdPerMillion(model.cacheWrite1h) },
        ],
        units: Object.fromEntries(Object.entries(unitNanos).map(([unit, nanos]) => [unit, formatUsd(nanos)])),
      },
    });
    if (status >= 300) {
      throw new Error(`the price of ${model.name} was rejected: ${text}`);
    }
  }
}
