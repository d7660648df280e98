/**
 * Limits the number of tag sets that usage is summed by. Every distinct set of tags has its own usage rows, and some users
 * put request ids into tags; beyond a number per org and day, values are summed under "*". The limits apply to the sets
 * that one process has seen since its start, so a restart or a second process may keep a few more apart. Totals never
 * depend on them; only the tag value that an amount is listed under does.
 */
import type { Tags } from '../../kernel/limits.ts';

/** Placeholder for all values beyond the limits. */
export const otherValues = '*';

export const tagBounds = {
  /** Further tag names are left out. */
  namesPerDay: 20,
  valuesPerName: 100,
  /** All values of further sets are summed together. */
  setsPerDay: 1_000,
};

interface Seen {
  readonly valuesByName: Map<string, Set<string>>;
  readonly sets: Set<string>;
}

/** Maximum number of org-days in memory. When it is reached all are cleared; they fill up again quickly. */
const seenMax = 2_000;

export class TagLimiter {
  readonly #seen = new Map<string, Seen>();

  /** Returns the tags under which usage is summed, with sorted names, so that equal sets have equal text. */
  keep(orgId: string, day: number, tags: Tags): Tags {
    const seen = this.#of(`${orgId} ${day}`);
    const kept: [string, string][] = [];
    for (const name of Object.keys(tags).sort()) {
      const values = valuesOf(seen, name);
      if (values !== undefined) {
        kept.push([name, addIfRoom(values, tags[name] as string, tagBounds.valuesPerName) ?? otherValues]);
      }
    }
    const set = JSON.stringify(kept);
    return Object.fromEntries(
      addIfRoom(seen.sets, set, tagBounds.setsPerDay) === undefined
        ? kept.map(([name]) => [name, otherValues])
        : kept,
    );
  }

  #of(key: string): Seen {
    const existing = this.#seen.get(key);
    if (existing !== undefined) {
      return existing;
    }
    if (this.#seen.size >= seenMax) {
      this.#seen.clear();
    }
    const created = { valuesByName: new Map(), sets: new Set<string>() };
    this.#seen.set(key, created);
    return created;
  }
}

function valuesOf({ valuesByName }: Seen, name: string): Set<string> | undefined {
  const existing = valuesByName.get(name);
  if (existing !== undefined || valuesByName.size >= tagBounds.namesPerDay) {
    return existing;
  }
  const created = new Set<string>();
  valuesByName.set(name, created);
  return created;
}

/** Adds the value if there is room; returns undefined if the set is full. */
function addIfRoom(values: Set<string>, value: string, max: number): string | undefined {
  if (!values.has(value)) {
    if (values.size >= max) {
      return undefined;
    }
    values.add(value);
  }
  return value;
}
