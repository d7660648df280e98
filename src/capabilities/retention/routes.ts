import type { Database } from '../../platform/db/database.ts';
import { type Route, read, write } from '../../platform/http/route.ts';
import { page } from '../../platform/http/schemas.ts';
import { listRetentionRuns, putPolicy, viewPolicy, withProgress } from './policies.ts';
import { findPolicy } from './queries.ts';
import { PutRetentionPolicy, RetentionPolicyView, RetentionRunFilters, RetentionRunView } from './schema.ts';

const reader = { kind: 'org', scope: 'org:read', role: 'viewer' } as const;
const owner = { kind: 'org', scope: 'org:write', role: 'owner' } as const;

export function retentionRoutes({ db }: { readonly db: Database }): Route[] {
  return [
    read({
      id: 'retention_policy.read',
      path: '/v1/orgs/{id}/retention-policy',
      summary: 'Read how long things are kept',
      access: reader,
      response: RetentionPolicyView,
      async handler({ params }) {
        const policy = await findPolicy(db, params.id);
        return withProgress(db, params.id, viewPolicy(policy), policy?.failing_since ?? null);
      },
    }),
    write({
      id: 'retention_policy.put',
      method: 'PUT',
      path: '/v1/orgs/{id}/retention-policy',
      summary: 'Set how long things are kept',
      description:
        'What is left out is as if nobody had set it. Deleting begins within a minute and cannot be undone; sums, balances and ' +
        'limits stay right.',
      access: owner,
      body: PutRetentionPolicy,
      success: 200,
      response: RetentionPolicyView,
      async handler({ params, body, now }, tx) {
        const { before, after, failingSince } = await putPolicy(tx, params.id, body, now);
        return {
          body: await withProgress(tx, params.id, after, failingSince),
          changes: [
            {
              tenantId: params.id,
              target: { kind: 'retention_policy', id: params.id },
              before,
              after,
              event: 'org.retention_policy_updated',
            },
          ],
        };
      },
    }),
    read({
      id: 'retention_policy.runs.list',
      path: '/v1/orgs/{id}/retention-runs',
      summary: 'List what was deleted by the retention policy',
      access: reader,
      query: RetentionRunFilters,
      response: page(RetentionRunView),
      handler: ({ params, query }) => listRetentionRuns(db, params.id, query),
    }),
  ];
}
