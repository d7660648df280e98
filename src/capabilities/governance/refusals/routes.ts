import type { Database } from '../../../platform/db/database.ts';
import { type Route, read } from '../../../platform/http/routes/route.ts';
import { page } from '../../../platform/http/routes/schemas.ts';
import { listRefusals, type RefusalRow } from './queries.ts';
import { RefusalFilters, RefusalView } from './schema.ts';

export function refusalRoutes({ db }: { readonly db: Database }): Route[] {
  return [
    read({
      id: 'refusals.list',
      path: '/v1/orgs/{id}/refusals',
      summary: 'List recently denied requests',
      description:
        'Requests denied by rate limits, policies, safety detectors and limits, the latest first. Equal denials within about a ' +
        'second are one entry with a `count`. Entries appear within one or two seconds; the latest 1,000 are kept.',
      access: { kind: 'org', scope: 'runs:read', role: 'viewer' },
      query: RefusalFilters,
      response: page(RefusalView),
      async handler({ params, query }) {
        const { data, next_cursor } = await listRefusals(db, params.id, query);
        return { data: data.map(view), next_cursor };
      },
    }),
  ];
}

function view({ org_id: _org, count, first_at, last_at, ...row }: RefusalRow): RefusalView {
  return {
    ...row,
    count: Number(count),
    first_at: first_at.toISOString(),
    last_at: last_at.toISOString(),
  };
}
