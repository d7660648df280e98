import type { Queryable } from '../../../platform/db/database.ts';
import { type ChainPosition, chainStart } from './chain.ts';

/** The stored end of a chain. */
export interface StoredHead extends ChainPosition {
  /** Null if the head is not authenticated. */
  readonly mac: Uint8Array | null;
}

export interface ChainHead extends StoredHead {
  /** Time when the last entry was appended. */
  readonly at: Date;
}

interface HeadRow {
  readonly seq: bigint;
  readonly hash: string;
  readonly at: Date;
  readonly mac: Uint8Array | null;
}

/** Returns the end of a tenant's chain and locks it until the transaction ends, so that appends are serialized. */
export async function lockChain(
  tx: Queryable,
  tenantId: string,
): Promise<ChainHead & { readonly now: Date }> {
  await tx.query(
    'INSERT INTO audit_chains (tenant_id, seq, hash) VALUES ($1, 0, $2) ON CONFLICT (tenant_id) DO NOTHING',
    [tenantId, chainStart.hash],
  );
  await tx.query('SELECT 1 AS one FROM audit_chains WHERE tenant_id = $1 FOR UPDATE', [tenantId]);
  // Queried after the lock was acquired, because another transaction may append until then.
  const [head] = await tx.query<HeadRow & { now: Date }>(
    'SELECT seq, hash, at, mac, clock_timestamp()::timestamptz(3) AS now FROM audit_chains WHERE tenant_id = $1',
    [tenantId],
  );
  if (head === undefined) {
    throw new Error('audit chain not found after it was created');
  }
  return { ...head, seq: Number(head.seq) };
}

/** Waits for appends in progress: later appends get a later date. */
export async function awaitAppends(tx: Queryable, tenantId: string): Promise<void> {
  await tx.query('SELECT 1 AS one FROM audit_chains WHERE tenant_id = $1 FOR SHARE', [tenantId]);
}

/** Returns the start of a chain if the tenant has none. */
export async function findHead(db: Queryable, tenantId: string): Promise<StoredHead> {
  const [head] = await db.query<HeadRow>('SELECT seq, hash, at, mac FROM audit_chains WHERE tenant_id = $1', [
    tenantId,
  ]);
  return head === undefined
    ? { ...chainStart, mac: null }
    : { seq: Number(head.seq), hash: head.hash, mac: head.mac };
}

export async function moveChain(tx: Queryable, tenantId: string, head: ChainHead): Promise<void> {
  await tx.query('UPDATE audit_chains SET seq = $2, hash = $3, at = $4, mac = $5 WHERE tenant_id = $1', [
    tenantId,
    BigInt(head.seq),
    head.hash,
    head.at,
    head.mac,
  ]);
}

export async function areHeadsAdopted(db: Queryable): Promise<boolean> {
  return (await db.query('SELECT 1 AS one FROM audit_heads_adopted', [])).length > 0;
}

/** Records that the heads were adopted. Returns false if another process has recorded it. */
export async function insertAdoption(tx: Queryable): Promise<boolean> {
  const inserted = await tx.query(
    'INSERT INTO audit_heads_adopted DEFAULT VALUES ON CONFLICT DO NOTHING RETURNING 1 AS one',
    [],
  );
  return inserted.length > 0;
}

export async function hasMacs(tx: Queryable): Promise<boolean> {
  return (await tx.query('SELECT 1 AS one FROM audit_chains WHERE mac IS NOT NULL LIMIT 1', [])).length > 0;
}

/**
 * Locks and returns the heads of up to `limit` tenants after this one. They are locked by an update that changes nothing, because
 * `FOR UPDATE` only locks the rows of one shard on a distributed database.
 */
export async function lockHeads(
  tx: Queryable,
  after: string,
  limit: number,
): Promise<(StoredHead & { readonly tenantId: string })[]> {
  const page = await tx.query<{ tenant_id: string }>(
    'SELECT tenant_id FROM audit_chains WHERE tenant_id > $1 ORDER BY tenant_id LIMIT $2',
    [after, limit],
  );
  const rows = await tx.query<HeadRow & { tenant_id: string }>(
    'UPDATE audit_chains SET seq = seq WHERE tenant_id = ANY($1) RETURNING tenant_id, seq, hash, mac',
    [page.map(({ tenant_id }) => tenant_id)],
  );
  const byTenant = new Map(rows.map((row) => [row.tenant_id, row]));
  return page.flatMap(({ tenant_id }) => {
    const row = byTenant.get(tenant_id);
    return row === undefined
      ? []
      : [{ tenantId: tenant_id, seq: Number(row.seq), hash: row.hash, mac: row.mac }];
  });
}

export async function updateMacs(
  tx: Queryable,
  heads: readonly { readonly tenantId: string; readonly mac: Buffer }[],
): Promise<void> {
  await tx.query(
    `UPDATE audit_chains c SET mac = decode(n.mac, 'hex') FROM unnest($1::text[], $2::text[]) AS n(tenant_id, mac)
      WHERE c.tenant_id = n.tenant_id AND c.tenant_id = ANY($1)`,
    [heads.map(({ tenantId }) => tenantId), heads.map(({ mac }) => mac.toString('hex'))],
  );
}
