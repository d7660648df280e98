import type { Queryable } from '../../../platform/db/database.ts';

export interface SigningKeyRow {
  /** Number of the key, from 1; the highest is the current key. */
  readonly generation: number;
  /** The private key while it is current, afterwards the public key. */
  readonly sealed: Uint8Array;
  readonly created_at: Date;
  readonly retired_at: Date | null;
}

const select = 'SELECT generation, sealed, created_at, retired_at FROM audit_signing_keys';

/** Returns the rows, latest generation first. */
export async function selectSigningKeys(db: Queryable): Promise<SigningKeyRow[]> {
  return db.query<SigningKeyRow>(`${select} ORDER BY generation DESC`, []);
}

export async function findCurrentKey(db: Queryable): Promise<SigningKeyRow | undefined> {
  const [row] = await db.query<SigningKeyRow>(`${select} WHERE retired_at IS NULL`, []);
  return row;
}

/** Blocks concurrent rotations, but not readers. */
export async function lockSigningKeys(tx: Queryable): Promise<void> {
  await tx.query('LOCK TABLE audit_signing_keys IN SHARE ROW EXCLUSIVE MODE', []);
}

/** Prevents rotation until the transaction ends; concurrent callers of this function do not wait. */
export async function keepSigningKeys(tx: Queryable): Promise<void> {
  await tx.query('LOCK TABLE audit_signing_keys IN ROW EXCLUSIVE MODE', []);
}

type NewSigningKey = Omit<SigningKeyRow, 'retired_at'>;

/** Does nothing if any key exists: a deleted first key must not be replaced silently. */
export async function insertFirstKey(
  db: Queryable,
  { generation, sealed, created_at }: NewSigningKey,
): Promise<void> {
  await db.query(
    `INSERT INTO audit_signing_keys (generation, sealed, created_at)
     SELECT $1::int4, $2::bytea, $3::timestamptz WHERE NOT EXISTS (SELECT 1 FROM audit_signing_keys)
     ON CONFLICT DO NOTHING`,
    [generation, sealed, created_at],
  );
}

export async function insertSigningKey(
  tx: Queryable,
  { generation, sealed, created_at }: NewSigningKey,
): Promise<void> {
  await tx.query('INSERT INTO audit_signing_keys (generation, sealed, created_at) VALUES ($1, $2, $3)', [
    generation,
    sealed,
    created_at,
  ]);
}

export async function retireSigningKey(
  tx: Queryable,
  { generation, sealed, retired_at }: Omit<SigningKeyRow, 'created_at'>,
): Promise<void> {
  await tx.query('UPDATE audit_signing_keys SET sealed = $2, retired_at = $3 WHERE generation = $1', [
    generation,
    sealed,
    retired_at,
  ]);
}

export async function deleteSigningKeys(tx: Queryable, generations: readonly number[]): Promise<void> {
  await tx.query('DELETE FROM audit_signing_keys WHERE generation = ANY ($1::int4[])', [generations]);
}
