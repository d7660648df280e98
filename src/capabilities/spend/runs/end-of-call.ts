import type { Mark, Posting } from '../../../ledger/posting.ts';
import type { RunDraft } from './queries.ts';

/** The end of a call that this service has made. */
export interface EndOfCall {
  /** Set in addition to those of the ledger. */
  readonly marks: readonly Mark[];
  /** The provider's id of the response, if it sent one. */
  readonly responseId?: string | undefined;
  /** Set if the call cost nothing and may be repeated with its idempotency key. */
  readonly releasesKey?: true | undefined;
  /** The cost of tools that the price does not have. */
  readonly toolNanos?: bigint;
}

/** Returns the posting of a run with what is known of the end of its call. */
export function withEnd(
  posting: Posting<RunDraft>,
  { marks, responseId, releasesKey, toolNanos = 0n }: EndOfCall,
): Posting<RunDraft> {
  const named =
    responseId === undefined ? posting : { ...posting, run: { ...posting.run, response_id: responseId } };
  const marked = withTools(marks.length === 0 ? named : { ...named, marks }, toolNanos);
  return releasesKey === undefined ? marked : { ...marked, releasesKey };
}

/** Adds the cost of tools that the price does not have. */
export function withTools(posting: Posting<RunDraft>, toolNanos: bigint): Posting<RunDraft> {
  const { amounts } = posting;
  return toolNanos === 0n ? posting : { ...posting, amounts: { ...amounts, usd: amounts.usd + toolNanos } };
}
