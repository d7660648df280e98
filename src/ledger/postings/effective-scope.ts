/** Where a posting counts, once the hold that it settles has its say. */
import type { Scope } from '../../kernel/limits.ts';
import { isErased } from '../holds/customer-pseudonyms.ts';
import { type Hold, restoredHold } from '../holds/hold.ts';
import type { OrgLedgerState } from '../holds/org-ledger-state.ts';
import type { Posting } from '../posting.ts';
import { type ExistingRecords, recordKey } from './existing-records.ts';

/** What a posting is about, and the instant that it belongs to: its hold's, where it has one. */
export function effectiveScope(
  orgState: OrgLedgerState,
  posting: Posting,
  { ends }: ExistingRecords,
  nowMs: number,
): { scope: Scope; atMs: number } {
  const hold = holdOf(orgState, posting) ?? endedHold(ends, orgState.orgId, posting);
  return {
    scope: hold === undefined ? posting.scope : settledScope(hold, posting),
    atMs: hold?.admittedAtMs ?? posting.atMs ?? nowMs,
  };
}

function holdOf(orgState: OrgLedgerState, { kind, decisionId }: Posting): Hold | undefined {
  return decisionId === null || kind === 'open' ? undefined : orgState.holds.get(decisionId)?.hold;
}

function endedHold(
  ends: ExistingRecords['ends'],
  orgId: string,
  { kind, decisionId }: Posting,
): Hold | undefined {
  const end = decisionId === null || kind === 'open' ? undefined : ends.get(recordKey(orgId, decisionId));
  return end === undefined ? undefined : restoredHold(end.body);
}

/** What a limit can count by is the hold's to say; the rest is the run's, where the hold left it open. */
export function settledScope({ scope: held }: Hold, { scope: said }: Posting): Scope {
  return {
    ...held,
    provider: held.provider ?? said.provider,
    action: held.action ?? said.action,
    team: held.team ?? said.team,
    chain_id: held.chain_id ?? said.chain_id,
  };
}

const fixedByHold = ['model', 'workflow', 'deployment', 'department', 'customer_id'] as const;
const fixedIfSaid = ['provider', 'action', 'team', 'chain_id'] as const;

/** The first field in which a run says something else than the decision it names. */
export function contradiction({ scope: held }: Hold, { scope: said }: Posting): string | undefined {
  return (
    fixedByHold.find(
      (field) =>
        said[field] !== null &&
        said[field] !== held[field] &&
        // Whoever settles it does not know that the customer was erased meanwhile, and what it cost is a fact.
        !(field === 'customer_id' && isErased(held.customer_id)),
    ) ??
    fixedIfSaid.find(
      (field) =>
        said[field] !== null &&
        held[field] !== null &&
        said[field] !== held[field] &&
        !(field === 'chain_id' && isErased(held.customer_id)),
    )
  );
}
