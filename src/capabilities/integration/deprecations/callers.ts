/**
 * Counts the callers of deprecated routes: in memory while requests are served, written by a job and when the service
 * stops. Counts that could not be written are kept and retried; if the process is killed, unwritten counts are lost.
 */

import type { Database } from '../../../platform/db/database.ts';
import { FairShare } from '../../../platform/fair-share.ts';
import { type Credential, platformTenant } from '../../../platform/http/routes/access.ts';
import type { Job } from '../../../platform/jobs/jobs.ts';
import type { Clock } from '../../../platform/time/clock.ts';
import { addCalls, type Calls } from './queries.ts';

export interface Callers {
  called(route: string, credential: Pick<Credential, 'keyId' | 'org'>): void;
  /** Writes all counts so far. */
  flush(): Promise<void>;
  readonly job: Job;
}

const flushEveryMs = 5_000;
const batchMax = 500;
/**
 * Maximum number of unwritten counts while the database is unavailable. Calls of further keys or routes are in the
 * metric only.
 */
const waitingMax = 100_000;

export function createCallers({ db, clock }: { readonly db: Database; readonly clock: Clock }): Callers {
  let waiting = new Map<string, Calls>();
  const places = new FairShare({ capacity: waitingMax });
  let flushing: Promise<void> = Promise.resolve();

  function add(calls: Calls): void {
    const name = callKey(calls);
    const there = waiting.get(name);
    if (there !== undefined) {
      waiting.set(name, sumOf(there, calls));
    } else if (places.tryTake(calls.tenantId)) {
      waiting.set(name, calls);
    }
  }

  async function write(): Promise<void> {
    // Sorted, so that concurrent writers lock rows in the same order and cannot deadlock.
    const taken = [...waiting.values()].sort((a, b) => (callKey(a) < callKey(b) ? -1 : 1));
    waiting = new Map();
    places.clear();
    while (taken.length > 0) {
      try {
        await addCalls(db, taken.slice(0, batchMax));
      } catch (error) {
        for (const calls of taken) {
          add(calls);
        }
        throw error;
      }
      taken.splice(0, batchMax);
    }
  }

  function flush(): Promise<void> {
    const mine = flushing.then(write);
    flushing = mine.catch(() => undefined);
    return mine;
  }

  return {
    called(route, { keyId, org }) {
      const at = clock.now();
      add({ tenantId: org?.id ?? platformTenant, keyId, route, count: 1, firstAt: at, lastAt: at });
    },
    flush,
    job: {
      id: 'record-deprecated-calls',
      everyMs: flushEveryMs,
      async runOnce() {
        await flush();
        return false;
      },
    },
  };
}

function callKey({ tenantId, keyId, route }: Calls): string {
  return `${tenantId} ${keyId} ${route}`;
}

function sumOf(one: Calls, other: Calls): Calls {
  return {
    ...one,
    count: one.count + other.count,
    firstAt: one.firstAt < other.firstAt ? one.firstAt : other.firstAt,
    lastAt: one.lastAt > other.lastAt ? one.lastAt : other.lastAt,
  };
}
