/** Reads kinds and units of limits. */
import type { LimitKind, Unit } from '../../../kernel/limits.ts';
import type { Queryable } from '../../../platform/db/database.ts';

/** Returns the units of these limits, including limits that have ended. */
export async function findUnits(
  db: Queryable,
  orgId: string,
  limitIds: readonly string[],
): Promise<ReadonlyMap<string, Unit>> {
  const rows = await findKinds(db, orgId, limitIds);
  return new Map([...rows].map(([id, { unit }]) => [id, unit]));
}

export interface KindAndUnit {
  readonly kind: LimitKind;
  readonly unit: Unit;
}

export async function findKinds(
  db: Queryable,
  orgId: string,
  limitIds: readonly string[],
): Promise<ReadonlyMap<string, KindAndUnit>> {
  if (limitIds.length === 0) {
    return new Map();
  }
  const rows = await db.query<KindAndUnit & { id: string }>(
    'SELECT id, kind, unit FROM limits WHERE org_id = $1 AND id = ANY($2)',
    [orgId, limitIds],
  );
  return new Map(rows.map(({ id, kind, unit }) => [id, { kind, unit }]));
}
