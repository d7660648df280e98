/**
 * Use of approvals by the ledger. They are locked, checked and counted in the transaction that admits a run. So an approval for one
 * use admits one run, even with concurrent runs, and a run that a later check denies does not use it up.
 */
import type { Permits } from '../../../ledger/postings/read-existing-records.ts';
import { type Appending, recordChange } from '../../compliance/audit/index.ts';
import { approvalChange } from './approvals.ts';
import { countUses, lockUsable } from './queries.ts';

export function createPermits(appending: Appending): Permits {
  return {
    async read(tx, orgId, approvalIds, atMs) {
      const usable = await lockUsable(tx, orgId, approvalIds, new Date(atMs));
      return new Map(
        usable.map(({ id, uses_left }) => [
          id,
          uses_left === null ? Number.POSITIVE_INFINITY : Number(uses_left),
        ]),
      );
    },
    async use(tx, posted) {
      for (const [approvalId, users] of byPermit(posted)) {
        const [first] = users;
        if (first === undefined) {
          continue;
        }
        const at = new Date(first.postedAtMs);
        const runIds = users.map(({ posting }) => posting.runId);
        const after = await countUses(tx, first.orgId, approvalId, runIds, at);
        if (after?.state === 'used') {
          const actor = { kind: 'key', id: first.scope.key_id, at } as const;
          const change = approvalChange({ after }, 'approval.used_up');
          await recordChange(tx, appending, actor, 'approvals.use_up', change);
        }
      }
    },
  };
}

type Users = Parameters<Permits['use']>[1];

function byPermit(posted: Users): Map<string, Users[number][]> {
  const users = new Map<string, Users[number][]>();
  for (const one of posted) {
    const permit = one.posting.permit ?? '';
    const others = users.get(permit);
    if (others === undefined) {
      users.set(permit, [one]);
    } else {
      others.push(one);
    }
  }
  return users;
}
