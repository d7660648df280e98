/**
 * Runs of holds that expired without a settlement, in orgs that post the held amount. The ledger knows neither the content of these
 * runs nor their storage, so it gets these functions.
 */
import type { Transaction } from '../../platform/db/database.ts';
import type { Hold } from '../holds/hold.ts';
import type { Posting } from '../posting.ts';
import { type ExistingRecords, recordKey, type UnsettledRun } from './existing-records.ts';

export interface UnsettledRuns<Run> {
  /**
   * Returns a posting of kind `expire` for each of these holds of one org. Its run is the run in progress under the hold, or else a
   * new run.
   */
  postingsFor(tx: Transaction, orgId: string, holds: readonly Hold[]): Promise<Posting<Run>[]>;
  /** Returns those of the runs that were posted at the held amount and are not settled yet. */
  read(tx: Transaction, orgId: string, runIds: readonly string[]): Promise<UnsettledRun<Run>[]>;
}

/** Returns the unsettled run that belongs to the decision of a posting. */
export function unsettledRunOf(
  { ends, unsettled }: Pick<ExistingRecords, 'ends' | 'unsettled'>,
  orgId: string,
  { kind, runId, decisionId }: Pick<Posting, 'kind' | 'runId' | 'decisionId'>,
): UnsettledRun | undefined {
  // The end of a hold is deleted after some days. From then on, a run in progress is found by its own id.
  const end = ends.get(recordKey(orgId, decisionId ?? ''));
  const unsettledId = end?.run_id ?? (kind === 'complete' ? runId : null);
  return unsettledId === null ? undefined : unsettled.get(recordKey(orgId, unsettledId));
}
