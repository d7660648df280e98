/** Plans: monthly allowances of an org. Assigning a plan creates the limits that the ledger enforces. */
import { apiError, invalidField } from '../../../contract/api-error.ts';
import { endOnlyLimit, lockOrgLimits, putOnlyLimit } from '../../../ledger/limits/limit-changes.ts';
import type { Queryable, Transaction } from '../../../platform/db/database.ts';
import type { Ids } from '../../../platform/ids.ts';
import {
  deleteOrgPlan,
  findOrgPlan,
  findPlan,
  insertPlan,
  type OrgPlanRow,
  type PlanRow,
  upsertOrgPlan,
} from './queries.ts';
import type { CreatePlan, OrgPlanView, PlanView } from './schema.ts';

/** Percentages of a plan at which an event is emitted. */
const planThresholds: readonly number[] = [80, 100];

export function viewPlan(plan: PlanRow): PlanView {
  return {
    id: plan.id,
    name: plan.name,
    monthly_runs: plan.monthly_runs === null ? null : Number(plan.monthly_runs),
    monthly_tokens: plan.monthly_tokens === null ? null : Number(plan.monthly_tokens),
    overage_policy: plan.overage_policy,
    created_at: plan.created_at.toISOString(),
  };
}

export async function readOrgPlan(db: Queryable, orgId: string): Promise<OrgPlanView> {
  return viewOrgPlan(await findOrgPlan(db, orgId));
}

function viewOrgPlan(assigned: OrgPlanRow | undefined): OrgPlanView {
  return assigned === undefined
    ? { plan_id: null, plan: null, assigned_at: null }
    : { plan_id: assigned.id, plan: viewPlan(assigned), assigned_at: assigned.assigned_at.toISOString() };
}

export async function createPlan(
  tx: Transaction,
  ids: Ids,
  now: Date,
  { name, monthly_runs = null, monthly_tokens = null, overage_policy }: CreatePlan,
): Promise<PlanRow> {
  const plan: PlanRow = {
    id: ids.next('pln'),
    name,
    monthly_runs: monthly_runs === null ? null : BigInt(monthly_runs),
    monthly_tokens: monthly_tokens === null ? null : BigInt(monthly_tokens),
    overage_policy,
    created_at: now,
  };
  if (!(await insertPlan(tx, plan))) {
    throw apiError('conflict', 'A plan with this name already exists.');
  }
  return plan;
}

export interface OrgPlanChange {
  readonly before: OrgPlanView;
  readonly after: OrgPlanView;
}

/** Assigns a plan; a `planId` of null removes it. */
export async function assignPlan(
  tx: Transaction,
  ids: Ids,
  now: Date,
  orgId: string,
  planId: string | null,
): Promise<OrgPlanChange> {
  await lockOrgLimits(tx, orgId);
  const before = await readOrgPlan(tx, orgId);
  const plan = planId === null ? undefined : await findPlan(tx, planId);
  if (planId !== null && plan === undefined) {
    throw invalidField('plan_id', 'invalid_value', 'This plan does not exist.');
  }
  if (plan === undefined) {
    await deleteOrgPlan(tx, orgId);
  } else {
    await upsertOrgPlan(tx, orgId, plan.id, now);
  }
  await putEntitlement(tx, ids, now, orgId, { kind: 'plan_runs', plan, capacity: plan?.monthly_runs });
  await putEntitlement(tx, ids, now, orgId, { kind: 'plan_tokens', plan, capacity: plan?.monthly_tokens });
  return { before, after: await readOrgPlan(tx, orgId) };
}

interface Entitlement {
  readonly kind: 'plan_runs' | 'plan_tokens';
  readonly plan: PlanRow | undefined;
  readonly capacity: bigint | null | undefined;
}

/** Stores the limit of a plan. An existing limit keeps its id, and with it this month's usage. */
async function putEntitlement(
  tx: Transaction,
  ids: Ids,
  now: Date,
  orgId: string,
  { kind, plan, capacity }: Entitlement,
): Promise<void> {
  if (plan === undefined || capacity == null) {
    await endOnlyLimit(tx, now, orgId, kind);
    return;
  }
  await putOnlyLimit(tx, ids, now, orgId, {
    kind,
    prefix: 'plm',
    wanted: {
      unit: kind === 'plan_runs' ? 'requests' : 'tokens',
      period: 'month',
      capacity,
      enforcement: plan.overage_policy === 'block' ? 'block' : 'alert',
      alert_thresholds: planThresholds,
    },
  });
}
