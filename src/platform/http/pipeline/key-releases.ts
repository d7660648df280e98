/**
 * Releases the idempotency keys of requests that ended without an effect, so that a retry need not wait for the takeover time. If a
 * key cannot be released because the database is unavailable, a job releases it when the database is back. If the outcome of the
 * reservation itself is unknown, because its connection was lost or the response was late, the statement may still take effect. The
 * job then repeats the release until the takeover time.
 */
import { performance } from 'node:perf_hooks';
import type { Queryable } from '../../db/database.ts';
import type { Job } from '../../jobs/jobs.ts';
import type { Log } from '../../log.ts';
import type { KeyReservation } from './idempotency.ts';

export interface KeyReleases {
  /** Releases a key. Keeps a stored response, because the effect has happened then. Never throws. */
  release(reservation: KeyReservation, traceId: string): Promise<void>;
  /** Releases a key whose reservation may not exist yet. Never throws. */
  releaseUncertain(reservation: KeyReservation): void;
  readonly job: Job;
}

/** Maximum number of keys that wait for release. Further keys are taken over by age. */
const unreleasedMax = 10_000;
const uncertainMax = 1_000;
const keysPerBatch = 500;

export interface KeyReleasesOptions {
  readonly db: Queryable;
  readonly log: Log;
  /** Age at which any reservation is taken over, so that releasing it is no longer necessary. */
  readonly takeoverSeconds: number;
  readonly monotonicMs?: () => number;
}

export function createKeyReleases({
  db,
  log,
  takeoverSeconds,
  monotonicMs = () => performance.now(),
}: KeyReleasesOptions): KeyReleases {
  let unreleased: KeyReservation[] = [];
  /** Reservations that may still take effect, each with the time until which its release is repeated. */
  let uncertain: { readonly reservation: KeyReservation; readonly untilMs: number }[] = [];

  async function releaseBatch(): Promise<boolean> {
    const batch = unreleased.slice(0, keysPerBatch);
    if (batch.length > 0) {
      await deleteReservations(db, batch);
      unreleased = unreleased.slice(batch.length);
    }
    return unreleased.length > 0;
  }

  async function repeatUncertain(): Promise<void> {
    const nowMs = monotonicMs();
    uncertain = uncertain.filter(({ untilMs }) => untilMs > nowMs);
    if (uncertain.length > 0) {
      await deleteReservations(
        db,
        uncertain.map(({ reservation }) => reservation),
      );
    }
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
    releaseUncertain(reservation) {
      if (uncertain.length < uncertainMax) {
        uncertain.push({ reservation, untilMs: monotonicMs() + takeoverSeconds * 1_000 });
      }
    },
    job: {
      id: 'release-idempotency-keys',
      everyMs: 500,
      async runOnce() {
        await repeatUncertain();
        return releaseBatch();
      },
      async stop() {
        await repeatUncertain();
        while (await releaseBatch()) {
          // Continue with the next batch.
        }
      },
    },
  };
}

async function deleteReservations(db: Queryable, reservations: readonly KeyReservation[]): Promise<void> {
  await db.query(
    `DELETE FROM idempotency_keys held
      USING unnest($1::text[], $2::text[], $3::text[]) AS released(tenant_id, key_digest, owner)
      WHERE held.tenant_id = released.tenant_id AND held.key_digest = released.key_digest
        AND held.owner = released.owner AND held.status IS NULL AND held.tenant_id = ANY($1)`,
    [
      reservations.map(({ tenantId }) => tenantId),
      reservations.map(({ keyDigest }) => keyDigest),
      reservations.map(({ fence }) => fence),
    ],
  );
}
