/**
 * Finds the models that have a price of a name at some host: `azure/eu/gpt-4o` is the price of `gpt-4o` there. Where a name is called at a
 * host or in a region that has no price of its own, the most expensive of the others applies.
 */
import { prefixesOf } from '../../../kernel/model-hosts.ts';
import { type ShorterName, shorterNames } from '../../../kernel/model-names.ts';

interface HostedModel {
  readonly host: string | null;
  readonly region: string | null;
  /** The model with the price, of which the hosted name may be an alias. */
  readonly model: string;
}

export interface HostedModels {
  /**
   * Returns the models with a price of one of these names: those at the host of the last name, or else at any host; of these, those in its
   * region, or else in any region.
   */
  find(names: readonly ShorterName[]): readonly string[];
}

/** `names` are those that have a price, with the model of each. */
export function createHostedModels(
  names: () => Iterable<readonly [name: string, model: string]>,
): HostedModels {
  // Names without a price of their own are rare, so the index is built for the first of them.
  let index: ReadonlyMap<string, readonly HostedModel[]> | undefined;
  return {
    find(shorter) {
      index ??= indexOf(names());
      const found = shorter.flatMap(({ name }) => index?.get(name) ?? []);
      const { host = null, region = null } = shorter.at(-1) ?? {};
      const atHost = found.filter((one) => host !== null && one.host === host);
      const inRegion = (one: HostedModel) => one.region === region;
      const there =
        atHost.length > 0 ? narrowed(atHost, inRegion) : region === null ? found : narrowed(found, inRegion);
      return [...new Set(there.map(({ model }) => model))];
    },
  };
}

/** Returns the names under which the host has prices of a name, those of the region first. */
export function hostedNames(host: string, region: string | null, name: string): string[] {
  const prefixes = prefixesOf(host);
  const inRegion = region === null ? [] : prefixes.map((prefix) => `${prefix}/${region}/${name}`);
  return [...inRegion, ...prefixes.map((prefix) => `${prefix}/${name}`)];
}

function indexOf(
  names: Iterable<readonly [name: string, model: string]>,
): ReadonlyMap<string, readonly HostedModel[]> {
  const index = new Map<string, HostedModel[]>();
  for (const [name, model] of names) {
    const shorter = shorterNames(name);
    const { host = null, region = null } = shorter.at(-1) ?? {};
    const hosted = { host, region, model };
    const forms = [name, ...shorter.map((one) => one.name)];
    // Hosts name the models of others with their vendor: `meta-llama/Llama-3.3-70B-Instruct`.
    const bare = (forms.at(-1) as string).replace(/^.*\//, '');
    for (const form of new Set(host === null ? forms : [...forms, bare])) {
      const others = index.get(form);
      if (others === undefined) {
        index.set(form, [hosted]);
      } else {
        others.push(hosted);
      }
    }
  }
  return index;
}

function narrowed<Item>(items: readonly Item[], isWanted: (item: Item) => boolean): readonly Item[] {
  const wanted = items.filter(isWanted);
  return wanted.length > 0 ? wanted : items;
}
