import { type Route, read } from '../../../platform/http/routes/route.ts';
import { createUsageExport, type UsageExportDependencies } from './export.ts';
import { UsageQuery, UsageView } from './schema.ts';
import { readUsage } from './usage.ts';

export function usageRoutes({ db, exports }: UsageExportDependencies): Route[] {
  const exportUsage = createUsageExport({ db, exports });
  return [
    read({
      id: 'usage.read',
      path: '/v1/orgs/{id}/usage',
      summary: 'Sum up usage',
      description:
        'Groups by dimensions of the runs, or by hour, day or month in the time zone of the organization. Time ' +
        'spans are listed in order, other groups by cost, highest first. `total` is the sum of all pages. A run ' +
        'counts at the time it was charged, including later corrections; runs in progress do not count yet.',
      access: { kind: 'org', scope: 'runs:read', role: 'viewer' },
      query: UsageQuery,
      response: UsageView,
      contentTypes: ['text/csv', 'application/x-ndjson'],
      handler: ({ params, query, now }) =>
        query.format === undefined || query.format === 'json'
          ? readUsage(db, params.id, query, now)
          : exportUsage(params.id, { ...query, format: query.format }, now),
    }),
  ];
}
