/** The contents of runs: what the org's safety detectors say about them, before anything is counted, and whether they are kept. */
import { refuseWith } from '../../../contract/refusal.ts';
import { decisionCounts } from '../../../ledger/metrics.ts';
import type { Booking } from '../../../ledger/posting.ts';
import type { Inspected, Safety } from '../../governance/safety/index.ts';
import { isDecided } from './drafts.ts';
import type { RunDraft } from './queries.ts';

/** What was said in each of some runs. */
export type Contents = readonly (string | undefined)[];

/** Most often nothing is, and then there is nothing to look at. */
export function isAnythingSaid(contents: Contents | undefined): contents is Contents {
  return contents?.some((content) => content !== undefined) === true;
}

/**
 * The bookings, with those marked that a detector flagged. Refuses where one blocks; but what settles a decision or is
 * history has happened, so it is booked and flagged.
 */
export async function passSafety(
  safety: Safety,
  orgId: string,
  bookings: readonly Booking<RunDraft>[],
  { bulk, contents }: { readonly bulk: boolean; readonly contents: Contents },
): Promise<readonly Booking<RunDraft>[]> {
  const inspected = await safety.inspect(
    orgId,
    bookings.map((booking, index) => {
      const content = contents[index];
      return content === undefined ? undefined : { content, mayBlock: isDecided(booking) };
    }),
  );
  const last = inspected.at(-1)?.blocked;
  if (last !== undefined) {
    decisionCounts.count('run', 'deny', 'content_safety_blocked');
    const { detector, detectorId, sample } = last;
    throw refuseWith('content_safety_blocked', {
      detector,
      detector_id: detectorId,
      sample,
      ...(bulk && { run_index: inspected.length - 1 }),
    });
  }
  return bookings.map((booking, index) => flagged(booking, inspected[index]));
}

function flagged(booking: Booking<RunDraft>, inspected: Inspected | undefined): Booking<RunDraft> {
  return inspected === undefined || inspected.flaggedBy.length === 0
    ? booking
    : { ...booking, run: { ...booking.run, flagged_by: inspected.flaggedBy } };
}

/** Where contents are kept, if they are. */
export interface KeptContents {
  areKept(orgId: string): boolean | Promise<boolean>;
  seal(orgId: string, runId: string, content: string): string;
  open(orgId: string, runId: string, sealed: string): string;
}

/** The bookings with what is to be kept of their contents. */
export async function keepContents(
  kept: KeptContents,
  orgId: string,
  bookings: readonly Booking<RunDraft>[],
  contents: Contents,
): Promise<readonly Booking<RunDraft>[]> {
  if (!(await kept.areKept(orgId))) {
    return bookings;
  }
  return bookings.map((booking, index) => {
    const content = contents[index];
    return content === undefined
      ? booking
      : {
          ...booking,
          run: { ...booking.run, content: kept.seal(orgId, booking.runId, content) },
        };
  });
}
