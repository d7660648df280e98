/**
 * What models can do, for everyone: how much they take in and give out, where they are served, what they are able to. Unlike
 * a price a fact has no versions: nothing that was posted depends on it.
 */

import { NotifiedCache } from '../../../platform/cache/notified-cache.ts';
import type { Database, Transaction } from '../../../platform/db/database.ts';
import { announceModelPriceChange, onModelPriceChange } from './change-notifications.ts';
import { allModelFacts, findModelFacts, type ModelFactsRow, upsertModelFacts } from './queries.ts';
import type { ModelFactsView, PutModelPrice } from './schema.ts';

/** Null: not known. */
export type ModelCapabilities = Omit<ModelFactsRow, 'model' | 'updated_at'>;

export const noCapabilities: ModelCapabilities = {
  context_tokens: null,
  max_output_tokens: null,
  regions: null,
  capabilities: null,
};

export interface ModelCapabilitiesCache {
  /** Of every model of which something is known. A promise only where it has to be read first. */
  all(): ReadonlyMap<string, ModelCapabilities> | Promise<ReadonlyMap<string, ModelCapabilities>>;
}

const everything = '';

export function createModelCapabilities(db: Database): ModelCapabilitiesCache {
  const load = async (): Promise<ReadonlyMap<string, ModelCapabilities>> =>
    new Map((await allModelFacts(db)).map((row) => [row.model, row]));
  const cache = new NotifiedCache(db, {
    maxEntries: 1,
    onChange: (_, listener) => onModelPriceChange(db, () => listener(null)),
    load,
  });
  return { all: () => cache.get(everything) };
}

export function viewCapabilities(capabilities: ModelCapabilities): ModelFactsView {
  return {
    context_tokens: capabilities.context_tokens === null ? null : Number(capabilities.context_tokens),
    max_output_tokens:
      capabilities.max_output_tokens === null ? null : Number(capabilities.max_output_tokens),
    regions: capabilities.regions && [...capabilities.regions],
    capabilities: capabilities.capabilities && [...capabilities.capabilities],
  };
}

export interface FactsChange {
  readonly before: ModelCapabilities;
  readonly after: ModelCapabilities;
  readonly changed: boolean;
}

/** What is left out stays as it was. Whoever changes a model holds its lock. */
export async function putModelCapabilities(
  tx: Transaction,
  now: Date,
  model: string,
  body: PutModelPrice,
): Promise<FactsChange> {
  const before = (await findModelFacts(tx, model)) ?? noCapabilities;
  const after: ModelCapabilities = {
    context_tokens: tokensOf(body.context_tokens, before.context_tokens),
    max_output_tokens: tokensOf(body.max_output_tokens, before.max_output_tokens),
    regions: body.regions === undefined ? before.regions : sorted(body.regions),
    capabilities: body.capabilities === undefined ? before.capabilities : sorted(body.capabilities),
  };
  const changed = JSON.stringify(viewCapabilities(before)) !== JSON.stringify(viewCapabilities(after));
  if (changed) {
    await upsertModelFacts(tx, { model, ...after, updated_at: now });
    await announceModelPriceChange(tx);
  }
  return { before, after, changed };
}

function tokensOf(said: number | null | undefined, before: bigint | null): bigint | null {
  return said === undefined ? before : said === null ? null : BigInt(said);
}

function sorted(words: readonly string[] | null): string[] | null {
  return words && [...new Set(words)].sort();
}
