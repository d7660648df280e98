/** The ways in which capabilities change limits: under a lock, with an answer that tells what was and what is. */
import { apiError } from '../../contract/api-error.ts';
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

function found(row: LimitRow | undefined): LimitRow {
  if (row === undefined) {
    throw apiError('not_found');
  }
  return row;
}

export async function requireLimit(db: Queryable, { orgId, kind, id }: LimitName): Promise<LimitRow> {
  return found(await findLimit(db, orgId, kind, id));
}

export interface LimitChange {
  readonly before: LimitRow;
  readonly after: LimitRow;
}

/** Reads, decides and writes under the row's lock. */
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

/** Returns what was ended. */
export async function removeLimit(
  tx: Transaction,
  { orgId, kind, id }: LimitName,
  now: Date,
): Promise<LimitRow> {
  const row = found(await lockLimit(tx, orgId, kind, id));
  await endLimit(tx, row, now);
  return row;
}

/** Of a kind of which an org has one at most. */
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
 * Makes or replaces the only limit of a kind. While there is one its id stays, and with it what was counted.
 * Expects `lockOrgLimits`, so that two at once do not both make the first.
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

/** Returns what was ended, if there was one. Expects `lockOrgLimits` as well. */
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

/** Lets one change of an org's limits as a whole go on at a time. Refuses an org that does not exist. */
export async function lockOrgLimits(tx: Transaction, orgId: string): Promise<void> {
  const rows = await tx.query('SELECT id FROM orgs WHERE id = $1 AND removed_at IS NULL FOR NO KEY UPDATE', [
    orgId,
  ]);
  if (rows.length === 0) {
    throw apiError('not_found');
  }
}

/** The same for readers, who need no lock. */
export async function requireOrg(db: Queryable, orgId: string): Promise<void> {
  const rows = await db.query('SELECT id FROM orgs WHERE id = $1 AND removed_at IS NULL', [orgId]);
  if (rows.length === 0) {
    throw apiError('not_found');
  }
}

/** What is read of an org that has to be there; both are asked at once. */
export async function ofExistingOrg<View>(db: Queryable, orgId: string, view: Promise<View>): Promise<View> {
  const [found] = await Promise.all([view, requireOrg(db, orgId)]);
  return found;
}
