/** Limit changes that capabilities make: under a lock, with the limit before and after the change. */
import { found } from '../../contract/api-error.ts';
import type { IdPrefix } from '../../contract/id-prefixes.ts';
import type { LimitKind } from '../../kernel/limits.ts';
import type { Queryable, Transaction } from '../../platform/db/database.ts';
import type { Ids } from '../../platform/ids.ts';
import {
  endLimit,
  findLimit,
  findLimits,
  insertLimit,
  type LimitRow,
  lockLimit,
  newLimit,
  updateLimit,
} from './limits.ts';

export interface LimitName {
  readonly orgId: string;
  readonly kind: LimitKind;
  readonly id: string;
}

export async function requireLimit(db: Queryable, { orgId, kind, id }: LimitName): Promise<LimitRow> {
  return found(await findLimit(db, orgId, kind, id));
}

export interface LimitChange {
  readonly before: LimitRow;
  readonly after: LimitRow;
}

/** Locks the row, computes the change and writes it. */
export async function changeLimit(
  tx: Transaction,
  { orgId, kind, id }: LimitName,
  now: Date,
  decide: (row: LimitRow) => Partial<LimitRow>,
): Promise<LimitChange> {
  const before = found(await lockLimit(tx, orgId, kind, id));
  const after: LimitRow = { ...before, ...decide(before), updated_at: now };
  await updateLimit(tx, after);
  return { before, after };
}

/** Ends a limit and returns its row. */
export async function removeLimit(
  tx: Transaction,
  { orgId, kind, id }: LimitName,
  now: Date,
): Promise<LimitRow> {
  const row = found(await lockLimit(tx, orgId, kind, id));
  await endLimit(tx, row, now);
  return row;
}

/** Finds the limit of a kind that an org has at most once. */
export async function findOnlyLimit(
  db: Queryable,
  orgId: string,
  kind: LimitKind,
): Promise<LimitRow | undefined> {
  const [row] = await findLimits(db, orgId, [kind]);
  return row;
}

export interface OnlyLimit {
  readonly kind: LimitKind;
  readonly prefix: IdPrefix;
  readonly wanted: Pick<LimitRow, 'unit' | 'capacity'> & Partial<LimitRow>;
}

/**
 * Creates or replaces the only limit of a kind. An existing limit keeps its id and thereby its counted amounts.
 * Requires `lockOrgLimits`, so that concurrent calls do not create two.
 */
export async function putOnlyLimit(
  tx: Transaction,
  ids: Ids,
  now: Date,
  orgId: string,
  { kind, prefix, wanted }: OnlyLimit,
): Promise<{ before: LimitRow | undefined; after: LimitRow }> {
  const before = await findOnlyLimit(tx, orgId, kind);
  if (before === undefined) {
    const after = newLimit({ org_id: orgId, id: ids.next(prefix), kind, ...wanted }, now);
    await insertLimit(tx, after);
    return { before, after };
  }
  const after: LimitRow = { ...before, ...wanted, updated_at: now };
  await updateLimit(tx, after);
  return { before, after };
}

/** Ends the only limit of a kind and returns it, if there is one. Requires `lockOrgLimits`. */
export async function endOnlyLimit(
  tx: Transaction,
  now: Date,
  orgId: string,
  kind: LimitKind,
): Promise<LimitRow | undefined> {
  const row = await findOnlyLimit(tx, orgId, kind);
  if (row !== undefined) {
    await endLimit(tx, row, now);
  }
  return row;
}

/** Serializes changes to the limits of an org. Throws `not_found` if the org does not exist. */
export async function lockOrgLimits(tx: Transaction, orgId: string): Promise<void> {
  const [org] = await tx.query('SELECT id FROM orgs WHERE id = $1 AND removed_at IS NULL FOR NO KEY UPDATE', [
    orgId,
  ]);
  found(org);
}

/** Throws `not_found` if the org does not exist. Does not lock the org. */
export async function requireOrg(db: Queryable, orgId: string): Promise<void> {
  const [org] = await db.query('SELECT id FROM orgs WHERE id = $1 AND removed_at IS NULL', [orgId]);
  found(org);
}

/** Returns the result of `view`, or throws `not_found` if the org does not exist. Both queries run concurrently. */
export async function ofExistingOrg<View>(db: Queryable, orgId: string, view: Promise<View>): Promise<View> {
  const [existing] = await Promise.all([view, requireOrg(db, orgId)]);
  return existing;
}
