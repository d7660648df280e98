import { insertEach, type Queryable } from '../../../platform/db/database.ts';
import { type PageOf, selectPage } from '../../../platform/http/routes/list.ts';
import type { PriceRequest } from '../models/index.ts';
import type { PriceForm } from './rate-differences.ts';
import { type ChangeStatus, type PriceChangeFilters, priceChangeSorts } from './schema.ts';

export interface PriceChangeRow {
  readonly id: string;
  readonly model: string;
  readonly provider: string | null;
  readonly status: ChangeStatus;
  readonly price: PriceRequest;
  /** The price in force at the proposal, its version and its model. */
  readonly current_price: PriceForm;
  readonly current_version: string;
  readonly current_model: string;
  /** Start of the new price; null: the time of the approval. */
  readonly effective_from: Date | null;
  readonly source: string;
  readonly created_at: Date;
  readonly decided_at: Date | null;
  readonly decided_by: string | null;
  readonly decision_reason: string | null;
  readonly price_version: string | null;
}

const columnTypes = {
  id: 'text',
  model: 'text',
  provider: 'text',
  status: 'text',
  price: 'jsonb',
  current_price: 'jsonb',
  current_version: 'text',
  current_model: 'text',
  effective_from: 'timestamptz',
  source: 'text',
  created_at: 'timestamptz',
  decided_at: 'timestamptz',
  decided_by: 'text',
  decision_reason: 'text',
  price_version: 'text',
} as const;
const columns = Object.keys(columnTypes).join();

export async function insertPriceChanges(tx: Queryable, rows: readonly PriceChangeRow[]): Promise<void> {
  await insertEach(tx, 'price_changes', columnTypes, rows, (row) => row);
}

export async function findPriceChange(db: Queryable, changeId: string): Promise<PriceChangeRow | undefined> {
  const [row] = await db.query<PriceChangeRow>(`SELECT ${columns} FROM price_changes WHERE id = $1`, [
    changeId,
  ]);
  return row;
}

export async function lockPriceChange(tx: Queryable, changeId: string): Promise<PriceChangeRow | undefined> {
  const [row] = await tx.query<PriceChangeRow>(
    `SELECT ${columns} FROM price_changes WHERE id = $1 FOR UPDATE`,
    [changeId],
  );
  return row;
}

export async function pendingChanges(db: Queryable, models: readonly string[]): Promise<PriceChangeRow[]> {
  return db.query<PriceChangeRow>(
    `SELECT ${columns} FROM price_changes WHERE status = 'pending' AND model = ANY($1)`,
    [models],
  );
}

/** Returns the last rejected change of each model. */
export async function lastRejectedChanges(
  db: Queryable,
  models: readonly string[],
): Promise<PriceChangeRow[]> {
  return db.query<PriceChangeRow>(
    `SELECT DISTINCT ON (model) ${columns} FROM price_changes
      WHERE status = 'rejected' AND model = ANY($1) ORDER BY model, created_at DESC, id DESC`,
    [models],
  );
}

/** Supersedes pending changes, because the price was changed in another way or a newer update has another price. */
export async function supersedeChanges(
  tx: Queryable,
  changeIds: readonly string[],
  now: Date,
): Promise<PriceChangeRow[]> {
  return tx.query<PriceChangeRow>(
    `UPDATE price_changes SET status = 'superseded', decided_at = $2
      WHERE id = ANY($1) AND status = 'pending' RETURNING ${columns}`,
    [changeIds, now],
  );
}

export interface PriceUpdateDecision {
  readonly status: 'approved' | 'rejected';
  readonly now: Date;
  readonly by: string;
  readonly reason: string | null;
  readonly priceVersion: string | null;
}

export async function decidePriceChange(
  tx: Queryable,
  changeId: string,
  decision: PriceUpdateDecision,
): Promise<PriceChangeRow> {
  const [row] = await tx.query<PriceChangeRow>(
    `UPDATE price_changes SET status = $2, decided_at = $3, decided_by = $4, decision_reason = $5, price_version = $6
      WHERE id = $1 RETURNING ${columns}`,
    [changeId, decision.status, decision.now, decision.by, decision.reason, decision.priceVersion],
  );
  return row as PriceChangeRow;
}

export async function listPriceChanges(
  db: Queryable,
  query: PriceChangeFilters,
): Promise<PageOf<PriceChangeRow>> {
  return selectPage<PriceChangeRow>(db, {
    select: `SELECT ${columns} FROM price_changes`,
    where: [
      ['status = ?', query.status],
      ['model = ?', query.model],
    ],
    sorts: priceChangeSorts,
    defaultSort: '-created_at',
    query,
  });
}

export async function countPendingChanges(db: Queryable): Promise<number> {
  const [row] = await db.query<{ pending: number }>(
    "SELECT count(*)::int4 AS pending FROM price_changes WHERE status = 'pending'",
    [],
  );
  return row?.pending ?? 0;
}
