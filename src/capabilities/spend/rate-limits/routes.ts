import { ofExistingOrg } from '../../../ledger/limits/limit-changes.ts';
import type { Database } from '../../../platform/db/database.ts';
import { settingChanged } from '../../../platform/http/routes/outcomes.ts';
import { bodyLimits, type Route, read, write } from '../../../platform/http/routes/route.ts';
import type { Ids } from '../../../platform/ids.ts';
import { viewPolicy } from './policies.ts';
import { findReadRpm, listPolicies, putRateLimits, readRateLimits } from './rate-limits.ts';
import { OwnPoliciesView, PutRateLimits, RateLimitsView, RatePolicyFilters } from './schema.ts';

export interface RateLimitDependencies {
  readonly db: Database;
  readonly ids: Ids;
  /** Default for orgs without their own limit; undefined: no limit. */
  readonly readLimitPerMinute: number | undefined;
}

const path = '/v1/admin/orgs/{org_id}/rate-limits';
const operator = { kind: 'operator' } as const;

export function rateLimitRoutes({ db, ids, readLimitPerMinute }: RateLimitDependencies): Route[] {
  return [
    write({
      id: 'orgs.rate_limits.put',
      method: 'PUT',
      path,
      summary: 'Set the rate limits of an organization',
      description:
        'Replaces all rate limits. A policy that is left out is removed. A policy that keeps its name, kind, unit and ' +
        'match keeps its id, and its counters if the window stays the same.',
      access: operator,
      body: PutRateLimits,
      bodyLimitBytes: bodyLimits.lists,
      response: RateLimitsView,
      async handler({ params, body, now }, tx) {
        const change = await putRateLimits(tx, ids, now, params.org_id, body);
        return settingChanged('rate_limits', params.org_id, change, 'rate_limits.updated');
      },
    }),
    read({
      id: 'orgs.rate_limits.read',
      path,
      summary: 'Read the rate limits of an organization (operator)',
      access: operator,
      response: RateLimitsView,
      handler: ({ params }) => ofExistingOrg(db, params.org_id, readRateLimits(db, params.org_id)),
    }),
    read({
      id: 'rate_limit_policies.list',
      path: '/v1/orgs/{id}/rate-limit-policies',
      summary: "List the organization's rate-limit policies",
      access: { kind: 'org', scope: 'budgets:read', role: 'viewer' },
      query: RatePolicyFilters,
      response: OwnPoliciesView,
      async handler({ params, query }) {
        const { data, next_cursor } = await listPolicies(db, params.id, query);
        const ownReadRpm = await findReadRpm(db, params.id);
        return {
          data: data.map(viewPolicy),
          next_cursor,
          read_rpm: ownReadRpm ?? readLimitPerMinute ?? null,
        };
      },
    }),
  ];
}
