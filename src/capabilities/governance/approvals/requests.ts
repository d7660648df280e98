/** Requests approvals. The same request returns the same approval until it is denied, used up or expired. */
import type { Database, Transaction } from '../../../platform/db/database.ts';
import type { Ids } from '../../../platform/ids.ts';
import { type Appending, recordChange } from '../../compliance/audit/index.ts';
import { approvalChange, pendingMs } from './approvals.ts';
import {
  type ApprovalRow,
  type ApprovalSubject,
  endOne,
  findLive,
  insertPending,
  selectApproved,
} from './queries.ts';

export interface ApprovalRequest extends ApprovalSubject {
  readonly ruleVersion: bigint;
  readonly ruleReason: string;
  readonly attempted: string;
}

export interface LiveApproval {
  readonly id: string;
  /** True if the approval was usable when it was read. The posting checks again. */
  readonly approved: boolean;
}

export interface Approvals {
  /** Returns the pending or approved approval, or creates a pending one. */
  request(request: ApprovalRequest, now: Date): Promise<LiveApproval>;
  /** Returns for each request whether a usable approval exists. Does not create any. */
  findApproved(orgId: string, requests: readonly ApprovalRequest[], now: Date): Promise<boolean[]>;
}

export function createApprovals({ db, ids, heads }: Appending & { readonly db: Database }): Approvals {
  const appending = { ids, heads };

  async function findOrCreate(
    tx: Transaction,
    request: ApprovalRequest,
    now: Date,
  ): Promise<ApprovalRow | undefined> {
    const existing = await findLive(tx, request, 'lock');
    if (existing !== undefined && isValid(existing, request, now)) {
      return existing;
    }
    const actor = { kind: 'key', id: request.keyId, at: now } as const;
    if (existing !== undefined) {
      const because = existing.expires_at <= now ? 'time' : 'rule_changed';
      for (const ended of await endOne(tx, existing, now, because)) {
        const change = approvalChange(ended, 'approval.expired');
        await recordChange(tx, appending, actor, 'approvals.expire', change);
      }
    }
    const created = await insertPending(tx, pendingRow(ids, request, now));
    if (created !== undefined) {
      const change = approvalChange({ after: created }, 'approval.requested');
      await recordChange(tx, appending, actor, 'approvals.request', change);
    }
    return created;
  }

  return {
    async findApproved(orgId, requests, now) {
      const approved = requests.length === 0 ? [] : await selectApproved(db, orgId, requests);
      return requests.map((request) =>
        approved.some(
          (row) =>
            row.rule_id === request.ruleId &&
            row.key_id === request.keyId &&
            row.model === request.model &&
            row.action === request.action &&
            isValid(row, request, now),
        ),
      );
    },
    async request(request, now) {
      for (;;) {
        const existing = await findLive(db, request);
        const live =
          existing !== undefined && isValid(existing, request, now)
            ? existing
            : await db.transaction((tx) => findOrCreate(tx, request, now));
        // `live` is undefined if a concurrent request was faster. The next iteration then finds its approval.
        if (live !== undefined) {
          return { id: live.id, approved: live.state === 'approved' };
        }
      }
    },
  };
}

/**
 * Returns true if an approval applies. One for an older rule version has ended. One for a newer version is valid, because this
 * process has not loaded that version yet.
 */
function isValid(row: ApprovalRow, { ruleVersion }: ApprovalRequest, now: Date): boolean {
  return row.expires_at > now && row.rule_version >= ruleVersion;
}

function pendingRow(ids: Ids, request: ApprovalRequest, now: Date): ApprovalRow {
  return {
    org_id: request.orgId,
    id: ids.next('apr'),
    state: 'pending',
    rule_id: request.ruleId,
    rule_version: request.ruleVersion,
    rule_reason: request.ruleReason,
    key_id: request.keyId,
    model: request.model,
    action: request.action,
    attempted: request.attempted,
    requested_at: now,
    expires_at: new Date(now.getTime() + pendingMs),
    decided_at: null,
    decided_by: null,
    decision_reason: null,
    uses: null,
    uses_left: null,
    uses_made: 0n,
    ended_at: null,
    ended_because: null,
  };
}
