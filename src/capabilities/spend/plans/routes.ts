import { found } from '../../../contract/api-error.ts';
import { ofExistingOrg } from '../../../ledger/limits/limit-changes.ts';
import type { Database } from '../../../platform/db/database.ts';
import { viewPage } from '../../../platform/http/routes/list.ts';
import { created, settingChanged } from '../../../platform/http/routes/outcomes.ts';
import { type Route, read, write } from '../../../platform/http/routes/route.ts';
import { page } from '../../../platform/http/routes/schemas.ts';
import type { Ids } from '../../../platform/ids.ts';
import { assignPlan, createPlan, readOrgPlan, viewPlan } from './plans.ts';
import { findPlan, listPlans } from './queries.ts';
import { CreatePlan, OrgPlanView, PlanFilters, PlanView, PutOrgPlan } from './schema.ts';

export interface PlanDependencies {
  readonly db: Database;
  readonly ids: Ids;
}

const operator = { kind: 'operator' } as const;

export function planRoutes({ db, ids }: PlanDependencies): Route[] {
  return [
    write({
      id: 'plans.create',
      method: 'POST',
      path: '/v1/admin/plans',
      summary: 'Create a plan',
      access: operator,
      body: CreatePlan,
      success: 201,
      response: PlanView,
      errors: ['conflict'],
      async handler({ body, now }, tx) {
        const plan = await createPlan(tx, ids, now, body);
        return created('plan', { ...plan, org_id: null }, viewPlan);
      },
    }),
    read({
      id: 'plans.list',
      path: '/v1/admin/plans',
      summary: 'List plans',
      access: operator,
      query: PlanFilters,
      response: page(PlanView),
      handler: ({ query }) => viewPage(listPlans(db, query), viewPlan),
    }),
    read({
      id: 'plans.read',
      path: '/v1/admin/plans/{plan_id}',
      summary: 'Read a plan',
      access: operator,
      response: PlanView,
      handler: async ({ params }) => viewPlan(found(await findPlan(db, params.plan_id))),
    }),
    write({
      id: 'orgs.plan.put',
      method: 'PUT',
      path: '/v1/admin/orgs/{org_id}/plan',
      summary: 'Assign a plan to an organization, or remove it',
      description: "This month's usage counts towards the new plan.",
      access: operator,
      body: PutOrgPlan,
      response: OrgPlanView,
      async handler({ params, body, now }, tx) {
        const change = await assignPlan(tx, ids, now, params.org_id, body.plan_id);
        return settingChanged('org_plan', params.org_id, change, 'plan.assigned');
      },
    }),
    read({
      id: 'orgs.plan.read',
      path: '/v1/admin/orgs/{org_id}/plan',
      summary: 'Read the plan of an organization (operator)',
      access: operator,
      response: OrgPlanView,
      handler: ({ params }) => ofExistingOrg(db, params.org_id, readOrgPlan(db, params.org_id)),
    }),
    read({
      id: 'plan.read',
      path: '/v1/orgs/{id}/plan',
      summary: "Read the organization's plan",
      access: { kind: 'org', scope: 'budgets:read', role: 'viewer' },
      response: OrgPlanView,
      handler: ({ params }) => readOrgPlan(db, params.id),
    }),
  ];
}
