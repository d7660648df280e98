/** Asking for an approval: whoever asks for the same gets the same one, until it is decided, used up or over. */
import type { Database, Transaction } from '../../../platform/db/database.ts';
import type { Ids } from '../../../platform/ids.ts';
import { type Appending, recordChange } from '../../compliance/audit/index.ts';
import { approvalChange, pendingMs } from './approvals.ts';
import { type ApprovalRow, type Asked, endOne, findLive, insertPending, selectApproved } from './queries.ts';

export interface ApprovalRequest extends Asked {
  readonly ruleVersion: bigint;
  readonly ruleReason: string;
  readonly attempted: string;
}

export interface LiveApproval {
  readonly id: string;
  /** It may be used; whether it still may when it is, the posting finds out. */
  readonly approved: boolean;
}

export interface Approvals {
  /** Finds the one that is waiting or approved, or asks for one. */
  request(request: ApprovalRequest, now: Date): Promise<LiveApproval>;
  /** Whether each could be used now. Asks for none. All of them are of one org. */
  findApproved(orgId: string, requests: readonly ApprovalRequest[], now: Date): Promise<boolean[]>;
}

export function createApprovals({ db, ids, heads }: Appending & { readonly db: Database }): Approvals {
  const appending = { ids, heads };

  async function ask(tx: Transaction, request: ApprovalRequest, now: Date): Promise<ApprovalRow | undefined> {
    const there = await findLive(tx, request, 'lock');
    if (there !== undefined && isGood(there, request, now)) {
      return there;
    }
    const actor = { kind: 'key', id: request.keyId, at: now } as const;
    if (there !== undefined) {
      const because = there.expires_at <= now ? 'time' : 'rule_changed';
      for (const { before, after } of await endOne(tx, there, now, because)) {
        const change = approvalChange(after, { before, event: 'approval.expired' });
        await recordChange(tx, appending, actor, 'approvals.expire', change);
      }
    }
    const made = await insertPending(tx, pendingRow(ids, request, now));
    if (made !== undefined) {
      const change = approvalChange(made, { event: 'approval.requested' });
      await recordChange(tx, appending, actor, 'approvals.request', change);
    }
    return made;
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
            isGood(row, request, now),
        ),
      );
    },
    async request(request, now) {
      for (;;) {
        const there = await findLive(db, request);
        const live =
          there !== undefined && isGood(there, request, now)
            ? there
            : await db.transaction((tx) => ask(tx, request, now));
        // Where somebody else was faster, theirs is found the next time round.
        if (live !== undefined) {
          return { id: live.id, approved: live.state === 'approved' };
        }
      }
    },
  };
}

/** One of an older rule is over. One of a newer rule is good: then it is the asking process that has not heard of it yet. */
function isGood(row: ApprovalRow, { ruleVersion }: ApprovalRequest, now: Date): boolean {
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
