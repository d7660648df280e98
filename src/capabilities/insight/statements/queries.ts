import { maxNanos } from '../../../kernel/money.ts';
import { insertEach, type Queryable } from '../../../platform/db/database.ts';
import { type PageOf, selectPage } from '../../../platform/http/routes/list.ts';
import { type StatementFilters, statementSorts } from './schema.ts';
import type { StatementLine, TokenKind } from './statement-line.ts';

export interface StatementRow {
  readonly org_id: string;
  readonly id: string;
  readonly provider: string;
  readonly sources: readonly string[];
  readonly period_start: string;
  readonly period_end: string;
  readonly digest: string;
  readonly lines: number;
  readonly billed_nanos: bigint;
  readonly has_tokens: boolean;
  readonly decimals: number;
  readonly project_dimension: string | null;
  readonly gateway_key_ids: readonly string[] | null;
  readonly drift_threshold_nanos: bigint;
  readonly created_at: Date;
  readonly compared_at: Date | null;
  readonly difference_nanos: bigint | null;
  readonly drift_nanos: bigint | null;
  readonly reconciled_at: Date | null;
  readonly reconciled_runs: number;
  readonly reconciled_nanos: bigint;
}

const columns = [
  'org_id, id, provider, sources, period_start::text AS period_start, period_end::text AS period_end, digest, lines',
  'billed_nanos, has_tokens, decimals, project_dimension, gateway_key_ids, drift_threshold_nanos, created_at',
  'compared_at, difference_nanos, drift_nanos, reconciled_at, reconciled_runs, reconciled_nanos',
].join(', ');

/** Inserts a statement unless the org has one with the same digest. Returns false if it has. */
export async function insertStatement(tx: Queryable, row: StatementRow): Promise<boolean> {
  const inserted = await tx.query(
    `INSERT INTO statements (org_id, id, provider, sources, period_start, period_end, digest, lines, billed_nanos, has_tokens,
                             decimals, project_dimension, gateway_key_ids, drift_threshold_nanos, created_at)
     VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12, $13, $14, $15)
     ON CONFLICT (org_id, digest) DO NOTHING RETURNING 1 AS one`,
    [
      row.org_id,
      row.id,
      row.provider,
      row.sources,
      row.period_start,
      row.period_end,
      row.digest,
      row.lines,
      row.billed_nanos,
      row.has_tokens,
      row.decimals,
      row.project_dimension,
      row.gateway_key_ids,
      row.drift_threshold_nanos,
      row.created_at,
    ],
  );
  return inserted.length > 0;
}

const lineColumns = {
  org_id: 'text',
  statement_id: 'text',
  day: 'text',
  model: 'text',
  project: 'text',
  provider_key_id: 'text',
  kind: 'text',
  uncached_input_tokens: 'int8',
  cached_input_tokens: 'int8',
  cache_write_tokens: 'int8',
  output_tokens: 'int8',
  usd_nanos: 'int8',
} as const;

export async function insertLines(
  tx: Queryable,
  { org_id, id }: Pick<StatementRow, 'org_id' | 'id'>,
  lines: readonly StatementLine[],
): Promise<void> {
  await insertEach(tx, 'statement_lines', lineColumns, lines, (line) => ({
    org_id,
    statement_id: id,
    day: line.day,
    model: line.model,
    project: line.project,
    provider_key_id: line.keyId,
    kind: line.kind,
    uncached_input_tokens: line.tokens.uncached_input,
    cached_input_tokens: line.tokens.cached_input,
    cache_write_tokens: line.tokens.cache_write,
    output_tokens: line.tokens.output,
    usd_nanos: line.usdNanos,
  }));
}

interface LineRow {
  readonly day: string;
  readonly model: string;
  readonly project: string;
  readonly provider_key_id: string;
  readonly kind: TokenKind | '';
  readonly uncached_input_tokens: bigint;
  readonly cached_input_tokens: bigint;
  readonly cache_write_tokens: bigint;
  readonly output_tokens: bigint;
  readonly usd_nanos: bigint;
}

export async function readLines(
  db: Queryable,
  orgId: string,
  statementId: string,
): Promise<readonly StatementLine[]> {
  const rows = await db.query<LineRow>(
    `SELECT day, model, project, provider_key_id, kind, uncached_input_tokens, cached_input_tokens, cache_write_tokens,
            output_tokens, usd_nanos
       FROM statement_lines WHERE org_id = $1 AND statement_id = $2
      ORDER BY day, model, project, provider_key_id, kind`,
    [orgId, statementId],
  );
  return rows.map((row) => ({
    day: row.day,
    model: row.model,
    project: row.project,
    keyId: row.provider_key_id,
    kind: row.kind,
    tokens: {
      uncached_input: row.uncached_input_tokens,
      cached_input: row.cached_input_tokens,
      cache_write: row.cache_write_tokens,
      output: row.output_tokens,
    },
    usdNanos: row.usd_nanos,
  }));
}

export async function findStatement(
  db: Queryable,
  orgId: string,
  id: string,
): Promise<StatementRow | undefined> {
  const [row] = await db.query<StatementRow>(
    `SELECT ${columns} FROM statements WHERE org_id = $1 AND id = $2`,
    [orgId, id],
  );
  return row;
}

export async function findByDigest(
  db: Queryable,
  orgId: string,
  digest: string,
): Promise<string | undefined> {
  const [row] = await db.query<{ id: string }>(
    'SELECT id FROM statements WHERE org_id = $1 AND digest = $2',
    [orgId, digest],
  );
  return row?.id;
}

export async function listStatements(
  db: Queryable,
  orgId: string,
  query: StatementFilters,
): Promise<PageOf<StatementRow>> {
  return selectPage<StatementRow>(db, {
    select: `SELECT ${columns} FROM statements`,
    where: [
      ['org_id = ?', orgId],
      ['provider = ?', query.provider],
    ],
    sorts: statementSorts,
    defaultSort: '-created_at',
    query,
  });
}

/** Deletes a statement of which nothing was posted, with its lines. Returns false if there is none. */
export async function deleteStatement(tx: Queryable, orgId: string, id: string): Promise<boolean> {
  const deleted = await tx.query(
    'DELETE FROM statements WHERE org_id = $1 AND id = $2 AND reconciled_runs = 0 AND reconciled_at IS NULL RETURNING 1 AS one',
    [orgId, id],
  );
  if (deleted.length > 0) {
    await tx.query('DELETE FROM statement_lines WHERE org_id = $1 AND statement_id = $2', [orgId, id]);
  }
  return deleted.length > 0;
}

/** Returns statements whose difference was not computed yet, oldest first. */
export async function findUncompared(db: Queryable, limit: number): Promise<StatementRow[]> {
  return db.query<StatementRow>(
    `SELECT ${columns} FROM statements WHERE compared_at IS NULL ORDER BY created_at LIMIT $1`,
    [limit],
  );
}

/** Stores the first comparison of a statement. Returns false if it was stored before, or if the statement is gone. */
export async function saveComparison(
  tx: Queryable,
  { org_id, id }: StatementRow,
  {
    differenceNanos,
    driftNanos,
    now,
  }: { differenceNanos: bigint | null; driftNanos: bigint | null; now: Date },
): Promise<boolean> {
  const saved = await tx.query(
    `UPDATE statements SET compared_at = $3, difference_nanos = $4, drift_nanos = $5
      WHERE org_id = $1 AND id = $2 AND compared_at IS NULL RETURNING 1 AS one`,
    [org_id, id, now, storable(differenceNanos), storable(driftNanos)],
  );
  return saved.length > 0;
}

/** The recorded cost of a month may exceed 64 bits; the difference is then stored as the largest amount. */
function storable(nanos: bigint | null): bigint | null {
  if (nanos === null) {
    return null;
  }
  return nanos > maxNanos ? maxNanos : nanos < -maxNanos ? -maxNanos : nanos;
}

/**
 * Counts runs that a reconciliation posted. Returns false if the statement is gone, or if another reconciliation has posted runs
 * since `statement` was read.
 */
export async function addReconciled(
  tx: Queryable,
  { org_id, id, reconciled_runs }: Pick<StatementRow, 'org_id' | 'id' | 'reconciled_runs'>,
  runs: number,
  nanos: bigint,
): Promise<boolean> {
  const updated = await tx.query(
    `UPDATE statements SET reconciled_runs = reconciled_runs + $3, reconciled_nanos = reconciled_nanos + $4
      WHERE org_id = $1 AND id = $2 AND reconciled_runs = $5 AND reconciled_at IS NULL RETURNING 1 AS one`,
    [org_id, id, runs, nanos, reconciled_runs],
  );
  return updated.length > 0;
}

/** Marks a statement as reconciled. Returns undefined if it was, or if the statement is gone. */
export async function markReconciled(
  tx: Queryable,
  orgId: string,
  id: string,
  now: Date,
): Promise<StatementRow | undefined> {
  const marked = await tx.query(
    `UPDATE statements SET reconciled_at = $3 WHERE org_id = $1 AND id = $2 AND reconciled_at IS NULL RETURNING 1 AS one`,
    [orgId, id, now],
  );
  return marked.length === 0 ? undefined : findStatement(tx, orgId, id);
}
