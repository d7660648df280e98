/**
 * Finds the models with a price of a name at a host: `azure/eu/gpt-4o` is the price of `gpt-4o` there. If a host or region has no
 * price for a name, the most expensive of its other prices applies.
 */
import { prefixesOf } from '../../../kernel/model-hosts.ts';
import { type ShorterName, shorterNames } from '../../../kernel/model-names.ts';

interface HostedModel {
  readonly host: string | null;
  readonly region: string | null;
  /** The model with the price. The hosted name may be an alias of it. */
  readonly model: string;
}

export interface HostedModels {
  /**
   * Returns the models with a price of one of these names. Those at the host of the last name come first, otherwise those at any
   * host. Of these, those in its region are preferred to those in other regions.
   */
  find(names: readonly ShorterName[]): readonly string[];
}

/** Creates the search. `names` are all names with a price, with the model of each. */
export function createHostedModels(
  names: () => Iterable<readonly [name: string, model: string]>,
): HostedModels {
  // Built on first use, because names without a direct price are rare.
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

/** Returns the names under which the host may have prices of a name, those in the region first. */
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
    // Hosts prefix models of other vendors with the vendor's name: `meta-llama/Llama-3.3-70B-Instruct`.
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
