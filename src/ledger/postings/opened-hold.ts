import type { Reservation } from '../../kernel/admission.ts';
import type { Hold } from '../holds/hold.ts';
import type { Posting } from '../posting.ts';

/** Returns the hold of a new run in progress. */
export function openedHold(
  orgId: string,
  posting: Posting,
  { amounts, shares, packs }: Reservation,
  nowMs: number,
): Hold {
  return {
    id: posting.decisionId ?? posting.runId,
    orgId,
    runId: posting.runId,
    surface: 'run',
    scope: posting.scope,
    amounts,
    admittedAtMs: nowMs,
    expiresAtMs: nowMs + posting.holdSeconds * 1_000,
    shares,
    packs,
    priceVersion: posting.priceVersion,
    ...(posting.service !== undefined && { service: posting.service }),
    idempotency: null,
    ...(posting.postIfUnsettled === true && { postIfUnsettled: true }),
  };
}
