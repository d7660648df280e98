/** Budgets: limits on the cost of runs of an org, or of one of its parts, in a calendar window. */
import { apiError, invalidField } from '../../../contract/api-error.ts';
import type { Match } from '../../../kernel/limits.ts';
import { matchFieldOf, scopeKindOfMatch } from '../../../kernel/scope-kinds.ts';
import {
  defaultThresholds,
  nanosOf,
  spendingColumns,
  viewSpending,
} from '../../../ledger/limits/limit-fields.ts';
import { insertLimit, type LimitRow, listLimits, newLimit } from '../../../ledger/limits/limits.ts';
import { isReadableByAll } from '../../../ledger/limits/readable-matches.ts';
import type { Queryable, Transaction } from '../../../platform/db/database.ts';
import { type Condition, type PageOf, searchCondition } from '../../../platform/http/routes/list.ts';
import type { Ids } from '../../../platform/ids.ts';
import {
  type BudgetFilters,
  type BudgetView,
  budgetSorts,
  type CreateBudget,
  type PatchBudget,
} from './schema.ts';

export function viewBudget(row: LimitRow): BudgetView {
  const scopeKind = scopeKindOfMatch(row.match);
  const field = matchFieldOf(scopeKind);
  return {
    id: row.id,
    name: row.name ?? '',
    scope_kind: scopeKind,
    scope_id: field === undefined ? null : (row.match[field] ?? null),
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
  if (!(await isReadableByAll(tx, row.match))) {
    throw apiError(
      'conflict',
      `Budgets by \`${scope_kind}\` are available once the upgrade is final: the operator must run \`purser migrate --contract\`.`,
    );
  }
  await insertLimit(tx, row);
  return row;
}

function matchOf(scopeKind: CreateBudget['scope_kind'], scopeId: string | undefined): Match {
  const field = matchFieldOf(scopeKind);
  if (field === undefined) {
    if (scopeId !== undefined) {
      throw invalidField('scope_id', 'invalid_value', 'Must be left out if `scope_kind` is `org`.');
    }
    return {};
  }
  if (scopeId === undefined) {
    throw invalidField('scope_id', 'required', `Required if \`scope_kind\` is \`${scopeKind}\`.`);
  }
  return { [field]: scopeId };
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
      // A budget matches at most one field.
      [`? IN (SELECT value FROM jsonb_each_text(match))`, query.scope_id],
      ['period = ?', query.period],
      searchCondition(
        ['name', `(SELECT string_agg(value, ' ') FROM jsonb_each_text(match))`, 'id'],
        query.search,
      ),
    ],
    sorts: budgetSorts,
    defaultSort: '-created_at',
    query,
  });
}

function scopeKindCondition(scopeKind: BudgetFilters['scope_kind']): Condition {
  return scopeKind === 'org'
    ? ['match = ?::jsonb', '{}']
    : ['(match ->> ?::text) IS NOT NULL', scopeKind && matchFieldOf(scopeKind)];
}
