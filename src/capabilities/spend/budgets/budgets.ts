/** Budgets: limits on the cost of runs of an org, or of one of its parts, in a calendar window. */
import { invalidField } from '../../../contract/api-error.ts';
import type { Match } from '../../../kernel/limits.ts';
import {
  defaultThresholds,
  nanosOf,
  spendingColumns,
  viewSpending,
} from '../../../ledger/limits/limit-fields.ts';
import { insertLimit, type LimitRow, listLimits, newLimit } from '../../../ledger/limits/limits.ts';
import type { Queryable, Transaction } from '../../../platform/db/database.ts';
import type { Condition, PageOf } from '../../../platform/http/routes/list.ts';
import type { Ids } from '../../../platform/ids.ts';
import {
  type BudgetFilters,
  type BudgetView,
  budgetSorts,
  type CreateBudget,
  type PatchBudget,
  scopeKinds,
} from './schema.ts';

export function viewBudget(row: LimitRow): BudgetView {
  const scopeKind = scopeKinds.find((kind) => kind !== 'org' && row.match[kind] !== undefined) ?? 'org';
  return {
    id: row.id,
    name: row.name ?? '',
    scope_kind: scopeKind,
    scope_id: scopeKind === 'org' ? null : (row.match[scopeKind] ?? null),
    ...viewSpending(row),
  };
}

export async function createBudget(
  tx: Transaction,
  ids: Ids,
  now: Date,
  orgId: string,
  body: CreateBudget,
): Promise<LimitRow> {
  const { name, scope_kind, scope_id, ...spending } = body;
  const row = newLimit(
    {
      org_id: orgId,
      id: ids.next('bud'),
      kind: 'budget',
      name,
      unit: 'usd',
      match: matchOf(scope_kind, scope_id),
      alert_thresholds: defaultThresholds,
      capacity: nanosOf(spending.limit_usd),
      ...spendingColumns(spending),
    },
    now,
  );
  await insertLimit(tx, row);
  return row;
}

function matchOf(scopeKind: CreateBudget['scope_kind'], scopeId: string | undefined): Match {
  if (scopeKind === 'org') {
    if (scopeId !== undefined) {
      throw invalidField('scope_id', 'invalid_value', 'Must be left out if `scope_kind` is `org`.');
    }
    return {};
  }
  if (scopeId === undefined) {
    throw invalidField('scope_id', 'required', `Required if \`scope_kind\` is \`${scopeKind}\`.`);
  }
  return { [scopeKind]: scopeId };
}

export function budgetColumns({ name, ...spending }: PatchBudget): Partial<LimitRow> {
  return { ...spendingColumns(spending), ...(name !== undefined && { name }) };
}

export async function listBudgets(
  db: Queryable,
  orgId: string,
  query: BudgetFilters,
): Promise<PageOf<LimitRow>> {
  return listLimits(db, {
    orgId,
    kind: 'budget',
    where: [
      scopeKindCondition(query.scope_kind),
      [`? IN (match ->> 'workflow', match ->> 'deployment', match ->> 'department')`, query.scope_id],
      ['period = ?', query.period],
    ],
    sorts: budgetSorts,
    defaultSort: '-created_at',
    query,
  });
}

function scopeKindCondition(scopeKind: BudgetFilters['scope_kind']): Condition {
  return scopeKind === 'org' ? ['match = ?::jsonb', '{}'] : ['(match ->> ?::text) IS NOT NULL', scopeKind];
}
