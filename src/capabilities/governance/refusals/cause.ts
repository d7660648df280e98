/** The limits, rules and detectors behind denials: their current names, and whom to ask. */
import { findLimitsEvenEnded } from '../../../ledger/limits/limits.ts';
import type { Queryable } from '../../../platform/db/database.ts';
import { findPoliciesEvenDeleted } from '../policies/index.ts';
import type { RefusalRow } from './queries.ts';
import type { RefusalView } from './schema.ts';

type RefusalCause = RefusalView['cause'];
type DeniedEntry = Pick<RefusalRow, 'limit_id' | 'details'>;

/** Returns the id of the denying limit. Entries of release 0.1.0 only have a budget in their details. */
export function denyingLimitId({ limit_id, details }: DeniedEntry): string | null {
  return limit_id ?? textOf(details.budget_id);
}

/** Returns a function that returns the cause of each of these denials. */
export async function findCauses(
  db: Queryable,
  orgId: string,
  denials: readonly DeniedEntry[],
): Promise<(denied: DeniedEntry) => RefusalCause> {
  const limitIds = present(denials.map(denyingLimitId));
  const ruleIds = present(denials.map(({ details }) => textOf(details.rule_id)));
  const limits = byId(limitIds.length === 0 ? [] : await findLimitsEvenEnded(db, orgId, limitIds));
  const rules = byId(ruleIds.length === 0 ? [] : await findPoliciesEvenDeleted(db, orgId, ruleIds));
  return (denied) => {
    const limit = limits.get(denyingLimitId(denied) ?? '');
    if (limit !== undefined) {
      const { id, kind, name, owner, ended_at } = limit;
      return { kind, id, name, owner, deleted: ended_at !== null };
    }
    const rule = rules.get(textOf(denied.details.rule_id) ?? '');
    if (rule !== undefined) {
      const { id, reason, owner, deleted_at } = rule;
      return { kind: 'policy', id, name: reason, owner, deleted: deleted_at !== null };
    }
    const detectorId = textOf(denied.details.detector_id);
    const name = textOf(denied.details.detector);
    return detectorId === null
      ? null
      : { kind: 'detector', id: detectorId, name, owner: null, deleted: false };
  };
}

function byId<Row extends { readonly id: string }>(rows: readonly Row[]): ReadonlyMap<string, Row> {
  return new Map(rows.map((row) => [row.id, row]));
}

function present(ids: readonly (string | null)[]): string[] {
  return [...new Set(ids)].filter((id) => id !== null);
}

function textOf(value: unknown): string | null {
  return typeof value === 'string' ? value : null;
}
