/**
 * Capabilities of models, which are the same for all orgs: context size, maximum output, regions and features. They have no
 * versions, unlike prices, because no posting depends on them.
 */

import { NotifiedCache } from '../../../platform/cache/notified-cache.ts';
import type { Database, Transaction } from '../../../platform/db/database.ts';
import {
  allModelCapabilities,
  allModels,
  findModelCapabilities,
  type ModelCapabilitiesRow,
  modelPricesChanged,
  upsertModelCapabilities,
} from './queries.ts';
import type { ModelCapabilitiesView, PutModelPrice } from './schema.ts';

/** Capabilities of a model. An unknown one is null. */
export type ModelCapabilities = Omit<ModelCapabilitiesRow, 'model' | 'updated_at'>;

export const noCapabilities: ModelCapabilities = {
  context_tokens: null,
  max_output_tokens: null,
  regions: null,
  capabilities: null,
};

export interface ModelCapabilitiesCache {
  /** Returns the known capabilities by model. Returns a promise only if they must be loaded. */
  all(): ReadonlyMap<string, ModelCapabilities> | Promise<ReadonlyMap<string, ModelCapabilities>>;
}

export function createModelCapabilities(db: Database): ModelCapabilitiesCache {
  const load = async (): Promise<ReadonlyMap<string, ModelCapabilities>> =>
    new Map((await allModelCapabilities(db)).map((row) => [row.model, row]));
  const cache = new NotifiedCache(db, {
    maxEntries: 1,
    onChange: modelPricesChanged.on,
    load,
  });
  return { all: () => cache.get(allModels) };
}

export function viewCapabilities(capabilities: ModelCapabilities): ModelCapabilitiesView {
  return {
    context_tokens: capabilities.context_tokens === null ? null : Number(capabilities.context_tokens),
    max_output_tokens:
      capabilities.max_output_tokens === null ? null : Number(capabilities.max_output_tokens),
    regions: capabilities.regions && [...capabilities.regions],
    capabilities: capabilities.capabilities && [...capabilities.capabilities],
  };
}

export interface CapabilitiesChange {
  readonly before: ModelCapabilities;
  readonly after: ModelCapabilities;
  readonly changed: boolean;
}

/** Stores the capabilities. Fields that the body leaves out are kept. The caller must hold the lock of the model. */
export async function putModelCapabilities(
  tx: Transaction,
  now: Date,
  model: string,
  body: PutModelPrice,
): Promise<CapabilitiesChange> {
  const before = (await findModelCapabilities(tx, model)) ?? noCapabilities;
  const after: ModelCapabilities = {
    context_tokens: tokensOf(body.context_tokens, before.context_tokens),
    max_output_tokens: tokensOf(body.max_output_tokens, before.max_output_tokens),
    regions: body.regions === undefined ? before.regions : sorted(body.regions),
    capabilities: body.capabilities === undefined ? before.capabilities : sorted(body.capabilities),
  };
  const changed = JSON.stringify(viewCapabilities(before)) !== JSON.stringify(viewCapabilities(after));
  if (changed) {
    await upsertModelCapabilities(tx, { model, ...after, updated_at: now });
    await modelPricesChanged.notify(tx, allModels);
  }
  return { before, after, changed };
}

function tokensOf(given: number | null | undefined, before: bigint | null): bigint | null {
  return given === undefined ? before : given === null ? null : BigInt(given);
}

function sorted(words: readonly string[] | null): string[] | null {
  return words && [...new Set(words)].sort();
}
