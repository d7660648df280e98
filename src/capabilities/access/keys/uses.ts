/**
 * Last use of keys, accurate to about a minute. Uses are collected in memory and written by a job. If the process is killed,
 * unwritten uses are lost.
 */

import type { Database } from '../../../platform/db/database.ts';
import { FairShare } from '../../../platform/fair-share.ts';
import type { Job } from '../../../platform/jobs/jobs.ts';
import type { Clock } from '../../../platform/time/clock.ts';
import { updateLastUse } from './queries.ts';

export interface KeyUses {
  /** Called on every request, so it only adds to a map. */
  used(keyId: string, tenantId: string): void;
  readonly job: Job;
}

const writeEveryMs = 60_000;
const waitingMax = 100_000;
const perBatch = 1_000;

export function createKeyUses({ db, clock }: { readonly db: Database; readonly clock: Clock }): KeyUses {
  /** Waiting keys with their tenants. */
  const waiting = new Map<string, string>();
  const places = new FairShare({ capacity: waitingMax });

  async function writeSome(): Promise<boolean> {
    const batch = [...waiting].slice(0, perBatch);
    if (batch.length > 0) {
      await updateLastUse(
        db,
        batch.map(([keyId]) => keyId),
        clock.now(),
      );
      for (const [keyId, tenantId] of batch) {
        waiting.delete(keyId);
        places.release(tenantId);
      }
    }
    return waiting.size > 0;
  }

  return {
    used(keyId, tenantId) {
      if (!waiting.has(keyId) && places.tryTake(tenantId)) {
        waiting.set(keyId, tenantId);
      }
    },
    job: {
      id: 'record-key-uses',
      everyMs: writeEveryMs,
      runOnce: writeSome,
      async stop() {
        while (await writeSome()) {
          // Repeated while there are more batches.
        }
      },
    },
  };
}
