/**
 * Finds the models that a requested name may mean, in the order in which their prices are tried: the name itself, its alias,
 * a pattern, then the same without a provider prefix and without a date suffix.
 */
import { withoutDateSuffix, withoutProviderPrefixes } from '../../../kernel/model-names.ts';
import { matchesPattern, type Pattern, patternOf } from '../../../kernel/policy.ts';
import type { ModelNamesRow } from './name-queries.ts';

export const nameSteps = ['exact', 'alias', 'pattern', 'without_prefix', 'without_date'] as const;
export type NameStep = (typeof nameSteps)[number];

export interface NameCandidate {
  readonly step: NameStep;
  /** The name that was looked up: the requested one, or what remains of it. */
  readonly name: string;
  /** The model that the name stands for; null if the step found none. */
  readonly model: string | null;
}

/** Maximum number of cached names: they come from callers. */
const cachedNamesMax = 10_000;

export interface NameResolution {
  candidates(name: string): NameCandidate[];
  /** Returns the candidate models without the name itself, from a cache. */
  otherModels(name: string): readonly string[];
}

export function createNameResolution(rows: readonly ModelNamesRow[]): NameResolution {
  // A name that the operator gave one model wins over the same name of another model in the catalogue.
  const aliases = new Map([
    ...rows.flatMap(({ model, aliases: own, catalog_aliases }) =>
      own === null ? namesFor(model, catalog_aliases) : [],
    ),
    ...rows.flatMap(({ model, aliases: own }) => namesFor(model, own)),
  ]);
  const patterns = rows
    .flatMap(({ model, patterns: own, catalog_patterns }) => namesFor(model, own ?? catalog_patterns))
    .map(([source, model]) => ({ model, pattern: patternOf(source) }))
    .sort(moreSpecificFirst);
  const cache = new Map<string, readonly string[]>();

  const patternModel = (name: string) =>
    patterns.find(({ pattern }) => matchesPattern(pattern, name))?.model ?? null;

  /** A shortened name may itself be a model, an alias, or match a pattern. */
  function shortened(step: NameStep, name: string): NameCandidate[] {
    const others = [aliases.get(name), patternModel(name)].filter((model) => model != null);
    return [name, ...others].map((model) => ({ step, name, model }));
  }

  function candidates(name: string): NameCandidate[] {
    const bare = withoutProviderPrefixes(name);
    const undated = [name, ...bare].flatMap((one) => withoutDateSuffix(one) ?? []);
    return [
      { step: 'exact', name, model: name },
      { step: 'alias', name, model: aliases.get(name) ?? null },
      { step: 'pattern', name, model: patternModel(name) },
      ...bare.flatMap((one) => shortened('without_prefix', one)),
      ...undated.flatMap((one) => shortened('without_date', one)),
    ];
  }

  return {
    candidates,
    otherModels(name) {
      let models = cache.get(name);
      if (models === undefined) {
        const found = candidates(name).flatMap(({ model }) =>
          model === null || model === name ? [] : model,
        );
        models = [...new Set(found)];
        if (cache.size >= cachedNamesMax) {
          cache.clear();
        }
        cache.set(name, models);
      }
      return models;
    },
  };
}

function namesFor(
  model: string,
  names: readonly string[] | null,
): (readonly [name: string, model: string])[] {
  return names?.map((name) => [name, model] as const) ?? [];
}

interface ModelPattern {
  readonly model: string;
  readonly pattern: Pattern;
}

/** The pattern with most characters besides `*` wins; equally long ones in alphabetical order. */
function moreSpecificFirst({ pattern: one }: ModelPattern, { pattern: other }: ModelPattern): number {
  return lengthOf(other) - lengthOf(one) || (one.source < other.source ? -1 : 1);
}

function lengthOf({ parts }: Pattern): number {
  return parts.reduce((sum, part) => sum + part.length, 0);
}
