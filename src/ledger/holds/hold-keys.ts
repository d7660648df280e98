/**
 * The `Idempotency-Key` of a decision, or of a call of the gateway. While its hold is open, the key is stored with the hold, so
 * that both become durable together. The transaction that ends the hold moves the key to the table of idempotent responses, unless
 * the call cost nothing or was not made. A key can be replayed while its hold is open, and at least for the number of days in the
 * org's retention policy (three by default). The response is encrypted with a key that is derived from the `Idempotency-Key`; only
 * a digest of the latter is stored.
 */

import { createHash, hkdfSync } from 'node:crypto';
import type { Attribution } from '../../contract/attribution.ts';
import { canonicalJson } from '../../platform/canonical-json.ts';
import type { Queryable } from '../../platform/db/database.ts';
import {
  type CustomerDigest,
  erasedStatus,
  storedForDays,
} from '../../platform/http/pipeline/idempotency.ts';
import { decrypt, encrypt } from '../../platform/secrets/encryption.ts';
import { distinctOrgs } from '../distinct-orgs.ts';
import type { Hold, HoldKey } from './hold.ts';

/** The idempotency key of a request in the form that the ledger uses. All of it is stored except the cipher key. */
export interface RequestKey {
  readonly digest: string;
  /** Digest of everything that makes another request a different one. */
  readonly fingerprint: string;
  readonly cipherKey: Buffer;
  /** Finds the response when the customer of the request is erased; null if the request names no customer. */
  readonly customerDigest: string | null;
}

/** The result for a key that was used before, by the same or by a different request. */
export type Replay =
  | { readonly kind: 'replayed'; readonly response: string }
  /** The response was deleted when its customer was erased. */
  | { readonly kind: 'response_erased' }
  | { readonly kind: 'key_conflict' };

export interface KeyedRequest {
  /** Keys are separate per route: the same key may be used on another route. */
  readonly route: 'edge' | 'routing';
  readonly orgId: string;
  readonly keyId: string;
  readonly idempotencyKey: string;
  /** The body as it was sent. A retry is the same request even if the attribution of the key has changed since. */
  readonly body: { readonly customer_id?: string };
  readonly attribution?: Attribution | undefined;
}

export function requestKeyOf(
  { route, orgId, keyId, idempotencyKey, body, attribution }: KeyedRequest,
  customerDigest: CustomerDigest,
): RequestKey {
  const customer_id = body.customer_id ?? attribution?.values.customer_id;
  return {
    digest: sha256(route === 'edge' ? idempotencyKey : `${route} ${idempotencyKey}`),
    fingerprint: sha256(canonicalJson({ body, keyId })),
    cipherKey: Buffer.from(
      hkdfSync('sha256', idempotencyKey, canonicalJson([orgId, route]), 'response of a decision', 32),
    ),
    customerDigest: customer_id === undefined ? null : customerDigest(orgId)(customer_id),
  };
}

/** Returns the key and its encrypted response in the form stored with a hold. */
export function holdKeyOf(
  { digest, fingerprint, cipherKey, customerDigest }: RequestKey,
  response: string,
): HoldKey {
  return { digest, fingerprint, encrypted: encrypt(response, cipherKey).toString('base64'), customerDigest };
}

/** Returns the key of a hold whose customer was erased: it stays used, without its response. */
export function erasedKey({ digest, fingerprint }: HoldKey): HoldKey {
  return { digest, fingerprint, encrypted: null, customerDigest: null };
}

/** Returns the replay for a request whose key was used before; undefined if the key was not used. */
export function replayOf(
  used: HoldKey | null | undefined,
  { fingerprint, cipherKey }: RequestKey,
): Replay | undefined {
  if (used == null) {
    return undefined;
  }
  if (used.fingerprint !== fingerprint) {
    return { kind: 'key_conflict' };
  }
  if (used.answer !== undefined) {
    return { kind: 'replayed', response: used.answer };
  }
  return used.encrypted === null
    ? { kind: 'response_erased' }
    : { kind: 'replayed', response: decrypt(Buffer.from(used.encrypted, 'base64'), cipherKey) };
}

/** A key and the time of its decision. */
interface StoredKey {
  readonly orgId: string;
  readonly key: HoldKey;
  readonly decidedAtMs: number;
}

/**
 * Stores the keys of holds that end, except those of holds taken by an earlier release, which have a plain-text
 * response.
 */
export async function storeKeys(tx: Queryable, ended: readonly Hold[]): Promise<void> {
  await upsertKeys(
    tx,
    ended.flatMap(({ orgId, idempotency: key, admittedAtMs }) =>
      key === null || key.answer !== undefined ? [] : [{ orgId, key, decidedAtMs: admittedAtMs }],
    ),
    'true',
  );
}

/**
 * Stores the response of a decision that took no hold and so changed nothing. The first of several concurrent requests wins:
 * returns its replay, or undefined if this response was stored.
 */
export async function storeResponse(
  db: Queryable,
  orgId: string,
  key: RequestKey,
  response: string,
  nowMs: number,
): Promise<Replay | undefined> {
  const stored = await upsertKeys(
    db,
    [{ orgId, key: holdKeyOf(key, response), decidedAtMs: nowMs }],
    'there.expires_at <= excluded.reserved_at',
  );
  if (stored > 0) {
    return undefined;
  }
  const used = await findStoredKey(db, orgId, key.digest, nowMs);
  return replayOf(used, key);
}

/** Separates these keys from those of other routes, whose digests are computed differently. */
const digestPrefix = 'hold:';

/** `replaces`: SQL condition for overwriting an existing key. */
async function upsertKeys(db: Queryable, keys: readonly StoredKey[], replaces: string): Promise<number> {
  if (keys.length === 0) {
    return 0;
  }
  const rows = await db.query(
    `INSERT INTO idempotency_keys AS there
            (tenant_id, key_digest, fingerprint, owner, reserved_at, expires_at, status, body, customer_digest)
     SELECT k.org_id, $8 || k.digest, k.fingerprint, '', k.decided_at,
            k.decided_at + make_interval(days => coalesce(
              (SELECT idempotency_days FROM retention_policies p WHERE p.org_id = k.org_id), $7)),
            CASE WHEN k.encrypted IS NULL THEN ${erasedStatus} ELSE 200 END, decode(k.encrypted, 'base64'), k.customer_digest
       FROM unnest($1::text[], $2::text[], $3::text[], $4::timestamptz[], $5::text[], $6::text[])
              AS k(org_id, digest, fingerprint, decided_at, encrypted, customer_digest)
     ON CONFLICT (tenant_id, key_digest) DO UPDATE
       SET fingerprint = excluded.fingerprint, owner = excluded.owner, reserved_at = excluded.reserved_at,
           expires_at = excluded.expires_at, status = excluded.status, body = excluded.body,
           customer_digest = excluded.customer_digest
       WHERE ${replaces}
     RETURNING 1 AS one`,
    [
      keys.map(({ orgId }) => orgId),
      keys.map(({ key }) => key.digest),
      keys.map(({ key }) => key.fingerprint),
      keys.map(({ decidedAtMs }) => new Date(decidedAtMs)),
      keys.map(({ key }) => key.encrypted ?? null),
      keys.map(({ key }) => key.customerDigest ?? null),
      storedForDays,
      digestPrefix,
    ],
  );
  return rows.length;
}

/** Returns the keys that are stored under these digests and have not expired: the hold has ended, or there was none. */
export async function findStoredKeys(
  db: Queryable,
  digests: readonly { readonly orgId: string; readonly id: string }[],
  nowMs: number,
): Promise<{ readonly orgId: string; readonly key: HoldKey }[]> {
  if (digests.length === 0) {
    return [];
  }
  const rows = await db.query<{
    org_id: string;
    digest: string;
    fingerprint: string;
    body: Uint8Array | null;
  }>(
    `SELECT k.tenant_id AS org_id, substr(k.key_digest, ${digestPrefix.length + 1}) AS digest, k.fingerprint, k.body
       FROM unnest($1::text[], $2::text[]) AS w(tenant_id, key_digest)
       JOIN idempotency_keys k ON k.tenant_id = w.tenant_id AND k.key_digest = w.key_digest
      WHERE k.expires_at > $3 AND k.tenant_id = ANY($4)`,
    [
      digests.map(({ orgId }) => orgId),
      digests.map(({ id }) => digestPrefix + id),
      new Date(nowMs),
      distinctOrgs(digests),
    ],
  );
  return rows.map(({ org_id, digest, fingerprint, body }) => ({
    orgId: org_id,
    key: {
      digest,
      fingerprint,
      encrypted: body === null ? null : Buffer.from(body).toString('base64'),
    },
  }));
}

/** Returns a key that is stored and not expired. */
export async function findStoredKey(
  db: Queryable,
  orgId: string,
  digest: string,
  nowMs: number,
): Promise<HoldKey | undefined> {
  return (await findStoredKeys(db, [{ orgId, id: digest }], nowMs))[0]?.key;
}

function sha256(text: string): string {
  return createHash('sha256').update(text).digest('hex');
}
