/**
 * Counts that the gateway learns from settled calls, per org and name: the number of calls in each bucket. Lookups only use memory.
 * A job adds the counts of this process to the stored counts and reads back their sum. So processes and restarts share what was
 * learned, and no process overwrites the counts of another. Counts contain no content of calls.
 */
import type { CallCounts } from '../../growing-holds/call-counts.ts';
import type { Job } from '../../platform/jobs/jobs.ts';
import type { Log } from '../../platform/log.ts';

export interface LearnedCounts extends CallCounts {
  readonly job: Job;
  /** Stores the pending counts. Never rejects. */
  flush(): Promise<void>;
}

export interface StoredCounts {
  readonly name: string;
  readonly counts: readonly number[];
}

export interface AddedCounts extends StoredCounts {
  readonly samplesMax: number;
}

/** Storage of an org's counts. */
export interface CountsStore {
  /** Returns at most `max` counts, most recently changed first. */
  load(orgId: string, max: number): Promise<readonly StoredCounts[]>;
  /** Adds to the stored counts and returns the sums. */
  merge(orgId: string, added: readonly AddedCounts[]): Promise<readonly StoredCounts[]>;
}

interface Counts {
  /** The counts of all processes that this process knows of. */
  readonly total: Int32Array;
  /** Counts that are not stored yet; undefined if there are none. */
  added: { readonly counts: Int32Array; readonly samplesMax: number } | undefined;
}

interface OrgCounts {
  /** Counts by name, least recently changed first. */
  readonly byName: Map<string, Counts>;
  isLoaded: boolean;
  hasAdded: boolean;
}

const namesMax = 20_000;
const namesPerOrgMax = 1_000;
const namesPerMerge = 200;
const storeEveryMs = 30_000;

export function createLearnedCounts(store: CountsStore, log: Log): LearnedCounts {
  /** Counts by org, least recently used first. */
  const orgs = new Map<string, OrgCounts>();
  let names = 0;
  /** Orgs that the job's current pass still has to store. */
  let pass: string[] = [];

  function orgOf(orgId: string): OrgCounts {
    const known = orgs.get(orgId);
    const org = known ?? { byName: new Map(), isLoaded: false, hasAdded: false };
    orgs.delete(orgId);
    orgs.set(orgId, org);
    if (known === undefined) {
      load(orgId, org).catch((err) =>
        log.warn({ err, tenant: orgId }, 'cannot load the learned counts of the gateway'),
      );
    }
    return org;
  }

  async function load(orgId: string, org: OrgCounts): Promise<void> {
    const rows = await store.load(orgId, namesPerOrgMax);
    for (const { name, counts } of [...rows].reverse()) {
      takeOver(org, name, counts);
    }
    org.isLoaded = true;
  }

  /** Replaces the total by a stored sum plus the counts that are not stored yet. */
  function takeOver(org: OrgCounts, name: string, sum: readonly number[]): void {
    const { added } = org.byName.get(name) ?? {};
    const total = Int32Array.from(sum, (count, bucket) => count + (added?.counts[bucket] ?? 0));
    set(org, name, { total, added });
  }

  function set(org: OrgCounts, name: string, counts: Counts): void {
    names += org.byName.delete(name) ? 0 : 1;
    org.byName.set(name, counts);
    if (org.byName.size > namesPerOrgMax) {
      org.byName.delete(org.byName.keys().next().value as string);
      names -= 1;
    }
    while (names > namesMax && orgs.size > 1) {
      const [oldest, { byName }] = orgs.entries().next().value as [string, OrgCounts];
      orgs.delete(oldest);
      names -= byName.size;
      byName.clear();
    }
  }

  /** Stores up to `namesPerMerge` counts of the org. */
  async function storeSome(orgId: string, org: OrgCounts): Promise<void> {
    const changed = [...org.byName].filter(([, { added }]) => added !== undefined);
    const batch = changed.slice(0, namesPerMerge);
    org.hasAdded = changed.length > batch.length;
    const taken = batch.map(([name, counts]) => {
      const { added } = counts;
      counts.added = undefined;
      return { name, added: added as NonNullable<typeof added> };
    });
    try {
      const rows = taken.map(({ name, added }) => ({
        name,
        counts: [...added.counts],
        samplesMax: added.samplesMax,
      }));
      for (const { name, counts } of rows.length === 0 ? [] : await store.merge(orgId, rows)) {
        takeOver(org, name, counts);
      }
    } catch (error) {
      for (const { name, added } of taken) {
        putBack(org.byName.get(name), added);
      }
      org.hasAdded = true;
      throw error;
    }
  }

  /** Stores counts of the next org. Returns true until the pass has stored each org once. */
  async function storeNext(): Promise<boolean> {
    if (pass.length === 0) {
      pass = [...orgs].filter(([, org]) => org.hasAdded || !org.isLoaded).map(([orgId]) => orgId);
    }
    const orgId = pass.shift() ?? '';
    const org = orgs.get(orgId);
    if (org?.isLoaded === false) {
      await load(orgId, org);
    }
    if (org?.hasAdded === true) {
      await storeSome(orgId, org);
    }
    return pass.length > 0;
  }

  return {
    find: (orgId, name) => orgOf(orgId).byName.get(name)?.total,
    add(orgId, name, bucket, { buckets, samplesMax }) {
      const org = orgOf(orgId);
      const counts = org.byName.get(name) ?? { total: new Int32Array(buckets), added: undefined };
      counts.added ??= { counts: new Int32Array(buckets), samplesMax };
      increment(counts.added.counts, bucket);
      increment(counts.total, bucket);
      org.hasAdded = true;
      set(org, name, counts);
    },
    job: { id: 'store-learned-gateway-counts', everyMs: storeEveryMs, runOnce: storeNext },
    async flush() {
      try {
        do {
          await storeNext();
        } while ([...orgs.values()].some(({ hasAdded }) => hasAdded));
      } catch (err) {
        log.warn({ err }, 'cannot store the learned counts of the gateway');
      }
    },
  };
}

function increment(counts: Int32Array, bucket: number): void {
  counts[bucket] = (counts[bucket] as number) + 1;
}

/** Adds counts back that could not be stored, for the next attempt. */
function putBack(
  counts: Counts | undefined,
  { counts: lost, samplesMax }: NonNullable<Counts['added']>,
): void {
  if (counts !== undefined) {
    const since = counts.added?.counts;
    counts.added = {
      counts: lost.map((count, bucket) => count + (since?.[bucket] ?? 0)),
      samplesMax,
    };
  }
}
