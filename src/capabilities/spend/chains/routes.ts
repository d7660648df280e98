import type { Database } from '../../../platform/db/database.ts';
import { changeOf, settingChanged } from '../../../platform/http/routes/outcomes.ts';
import { type Route, read, write } from '../../../platform/http/routes/route.ts';
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
      response: ChainBudgetView,
      async handler({ params, body, now }, tx) {
        const change = await putChainBudget(tx, ids, now, params.id, body);
        return settingChanged('chain_budget', params.id, change, 'chain_budget.updated');
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
    write({
      id: 'chain_budget.delete',
      method: 'DELETE',
      path,
      summary: 'Delete the chain budget',
      description: 'Chains are not limited any more. The same as setting it without values.',
      access: { kind: 'org', scope: 'budgets:write', role: 'admin' },
      async handler({ params, now }, tx) {
        const change = await putChainBudget(tx, ids, now, params.id, {});
        const isSet = Object.values(change.before).some((value) => value !== null);
        const recorded = changeOf('chain_budget', params.id, change, 'chain_budget.updated');
        return { body: {}, changes: isSet ? [recorded] : [] };
      },
    }),
  ];
}
