/** Reconciles the ledger of every organization after a restore or a move. */
import { randomUUID } from 'node:crypto';
import { reconcile } from '../capabilities/insight/ledger/index.ts';
import type { RunDraft } from '../capabilities/spend/runs/index.ts';
import { createOrgLimits } from '../ledger/limits/org-limits.ts';
import { openLedger } from '../ledger/open-ledger.ts';
import type { Database } from '../platform/db/database.ts';
import { createIds } from '../platform/ids.ts';
import { createLog } from '../platform/log.ts';
import { systemClock } from '../platform/time/clock.ts';

export interface LedgerVerification {
  readonly orgs: number;
  readonly counters: number;
  readonly openHolds: number;
}

/** Verifies the ledger. `dataDir` contains the hold log of the embedded engine. Throws if an organization has drift. */
export async function verifyLedger(db: Database, dataDir: string): Promise<LedgerVerification> {
  const orgLimits = createOrgLimits(db);
  const notUsed = async (): Promise<never> => {
    throw new Error('this ledger is only read');
  };
  const ledger = await openLedger<RunDraft>({
    db,
    clock: systemClock,
    ids: createIds(systemClock),
    log: createLog('silent'),
    orgLimits,
    dataDir,
    durability: 'sync',
    processId: randomUUID(),
    processes: () => 1,
    holdsMax: Number.MAX_SAFE_INTEGER,
    writeRuns: notUsed,
    readPaid: notUsed,
    permits: { read: notUsed, use: notUsed },
    unsettledRuns: { postingsFor: notUsed, read: notUsed },
  });
  try {
    let counters = 0;
    let openHolds = 0;
    const orgs = await db.query<{ org_id: string }>('SELECT org_id FROM ledger_orgs ORDER BY org_id', []);
    for (const { org_id: orgId } of orgs) {
      // Reads the usage of all limits, which creates their counters. These are then compared with the entries and the open holds.
      const limits = await orgLimits.get(orgId);
      await ledger.reads.limitUsage(
        orgId,
        limits.all.map(({ id }) => id),
      );
      const { view } = await reconcile({ db, ledger: ledger.reads }, orgId, systemClock.now());
      if (!view.balanced) {
        throw new Error(`the ledger of ${orgId} does not balance: the difference is ${view.drift_usd} USD`);
      }
      counters += view.counters_checked;
      openHolds += (await ledger.reads.inspect(orgId, async () => undefined)).holds.length;
    }
    return { orgs: orgs.length, counters, openHolds };
  } finally {
    await ledger.close();
  }
}
