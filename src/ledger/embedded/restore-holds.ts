/** Restores the holds that were open when the previous process ended. */
import type { Database } from '../../platform/db/database.ts';
import type { Hold } from '../holds/hold.ts';
import { findEnds } from '../postings/ledger-writes.ts';
import type { HoldLog, LoggedHold } from './hold-log.ts';

/** Returns the open holds in the order of their admission. Removes all others from the log. */
export async function restoreHolds(db: Database, holdLog: HoldLog): Promise<LoggedHold[]> {
  const restored = holdLog.restore();
  const open: LoggedHold[] = [];
  const holdsPerQuery = 5_000;
  for (let at = 0; at < restored.length; at += holdsPerQuery) {
    const chunk = restored.slice(at, at + holdsPerQuery);
    const ends = await findEnds(
      db,
      [...new Set(chunk.map(({ hold }) => hold.orgId))],
      chunk.map(({ hold }) => hold.id),
    );
    const ended = new Set(ends.map(({ hold_id }) => hold_id));
    const runs = await findRuns(
      db,
      chunk.map(({ hold }) => hold).filter(({ runId }) => runId !== null),
    );
    // The hold of a run is logged before the run is committed. If the run is missing, the hold is dropped.
    const isOpen = ({ hold: { id, runId } }: LoggedHold) =>
      !ended.has(id) && (runId === null || runs.has(runId));
    open.push(...chunk.filter(isOpen));
    holdLog.remove(chunk.filter((logged) => !isOpen(logged)).map(({ location }) => location));
  }
  return open.sort((a, b) => a.hold.admittedAtMs - b.hold.admittedAtMs);
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
