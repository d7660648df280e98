/**
 * Last use of keys, accurate to about a minute: collected in memory while requests are served, and written by a job. If
 * the process is killed, unwritten uses are lost.
 */

import type { Database } from '../../../platform/db/database.ts';
import type { Job } from '../../../platform/jobs/jobs.ts';
import type { Clock } from '../../../platform/time/clock.ts';
import { updateLastUse } from './queries.ts';

export interface KeyUses {
  /** Called on every request, so it only adds to a set. */
  used(keyId: string): void;
  readonly job: Job;
}

const writeEveryMs = 60_000;
const waitingMax = 100_000;
const perBatch = 1_000;

export function createKeyUses({ db, clock }: { readonly db: Database; readonly clock: Clock }): KeyUses {
  const waiting = new Set<string>();

  async function writeSome(): Promise<boolean> {
    const batch = [...waiting].slice(0, perBatch);
    if (batch.length > 0) {
      await updateLastUse(db, batch, clock.now());
      for (const keyId of batch) {
        waiting.delete(keyId);
      }
    }
    return waiting.size > 0;
  }

  return {
    used(keyId) {
      if (waiting.size < waitingMax) {
        waiting.add(keyId);
      }
    },
    job: {
      id: 'record-key-uses',
      everyMs: writeEveryMs,
      runOnce: writeSome,
      async stop() {
        while (await writeSome()) {
          // `writeSome` returns true while there are more batches.
        }
      },
    },
  };
}
