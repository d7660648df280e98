import { found } from '../../../contract/api-error.ts';
import { type Route, read } from '../../../platform/http/routes/route.ts';
import { page } from '../../../platform/http/routes/schemas.ts';
import { findOrg } from '../../access/orgs/index.ts';
import { OrgSummaryView, SummaryFilters } from './schema.ts';
import { readSummaries, readSummary, type SummaryDependencies } from './summaries.ts';

const operator = { kind: 'operator' } as const;

export function orgSummaryRoutes(deps: SummaryDependencies): Route[] {
  const { db } = deps;
  return [
    read({
      id: 'orgs.summaries.list',
      path: '/v1/admin/org-summaries',
      summary: 'List organizations with their spend, balance and activity',
      description:
        'Sums of the current month in the time zone of each organization, as of `as_of`: a job refreshes them ' +
        'every five minutes for organizations in use, and every hour for the others.',
      access: operator,
      query: SummaryFilters,
      response: page(OrgSummaryView),
      handler: ({ query, now }) => readSummaries(db, query, now),
    }),
    read({
      id: 'orgs.summary.read',
      path: '/v1/admin/orgs/{org_id}/summary',
      summary: 'Get the spend, balance and activity of an organization',
      description: 'Computed for the request.',
      access: operator,
      response: OrgSummaryView,
      handler: async ({ params, now }) => readSummary(deps, found(await findOrg(db, params.org_id)), now),
    }),
  ];
}
