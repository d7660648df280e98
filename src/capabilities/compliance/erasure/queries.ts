import type { Queryable } from '../../../platform/db/database.ts';

export interface ErasureRow {
  readonly org_id: string;
  readonly id: string;
  readonly pseudonym: string;
  /** The id of the customer, encrypted; null once the erasure is complete. */
  readonly customer: Uint8Array | null;
  readonly step: string;
  /** Cursor of the next batch within the step; null: start of the step. */
  readonly cursor: unknown;
  readonly requested_at: Date;
  readonly finished_at: Date | null;
  readonly changed: bigint;
}

export const selectErasures =
  'SELECT org_id, id, pseudonym, customer, step, cursor, requested_at, finished_at, changed FROM customer_erasures';

/** Returns whether the customer has usage, limits, keys or refusals. */
export async function isKnownCustomer(db: Queryable, orgId: string, customerId: string): Promise<boolean> {
  const [row] = await db.query<{ known: boolean }>(
    `SELECT EXISTS (SELECT 1 FROM usage_days WHERE org_id = $1 AND customer_id = $2 AND customer_id <> '')
         OR EXISTS (SELECT 1 FROM limits WHERE org_id = $1 AND match ->> 'customer_id' = $2)
         OR EXISTS (SELECT 1 FROM keys WHERE org_id = $1 AND attribution ->> 'customer_id' = $2)
         OR EXISTS (SELECT 1 FROM refusals WHERE org_id = $1 AND customer_id = $2) AS known`,
    [orgId, customerId],
  );
  return row?.known === true;
}

/**
 * Returns whether the customer has unfinished runs or ended holds, which have no usage if the hold was released. The condition
 * on the cost, which unfinished runs do not have, is that of an index.
 */
export async function hasUnfinishedRuns(db: Queryable, orgId: string, customerId: string): Promise<boolean> {
  const [row] = await db.query<{ known: boolean }>(
    `SELECT EXISTS (SELECT 1 FROM runs
                     WHERE org_id = $1 AND coalesce(cost_nanos, -1) = -1 AND status = 'running' AND customer_id = $2)
         OR EXISTS (SELECT 1 FROM hold_ends WHERE org_id = $1 AND body #>> '{scope,customer_id}' = $2) AS known`,
    [orgId, customerId],
  );
  return row?.known === true;
}

export async function insertErasure(tx: Queryable, row: ErasureRow): Promise<void> {
  await tx.query(
    `INSERT INTO customer_erasures (org_id, id, pseudonym, customer, step, requested_at) VALUES ($1, $2, $3, $4, $5, $6)`,
    [row.org_id, row.id, row.pseudonym, row.customer, row.step, row.requested_at],
  );
}

/** Erasures that are not finished, in orgs without a legal hold. $1 are the orgs with one. */
const isOpen = 'finished_at IS NULL AND org_id <> ALL($1)';

async function findLegalHolds(db: Queryable): Promise<string[]> {
  const rows = await db.query<{ org_id: string }>(
    'SELECT org_id FROM retention_policies WHERE legal_hold',
    [],
  );
  return rows.map(({ org_id }) => org_id);
}

export async function findOpenErasure(db: Queryable, id: string): Promise<ErasureRow | undefined> {
  const [row] = await db.query<ErasureRow>(`${selectErasures} WHERE ${isOpen} AND id = $2`, [
    await findLegalHolds(db),
    id,
  ]);
  return row;
}

/** Returns the oldest erasure after this one; undefined: the oldest of all. */
export async function findNextErasure(
  db: Queryable,
  after: Pick<ErasureRow, 'requested_at' | 'id'> | undefined,
): Promise<ErasureRow | undefined> {
  const [row] = await db.query<ErasureRow>(
    `${selectErasures} WHERE ${isOpen} AND (requested_at, id) > ($2, $3) ORDER BY requested_at, id LIMIT 1`,
    [await findLegalHolds(db), after?.requested_at ?? new Date(0), after?.id ?? ''],
  );
  return row;
}

export async function advanceErasure(
  tx: Queryable,
  { org_id, id }: ErasureRow,
  { step, cursor, changed }: { readonly step: string; readonly cursor: unknown; readonly changed: number },
): Promise<void> {
  await tx.query(
    `UPDATE customer_erasures SET step = $3, cursor = $4, changed = changed + $5 WHERE org_id = $1 AND id = $2`,
    [org_id, id, step, cursor === null ? null : JSON.stringify(cursor), BigInt(changed)],
  );
}

/** Marks the erasure as complete and deletes the encrypted id. */
export async function finishErasure(tx: Queryable, { org_id, id }: ErasureRow, now: Date): Promise<void> {
  await tx.query(
    'UPDATE customer_erasures SET finished_at = $3, customer = NULL, cursor = NULL WHERE org_id = $1 AND id = $2',
    [org_id, id, now],
  );
}
