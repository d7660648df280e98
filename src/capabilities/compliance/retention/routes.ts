import type { Database } from '../../../platform/db/database.ts';
import { changeOf } from '../../../platform/http/routes/outcomes.ts';
import { type Route, read, write } from '../../../platform/http/routes/route.ts';
import { page } from '../../../platform/http/routes/schemas.ts';
import { findProgress, listRetentionRuns, putPolicy, viewPolicy } from './policies.ts';
import { findPolicy } from './queries.ts';
import {
  OperatorsRetentionView,
  PutOperatorsRetention,
  PutRetentionPolicy,
  RetentionPolicyView,
  RetentionRunFilters,
  RetentionRunView,
} from './schema.ts';

const operator = { kind: 'operator' } as const;
const reader = { kind: 'org', scope: 'org:read', role: 'viewer' } as const;
const owner = { kind: 'org', scope: 'org:write', role: 'owner' } as const;

interface RetentionRouteDependencies {
  readonly db: Database;
}

export function retentionRoutes(deps: RetentionRouteDependencies): Route[] {
  return [...orgRoutes(deps), ...operatorRoutes(deps)];
}

function orgRoutes({ db }: RetentionRouteDependencies): Route[] {
  return [
    read({
      id: 'retention_policy.read',
      path: '/v1/orgs/{id}/retention-policy',
      summary: 'Get the retention policy',
      access: reader,
      response: RetentionPolicyView,
      async handler({ params }) {
        const policy = await findPolicy(db, params.id);
        return { ...viewPolicy(policy), ...(await findProgress(db, params.id, policy)) };
      },
    }),
    write({
      id: 'retention_policy.put',
      method: 'PUT',
      path: '/v1/orgs/{id}/retention-policy',
      summary: 'Set the retention policy',
      description:
        'Omitted fields get their default. Deletion starts within a minute and cannot be undone; sums, balances ' +
        'and limits stay correct.',
      access: owner,
      body: PutRetentionPolicy,
      response: RetentionPolicyView,
      unversionedFields: ['failing_since', 'failing', 'last_run'],
      async handler({ params, body, now }, tx) {
        const { progress, ...views } = await putPolicy(tx, params.id, body, now);
        const change = changeOf('retention_policy', params.id, views, 'org.retention_policy_updated');
        return { body: { ...views.after, ...progress }, changes: [change] };
      },
    }),
    read({
      id: 'retention_policy.runs.list',
      path: '/v1/orgs/{id}/retention-runs',
      summary: 'List deletions under the retention policy',
      access: reader,
      query: RetentionRunFilters,
      response: page(RetentionRunView),
      handler: ({ params, query }) => listRetentionRuns(db, params.id, query),
    }),
  ];
}

/** Routes for the platform's audit log, which has a retention policy like that of an org, with audit entries only. */
function operatorRoutes({ db }: RetentionRouteDependencies): Route[] {
  return [
    read({
      id: 'platform_retention.read',
      path: '/v1/admin/retention-policy',
      summary: "Get the retention policy of the operators' audit log",
      access: operator,
      response: OperatorsRetentionView,
      async handler({ caller }) {
        const policy = await findPolicy(db, caller.tenantId);
        return { ...viewOperators(viewPolicy(policy)), ...(await findProgress(db, caller.tenantId, policy)) };
      },
    }),
    write({
      id: 'platform_retention.put',
      method: 'PUT',
      path: '/v1/admin/retention-policy',
      summary: "Set the retention policy of the operators' audit log",
      description: 'If omitted, the log is kept for ever. Deletions are recorded in the log itself.',
      access: operator,
      body: PutOperatorsRetention,
      response: OperatorsRetentionView,
      unversionedFields: ['failing_since', 'failing', 'last_run'],
      async handler({ caller, body, now }, tx) {
        const { before, after, progress } = await putPolicy(tx, caller.tenantId, body, now);
        const views = { before: viewOperators(before), after: viewOperators(after) };
        const change = changeOf('retention_policy', caller.tenantId, views);
        return { body: { ...views.after, ...progress }, changes: [change] };
      },
    }),
  ];
}

function viewOperators({ audit_days, legal_hold, updated_at }: ReturnType<typeof viewPolicy>) {
  return { audit_days, legal_hold, updated_at };
}
