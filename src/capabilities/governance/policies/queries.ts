import { changeChannel } from '../../../platform/db/change-channel.ts';
import type { Queryable, Transaction } from '../../../platform/db/database.ts';
import { tableOf } from '../../../platform/db/table.ts';
import {
  type ListQuery,
  type PageOf,
  searchCondition,
  selectPage,
} from '../../../platform/http/routes/list.ts';
import type { SwitchedRule } from './rules.ts';
import { type PolicyFilters, policySorts, versionSorts } from './schema.ts';

export const policiesChanged = changeChannel('policies');

export interface PolicyRow extends SwitchedRule {
  readonly org_id: string;
  /** Person or team to ask about the rule. */
  readonly owner: string | null;
  readonly created_at: Date;
  readonly updated_at: Date;
  readonly deleted_at: Date | null;
}

const columns = `org_id, id, created_at, version, effect, models, actions, expression, priority, reason, enabled, owner, updated_at,
  deleted_at`;

export const {
  insert: insertPolicy,
  update: updatePolicy,
  find: findPolicy,
} = tableOf<PolicyRow>()('policies', { columns, key: ['org_id', 'id'], where: 'deleted_at IS NULL' });

export async function findPoliciesEvenDeleted(
  db: Queryable,
  orgId: string,
  policyIds: readonly string[],
): Promise<PolicyRow[]> {
  return db.query<PolicyRow>(`SELECT ${columns} FROM policies WHERE org_id = $1 AND id = ANY($2)`, [
    orgId,
    policyIds,
  ]);
}

/** Returns all rules that are not deleted, oldest first. */
export async function selectPolicies(db: Queryable, orgId: string): Promise<PolicyRow[]> {
  return db.query<PolicyRow>(
    `SELECT ${columns} FROM policies WHERE org_id = $1 AND deleted_at IS NULL ORDER BY created_at, id`,
    [orgId],
  );
}

export async function listPolicies(
  db: Queryable,
  orgId: string,
  query: PolicyFilters,
): Promise<PageOf<PolicyRow>> {
  return selectPage<PolicyRow>(db, {
    select: `SELECT ${columns} FROM policies`,
    where: [
      ['org_id = ?', orgId],
      ['(deleted_at IS NULL) = ?', true],
      ['effect = ?', query.effect],
      ['enabled = ?', query.enabled],
      searchCondition(['reason', 'id'], query.search),
    ],
    sorts: policySorts,
    defaultSort: 'priority',
    query,
  });
}

export interface VersionRow {
  readonly id: string;
  readonly version: bigint;
  readonly changed_at: Date;
  readonly changed_by: string;
  readonly body: unknown;
}

export async function insertVersion(
  tx: Transaction,
  { org_id, id, version, updated_at }: PolicyRow,
  changedBy: string,
  body: object,
): Promise<void> {
  await tx.query(
    `INSERT INTO policy_versions (org_id, policy_id, version, changed_at, changed_by, body)
     VALUES ($1, $2, $3, $4, $5, $6)`,
    [org_id, id, version, updated_at, changedBy, JSON.stringify(body)],
  );
}

/** Lists the versions of a rule, even of a deleted one. */
export async function listVersions(
  db: Queryable,
  orgId: string,
  policyId: string,
  query: ListQuery,
): Promise<PageOf<VersionRow>> {
  return selectPage<VersionRow>(db, {
    select:
      'SELECT id, version, changed_at, changed_by, body FROM (SELECT *, policy_id AS id FROM policy_versions) AS versions',
    where: [
      ['org_id = ?', orgId],
      ['policy_id = ?', policyId],
    ],
    sorts: versionSorts,
    defaultSort: '-version',
    query,
  });
}
