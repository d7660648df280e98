/**
 * Finds the models that a requested name may mean, in the order in which their prices are tried: the name itself, its alias, a
 * pattern; then the same without a provider prefix; the prices of the name at hosts; and finally all of these without a date
 * suffix.
 */
import { type CalledAt, hostOfProvider } from '../../../kernel/model-hosts.ts';
import {
  type ShorterName,
  shorterNames,
  withDashedVersion,
  withoutDateSuffix,
} from '../../../kernel/model-names.ts';
import { matchesPattern, type Pattern, patternOf } from '../../../kernel/policy.ts';
import { createHostedModels, hostedNames } from './hosted-models.ts';
import type { ModelNamesRow } from './name-queries.ts';

export const nameSteps = [
  'at_host',
  'exact',
  'alias',
  'pattern',
  'without_prefix',
  'any_host',
  'without_date',
] as const;
export type NameStep = (typeof nameSteps)[number];

/** A model, or several models of which the most expensive price applies. */
export type MeantModel = string | readonly string[];

export interface NameCandidate {
  readonly step: NameStep;
  /** The name that was looked up: the requested one or a shortened form. */
  readonly name: string;
  /** The model or models that the name means; null if the step found none. */
  readonly model: MeantModel | null;
}

/** Maximum number of cached names, because names come from callers. */
const cachedNamesMax = 10_000;

export interface NameResolution {
  /** Returns the candidates. `at` is the place of the call, for names that do not contain it. */
  candidates(name: string, at?: CalledAt): NameCandidate[];
  /** Returns the candidates except the name itself, from a cache. */
  otherModels(name: string): readonly MeantModel[];
  /** Returns the candidates of a name at a host, from a cache; undefined if the provider is not a host. */
  modelsAt(name: string, at: CalledAt): readonly MeantModel[] | undefined;
}

/** Creates the resolution. `models` returns all models with a price. */
export function createNameResolution(
  rows: readonly ModelNamesRow[],
  models: () => Iterable<string>,
): NameResolution {
  // A name that the operator gave one model wins over the same name of another model in the catalog.
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
  const hosted = createHostedModels(function* () {
    for (const model of models()) {
      yield [model, model];
    }
    yield* aliases;
  });
  const cachedOthers = new Map<string, readonly MeantModel[]>();
  const cachedAtHosts = new Map<string, readonly MeantModel[]>();

  const patternModel = (name: string) =>
    patterns.find(({ pattern }) => matchesPattern(pattern, name))?.model ?? null;

  /** A shortened name may itself be a model, an alias, or match a pattern. */
  function shortened(step: NameStep, name: string): NameCandidate[] {
    const others = [aliases.get(name), patternModel(name)].filter((model) => model != null);
    return [name, ...others].map((model) => ({ step, name, model }));
  }

  /**
   * Returns the candidates of shortened names. Without the prefix of its vendor, a name means the vendor's model. Without a prefix
   * of a host or region, whose price may differ, it means the most expensive model.
   */
  function shorter(
    step: NameStep,
    names: readonly ShorterName[],
    among: readonly ShorterName[],
  ): NameCandidate[] {
    const [own, elsewhere] = [true, false].map((isOwn) =>
      names
        .filter(({ host, region }) => (host === null && region === null) === isOwn)
        .flatMap(({ name }) => shortened(step, name)),
    );
    return [...(own ?? []), ...hostedAmong(among), ...(elsewhere ?? [])];
  }

  function hostedAmong(names: readonly ShorterName[]): NameCandidate[] {
    const { name } = names.at(-1) ?? {};
    const model = hosted.find(names);
    return name === undefined || model.length === 0 ? [] : [{ step: 'any_host', name, model }];
  }

  function namedCandidates(name: string): NameCandidate[] {
    const [whole, ...others] = formsOf(name);
    const all = [whole as ShorterName, ...others];
    const undated = all.flatMap(undatedForm);
    return [
      { step: 'exact', name, model: name },
      { step: 'alias', name, model: aliases.get(name) ?? null },
      { step: 'pattern', name, model: patternModel(name) },
      ...shorter('without_prefix', others, all),
      ...shorter('without_date', undated, undated),
    ];
  }

  function atHost(host: string, { name, region }: ShorterName): NameCandidate[] {
    return hostedNames(host, region, name).flatMap((one) =>
      [one, aliases.get(one)].flatMap((model) =>
        model === undefined ? [] : { step: 'at_host' as const, name: one, model },
      ),
    );
  }

  /** Returns the candidates of a name at this host; undefined if the provider is not a host. */
  function candidatesAt(name: string, { provider, region = null }: CalledAt): NameCandidate[] | undefined {
    const host = provider == null ? undefined : hostOfProvider(provider);
    if (host === undefined) {
      return undefined;
    }
    const forms = formsOf(name).map((form) => ({ ...form, host, region: form.region ?? region }));
    // A name that contains its host has a price of its own, and possibly another one in the region.
    if (shorterNames(name).some((one) => one.host !== null)) {
      return atHost(host, forms[0] as ShorterName);
    }
    return [forms, forms.flatMap(undatedForm)].flatMap((level) => [
      ...level.flatMap((form) => atHost(host, form)),
      ...hostedAmong(level),
    ]);
  }

  return {
    candidates: (name, at) => [...((at && candidatesAt(name, at)) ?? []), ...namedCandidates(name)],
    otherModels: (name) => cached(cachedOthers, name, () => modelsOf(namedCandidates(name), name)),
    modelsAt(name, at) {
      const host = at.provider == null ? undefined : hostOfProvider(at.provider);
      return host === undefined
        ? undefined
        : cached(cachedAtHosts, `${host} ${at.region ?? ''} ${name}`, () =>
            modelsOf(candidatesAt(name, at) ?? [], undefined),
          );
    },
  };
}

/** Returns the name and its forms without prefixes, each also with dashes in its version. */
function formsOf(name: string): ShorterName[] {
  return [{ name, host: null, region: null }, ...shorterNames(name)].flatMap((form) => {
    const dashed = withDashedVersion(form.name);
    return dashed === undefined ? form : [form, { ...form, name: dashed }];
  });
}

function undatedForm(form: ShorterName): ShorterName[] {
  const name = withoutDateSuffix(form.name);
  return name === undefined ? [] : [{ ...form, name }];
}

function modelsOf(candidates: readonly NameCandidate[], except: string | undefined): readonly MeantModel[] {
  const found = candidates.flatMap(({ model }) => {
    const one = typeof model === 'string' || model?.length !== 1 ? model : model[0];
    return one == null || one === except ? [] : [one];
  });
  return [...new Set(found)];
}

function cached(
  cache: Map<string, readonly MeantModel[]>,
  name: string,
  find: () => readonly MeantModel[],
): readonly MeantModel[] {
  let models = cache.get(name);
  if (models === undefined) {
    models = find();
    if (cache.size >= cachedNamesMax) {
      cache.clear();
    }
    cache.set(name, models);
  }
  return models;
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

/** Compares two patterns. The one with more characters besides `*` comes first; equally long ones are sorted by name. */
function moreSpecificFirst({ pattern: one }: ModelPattern, { pattern: other }: ModelPattern): number {
  return lengthOf(other) - lengthOf(one) || (one.source < other.source ? -1 : 1);
}

function lengthOf({ parts }: Pattern): number {
  return parts.reduce((sum, part) => sum + part.length, 0);
}
