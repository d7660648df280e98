import type { Database } from '../../../platform/db/database.ts';
import { viewPage } from '../../../platform/http/routes/list.ts';
import { changeOf } from '../../../platform/http/routes/outcomes.ts';
import { type Route, read, write } from '../../../platform/http/routes/route.ts';
import { page } from '../../../platform/http/routes/schemas.ts';
import type { Ids } from '../../../platform/ids.ts';
import type { Prices } from '../models/index.ts';
import {
  findUnpricedPolicy,
  listUnpricedModels,
  listUnpricedModelTotals,
  type UnpricedModelRow,
} from './queries.ts';
import {
  PutUnpricedPolicy,
  UnpricedModelFilters,
  UnpricedModelTotalView,
  UnpricedModelView,
  UnpricedPolicyView,
  UnpricedTotalFilters,
} from './schema.ts';
import { putUnpricedPolicy, viewUnpricedPolicy } from './unpriced-policies.ts';

export interface UnpricedModelDependencies {
  readonly db: Database;
  readonly ids: Ids;
  readonly prices: Pick<Prices, 'find'>;
}

const policyPath = '/v1/orgs/{id}/unpriced-policy';
const reader = { kind: 'org', scope: 'budgets:read', role: 'viewer' } as const;
const admin = { kind: 'org', scope: 'budgets:write', role: 'admin' } as const;

export function unpricedModelRoutes({ db, ids, prices }: UnpricedModelDependencies): Route[] {
  return [
    read({
      id: 'unpriced_policy.read',
      path: policyPath,
      summary: 'Get the policy on models without a price',
      access: reader,
      response: UnpricedPolicyView,
      handler: async ({ params }) => viewUnpricedPolicy(await findUnpricedPolicy(db, params.id)),
    }),
    write({
      id: 'unpriced_policy.put',
      method: 'PUT',
      path: policyPath,
      summary: 'Set the policy on models without a price',
      description:
        'Applies to the next call. With `hold_default`, `input_usd_per_million` and `output_usd_per_million` are required; the ' +
        'other rates work as in a price. Runs of such calls are marked `unpriced` and can be repriced once the model has a price. ' +
        'With `record`, limits in dollars do not hold models without a price. A hold keeps the rates that it was taken with.',
      access: admin,
      body: PutUnpricedPolicy,
      response: UnpricedPolicyView,
      async handler({ params, body, now }, tx) {
        const { before, after, changed } = await putUnpricedPolicy(tx, ids, now, params.id, body);
        const views = { before: viewUnpricedPolicy(before), after: viewUnpricedPolicy(after) };
        const change = changeOf('unpriced_policy', params.id, views, 'org.unpriced_policy_updated');
        return { body: views.after, changes: changed ? [change] : [] };
      },
    }),
    read({
      id: 'unpriced_models.list',
      path: '/v1/orgs/{id}/unpriced-models',
      summary: 'List models that were used without a price',
      description:
        'Counts the runs marked `unpriced` by the name they called the model by, for the 1,000 models that were used last. Runs that ' +
        'state their cost are not counted.',
      access: reader,
      query: UnpricedModelFilters,
      response: page(UnpricedModelView),
      async handler({ params, query, now }) {
        const { data, next_cursor } = await listUnpricedModels(db, params.id, query);
        const priceOf = async (model: string) => (await prices.find(params.id, model, now.getTime()))?.model;
        return {
          data: await Promise.all(
            data.map(async (row) => ({ ...viewUse(row), priced_as: (await priceOf(row.model)) ?? null })),
          ),
          next_cursor,
        };
      },
    }),
    read({
      id: 'unpriced_models.totals',
      path: '/v1/admin/unpriced-models',
      summary: 'List models that organizations used without a price',
      description: 'Sums over all organizations, in the order of the names.',
      access: { kind: 'operator' },
      query: UnpricedTotalFilters,
      response: page(UnpricedModelTotalView),
      handler: ({ query }) =>
        viewPage(listUnpricedModelTotals(db, query), (row) => ({
          ...viewUse(row),
          organizations: Number(row.orgs),
        })),
    }),
  ];
}

function viewUse(row: UnpricedModelRow) {
  return {
    model: row.model,
    runs: Number(row.runs),
    repriced_runs: Number(row.repriced_runs),
    input_tokens: Number(row.input_tokens),
    output_tokens: Number(row.output_tokens),
    first_used_at: row.first_used_at.toISOString(),
    last_used_at: row.last_used_at.toISOString(),
  };
}
