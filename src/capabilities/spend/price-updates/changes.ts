/** Price changes that wait for an operator. Updates propose them; then they are approved, rejected or superseded. */
import { apiError, found } from '../../../contract/api-error.ts';
import { canonicalJson } from '../../../platform/canonical-json.ts';
import type { Queryable, Transaction } from '../../../platform/db/database.ts';
import { changeOf } from '../../../platform/http/routes/outcomes.ts';
import type { Change } from '../../../platform/http/routes/route.ts';
import type { Ids } from '../../../platform/ids.ts';
import {
  followsUpdates,
  insertListPrices,
  loadListPrices,
  lockModel,
  type ModelPriceRow,
  priceColumnsOf,
  viewModelPrice,
  viewPriceColumns,
} from '../models/index.ts';
import { formOf, type ListEntry, type PlannedModel } from './plan.ts';
import {
  decidePriceChange,
  findPriceChange,
  insertPriceChanges,
  lockPriceChange,
  type PriceChangeRow,
  pendingChanges,
  supersedeChanges,
} from './queries.ts';
import { differenceBetween } from './rate-differences.ts';
import type { PriceChangeView } from './schema.ts';

export function viewPriceChange(row: PriceChangeRow): PriceChangeView {
  return {
    id: row.id,
    model: row.model,
    provider: row.provider,
    status: row.status,
    priced_as: row.current_model === row.model ? null : row.current_model,
    current_price_version: row.current_version,
    rates: [...differenceBetween(row.current_price, viewPriceColumns(priceColumnsOf(row.price))).rates],
    effective_from: row.effective_from?.toISOString() ?? null,
    source: row.source,
    created_at: row.created_at.toISOString(),
    decided_at: row.decided_at?.toISOString() ?? null,
    decided_by: row.decided_by,
    decision_reason: row.decision_reason,
    price_version: row.price_version,
  };
}

/** Returns true if the row proposes the price of this entry and was compared with this version. */
export function proposes(row: PriceChangeRow, { price }: ListEntry, current: ModelPriceRow): boolean {
  return row.current_version === current.id && canonicalJson(row.price) === canonicalJson(price);
}

export interface ProposedChanges {
  /** Pending changes by model, including earlier ones. */
  readonly pending: ReadonlyMap<string, PriceChangeRow>;
  readonly created: readonly PriceChangeRow[];
  readonly superseded: readonly PriceChangeRow[];
}

/**
 * Stores the changes of an update that must wait, and supersedes older ones of the same models. A change that is already pending is
 * kept, so that the same list every day proposes it once.
 */
export async function proposeChanges(
  tx: Transaction,
  ids: Ids,
  now: Date,
  effectiveFrom: Date | null,
  planned: readonly PlannedModel[],
): Promise<ProposedChanges> {
  const older = await pendingChanges(
    tx,
    planned.map(({ entry }) => entry.model),
  );
  const waiting = planned.flatMap(({ status, entry, current }) =>
    status === 'pending' && current !== undefined ? [{ entry, current }] : [],
  );
  const same = older.filter((row) =>
    waiting.some(
      ({ entry, current }) =>
        entry.model === row.model &&
        proposes(row, entry, current) &&
        row.effective_from?.getTime() === effectiveFrom?.getTime(),
    ),
  );
  const kept = new Set(same.map(({ model }) => model));
  const superseded = await supersedeChanges(
    tx,
    older.filter(({ model }) => !kept.has(model)).map(({ id }) => id),
    now,
  );
  const created = waiting
    .filter(({ entry }) => !kept.has(entry.model))
    .map(({ entry, current }) => newChange(ids, now, effectiveFrom, entry, current));
  await insertPriceChanges(tx, created);
  return { pending: new Map([...same, ...created].map((row) => [row.model, row])), created, superseded };
}

function newChange(
  ids: Ids,
  now: Date,
  effectiveFrom: Date | null,
  { model, provider, price = {}, source }: ListEntry,
  current: ModelPriceRow,
): PriceChangeRow {
  return {
    id: ids.next('pch'),
    model,
    provider,
    status: 'pending',
    price,
    current_price: formOf(current),
    current_version: current.id,
    current_model: current.model,
    effective_from: effectiveFrom,
    source,
    created_at: now,
    decided_at: null,
    decided_by: null,
    decision_reason: null,
    price_version: null,
  };
}

/** Supersedes the pending change of a model when an operator sets its price. Returns the changes to record. */
export async function supersedeForOperator(tx: Transaction, model: string, now: Date): Promise<Change[]> {
  const pending = await pendingChanges(tx, [model]);
  return (
    await supersedeChanges(
      tx,
      pending.map(({ id }) => id),
      now,
    )
  ).map((row) => decidedChange(row));
}

/** Returns the audit change for a price change that is no longer pending. */
export function decidedChange(row: PriceChangeRow): Change {
  const after = viewPriceChange(row);
  const before = {
    ...after,
    status: 'pending',
    decided_at: null,
    decided_by: null,
    decision_reason: null,
    price_version: null,
  };
  return changeOf('price_change', { org_id: null, id: row.id }, { before, after });
}

export interface Deciding {
  readonly changeId: string;
  readonly by: string;
  readonly reason: string | null;
}

/**
 * Creates the version, starting now or at the change's start if that is later. Throws `conflict` if the price in force has changed
 * since the comparison.
 */
export async function approveChange(
  tx: Transaction,
  ids: Ids,
  now: Date,
  { changeId, by, reason }: Deciding,
): Promise<{ row: PriceChangeRow; changes: Change[] }> {
  const row = await lockPending(tx, changeId);
  const prices = await loadListPrices(tx, laterOf(now, row.effective_from));
  const current = prices.exact(row.model) ?? prices.resolved(row.model);
  if (current === undefined || current.id !== row.current_version || !followsUpdates(current)) {
    throw apiError(
      'conflict',
      'The price of the model has changed since this change was proposed. Reject it; the next update proposes a new one.',
    );
  }
  const { model, provider, price, source } = row;
  const versions = prices.versionsOf(model);
  const [version] = await insertListPrices(tx, ids, now, prices, [{ model, provider, price, source }]);
  const after = version as ModelPriceRow;
  const decided = await decidePriceChange(tx, row.id, {
    status: 'approved',
    now,
    by,
    reason,
    priceVersion: after.id,
  });
  const views = {
    before: viewModelPrice(current, current.model === model ? versions : [current], now),
    after: viewModelPrice(after, [after, ...versions], now),
  };
  const priceChange = changeOf('model_price', { org_id: null, id: model }, views);
  return { row: decided, changes: [decidedChange(decided), priceChange] };
}

export async function rejectChange(
  tx: Transaction,
  now: Date,
  { changeId, by, reason }: Deciding,
): Promise<{ row: PriceChangeRow; changes: Change[] }> {
  const { id } = await lockPending(tx, changeId);
  const row = await decidePriceChange(tx, id, { status: 'rejected', now, by, reason, priceVersion: null });
  return { row, changes: [decidedChange(row)] };
}

export async function requirePriceChange(db: Queryable, changeId: string): Promise<PriceChangeRow> {
  return found(await findPriceChange(db, changeId));
}

/** Locks a pending change. Locks the model first, in the same order as updates and operators, to prevent deadlocks. */
async function lockPending(tx: Transaction, changeId: string): Promise<PriceChangeRow> {
  const { model } = await requirePriceChange(tx, changeId);
  await lockModel(tx, model);
  const row = await lockPriceChange(tx, changeId);
  if (row?.status !== 'pending') {
    throw apiError(
      'conflict',
      `The change is ${row?.status ?? 'gone'}. Only pending changes can be decided.`,
    );
  }
  return row;
}

function laterOf(now: Date, other: Date | null): Date {
  return other !== null && other > now ? other : now;
}
