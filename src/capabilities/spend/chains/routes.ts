import type { Database } from '../../../platform/db/database.ts';
import { type Change, type Route, read, write } from '../../../platform/http/routes/route.ts';
import type { Ids } from '../../../platform/ids.ts';
import { putChainBudget, readChainBudget } from './chains.ts';
import { ChainBudgetView, PutChainBudget } from './schema.ts';

export interface ChainDependencies {
  readonly db: Database;
  readonly ids: Ids;
}

const path = '/v1/orgs/{id}/chain-budget';

export function chainRoutes({ db, ids }: ChainDependencies): Route[] {
  return [
    write({
      id: 'chain_budget.put',
      method: 'PUT',
      path,
      summary: 'Set the chain budget',
      description: 'Replaces the chain budget. A value that is null or left out is not limited.',
      access: { kind: 'org', scope: 'budgets:write', role: 'admin' },
      body: PutChainBudget,
      success: 200,
      response: ChainBudgetView,
      async handler({ params, body, now }, tx) {
        const { before, after } = await putChainBudget(tx, ids, now, params.id, body);
        const target = { kind: 'chain_budget', id: params.id };
        const change: Change = { tenantId: params.id, target, before, after, event: 'chain_budget.updated' };
        return { body: after, changes: [change] };
      },
    }),
    read({
      id: 'chain_budget.read',
      path,
      summary: 'Read the chain budget',
      access: { kind: 'org', scope: 'budgets:read', role: 'viewer' },
      response: ChainBudgetView,
      handler: ({ params }) => readChainBudget(db, params.id),
    }),
  ];
}
