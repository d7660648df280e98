/** Selects the imported part of a price list, with the reasons why other entries are skipped. */
import type { CatalogModel } from '../models/index.ts';

export const skipReasons = {
  other_provider: 'of other providers',
  not_a_model: 'not names that callers use',
  free: 'free for now',
  not_expressible: 'with rates that prices cannot express',
} as const;
export type SkipReason = keyof typeof skipReasons;

/** Vendors of the catalog. Their models have no prefix in their names. */
export const ownProviders: readonly string[] = [
  'anthropic',
  'cohere',
  'deepseek',
  'google',
  'mistral',
  'openai',
  'xai',
  'zai',
];

/** Hosts of the catalog. Their models have a prefix in their names (`kernel/model-hosts.ts`). */
export const hostProviders: readonly string[] = [
  'azure',
  'bedrock',
  'cerebras',
  'fireworks_ai',
  'groq',
  'perplexity',
  'together_ai',
  'vertex_ai',
];

export interface Imported {
  readonly models: readonly CatalogModel[];
  readonly skipped: Readonly<Partial<Record<SkipReason, number>>>;
}

/** Collects models. If two have the same name, the first is kept. */
export function createImport() {
  const models = new Map<string, CatalogModel>();
  const skipped: Partial<Record<SkipReason, number>> = {};
  return {
    add(found: CatalogModel | SkipReason): void {
      if (typeof found === 'string') {
        skipped[found] = (skipped[found] ?? 0) + 1;
      } else if (!models.has(found.model)) {
        models.set(found.model, found);
      }
    },
    result: (): Imported => ({ models: [...models.values()], skipped }),
  };
}
