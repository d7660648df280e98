/**
 * Limits the number of tag sets that usage is summed by. Every distinct set of tags has its own usage rows, and some users
 * put request ids into tags; beyond a number per org and day, values are summed under "*". The limits apply to the sets
 * that one process has seen since its start, so a restart or a second process may keep a few more apart. Totals never
 * depend on them; only the tag value that an amount is listed under does.
 */
import type { Tags } from '../posting.ts';

/** Stands for every value beyond those that are told apart. */
export const otherValues = '*';

export const tagBounds = {
  /** Tags beyond them are left out. */
  namesPerDay: 20,
  valuesPerName: 100,
  /** Sets beyond them have all their values summed together. */
  setsPerDay: 1_000,
};

interface Seen {
  readonly valuesByName: Map<string, Set<string>>;
  readonly sets: Set<string>;
}

/** Of an org's day. Bounded as a whole, and then forgotten as a whole: what was seen is soon seen again. */
const seenMax = 2_000;

export class TagLimiter {
  readonly #seen = new Map<string, Seen>();

  /** Names in their order, so that the same set is always the same text. */
  keep(orgId: string, day: number, tags: Tags): Tags {
    const seen = this.#of(`${orgId} ${day}`);
    const kept: [string, string][] = [];
    for (const name of Object.keys(tags).sort()) {
      const values = valuesOf(seen, name);
      if (values !== undefined) {
        kept.push([name, remember(values, tags[name] as string, tagBounds.valuesPerName) ?? otherValues]);
      }
    }
    const set = JSON.stringify(kept);
    return Object.fromEntries(
      remember(seen.sets, set, tagBounds.setsPerDay) === undefined
        ? kept.map(([name]) => [name, otherValues])
        : kept,
    );
  }

  #of(key: string): Seen {
    const there = this.#seen.get(key);
    if (there !== undefined) {
      return there;
    }
    if (this.#seen.size >= seenMax) {
      this.#seen.clear();
    }
    const made = { valuesByName: new Map(), sets: new Set<string>() };
    this.#seen.set(key, made);
    return made;
  }
}

function valuesOf({ valuesByName }: Seen, name: string): Set<string> | undefined {
  const there = valuesByName.get(name);
  if (there !== undefined || valuesByName.size >= tagBounds.namesPerDay) {
    return there;
  }
  const made = new Set<string>();
  valuesByName.set(name, made);
  return made;
}

/** The value, or undefined where there are as many others already. */
function remember(values: Set<string>, value: string, most: number): string | undefined {
  if (!values.has(value)) {
    if (values.size >= most) {
      return undefined;
    }
    values.add(value);
  }
  return value;
}
