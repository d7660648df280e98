import { found } from '../../../contract/api-error.ts';
import type { Queryable } from '../../../platform/db/database.ts';
import { findCallInProgress, runOfCall } from './calls-in-progress.ts';
import type { RunDependencies } from './dependencies.ts';
import { findRun, type RunRow } from './queries.ts';
import type { RunView } from './schema.ts';
import { viewRun, viewStored } from './view.ts';

/** Returns a run with its content and, while it is running, its hold. */
export async function readRun(
  { db, ledger, contents }: Pick<RunDependencies, 'db' | 'ledger' | 'contents'>,
  orgId: string,
  runId: string,
): Promise<RunView> {
  const run = await findRun(db, orgId, runId);
  if (run === undefined) {
    const call = found(await findCallInProgress(ledger.reads, orgId, runId));
    return viewRun(runOfCall(call, runId), { hold: call });
  }
  const hold =
    run.status === 'running' && run.decision_id !== null
      ? await ledger.reads.findHold(orgId, run.decision_id)
      : undefined;
  const content = run.content === null ? null : contents.decrypt(orgId, run.id, run.content);
  return { ...(await viewStored(db, run, hold)), content };
}

/** Returns true if the org has the run. A call in progress counts too. */
export async function ownsRun(
  { db, ledger }: Pick<RunDependencies, 'db' | 'ledger'>,
  orgId: string,
  runId: string,
): Promise<boolean> {
  return (
    (await findRun(db, orgId, runId)) !== undefined ||
    (await findCallInProgress(ledger.reads, orgId, runId)) !== undefined
  );
}

export async function requireRun(db: Queryable, orgId: string, runId: string): Promise<RunRow> {
  return found(await findRun(db, orgId, runId));
}
