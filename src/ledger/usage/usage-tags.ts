/**
 * Limits the number of tag sets that usage is summed by. Each distinct set of tags has its own usage rows, and some users put
 * request ids into tags. Beyond a number per org and day, values are summed under "*". A process counts the sets that it has seen
 * since its start, so after a restart, or with a second process, a few more sets may have their own rows. Totals do not depend on
 * this; only the tag value that lists an amount does.
 */
import type { Tags } from '../../kernel/limits.ts';

/** Placeholder for all values beyond the limits. */
export const otherValues = '*';

export const tagBounds = {
  /** Maximum number of tag names. Further names are left out. */
  namesPerDay: 20,
  valuesPerName: 100,
  /** Maximum number of tag sets. All values of further sets are summed under "*". */
  setsPerDay: 1_000,
};

interface SeenTags {
  readonly valuesByName: Map<string, Set<string>>;
  readonly sets: Set<string>;
}

/** Maximum number of org-days in memory. When it is reached, all are cleared. */
const seenMax = 2_000;

export class TagLimiter {
  readonly #seen = new Map<string, SeenTags>();

  /** Returns the tags under which usage is summed. Their names are sorted, so that equal sets have equal text. */
  keep(orgId: string, day: number, tags: Tags): Tags {
    const seen = this.#of(`${orgId} ${day}`);
    const kept: [string, string][] = [];
    for (const name of Object.keys(tags).sort()) {
      const values = seenValues(seen, name);
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

  #of(key: string): SeenTags {
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

function seenValues({ valuesByName }: SeenTags, name: string): Set<string> | undefined {
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
