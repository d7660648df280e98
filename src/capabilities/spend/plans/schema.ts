import { type Static, Type } from 'typebox';
import { countMax } from '../../../ledger/limits/limit-fields.ts';
import { listParameters } from '../../../platform/http/routes/list.ts';
import { choice, closed, id, name, nullable, timestamp } from '../../../platform/http/routes/schemas.ts';

const entitlement = nullable(
  Type.Integer({ minimum: 0, maximum: countMax, description: 'Per calendar month. Null: no limit.' }),
);
const overagePolicy = choice(
  ['block', 'allow'],
  '`block` denies runs that exceed the plan; `allow` only sends events.',
);

export const PlanView = closed({
  id,
  name: Type.String(),
  monthly_runs: entitlement,
  monthly_tokens: entitlement,
  overage_policy: overagePolicy,
  created_at: timestamp,
});
export type PlanView = Static<typeof PlanView>;

export const CreatePlan = closed({
  name,
  monthly_runs: Type.Optional(entitlement),
  monthly_tokens: Type.Optional(entitlement),
  overage_policy: overagePolicy,
});
export type CreatePlan = Static<typeof CreatePlan>;

export const planSorts = { created_at: 'timestamptz', name: 'text' } as const;
export const PlanFilters = listParameters(planSorts, {
  name: Type.Optional(Type.String({ minLength: 1, maxLength: 200 })),
});
export type PlanFilters = Static<typeof PlanFilters>;

export const OrgPlanView = closed({
  plan_id: nullable(Type.String({ description: 'Null: the organization has no plan and no plan limits.' })),
  plan: nullable(PlanView),
  assigned_at: nullable(timestamp),
});
export type OrgPlanView = Static<typeof OrgPlanView>;

export const PutOrgPlan = closed({
  plan_id: nullable(Type.String({ minLength: 1, maxLength: 100, description: 'Null removes the plan.' })),
});
