/** Records the import of fail-open decisions in the audit log of the org, and as an event. */
import { type Appending, recordChange } from '../capabilities/compliance/audit/index.ts';
import { formatUsd } from '../kernel/money.ts';
import type { HoldImport } from '../ledger/holds/hold-import.ts';
import { agreedNow } from '../platform/db/agreed-now.ts';
import type { SharedClock } from '../platform/time/clock.ts';

export interface FailOpenRecordDependencies extends Appending {
  readonly clock: SharedClock;
}

export function recordFailOpenImport({
  ids,
  heads,
  clock,
}: FailOpenRecordDependencies): (orgId: string) => NonNullable<HoldImport['record']> {
  return (orgId) => async (tx, added) => {
    const at = await agreedNow(tx, clock);
    const times = added.map(({ hold }) => hold.admittedAtMs);
    const after = {
      decisions: added.length,
      held_usd: formatUsd(added.reduce((sum, { hold }) => sum + hold.amounts.usd, 0n)),
      reduced: added.filter(({ reduced }) => reduced).length,
      first_decided_at: new Date(Math.min(...times)).toISOString(),
      last_decided_at: new Date(Math.max(...times)).toISOString(),
    };
    await recordChange(tx, { ids, heads }, { kind: 'service', id: 'edge', at }, 'edge.import_decisions', {
      tenantId: orgId,
      target: { kind: 'decision', id: added[0]?.hold.id ?? '' },
      after,
      event: 'edge.decisions_imported',
    });
  };
}
