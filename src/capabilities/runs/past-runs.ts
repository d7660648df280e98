/** The last runs of an org, as policies would have looked at them. */
import type { Queryable } from '../../platform/db/database.ts';
import { rolesOf } from '../keys/index.ts';
import type { PastRun } from '../policies/index.ts';
import { latestRuns } from './queries.ts';

/** What a run that still goes on will cost is not known, so it counts as nothing. */
export async function lastRuns(db: Queryable, orgId: string, limit: number): Promise<PastRun[]> {
  const runs = await latestRuns(db, orgId, limit);
  const roles = await rolesOf(db, orgId, [...new Set(runs.map(({ key_id }) => key_id))]);
  return runs.map((run) => ({
    runId: run.id,
    chargedAt: run.charged_at,
    attempt: {
      model: run.model,
      provider: run.provider,
      action: run.action,
      workflow: run.workflow,
      deployment: run.deployment,
      department: run.department,
      team: run.team,
      customer_id: run.customer_id,
      key_id: run.key_id,
      role: roles.get(run.key_id) ?? '',
      costNanos: run.cost_nanos ?? 0n,
      inputTokens: run.input_tokens,
      outputTokens: run.output_tokens,
      tags: run.tags,
      metadata: run.metadata,
      atMs: run.charged_at.getTime(),
    },
  }));
}
