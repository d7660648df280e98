/**
 * Accepts each forwarded request once. The nonces are in the database, which all processes of the region share. Those of one turn
 * of the event loop are inserted together. While the database is unavailable nothing is accepted, unless the edge fails open. This
 * process then accepts each nonce once, without knowledge of other processes.
 */
import { agreedNow } from '../../../platform/db/agreed-now.ts';
import type { Database } from '../../../platform/db/database.ts';
import { deleteBatch } from '../../../platform/db/delete-batch.ts';
import type { Job } from '../../../platform/jobs/jobs.ts';
import { OverCapacity, ServiceUnavailable } from '../../../platform/service-unavailable.ts';
import type { SharedClock } from '../../../platform/time/clock.ts';
import { signatureGoodForMs } from './signatures.ts';

/** A nonce is stored for longer than its request is accepted: the clocks of processes and database may differ. */
const clockToleranceMs = 60_000;
const ownNoncesMax = 200_000;

export interface ForwardNonces {
  /** Returns false if the nonce was used before. `atMs` is the time in the mark. */
  claim(nonce: string, atMs: number): Promise<boolean>;
  readonly job: Job;
}

export interface NonceDependencies {
  readonly db: Database;
  readonly clock: SharedClock;
  /** True if nonces that only this process knows suffice while the database is unavailable. */
  readonly acceptWithoutDatabase: boolean;
}

interface WaitingNonce {
  readonly nonce: string;
  readonly expiresAtMs: number;
  resolve(isFirst: boolean): void;
  reject(error: unknown): void;
}

export function createForwardNonces({ db, clock, acceptWithoutDatabase }: NonceDependencies): ForwardNonces {
  /** Nonces that this process has accepted, by the time of their expiry; oldest first. */
  const own = new Map<string, number>();
  let waiting: WaitingNonce[] = [];

  function insert(nonce: string, expiresAtMs: number): Promise<boolean> {
    return new Promise((resolve, reject) => {
      if (waiting.length === 0) {
        setImmediate(() => void flush());
      }
      waiting.push({ nonce, expiresAtMs, resolve, reject });
    });
  }

  async function flush(): Promise<void> {
    const batch = waiting;
    waiting = [];
    try {
      const inserted = await db.query<{ nonce: string }>(
        `INSERT INTO region_nonces (nonce, expires_at) SELECT * FROM unnest($1::text[], $2::timestamptz[])
         ON CONFLICT DO NOTHING RETURNING nonce`,
        [batch.map(({ nonce }) => nonce), batch.map(({ expiresAtMs }) => new Date(expiresAtMs))],
      );
      const first = new Set(inserted.map(({ nonce }) => nonce));
      for (const { nonce, resolve } of batch) {
        resolve(first.has(nonce));
      }
    } catch (error) {
      for (const { reject } of batch) {
        reject(error);
      }
    }
  }

  function forgetExpired(): void {
    const nowMs = clock.now().getTime();
    for (const [nonce, expiresAtMs] of own) {
      if (expiresAtMs > nowMs) {
        return;
      }
      own.delete(nonce);
    }
  }

  return {
    async claim(nonce, atMs) {
      forgetExpired();
      if (own.has(nonce)) {
        return false;
      }
      if (own.size >= ownNoncesMax) {
        throw new OverCapacity('too many requests were forwarded here');
      }
      const expiresAtMs = atMs + signatureGoodForMs + clockToleranceMs;
      own.set(nonce, expiresAtMs);
      try {
        return await insert(nonce, expiresAtMs);
      } catch (error) {
        if (acceptWithoutDatabase && error instanceof ServiceUnavailable) {
          return true;
        }
        throw error;
      }
    },
    job: {
      id: 'delete-region-nonces',
      everyMs: 30_000,
      async runOnce() {
        const params = [await agreedNow(db, clock)];
        const where = 'expires_at < $1';
        return deleteBatch(db, { table: 'region_nonces', key: 'nonce', where, params, limit: 10_000 });
      },
    },
  };
}
