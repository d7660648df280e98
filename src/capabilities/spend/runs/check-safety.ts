/** Checks the content of runs with the org's safety detectors, after rate limits and policies and before the ledger. */
import { apiErrorWithDetails } from '../../../contract/api-error.ts';
import { decisionCounts } from '../../../ledger/metrics.ts';
import { needsAdmission, type Posting } from '../../../ledger/posting.ts';
import type { Inspected, Safety } from '../../governance/safety/index.ts';
import type { PostingContents } from './content-storage.ts';
import type { RunDraft } from './queries.ts';

/**
 * Returns the postings, with marks on those that a detector flagged. Throws `content_safety_blocked` if a detector blocks one. Runs
 * that settle a decision and backfilled runs are never blocked, only flagged, because they have already happened.
 */
export async function checkSafety(
  safety: Safety,
  orgId: string,
  postings: readonly Posting<RunDraft>[],
  { bulk, contents }: { readonly bulk: boolean; readonly contents: PostingContents },
): Promise<readonly Posting<RunDraft>[]> {
  const inspected = await safety.inspect(
    orgId,
    postings.map((posting, index) => {
      const content = contents[index];
      return content === undefined ? undefined : { content, mayBlock: needsAdmission(posting) };
    }),
  );
  // The inspection stops at the first blocked content, so that is the last one.
  const blocked = inspected.at(-1)?.blocked;
  if (blocked !== undefined) {
    decisionCounts.count('run', 'deny', 'content_safety_blocked');
    const { detector, detectorId, sample } = blocked;
    throw apiErrorWithDetails('content_safety_blocked', {
      detector,
      detector_id: detectorId,
      sample,
      ...(bulk && { run_index: inspected.length - 1 }),
    });
  }
  return postings.map((posting, index) => withFlags(posting, inspected[index]));
}

function withFlags(posting: Posting<RunDraft>, inspected: Inspected | undefined): Posting<RunDraft> {
  return inspected === undefined || inspected.flaggedBy.length === 0
    ? posting
    : { ...posting, run: { ...posting.run, flagged_by: inspected.flaggedBy } };
}
