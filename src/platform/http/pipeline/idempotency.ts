/**
 * One effect per `Idempotency-Key`.
 *
 * A key is reserved in a statement of its own before the effect, under a fence that only its owner knows. The
 * answer is stored in the effect's own transaction, and only while the fence still stands: so either the effect
 * and its answer are there, or neither is. A reservation whose owner crashed is taken over once it is old
 * enough, which changes the fence; the old owner, should it wake up, finds it gone and its commit fails.
 * Refusals and faults release the key. Ages are measured by the database's clock, the one all processes share.
 *
 * An answer may hold a minted secret, so it is stored encrypted under a key derived from the `Idempotency-Key`,
 * which is itself stored only as a digest.
 */
import { createHash, hkdfSync, randomBytes } from 'node:crypto';
import { type ApiError, apiError, invalidField } from '../../../contract/api-error.ts';
import { canonicalJson } from '../../canonical-json.ts';
import type { Queryable } from '../../db/database.ts';
import type { Job } from '../../jobs/jobs.ts';
import { decrypt, encrypt } from '../../secrets/encryption.ts';
import type { Caller } from '../routes/access.ts';

/** Unless the org's retention policy says otherwise. */
export const storedForDays = 3;
const keyForm = /^[\x20-\x7e]{1,255}$/;

export interface IdempotentRequest {
  readonly caller: Caller;
  readonly method: string;
  /** The route and what its path named, so that two spellings of one path are one path. */
  readonly path: { readonly template: string; readonly params: unknown };
  readonly query: unknown;
  readonly body: unknown;
  readonly key: string;
}

/** How an answer that nobody here can read is found by the customer that it tells of: keyed, so that nobody can try names. */
export type CustomerDigest = (tenantId: string, customerId: string) => string;

export interface StoredResponse {
  readonly status: number;
  readonly body: string;
}

export interface Reservation {
  readonly tenantId: string;
  readonly keyDigest: string;
  readonly fence: string;
  readonly cipherKey: Buffer;
}

export type Reserved =
  | { readonly kind: 'mine'; readonly reservation: Reservation }
  | { readonly kind: 'replay'; readonly answer: StoredResponse };

/** `lines` are the header's values as they were sent, one a line. */
export function checkIdempotencyKey(lines: readonly string[]): string {
  const [key] = lines;
  if (key === undefined || lines.length > 1 || !keyForm.test(key)) {
    throw invalidField(
      'Idempotency-Key',
      'invalid_format',
      'This has to be 1 to 255 printable ASCII characters.',
    );
  }
  return key;
}

/** Reserves the key, or tells what became of it. */
export async function reserve(
  db: Queryable,
  request: IdempotentRequest,
  takeoverSeconds: number,
): Promise<Reserved> {
  const { tenantId, role, scopes } = request.caller;
  // An answer may hold a secret that only a caller of this power may be given, so a weaker one gets no replay.
  const power = { role, scopes: [...scopes].sort() };
  const fingerprint = sha256(canonicalJson({ query: request.query, body: request.body, power }));
  const scope = canonicalJson([tenantId, request.method, request.path, request.key]);
  const reservation: Reservation = {
    tenantId,
    keyDigest: sha256(`digest:${scope}`),
    fence: randomBytes(16).toString('hex'),
    cipherKey: Buffer.from(hkdfSync('sha256', request.key, scope, 'stored answer', 32)),
  };
  if (await insertReservation(db, reservation, fingerprint, takeoverSeconds)) {
    return { kind: 'mine', reservation };
  }
  const stored = await findReservation(db, tenantId, reservation.keyDigest);
  if (stored !== undefined && stored.fingerprint !== fingerprint) {
    throw apiError('idempotency_key_conflict');
  }
  if (stored?.status === erasedStatus && stored.body === null) {
    throw throwIfErased();
  }
  if (stored?.status == null || stored.body === null) {
    // Also when the row vanished meanwhile: its owner has just released it, and a retry will find it free.
    throw apiError('idempotency_key_processing');
  }
  return {
    kind: 'replay',
    answer: { status: stored.status, body: decrypt(stored.body, reservation.cipherKey) },
  };
}

/** Stores the answer in the effect's transaction. Throws when the reservation was taken over meanwhile. */
export async function storeResponse(
  tx: Queryable,
  reservation: Reservation,
  answer: StoredResponse,
  digest: CustomerDigest,
): Promise<void> {
  const { tenantId, keyDigest, fence, cipherKey } = reservation;
  const customerId = customerOf(answer.body);
  const stored = await tx.query(
    `UPDATE idempotency_keys SET status = $4, body = $5, customer_digest = $6
      WHERE tenant_id = $1 AND key_digest = $2 AND owner = $3 AND status IS NULL RETURNING 1 AS one`,
    [
      tenantId,
      keyDigest,
      fence,
      answer.status,
      encrypt(answer.body, cipherKey),
      customerId === undefined ? null : digest(tenantId, customerId),
    ],
  );
  if (stored.length === 0) {
    throw apiError(
      'idempotency_key_processing',
      'Another request took over this key while this one was stalled.',
    );
  }
}

/** What an answer about an erased customer is answered with. */
export const erasedStatus = 410;

/** The key stays used, and there is no answer to give again. */
export function throwIfErased(): ApiError {
  return apiError('gone', 'The answer was erased together with the customer that it told of.');
}

/** Forgets the answers that tell of a customer. Their keys stay used: a retry has no second effect. */
export async function eraseStoredResponses(
  tx: Queryable,
  tenantId: string,
  customerDigest: string,
): Promise<number> {
  const erased = await tx.query(
    `UPDATE idempotency_keys SET status = ${erasedStatus}, body = NULL, customer_digest = NULL
      WHERE tenant_id = $1 AND customer_digest = $2 RETURNING 1 AS one`,
    [tenantId, customerDigest],
  );
  return erased.length;
}

function customerOf(body: string): string | undefined {
  const quoted = /"customer_id":("(?:[^"\\]|\\.)*")/.exec(body)?.[1];
  return quoted === undefined ? undefined : (JSON.parse(quoted) as string);
}

/** Frees a key whose request had no effect. A stored answer is left alone: then the effect did happen. */
export async function release(db: Queryable, { tenantId, keyDigest, fence }: Reservation): Promise<void> {
  await db.query(
    'DELETE FROM idempotency_keys WHERE tenant_id = $1 AND key_digest = $2 AND owner = $3 AND status IS NULL',
    [tenantId, keyDigest, fence],
  );
}

const expiredPerBatch = 500;

export function expiredKeysJob(db: Queryable): Job {
  return {
    id: 'delete-expired-idempotency-keys',
    everyMs: 60_000,
    async runOnce() {
      const deleted = await db.query(
        // The age is asked twice: a key that is reserved anew while this waits for its row must stay.
        `DELETE FROM idempotency_keys WHERE expires_at <= now() AND (tenant_id, key_digest) IN (
           SELECT tenant_id, key_digest FROM idempotency_keys WHERE expires_at <= now() LIMIT $1
         ) RETURNING 1 AS one`,
        [expiredPerBatch],
      );
      return deleted.length === expiredPerBatch;
    },
  };
}

async function insertReservation(
  db: Queryable,
  { tenantId, keyDigest, fence }: Reservation,
  fingerprint: string,
  takeoverSeconds: number,
): Promise<boolean> {
  const rows = await db.query(
    `INSERT INTO idempotency_keys AS held (tenant_id, key_digest, fingerprint, owner, reserved_at, expires_at)
     VALUES ($1, $2, $3, $4, now(), now() + make_interval(days => coalesce(
              (SELECT idempotency_days FROM retention_policies WHERE org_id = $1), $6)))
     ON CONFLICT (tenant_id, key_digest) DO UPDATE
       SET fingerprint = excluded.fingerprint, owner = excluded.owner, reserved_at = excluded.reserved_at,
           expires_at = excluded.expires_at, status = NULL, body = NULL, customer_digest = NULL
       WHERE held.expires_at <= now()
          OR (held.status IS NULL AND held.fingerprint = excluded.fingerprint
              AND held.reserved_at <= now() - make_interval(secs => $5))
     RETURNING 1 AS one`,
    [tenantId, keyDigest, fingerprint, fence, takeoverSeconds, storedForDays],
  );
  return rows.length > 0;
}

interface StoredRow {
  readonly fingerprint: string;
  readonly status: number | null;
  readonly body: Uint8Array | null;
}

async function findReservation(
  db: Queryable,
  tenantId: string,
  keyDigest: string,
): Promise<StoredRow | undefined> {
  const [row] = await db.query<StoredRow>(
    'SELECT fingerprint, status, body FROM idempotency_keys WHERE tenant_id = $1 AND key_digest = $2',
    [tenantId, keyDigest],
  );
  return row;
}

function sha256(text: string): string {
  return createHash('sha256').update(text).digest('hex');
}
