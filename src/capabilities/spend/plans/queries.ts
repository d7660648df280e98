import type { Queryable } from '../../../platform/db/database.ts';
import { tableOf } from '../../../platform/db/table.ts';
import { type PageOf, selectPage } from '../../../platform/http/routes/list.ts';
import { type PlanFilters, planSorts } from './schema.ts';

export interface PlanRow {
  readonly id: string;
  readonly name: string;
  /** Maximum number of runs per month; null: unlimited. */
  readonly monthly_runs: bigint | null;
  readonly monthly_tokens: bigint | null;
  readonly overage_policy: 'block' | 'allow';
  readonly created_at: Date;
}

const columns = 'id, name, monthly_runs, monthly_tokens, overage_policy, created_at';

const plans = tableOf<PlanRow>()('plans', { columns, key: ['id'] });
export const { find: findPlan } = plans;

/** Inserts a plan. Returns false if its name is taken. */
export async function insertPlan(tx: Queryable, plan: PlanRow): Promise<boolean> {
  const inserted = await tx.query(
    `INSERT INTO plans (${columns}) VALUES (${plans.placeholders}) ON CONFLICT (name) DO NOTHING RETURNING 1 AS one`,
    plans.valuesOf(plan),
  );
  return inserted.length > 0;
}

export async function listPlans(db: Queryable, query: PlanFilters): Promise<PageOf<PlanRow>> {
  return selectPage<PlanRow>(db, {
    select: `SELECT ${columns} FROM plans`,
    where: [['name = ?', query.name]],
    sorts: planSorts,
    defaultSort: '-created_at',
    query,
  });
}

export interface OrgPlanRow extends PlanRow {
  readonly assigned_at: Date;
}

export async function findOrgPlan(db: Queryable, orgId: string): Promise<OrgPlanRow | undefined> {
  const [row] = await db.query<OrgPlanRow>(
    `SELECT plans.*, assigned_at FROM org_plans JOIN plans ON plans.id = plan_id WHERE org_id = $1`,
    [orgId],
  );
  return row;
}

export async function upsertOrgPlan(tx: Queryable, orgId: string, planId: string, now: Date): Promise<void> {
  await tx.query(
    `INSERT INTO org_plans (org_id, plan_id, assigned_at) VALUES ($1, $2, $3)
     ON CONFLICT (org_id) DO UPDATE SET plan_id = excluded.plan_id, assigned_at = excluded.assigned_at`,
    [orgId, planId, now],
  );
}

export async function deleteOrgPlan(tx: Queryable, orgId: string): Promise<void> {
  await tx.query('DELETE FROM org_plans WHERE org_id = $1', [orgId]);
}
