/**
 * What models can do, for everyone: how much they take in and give out, where they are served, what they are able to. Unlike
 * a price a fact has no versions: nothing that was booked depends on it.
 */

import { createMemory } from '../../../platform/cache/notified-cache.ts';
import type { Database, Transaction } from '../../../platform/db/database.ts';
import { announceModelPriceChange, onModelPriceChange } from './notices.ts';
import { allModelFacts, findModelFacts, type ModelFactsRow, upsertModelFacts } from './queries.ts';
import type { ModelFactsView, PutModelPrice } from './schema.ts';

/** Null: not known. */
export type ModelFacts = Omit<ModelFactsRow, 'model' | 'updated_at'>;

export const noFacts: ModelFacts = {
  context_tokens: null,
  max_output_tokens: null,
  regions: null,
  capabilities: null,
};

export interface KnownFacts {
  /** Of every model of which something is known. A promise only where it has to be read first. */
  all(): ReadonlyMap<string, ModelFacts> | Promise<ReadonlyMap<string, ModelFacts>>;
}

const everything = '';

export function createFacts(db: Database): KnownFacts {
  const read = async (): Promise<ReadonlyMap<string, ModelFacts>> =>
    new Map((await allModelFacts(db)).map((row) => [row.model, row]));
  const memory = createMemory(db, 1, read);
  onModelPriceChange(db, () => memory.forget(null));
  return { all: () => (db.noticesAreCurrent() ? memory.get(everything) : read()) };
}

export function viewFacts(facts: ModelFacts): ModelFactsView {
  return {
    context_tokens: facts.context_tokens === null ? null : Number(facts.context_tokens),
    max_output_tokens: facts.max_output_tokens === null ? null : Number(facts.max_output_tokens),
    regions: facts.regions && [...facts.regions],
    capabilities: facts.capabilities && [...facts.capabilities],
  };
}

export interface FactsChange {
  readonly before: ModelFacts;
  readonly after: ModelFacts;
  readonly changed: boolean;
}

/** What is left out stays as it was. Whoever changes a model holds its lock. */
export async function putModelFacts(
  tx: Transaction,
  now: Date,
  model: string,
  body: PutModelPrice,
): Promise<FactsChange> {
  const before = (await findModelFacts(tx, model)) ?? noFacts;
  const after: ModelFacts = {
    context_tokens: tokensOf(body.context_tokens, before.context_tokens),
    max_output_tokens: tokensOf(body.max_output_tokens, before.max_output_tokens),
    regions: body.regions === undefined ? before.regions : sorted(body.regions),
    capabilities: body.capabilities === undefined ? before.capabilities : sorted(body.capabilities),
  };
  const changed = JSON.stringify(viewFacts(before)) !== JSON.stringify(viewFacts(after));
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
