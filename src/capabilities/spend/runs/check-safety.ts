/** The contents of runs: what the org's safety detectors say about them, before anything is counted, and whether they are kept. */
import { apiErrorWithDetails } from '../../../contract/api-error.ts';
import { decisionCounts } from '../../../ledger/metrics.ts';
import type { Posting } from '../../../ledger/posting.ts';
import type { Inspected, Safety } from '../../governance/safety/index.ts';
import { needsAdmission } from './drafts.ts';
import type { RunDraft } from './queries.ts';

/** What was said in each of some runs. */
export type Contents = readonly (string | undefined)[];

/** Most often nothing is, and then there is nothing to look at. */
export function hasContent(contents: Contents | undefined): contents is Contents {
  return contents?.some((content) => content !== undefined) === true;
}

/**
 * The postings, with those marked that a detector flagged. Refuses where one blocks; but what settles a decision or is
 * history has happened, so it is posted and flagged.
 */
export async function checkSafety(
  safety: Safety,
  orgId: string,
  postings: readonly Posting<RunDraft>[],
  { bulk, contents }: { readonly bulk: boolean; readonly contents: Contents },
): Promise<readonly Posting<RunDraft>[]> {
  const inspected = await safety.inspect(
    orgId,
    postings.map((posting, index) => {
      const content = contents[index];
      return content === undefined ? undefined : { content, mayBlock: needsAdmission(posting) };
    }),
  );
  const last = inspected.at(-1)?.blocked;
  if (last !== undefined) {
    decisionCounts.count('run', 'deny', 'content_safety_blocked');
    const { detector, detectorId, sample } = last;
    throw apiErrorWithDetails('content_safety_blocked', {
      detector,
      detector_id: detectorId,
      sample,
      ...(bulk && { run_index: inspected.length - 1 }),
    });
  }
  return postings.map((posting, index) => flagged(posting, inspected[index]));
}

function flagged(posting: Posting<RunDraft>, inspected: Inspected | undefined): Posting<RunDraft> {
  return inspected === undefined || inspected.flaggedBy.length === 0
    ? posting
    : { ...posting, run: { ...posting.run, flagged_by: inspected.flaggedBy } };
}

/** Where contents are kept, if they are. */
export interface KeptContents {
  areKept(orgId: string): boolean | Promise<boolean>;
  seal(orgId: string, runId: string, content: string): string;
  open(orgId: string, runId: string, sealed: string): string;
}

/** The postings with what is to be kept of their contents. */
export async function keepContents(
  kept: KeptContents,
  orgId: string,
  postings: readonly Posting<RunDraft>[],
  contents: Contents,
): Promise<readonly Posting<RunDraft>[]> {
  if (!(await kept.areKept(orgId))) {
    return postings;
  }
  return postings.map((posting, index) => {
    const content = contents[index];
    return content === undefined
      ? posting
      : {
          ...posting,
          run: { ...posting.run, content: kept.seal(orgId, posting.runId, content) },
        };
  });
}
