/** Approvals: a denied run requests one, another key decides, then it is used up or expires. */
import { apiError, found, invalidField } from '../../../contract/api-error.ts';
import type { EventType } from '../../../contract/events.ts';
import type { Transaction } from '../../../platform/db/database.ts';
import type { Caller } from '../../../platform/http/routes/access.ts';
import { changeOf } from '../../../platform/http/routes/outcomes.ts';
import type { Change } from '../../../platform/http/routes/route.ts';
import { isOwnRequest } from './own-request.ts';
import { type ApprovalRow, lockApproval, updateDecision } from './queries.ts';
import type { ApprovalView, Approve } from './schema.ts';

const dayMs = 86_400_000;
/** Lifetime of a pending approval. It is long enough for an approver to be away for a weekend. */
export const pendingMs = 7 * dayMs;
/** Lifetime of an approved approval without `until`. */
const unusedMs = 30 * dayMs;
const untilMaxMs = 366 * dayMs;

export function viewApproval(row: ApprovalRow): ApprovalView {
  return {
    id: row.id,
    state: row.state,
    rule_id: row.rule_id,
    rule_version: Number(row.rule_version),
    reason: row.rule_reason,
    attempted: row.attempted,
    key_id: row.key_id,
    model: row.model,
    action: row.action === '' ? null : row.action,
    requested_at: row.requested_at.toISOString(),
    expires_at: row.expires_at.toISOString(),
    decided_at: row.decided_at?.toISOString() ?? null,
    decided_by: row.decided_by,
    decision_reason: row.decision_reason,
    uses: row.uses === null ? null : Number(row.uses),
    uses_left: row.uses_left === null ? null : Number(row.uses_left),
    uses_made: Number(row.uses_made),
    ended_at: row.ended_at?.toISOString() ?? null,
    ended_because: row.ended_because,
  };
}

/** Returns the change of an approval for the audit log and for events. */
export function approvalChange(
  { before, after }: Partial<DecidedApproval> & Pick<DecidedApproval, 'after'>,
  event: EventType,
): Change {
  const views = { before: before && viewApproval(before), after: viewApproval(after) };
  return changeOf('approval', after, views, event);
}

export interface Decision {
  readonly caller: Caller;
  readonly now: Date;
  readonly approvalId: string;
}

interface DecidedApproval {
  readonly before: ApprovalRow;
  readonly after: ApprovalRow;
}

export async function approve(tx: Transaction, decision: Decision, body: Approve): Promise<DecidedApproval> {
  const { caller, now } = decision;
  const expiresAt = validUntil(body.until, now);
  const before = await lockPending(tx, decision);
  const uses = body.uses ?? (body.until === undefined ? 1 : null);
  const after: ApprovalRow = {
    ...before,
    state: 'approved',
    decided_at: now,
    decided_by: caller.keyId,
    decision_reason: body.reason ?? null,
    expires_at: expiresAt,
    uses: uses === null ? null : BigInt(uses),
    uses_left: uses === null ? null : BigInt(uses),
  };
  await updateDecision(tx, after);
  return { before, after };
}

export async function deny(
  tx: Transaction,
  decision: Decision,
  reason: string | undefined,
): Promise<DecidedApproval> {
  const { caller, now } = decision;
  const before = await lockPending(tx, decision);
  const after: ApprovalRow = {
    ...before,
    state: 'denied',
    decided_at: now,
    decided_by: caller.keyId,
    decision_reason: reason ?? null,
    ended_at: now,
  };
  await updateDecision(tx, after);
  return { before, after };
}

function validUntil(until: string | undefined, now: Date): Date {
  if (until === undefined) {
    return new Date(now.getTime() + unusedMs);
  }
  const at = new Date(until);
  if (at <= now) {
    throw invalidField('until', 'out_of_range', 'Must be in the future.');
  }
  if (at.getTime() > now.getTime() + untilMaxMs) {
    throw invalidField('until', 'out_of_range', 'Must be at most one year ahead.');
  }
  return at;
}

/** Locks the approval, so that the second of two concurrent decisions sees the first. */
async function lockPending(tx: Transaction, { caller, now, approvalId }: Decision): Promise<ApprovalRow> {
  const row = found(await lockApproval(tx, caller.tenantId, approvalId));
  if (await isOwnRequest(tx, caller.tenantId, row.key_id, caller.keyId)) {
    throw apiError('forbidden', 'You cannot decide on your own request. Use a different key.');
  }
  if (row.state !== 'pending') {
    throw apiError('conflict', `The approval is not pending: its state is \`${row.state}\`.`);
  }
  if (row.expires_at <= now) {
    throw apiError('conflict', 'The approval is not pending: it has expired.');
  }
  return row;
}
