/**
 * Releases the idempotency keys of requests that ended without an effect. A key that cannot be released, because the database is
 * unavailable, is released by a job as soon as the database is back: otherwise a retry would be rejected until the takeover time,
 * although its first request is over.
 */
import type { Queryable } from '../../db/database.ts';
import type { Job } from '../../jobs/jobs.ts';
import type { Log } from '../../log.ts';
import type { Reservation } from './idempotency.ts';

export interface KeyReleases {
  /** Never throws. Keeps a stored response: then the effect did happen. */
  release(reservation: Reservation, traceId: string): Promise<void>;
  readonly job: Job;
}

/** Keys beyond this are taken over by their age. */
const unreleasedMax = 10_000;
const keysPerBatch = 500;

export function createKeyReleases(db: Queryable, log: Log): KeyReleases {
  let unreleased: Reservation[] = [];

  async function releaseBatch(): Promise<boolean> {
    const batch = unreleased.slice(0, keysPerBatch);
    if (batch.length > 0) {
      await deleteReservations(db, batch);
      unreleased = unreleased.slice(batch.length);
    }
    return unreleased.length > 0;
  }

  return {
    async release(reservation, traceId) {
      try {
        await deleteReservations(db, [reservation]);
      } catch (err) {
        log.warn({ traceId, err }, 'release of an idempotency key failed; will be repeated');
        if (unreleased.length < unreleasedMax) {
          unreleased.push(reservation);
        }
      }
    },
    job: {
      id: 'release-idempotency-keys',
      everyMs: 500,
      runOnce: releaseBatch,
      async stop() {
        while (await releaseBatch()) {
          // Continue with the next batch.
        }
      },
    },
  };
}

async function deleteReservations(db: Queryable, reservations: readonly Reservation[]): Promise<void> {
  await db.query(
    `DELETE FROM idempotency_keys held
      USING unnest($1::text[], $2::text[], $3::text[]) AS released(tenant_id, key_digest, owner)
      WHERE held.tenant_id = released.tenant_id AND held.key_digest = released.key_digest
        AND held.owner = released.owner AND held.status IS NULL`,
    [
      reservations.map(({ tenantId }) => tenantId),
      reservations.map(({ keyDigest }) => keyDigest),
      reservations.map(({ fence }) => fence),
    ],
  );
}
