import type { Queryable } from '../../platform/db/database.ts';
import { type AuditEntry, chainStart } from './chain.ts';

export interface ChainHead {
  readonly seq: bigint;
  readonly hash: string;
}

/** The end of a tenant's chain, locked until the transaction ends so that entries follow one another. */
export async function lockChain(tx: Queryable, tenantId: string): Promise<ChainHead> {
  await tx.query(
    'INSERT INTO audit_chains (tenant_id, seq, hash) VALUES ($1, 0, $2) ON CONFLICT (tenant_id) DO NOTHING',
    [tenantId, chainStart],
  );
  const [head] = await tx.query<ChainHead>(
    'SELECT seq, hash FROM audit_chains WHERE tenant_id = $1 FOR UPDATE',
    [tenantId],
  );
  if (head === undefined) {
    throw new Error('a chain that was just made is missing');
  }
  return head;
}

export async function moveChain(tx: Queryable, tenantId: string, head: ChainHead): Promise<void> {
  await tx.query('UPDATE audit_chains SET seq = $2, hash = $3 WHERE tenant_id = $1', [
    tenantId,
    head.seq,
    head.hash,
  ]);
}

export async function insertEntry(
  tx: Queryable,
  entry: AuditEntry,
  previousHash: string,
  hash: string,
): Promise<void> {
  await tx.query(
    `INSERT INTO audit_log (tenant_id, seq, id, at, actor_kind, actor_id, action, target_kind, target_id,
                            before, after, address, trace_id, previous_hash, hash)
     VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12, $13, $14, $15)`,
    [
      entry.tenantId,
      entry.seq,
      entry.id,
      entry.at,
      entry.actorKind,
      entry.actorId,
      entry.action,
      entry.targetKind,
      entry.targetId,
      entry.before === null ? null : JSON.stringify(entry.before),
      entry.after === null ? null : JSON.stringify(entry.after),
      entry.address,
      entry.traceId,
      previousHash,
      hash,
    ],
  );
}
