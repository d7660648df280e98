import type { Database } from '../../platform/db/database.ts';
import { type Route, read } from '../../platform/http/route.ts';
import { exportUsage } from './export.ts';
import { UsageQuery, UsageView } from './schema.ts';
import { readUsage } from './usage.ts';

export interface UsageDependencies {
  readonly db: Database;
}

export function usageRoutes({ db }: UsageDependencies): Route[] {
  return [
    read({
      id: 'usage.read',
      path: '/v1/orgs/{id}/usage',
      summary: 'Sum up what was used',
      description:
        'By what the runs were about, or by hour, day or month in the time zone of the organization. Spans of time come ' +
        'in their order, other groups by their cost, the largest first. `total` is the sum of all pages. A run counts at ' +
        'the time it was charged, with its later corrections; runs that go on do not count yet.',
      access: { kind: 'org', scope: 'runs:read', role: 'viewer' },
      query: UsageQuery,
      response: UsageView,
      contentTypes: ['text/csv', 'application/x-ndjson'],
      handler: ({ params, query, now }) =>
        query.format === undefined || query.format === 'json'
          ? readUsage(db, params.id, query, now)
          : exportUsage(db, params.id, { ...query, format: query.format }, now),
    }),
  ];
}
