/** Imports holds that were taken while the ledger was unavailable. */
import { type ApplicableCounters, type Counter, reserve } from '../../kernel/admission.ts';
import type { Amounts, Unit } from '../../kernel/limits.ts';
import { maxNanos } from '../../kernel/money.ts';
import type { Transaction } from '../../platform/db/database.ts';
import type { Hold } from './hold.ts';
import type { OpenHold, OrgLedgerState } from './org-ledger-state.ts';

export interface HoldImport {
  readonly orgId: string;
  readonly holds: readonly Hold[];
  /**
   * Records the import if any hold was added. On PostgreSQL it runs in the transaction that adds the holds. On the embedded engine
   * it runs in a separate one, because the holds are not in the database.
   */
  record?(tx: Transaction, added: readonly AddedHold[]): Promise<void>;
}

export interface AddedHold {
  /** The hold as it was added. */
  readonly hold: Hold;
  /** True if less than the decided amount is held, because a counter cannot hold more. */
  readonly reduced: boolean;
}

export type ImportedHold =
  | ({ readonly kind: 'added' } & AddedHold)
  /** The hold exists already, or has ended. */
  | { readonly kind: 'existing' };

/**
 * Adds the hold to the org state. Amounts that would push a counter beyond the largest amount are reduced: such a decision must
 * neither fail the import nor be dropped, because its run must still find it.
 */
export function addImportedHold(
  orgState: OrgLedgerState,
  imported: Hold,
  { shares }: ApplicableCounters,
): { readonly open: OpenHold; readonly added: AddedHold } {
  const amounts = storableAmounts(orgState, { ...imported, shares });
  const hold: Hold = { ...imported, shares, amounts };
  reserve(orgState.counters, hold);
  return {
    open: orgState.addHold(hold),
    added: {
      hold,
      reduced: (Object.keys(amounts) as Unit[]).some((unit) => amounts[unit] < imported.amounts[unit]),
    },
  };
}

function storableAmounts({ counters }: OrgLedgerState, { shares, amounts }: Hold): Amounts {
  const storable = { ...amounts };
  for (const { key, unit } of shares) {
    const { settled, held } = counters.get(key) as Counter;
    const room = maxNanos - settled - held;
    if (storable[unit] > room) {
      storable[unit] = room > 0n ? room : 0n;
    }
  }
  return storable;
}
