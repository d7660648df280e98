/**
 * One effect per `Idempotency-Key`. A key is reserved in a separate statement before the effect, with a random fencing token that
 * only its owner has. The response is stored in the transaction of the effect, and only if the fencing token is unchanged. So the
 * effect and its response exist together, or not at all.
 *
 * A reservation whose process is dead (`platform/jobs/processes.ts`) is taken over immediately, any other one when it is old
 * enough. A takeover changes the fencing token, so if the old owner resumes, its commit fails. Errors release the key
 * (`key-releases.ts`). Ages are measured by the database's clock, which all processes share.
 *
 * A response may contain a newly created secret. So it is encrypted with a key derived from the `Idempotency-Key`, of which only a
 * digest is stored.
 */
import { createHash, hkdfSync, randomBytes } from 'node:crypto';
import { type ApiError, apiError, invalidField } from '../../../contract/api-error.ts';
import { stableScopeList } from '../../../contract/scopes.ts';
import { canonicalJson } from '../../canonical-json.ts';
import type { Queryable } from '../../db/database.ts';
import { deleteBatch } from '../../db/delete-batch.ts';
import type { Job } from '../../jobs/jobs.ts';
import { decrypt, encrypt } from '../../secrets/encryption.ts';
import type { Caller } from '../routes/access.ts';

/** Retention in days if the org's retention policy does not set it. */
export const storedForDays = 3;
const requestIdCharacters = 32;
const keyForm = /^[\x20-\x7e]{1,255}$/;

export interface IdempotentRequest {
  readonly caller: Caller;
  readonly method: string;
  /** The route and its path parameters, so that different spellings of one path are the same request. */
  readonly path: { readonly template: string; readonly params: unknown };
  readonly query: unknown;
  readonly body: unknown;
  readonly key: string;
  /** True for runs and other postings, whose response contains no secret. */
  readonly isPosting?: boolean;
}

/**
 * Returns a function that computes an HMAC of a tenant's customer ids. Stored responses about a customer are found by it. It is
 * keyed, so that ids cannot be guessed from it. All digests have the same length.
 */
export type CustomerDigest = (tenantId: string) => (customerId: string) => string;

export interface StoredResponse {
  readonly status: number;
  readonly body: string;
}

export interface NewResponse extends StoredResponse {
  /** Customers that the body names in fields other than `customer_id`. */
  readonly customers?: readonly string[] | undefined;
}

export interface KeyReservation {
  readonly tenantId: string;
  readonly keyDigest: string;
  readonly fence: string;
  readonly cipherKey: Buffer;
  /** Identifies the request. Its retries have the same id; other requests with the same key do not. */
  readonly requestId: string;
}

export interface Takeover {
  /** Id of this process, which becomes the owner of the reservation. */
  readonly processId: string;
  /** Age at which a reservation is taken over even if its process may be alive. */
  readonly afterSeconds: number;
  /** Called if it is unknown whether the reservation exists. */
  onUncertain(reservation: KeyReservation): void;
}

export type Reserved =
  | { readonly kind: 'mine'; readonly reservation: KeyReservation }
  | { readonly kind: 'replay'; readonly answer: StoredResponse };

/** Returns the idempotency key. `lines` are the values of the header as they were sent, one per header line. */
export function checkIdempotencyKey(lines: readonly string[]): string {
  const [key] = lines;
  if (key === undefined || lines.length > 1 || !isIdempotencyKey(key)) {
    throw invalidField('Idempotency-Key', 'invalid_format', 'Must be 1 to 255 printable ASCII characters.');
  }
  return key;
}

export function isIdempotencyKey(text: string): boolean {
  return keyForm.test(text);
}

/** Reserves the key, or returns the stored response. Throws if the key is in use or belongs to another request. */
export async function reserve(
  db: Queryable,
  request: IdempotentRequest,
  takeover: Takeover,
): Promise<Reserved> {
  const { tenantId, role, scopes } = request.caller;
  // A response may contain a secret that requires this role and these scopes. So a caller with fewer rights gets no replay.
  const power = { role, scopes: stableScopeList(scopes), ...lockedPower(request) };
  const fingerprint = sha256(canonicalJson({ query: request.query, body: request.body, power }));
  const scope = canonicalJson([tenantId, request.method, request.path, request.key]);
  const keyDigest = sha256(`digest:${scope}`);
  const reservation: KeyReservation = {
    tenantId,
    keyDigest,
    requestId: sha256(keyDigest + fingerprint).slice(0, requestIdCharacters),
    fence: randomBytes(16).toString('hex'),
    cipherKey: Buffer.from(hkdfSync('sha256', request.key, scope, 'stored answer', 32)),
  };
  const certainly = (write: Promise<boolean>) =>
    write.catch((error: unknown) => {
      takeover.onUncertain(reservation);
      throw error;
    });
  if (await certainly(insertReservation(db, reservation, fingerprint, takeover))) {
    return { kind: 'mine', reservation };
  }
  const stored = await findReservation(db, tenantId, reservation.keyDigest);
  if (
    stored?.status === null &&
    stored.fingerprint === fingerprint &&
    (await certainly(takeOverFromDead(db, reservation, stored, takeover)))
  ) {
    return { kind: 'mine', reservation };
  }
  if (stored !== undefined && stored.fingerprint !== fingerprint) {
    throw apiError('idempotency_key_conflict');
  }
  if (stored?.status === erasedStatus && stored.body === null) {
    throw erasedResponseError();
  }
  if (stored?.status == null || stored.body === null) {
    // This is also thrown if the row has disappeared: its owner has released it, and a retry will find the key free.
    throw apiError('idempotency_key_processing');
  }
  return {
    kind: 'replay',
    answer: { status: stored.status, body: decrypt(stored.body, reservation.cipherKey) },
  };
}

/**
 * Returns the locked values of the caller. They are part of the fingerprint, because a response may contain the secret of a created
 * key, whose values depend on those of its creator. Postings leave them out: a retry gets its first response even if the key was
 * changed since.
 */
function lockedPower({ caller: { attribution }, isPosting }: IdempotentRequest): object | undefined {
  return isPosting === true || attribution === undefined || attribution.locked.length === 0
    ? undefined
    : { locked: attribution.locked.map((field) => [field, attribution.values[field]]) };
}

/** Stores the response in the transaction of the effect. Throws if the reservation was taken over in the meantime. */
export async function storeResponse(
  tx: Queryable,
  reservation: KeyReservation,
  answer: NewResponse,
  digest: CustomerDigest,
): Promise<void> {
  const { tenantId, keyDigest, fence, cipherKey } = reservation;
  const customers = customersIn(answer.body);
  for (const customerId of answer.customers ?? []) {
    customers.add(customerId);
  }
  const stored = await tx.query(
    `UPDATE idempotency_keys SET status = $4, body = $5, customer_digest = $6
      WHERE tenant_id = $1 AND key_digest = $2 AND owner = $3 AND status IS NULL RETURNING 1 AS one`,
    [
      tenantId,
      keyDigest,
      fence,
      answer.status,
      encrypt(answer.body, cipherKey),
      customers.size === 0 ? null : Array.from(customers, digest(tenantId)).join(' '),
    ],
  );
  if (stored.length === 0) {
    throw apiError(
      'idempotency_key_processing',
      'Another request took over this key while this one was stalled.',
    );
  }
}

/** Status of a stored response whose customer was erased. */
export const erasedStatus = 410;

/** Returns the error for a key whose response was erased. The key stays used. */
export function erasedResponseError(): ApiError {
  return apiError('gone', 'The response was erased together with its customer.');
}

/** Erases the stored responses about a customer. Their keys stay used, so that a retry has no second effect. */
export async function eraseStoredResponses(
  tx: Queryable,
  tenantId: string,
  customerDigest: string,
): Promise<number> {
  const erased = await tx.query(
    `UPDATE idempotency_keys SET status = ${erasedStatus}, body = NULL, customer_digest = NULL
      WHERE tenant_id = $1 AND strpos(customer_digest, $2) > 0 RETURNING 1 AS one`,
    [tenantId, customerDigest],
  );
  return erased.length;
}

/** Returns the values of every `customer_id` in a JSON text. Uses a loop of `exec` for speed, because it runs for every idempotent run. */
export function customersIn(body: string): Set<string> {
  const field = /"customer_id":("(?:[^"\\]|\\.)*")/g;
  const found = new Set<string>();
  for (let match = field.exec(body); match !== null; match = field.exec(body)) {
    found.add(JSON.parse(match[1] ?? '') as string);
  }
  return found;
}

export function expiredKeysJob(db: Queryable): Job {
  return {
    id: 'delete-expired-idempotency-keys',
    everyMs: 60_000,
    runOnce: () =>
      deleteBatch(db, {
        table: 'idempotency_keys',
        key: 'tenant_id, key_digest',
        where: 'expires_at <= now()',
        limit: 500,
      }),
  };
}

async function insertReservation(
  db: Queryable,
  { tenantId, keyDigest, fence }: KeyReservation,
  fingerprint: string,
  { processId, afterSeconds }: Takeover,
): Promise<boolean> {
  // Not a parameter, because a distributed database does not accept one here.
  const takeover = `make_interval(secs => ${Number(afterSeconds)})`;
  const rows = await db.query(
    // `process_id` stays empty if the process has no row, because others considered it dead while it was paused. Its reservation is
    // then taken over by age alone.
    `INSERT INTO idempotency_keys AS held (tenant_id, key_digest, fingerprint, owner, process_id, reserved_at, expires_at)
     SELECT $1, $2, $3, $4, (SELECT id FROM processes WHERE id = $6), now(), now() + make_interval(days => coalesce(
              (SELECT idempotency_days FROM retention_policies WHERE org_id = $1), $5))
     ON CONFLICT (tenant_id, key_digest) DO UPDATE
       SET fingerprint = excluded.fingerprint, owner = excluded.owner, process_id = excluded.process_id,
           reserved_at = excluded.reserved_at, expires_at = excluded.expires_at,
           status = NULL, body = NULL, customer_digest = NULL
       WHERE held.expires_at <= excluded.reserved_at
          OR (held.status IS NULL AND held.fingerprint = excluded.fingerprint
              AND held.reserved_at AT TIME ZONE 'UTC'
                  <= (excluded.reserved_at AT TIME ZONE 'UTC') - ${takeover})
     RETURNING 1 AS one`,
    [tenantId, keyDigest, fingerprint, fence, storedForDays, processId],
  );
  return rows.length > 0;
}

/**
 * Takes over a reservation whose process is dead. This is separate from the insert, because the table of processes and that of keys
 * may be on different servers.
 */
async function takeOverFromDead(
  db: Queryable,
  { tenantId, keyDigest, fence }: KeyReservation,
  stored: StoredRow,
  { processId }: Takeover,
): Promise<boolean> {
  if (stored.process_id === null) {
    return false;
  }
  const alive = await db.query<{ id: string }>('SELECT id FROM processes WHERE id = ANY($1)', [
    [stored.process_id, processId],
  ]);
  if (alive.some(({ id }) => id === stored.process_id)) {
    return false;
  }
  const taken = await db.query(
    `UPDATE idempotency_keys SET owner = $4, process_id = $5, reserved_at = now()
      WHERE tenant_id = $1 AND key_digest = $2 AND owner = $3 AND status IS NULL RETURNING 1 AS one`,
    [tenantId, keyDigest, stored.owner, fence, alive.length > 0 ? processId : null],
  );
  return taken.length > 0;
}

interface StoredRow {
  readonly fingerprint: string;
  readonly owner: string;
  readonly process_id: string | null;
  readonly status: number | null;
  readonly body: Uint8Array | null;
}

async function findReservation(
  db: Queryable,
  tenantId: string,
  keyDigest: string,
): Promise<StoredRow | undefined> {
  const [row] = await db.query<StoredRow>(
    'SELECT fingerprint, owner, process_id, status, body FROM idempotency_keys WHERE tenant_id = $1 AND key_digest = $2',
    [tenantId, keyDigest],
  );
  return row;
}

function sha256(text: string): string {
  return createHash('sha256').update(text).digest('hex');
}
