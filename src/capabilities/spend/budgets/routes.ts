import {
  changeLimit,
  type LimitName,
  removeLimit,
  requireLimit,
} from '../../../ledger/limits/limit-changes.ts';
import type { Database } from '../../../platform/db/database.ts';
import { viewPage } from '../../../platform/http/routes/list.ts';
import { changed, created, removed } from '../../../platform/http/routes/outcomes.ts';
import { type Route, read, write } from '../../../platform/http/routes/route.ts';
import { page } from '../../../platform/http/routes/schemas.ts';
import type { Ids } from '../../../platform/ids.ts';
import { budgetColumns, createBudget, listBudgets, viewBudget } from './budgets.ts';
import { BudgetFilters, BudgetView, CreateBudget, PatchBudget } from './schema.ts';

export interface BudgetDependencies {
  readonly db: Database;
  readonly ids: Ids;
}

const reader = { kind: 'org', scope: 'budgets:read', role: 'viewer' } as const;
const admin = { kind: 'org', scope: 'budgets:write', role: 'admin' } as const;

export function budgetRoutes({ db, ids }: BudgetDependencies): Route[] {
  return [
    write({
      id: 'budgets.create',
      method: 'POST',
      path: '/v1/orgs/{id}/budgets',
      summary: 'Create a budget',
      description:
        'Counts everything spent since the start of the current window. A limit of zero denies every run that has a cost. ' +
        'After an upgrade from 0.1.0, budgets by `team`, `provider`, `member` and tags are `conflict` until the operator has ' +
        'run `purser migrate --contract`.',
      access: admin,
      errors: ['conflict'],
      body: CreateBudget,
      success: 201,
      response: BudgetView,
      async handler({ params, body, now }, tx) {
        const row = await createBudget(tx, ids, now, params.id, body);
        return created('budget', row, viewBudget, 'budget.created');
      },
    }),
    read({
      id: 'budgets.list',
      path: '/v1/orgs/{id}/budgets',
      summary: 'List budgets',
      access: reader,
      query: BudgetFilters,
      response: page(BudgetView),
      handler: ({ params, query }) => viewPage(listBudgets(db, params.id, query), viewBudget),
    }),
    read({
      id: 'budgets.read',
      path: '/v1/orgs/{id}/budgets/{budget_id}',
      summary: 'Read a budget',
      access: reader,
      response: BudgetView,
      handler: async ({ params }) => viewBudget(await requireLimit(db, budgetName(params))),
    }),
    write({
      id: 'budgets.change',
      method: 'PATCH',
      path: '/v1/orgs/{id}/budgets/{budget_id}',
      summary: 'Change a budget',
      description:
        'The scope cannot be changed. A new period or time zone counts from the start of its current window.',
      access: admin,
      body: PatchBudget,
      response: BudgetView,
      async handler({ params, body, now }, tx) {
        const columns = budgetColumns(body);
        const change = await changeLimit(tx, budgetName(params), now, () => columns);
        return changed('budget', change, viewBudget, 'budget.updated');
      },
    }),
    write({
      id: 'budgets.delete',
      method: 'DELETE',
      path: '/v1/orgs/{id}/budgets/{budget_id}',
      summary: 'Delete a budget',
      access: admin,
      async handler({ params, now }, tx) {
        const row = await removeLimit(tx, budgetName(params), now);
        return removed('budget', row, viewBudget, now, 'budget.deleted');
      },
    }),
  ];
}

function budgetName({ id, budget_id }: { id: string; budget_id: string }): LimitName {
  return { orgId: id, kind: 'budget', id: budget_id };
}
