import { insertMany, type Queryable } from '../../../platform/db/database.ts';
import { tableOf } from '../../../platform/db/table.ts';
import type { AuditEntry, AuditOutcome, ChainPosition, PersonalPart } from './chain.ts';

interface PlaceRow {
  readonly seq: bigint;
  readonly hash: string;
}

const insertedColumns = {
  tenant_id: 'text',
  seq: 'int8',
  id: 'text',
  at: 'timestamptz',
  actor_kind: 'text',
  actor_id: 'text',
  action: 'text',
  outcome: 'text',
  code: 'text',
  target_kind: 'text',
  target_id: 'text',
  before: 'jsonb',
  after: 'jsonb',
  detail: 'jsonb',
  address: 'text',
  trace_id: 'text',
  salt: 'text',
  commitment: 'text',
  previous_hash: 'text',
  hash: 'text',
} as const;

export async function insertEntries(tx: Queryable, entries: readonly AuditEntry[]): Promise<void> {
  await insertMany(
    tx,
    'audit_log',
    insertedColumns,
    entries.map((entry) => ({
      tenant_id: entry.tenantId,
      seq: BigInt(entry.seq),
      id: entry.id,
      at: new Date(entry.at),
      actor_kind: entry.actorKind,
      actor_id: entry.actorId,
      action: entry.action,
      outcome: entry.outcome,
      code: entry.code,
      target_kind: entry.targetKind,
      target_id: entry.targetId,
      before: entry.before,
      after: entry.after,
      detail: entry.detail,
      address: entry.address,
      trace_id: entry.traceId,
      salt: entry.salt,
      commitment: entry.commitment,
      previous_hash: entry.previousHash,
      hash: entry.hash,
    })),
  );
}

export interface AuditRow {
  readonly tenant_id: string;
  readonly seq: bigint;
  readonly id: string;
  readonly at: Date;
  readonly actor_kind: string;
  readonly actor_id: string;
  readonly action: string;
  readonly outcome: AuditOutcome;
  readonly code: string | null;
  readonly target_kind: string;
  readonly target_id: string;
  readonly before: object | null;
  readonly after: object | null;
  readonly detail: object | null;
  readonly address: string | null;
  readonly trace_id: string | null;
  readonly salt: string | null;
  readonly commitment: string | null;
  readonly redacted_by: bigint | null;
  readonly previous_hash: string;
  readonly hash: string;
}

export const selectEntries = `SELECT ${[...Object.keys(insertedColumns), 'redacted_by'].join(', ')} FROM audit_log`;

export function entryOfRow(row: AuditRow): AuditEntry {
  return {
    tenantId: row.tenant_id,
    seq: Number(row.seq),
    id: row.id,
    at: row.at.toISOString(),
    actorKind: row.actor_kind,
    actorId: row.actor_id,
    action: row.action,
    outcome: row.outcome,
    code: row.code,
    targetKind: row.target_kind,
    targetId: row.target_id,
    before: row.before,
    after: row.after,
    detail: row.detail,
    address: row.address,
    traceId: row.trace_id,
    salt: row.salt,
    commitment: row.commitment,
    redactedBy: row.redacted_by === null ? null : Number(row.redacted_by),
    previousHash: row.previous_hash,
    hash: row.hash,
  };
}

/** Returns the entries after `after`, in chain order. */
export async function readEntries(
  db: Queryable,
  tenantId: string,
  after: number,
  limit: number,
): Promise<AuditEntry[]> {
  const rows = await db.query<AuditRow>(
    `${selectEntries} WHERE tenant_id = $1 AND seq > $2 ORDER BY seq LIMIT $3`,
    [tenantId, BigInt(after), limit],
  );
  return rows.map(entryOfRow);
}

export interface StoredToken extends ChainPosition {
  readonly token: string;
}

/** Returns the anchor: the last entry that retention removed. */
export async function findAnchor(db: Queryable, tenantId: string): Promise<StoredToken | undefined> {
  const [row] = await db.query<PlaceRow & { token: string }>(
    'SELECT seq, hash, token FROM audit_anchors WHERE tenant_id = $1',
    [tenantId],
  );
  return row && { seq: Number(row.seq), hash: row.hash, token: row.token };
}

export interface CheckpointRow {
  readonly tenant_id: string;
  readonly seq: bigint;
  readonly id: string;
  readonly hash: string;
  readonly at: Date;
  readonly token: string;
}

const checkpointColumns = 'tenant_id, seq, id, hash, at, token';

export const { insert: insertCheckpoint, find: findCheckpoint } = tableOf<CheckpointRow>()(
  'audit_checkpoints',
  {
    columns: checkpointColumns,
    key: ['tenant_id', 'seq'],
  },
);

/** Returns the latest checkpoints, in chain order. */
export async function latestCheckpoints(
  db: Queryable,
  tenantId: string,
  limit: number,
): Promise<CheckpointRow[]> {
  const rows = await db.query<CheckpointRow>(
    `SELECT ${checkpointColumns} FROM audit_checkpoints WHERE tenant_id = $1
      ORDER BY seq DESC LIMIT $2`,
    [tenantId, limit],
  );
  return rows.reverse();
}

/**
 * Returns tenants after this one whose chain has grown since its last checkpoint, if that checkpoint is old enough. A
 * chain without a checkpoint is included if its first entry is old enough.
 */
export async function findUncheckpointed(
  db: Queryable,
  { before, after, limit }: { readonly before: Date; readonly after: string; readonly limit: number },
): Promise<string[]> {
  const rows = await db.query<{ tenant_id: string }>(
    `SELECT c.tenant_id FROM audit_chains c
       LEFT JOIN LATERAL (
         SELECT seq, at FROM audit_checkpoints k WHERE k.tenant_id = c.tenant_id ORDER BY seq DESC LIMIT 1) k ON true
      WHERE c.tenant_id > $3 AND c.seq > coalesce(k.seq, 0)
        AND coalesce(k.at, (SELECT at FROM audit_log l WHERE l.tenant_id = c.tenant_id ORDER BY seq LIMIT 1)) <= $1
      ORDER BY c.tenant_id LIMIT $2`,
    [before, limit, after],
  );
  return rows.map(({ tenant_id }) => tenant_id);
}

/** Returns the first and last position in a time range; undefined if it has no entries. */
export async function findSpan(
  db: Queryable,
  tenantId: string,
  from: Date,
  to: Date,
): Promise<{ readonly first: number; readonly last: number } | undefined> {
  const end = async (direction: 'ASC' | 'DESC') => {
    const [row] = await db.query<{ seq: bigint }>(
      `SELECT seq FROM audit_log WHERE tenant_id = $1 AND at >= $2 AND at < $3
        ORDER BY at ${direction}, seq ${direction} LIMIT 1`,
      [tenantId, from, to],
    );
    return row && Number(row.seq);
  };
  const [first, last] = [await end('ASC'), await end('DESC')];
  return first === undefined || last === undefined ? undefined : { first, last };
}

export async function findCheckpointsBetween(
  db: Queryable,
  tenantId: string,
  firstSeq: number,
  lastSeq: number,
): Promise<CheckpointRow[]> {
  return db.query<CheckpointRow>(
    `SELECT ${checkpointColumns} FROM audit_checkpoints
      WHERE tenant_id = $1 AND seq BETWEEN $2 AND $3 ORDER BY seq`,
    [tenantId, BigInt(firstSeq), BigInt(lastSeq)],
  );
}

export async function upsertAnchor(tx: Queryable, tenantId: string, anchor: StoredToken): Promise<void> {
  await tx.query(
    `INSERT INTO audit_anchors (tenant_id, seq, hash, token) VALUES ($1, $2, $3, $4)
     ON CONFLICT (tenant_id) DO UPDATE SET seq = excluded.seq, hash = excluded.hash, token = excluded.token`,
    [tenantId, BigInt(anchor.seq), anchor.hash, anchor.token],
  );
}

/**
 * Locks and returns the anchors of up to `limit` tenants after this one. They are locked by an update that changes nothing, because
 * `FOR UPDATE` only locks the rows of one shard on a distributed database.
 */
export async function readAnchors(
  db: Queryable,
  after: string,
  limit: number,
): Promise<(StoredToken & { readonly tenant_id: string })[]> {
  const page = await db.query<{ tenant_id: string }>(
    'SELECT tenant_id FROM audit_anchors WHERE tenant_id > $1 ORDER BY tenant_id LIMIT $2',
    [after, limit],
  );
  const rows = await db.query<PlaceRow & { tenant_id: string; token: string }>(
    'UPDATE audit_anchors SET seq = seq WHERE tenant_id = ANY($1) RETURNING tenant_id, seq, hash, token',
    [page.map(({ tenant_id }) => tenant_id)],
  );
  const byTenant = new Map(rows.map((row) => [row.tenant_id, { ...row, seq: Number(row.seq) }]));
  return page.flatMap(({ tenant_id }) => byTenant.get(tenant_id) ?? []);
}

export async function updateTokens(
  tx: Queryable,
  anchors: readonly { readonly tenant_id: string; readonly token: string }[],
): Promise<void> {
  await tx.query(
    `UPDATE audit_anchors a SET token = n.token FROM unnest($1::text[], $2::text[]) AS n(tenant_id, token)
      WHERE a.tenant_id = n.tenant_id AND a.tenant_id = ANY($1)`,
    [anchors.map(({ tenant_id }) => tenant_id), anchors.map(({ token }) => token)],
  );
}

export async function removeUntil(tx: Queryable, tenantId: string, seq: number): Promise<void> {
  await tx.query('DELETE FROM audit_log WHERE tenant_id = $1 AND seq <= $2', [tenantId, BigInt(seq)]);
}

/** Stores the redacted entries; `by` is the position of the redaction entry. */
export async function writeRedacted(
  tx: Queryable,
  tenantId: string,
  by: number,
  parts: readonly (PersonalPart & { readonly seq: number })[],
): Promise<void> {
  const json = (value: object | null) => (value === null ? null : JSON.stringify(value));
  await tx.query(
    `UPDATE audit_log l
        SET target_id = r.target_id, before = r.before::jsonb, after = r.after::jsonb, detail = r.detail::jsonb,
            salt = NULL, redacted_by = $2
       FROM unnest($3::int8[], $4::text[], $5::text[], $6::text[], $7::text[]) AS r(seq, target_id, before, after, detail)
      WHERE l.tenant_id = $1 AND l.seq = r.seq`,
    [
      tenantId,
      BigInt(by),
      parts.map(({ seq }) => BigInt(seq)),
      parts.map(({ targetId }) => targetId),
      parts.map(({ before }) => json(before)),
      parts.map(({ after }) => json(after)),
      parts.map(({ detail }) => json(detail)),
    ],
  );
}
