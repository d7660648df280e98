import { apiError } from '../../../contract/api-error.ts';
import type { Caller } from '../../../platform/http/routes/access.ts';
import { type Route, read } from '../../../platform/http/routes/route.ts';
import { createUsageExport, type UsageExportDependencies } from './export.ts';
import { OwnUsageQuery, UsageQuery, UsageView } from './schema.ts';
import { readUsageSeries } from './series.ts';
import { UsageSeriesQuery, UsageSeriesView, UsageValuesQuery, UsageValuesView } from './series-schema.ts';
import { readUsage } from './usage.ts';
import { readUsedValues } from './used-values.ts';

const reader = { kind: 'org', scope: 'runs:read', role: 'viewer' } as const;

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
      access: reader,
      query: UsageQuery,
      response: UsageView,
      contentTypes: ['text/csv', 'application/x-ndjson'],
      handler: ({ params, query, now }) =>
        query.format === undefined || query.format === 'json'
          ? readUsage(db, params.id, query, now)
          : exportUsage(params.id, { ...query, format: query.format }, now),
    }),
    read({
      id: 'usage.own',
      path: '/v1/orgs/{id}/usage/own',
      summary: "Sum up the caller's own usage",
      description:
        'Like `usage.read`, for the member that the key or token is locked to. A key that is not locked to a member gets 403 `forbidden`.',
      access: { kind: 'org', scope: 'gateway:call', role: 'viewer' },
      query: OwnUsageQuery,
      response: UsageView,
      handler: ({ params, query, caller, now }) =>
        readUsage(db, params.id, { ...query, member_id: ownMemberOf(caller) }, now),
    }),
    read({
      id: 'usage.series',
      path: '/v1/orgs/{id}/usage/series',
      summary: 'Read usage over time',
      description:
        'The usage of each hour, day or month, for a chart: one series for each of the values with the highest cost, one for all ' +
        'other values and one for runs without a value. Together they are the sums of `usage.read`.',
      access: reader,
      query: UsageSeriesQuery,
      response: UsageSeriesView,
      handler: ({ params, query, now }) => readUsageSeries(db, params.id, query, now),
    }),
    read({
      id: 'usage.values',
      path: '/v1/orgs/{id}/usage/values',
      summary: 'List the values in use',
      description:
        'The values that the runs of a period have in each field and tag, for suggestions. The period is extended to whole days in UTC.',
      access: reader,
      query: UsageValuesQuery,
      response: UsageValuesView,
      handler: ({ params, query, now }) => readUsedValues(db, params.id, query, now),
    }),
  ];
}

function ownMemberOf({ attribution }: Caller): string {
  const memberId = attribution?.locked.includes('member_id') ? attribution.values.member_id : undefined;
  if (memberId === undefined) {
    throw apiError('forbidden', 'Your key is not locked to a member, so it has no usage of its own.');
  }
  return memberId;
}
