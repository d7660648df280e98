/** The stored form of the models that deployments serve (`deployments.ts`). */
import { changeChannel } from '../../platform/db/change-channel.ts';
import type { Queryable, Transaction } from '../../platform/db/database.ts';

export const deploymentsChanged = changeChannel('gateway_deployments_changed');

export interface DeploymentModelRow {
  readonly connection_id: string;
  readonly deployment: string;
  readonly model: string;
  readonly seen_at: Date;
}

export function deploymentModelsOf(db: Queryable, orgId: string): Promise<DeploymentModelRow[]> {
  return db.query<DeploymentModelRow>(
    `SELECT connection_id, deployment, model, seen_at FROM gateway_deployment_models
     WHERE org_id = $1 ORDER BY connection_id, deployment, model`,
    [orgId],
  );
}

export interface Forgotten {
  /** Other models of this deployment are deleted if they were seen before. */
  readonly otherModelsBefore: Date;
  /** Deployments of the org are deleted if they were seen before. */
  readonly unusedBefore: Date;
}

export async function deleteForgotten(
  tx: Transaction,
  orgId: string,
  { connection_id, deployment }: DeploymentModelRow,
  { otherModelsBefore, unusedBefore }: Forgotten,
): Promise<void> {
  await tx.query(
    `DELETE FROM gateway_deployment_models
     WHERE org_id = $1 AND (seen_at < $2 OR (connection_id = $3 AND deployment = $4 AND seen_at < $5))`,
    [orgId, unusedBefore, connection_id, deployment, otherModelsBefore],
  );
}

/** Returns the number of other models, of all deployments of the org and of this one. */
export async function countOtherModels(
  tx: Transaction,
  orgId: string,
  { connection_id, deployment, model }: DeploymentModelRow,
): Promise<{ readonly ofOrg: number; readonly ofDeployment: number }> {
  const [row] = await tx.query<{ of_org: string; of_deployment: string }>(
    `SELECT count(*)::text AS of_org,
            count(*) FILTER (WHERE connection_id = $2 AND deployment = $3)::text AS of_deployment
     FROM gateway_deployment_models
     WHERE org_id = $1 AND NOT (connection_id = $2 AND deployment = $3 AND model = $4)`,
    [orgId, connection_id, deployment, model],
  );
  return { ofOrg: Number(row?.of_org ?? 0), ofDeployment: Number(row?.of_deployment ?? 0) };
}

/** Stores nothing for a removed org. */
export async function upsertDeploymentModel(
  tx: Transaction,
  orgId: string,
  { connection_id, deployment, model, seen_at }: DeploymentModelRow,
): Promise<void> {
  await tx.query(
    `INSERT INTO gateway_deployment_models AS stored (org_id, connection_id, deployment, model, seen_at)
     SELECT orgs.id, $2, $3, $4, $5 FROM orgs WHERE orgs.id = $1 AND orgs.removed_at IS NULL
     ON CONFLICT (org_id, connection_id, deployment, model) DO UPDATE SET
       seen_at = greatest(stored.seen_at, excluded.seen_at)`,
    [orgId, connection_id, deployment, model, seen_at],
  );
}
