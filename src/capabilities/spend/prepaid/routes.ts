import { ofExistingOrg, requireOrg } from '../../../ledger/limits/limit-changes.ts';
import type { Database } from '../../../platform/db/database.ts';
import { viewPage } from '../../../platform/http/routes/list.ts';
import { created, settingChanged } from '../../../platform/http/routes/outcomes.ts';
import { type Route, read, write } from '../../../platform/http/routes/route.ts';
import { page } from '../../../platform/http/routes/schemas.ts';
import type { Ids } from '../../../platform/ids.ts';
import { putPrepaid, readPrepaid, topUp, viewTopUp } from './prepaid.ts';
import { listTopUps } from './queries.ts';
import { CreateTopUp, PrepaidView, PutPrepaid, TopUpFilters, TopUpView } from './schema.ts';

export interface PrepaidDependencies {
  readonly db: Database;
  readonly ids: Ids;
}

const operator = { kind: 'operator' } as const;

export function prepaidRoutes({ db, ids }: PrepaidDependencies): Route[] {
  return [
    write({
      id: 'orgs.prepaid.put',
      method: 'PUT',
      path: '/v1/admin/orgs/{org_id}/prepaid',
      summary: 'Enable or disable prepaid billing',
      description:
        'While it is enabled, runs are paid from the balance, and are 402 `quota_exhausted` if it does not cover them. ' +
        'Disabling keeps the balance and the amount spent.',
      access: operator,
      body: PutPrepaid,
      response: PrepaidView,
      unversionedFields: ['topped_up_usd'],
      async handler({ params, body, now }, tx) {
        const change = await putPrepaid(tx, ids, now, params.org_id, body.enabled);
        return settingChanged('prepaid', params.org_id, change, 'prepaid.updated');
      },
    }),
    read({
      id: 'orgs.prepaid.read',
      path: '/v1/admin/orgs/{org_id}/prepaid',
      summary: 'Read the prepaid balance of an organization (operator)',
      access: operator,
      response: PrepaidView,
      handler: ({ params }) => ofExistingOrg(db, params.org_id, readPrepaid(db, params.org_id)),
    }),
    write({
      id: 'orgs.prepaid.top_up',
      method: 'POST',
      path: '/v1/admin/orgs/{org_id}/prepaid/top-ups',
      summary: 'Top up the prepaid balance of an organization',
      description: 'Also possible while prepaid billing is disabled: the balance is kept.',
      access: operator,
      body: CreateTopUp,
      success: 201,
      response: TopUpView,
      async handler({ params, body, now }, tx) {
        const row = await topUp(tx, ids, now, params.org_id, body);
        return created('prepaid_top_up', row, viewTopUp, 'prepaid.topped_up');
      },
    }),
    read({
      id: 'orgs.prepaid.top_ups.list',
      path: '/v1/admin/orgs/{org_id}/prepaid/top-ups',
      summary: 'List the top-ups of an organization',
      access: operator,
      query: TopUpFilters,
      response: page(TopUpView),
      async handler({ params, query }) {
        await requireOrg(db, params.org_id);
        return viewPage(listTopUps(db, params.org_id, query), viewTopUp);
      },
    }),
    read({
      id: 'prepaid.read',
      path: '/v1/orgs/{id}/prepaid',
      summary: "Read the organization's prepaid balance",
      access: { kind: 'org', scope: 'budgets:read', role: 'viewer' },
      response: PrepaidView,
      handler: ({ params }) => readPrepaid(db, params.id),
    }),
  ];
}
