/** Loads the latest runs of an org in the form of attempts that policies check, for simulations. */
import type { Amounts } from '../../../kernel/limits.ts';
import { restoredHold } from '../../../ledger/holds/hold.ts';
import type { LedgerReads } from '../../../ledger/ledger.ts';
import { findEnds } from '../../../ledger/postings/ledger-writes.ts';
import type { Queryable } from '../../../platform/db/database.ts';
import { rolesOf } from '../../access/keys/index.ts';
import { attemptFrom, type SimulatedRun } from '../../governance/policies/index.ts';
import { latestRuns } from './queries.ts';

interface PastRunDependencies {
  readonly db: Queryable;
  readonly ledger: Pick<LedgerReads, 'findHold'>;
}

export async function lastRuns(
  { db, ledger }: PastRunDependencies,
  orgId: string,
  limit: number,
): Promise<SimulatedRun[]> {
  const runs = await latestRuns(db, orgId, limit);
  const roles = await rolesOf(db, orgId, [...new Set(runs.map(({ key_id }) => key_id))]);
  const held = await heldAmounts(
    { db, ledger },
    orgId,
    runs.flatMap(({ status, decision_id }) => (status === 'running' ? (decision_id ?? []) : [])),
  );
  return runs.map((run) => {
    const estimate = run.status === 'running' ? held.get(run.decision_id ?? '') : undefined;
    return {
      runId: run.id,
      chargedAt: run.charged_at,
      attempt: attemptFrom(run, {
        model: run.model,
        key_id: run.key_id,
        role: roles.get(run.key_id) ?? '',
        costNanos: run.cost_nanos ?? estimate?.usd ?? 0n,
        inputTokens: run.input_tokens,
        outputTokens: estimate === undefined ? run.output_tokens : estimate.tokens - run.input_tokens,
        tags: run.tags,
        metadata: run.metadata,
        atMs: run.charged_at.getTime(),
      }),
    };
  });
}

/** Returns the amounts that were held when running runs were admitted, even if the holds have expired since. */
async function heldAmounts(
  { db, ledger }: PastRunDependencies,
  orgId: string,
  decisionIds: readonly string[],
): Promise<ReadonlyMap<string, Amounts>> {
  const held = new Map<string, Amounts>();
  for (const id of decisionIds) {
    const hold = await ledger.findHold(orgId, id);
    if (hold !== undefined) {
      held.set(id, hold.amounts);
    }
  }
  const ended = decisionIds.filter((id) => !held.has(id));
  for (const { hold_id, body } of await findEnds(db, [orgId], ended)) {
    held.set(hold_id, restoredHold(body).amounts);
  }
  return held;
}
