/** What a start finds in the log of holds: those that did not end before the process did. */
import type { Database } from '../../platform/db/database.ts';
import type { Hold } from '../holds/hold.ts';
import { findEnds } from '../postings/ledger-writes.ts';
import type { HoldLog, LoggedHold } from './hold-log.ts';

/** In the order of their admission. The log forgets the others. */
export async function restoreHolds(db: Database, holdLog: HoldLog): Promise<LoggedHold[]> {
  const restored = holdLog.restore();
  const alive: LoggedHold[] = [];
  const batch = 5_000;
  for (let at = 0; at < restored.length; at += batch) {
    const some = restored.slice(at, at + batch);
    const ends = await findEnds(
      db,
      [...new Set(some.map(({ hold }) => hold.orgId))],
      some.map(({ hold }) => hold.id),
    );
    const ended = new Set(ends.map(({ hold_id }) => hold_id));
    const runs = await findRuns(
      db,
      some.map(({ hold }) => hold).filter(({ runId }) => runId !== null),
    );
    // The hold of a run is logged before the run is committed: where that did not happen nothing is held.
    const isAlive = ({ hold: { id, runId } }: LoggedHold) =>
      !ended.has(id) && (runId === null || runs.has(runId));
    alive.push(...some.filter(isAlive));
    holdLog.forget(some.filter((logged) => !isAlive(logged)).map(({ place }) => place));
  }
  return alive.sort((a, b) => a.hold.admittedAtMs - b.hold.admittedAtMs);
}

async function findRuns(db: Database, holds: readonly Hold[]): Promise<Set<string>> {
  const rows =
    holds.length === 0
      ? []
      : await db.query<{ run_id: string }>(
          'SELECT run_id FROM run_identities WHERE org_id = ANY($1) AND run_id = ANY($2)',
          [[...new Set(holds.map(({ orgId }) => orgId))], holds.map(({ runId }) => runId)],
        );
  return new Set(rows.map(({ run_id }) => run_id));
}
