import type { Queryable } from '../db/database.ts';

export async function readCheck(db: Queryable): Promise<Uint8Array | undefined> {
  const [row] = await db.query<{ sealed: Uint8Array }>('SELECT sealed FROM secrets_key_check', []);
  return row?.sealed;
}

export async function replaceCheck(db: Queryable, sealed: Uint8Array): Promise<void> {
  await db.query('UPDATE secrets_key_check SET sealed = $1', [sealed]);
}

export function readUsedKeys(db: Queryable): Promise<{ id: string; sealed: Uint8Array }[]> {
  return db.query('SELECT id, sealed FROM secrets_keys ORDER BY id', []);
}

export async function insertUsedKey(db: Queryable, id: string, sealed: Uint8Array): Promise<void> {
  await db.query('INSERT INTO secrets_keys (id, sealed) VALUES ($1, $2) ON CONFLICT DO NOTHING', [
    id,
    sealed,
  ]);
}

export async function deleteUsedKeysExcept(db: Queryable, id: string): Promise<void> {
  await db.query('DELETE FROM secrets_keys WHERE id <> $1', [id]);
}

export async function readDigestKey(db: Queryable): Promise<Uint8Array | undefined> {
  const [row] = await db.query<{ sealed: Uint8Array }>('SELECT sealed FROM secrets_digest_key', []);
  return row?.sealed;
}

export async function replaceDigestKey(db: Queryable, sealed: Uint8Array): Promise<void> {
  await db.query(
    `INSERT INTO secrets_digest_key (sealed) VALUES ($1)
     ON CONFLICT (only_row) DO UPDATE SET sealed = excluded.sealed`,
    [sealed],
  );
}

const isAlive = `seen_at > now() - interval '10 seconds'`;

/**
 * Published instead of key ids by the only process of an embedded database. It reads its key file again, so a rotation need not
 * wait for other processes.
 */
export const everySecretsKey = '*';

/** Counts the running processes that do not have the key. */
export async function processesWithoutKey(db: Queryable, id: string): Promise<number> {
  const [row] = await db.query<{ count: bigint }>(
    `SELECT count(*) AS count FROM processes
      WHERE ${isAlive} AND (secrets_keys IS NULL OR NOT secrets_keys && ARRAY[$1, $2]::text[])`,
    [id, everySecretsKey],
  );
  return Number(row?.count ?? 0n);
}

/** Counts the running processes that encrypt with a key other than this one. */
export async function processesNotUsingKey(db: Queryable, id: string): Promise<number> {
  const [row] = await db.query<{ count: bigint }>(
    `SELECT count(*) AS count FROM processes
      WHERE ${isAlive} AND (secrets_keys IS NULL OR NOT secrets_keys[1] IN ($1, $2))`,
    [id, everySecretsKey],
  );
  return Number(row?.count ?? 0n);
}
