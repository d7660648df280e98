/** Reads of the ledger on PostgreSQL. Only `inspect` locks the org. */
import type { LimitWindow } from '../../kernel/admission.ts';
import { emptyScope, type OrgLimits, type Scope } from '../../kernel/limits.ts';
import { agreedNow } from '../../platform/db/agreed-now.ts';
import type { Database } from '../../platform/db/database.ts';
import type { SharedClock } from '../../platform/time/clock.ts';
import type { MissingCounter } from '../holds/org-ledger-state.ts';
import { reservedAmounts } from '../holds/reserved-amounts.ts';
import type { CounterState, InspectedCounter, LedgerReads } from '../ledger.ts';
import { readSettled } from '../limits/counters.ts';
import { countersOfScopes, type LimitUsage, limitUsageOf, ownCounters } from '../limits/limit-usage.ts';
import { readOrgLimits } from '../limits/org-limits.ts';
import { createHoldLookups } from './hold-lookups.ts';
import { lockOrg } from './lock-orgs.ts';
import { selectAllHolds, selectHoldsPage, selectHoldsSince } from './postgres-holds.ts';

interface ReadDependencies {
  readonly db: Database;
  readonly clock: SharedClock;
}

export function createPostgresReads(deps: ReadDependencies): LedgerReads {
  const { db } = deps;
  return {
    holds: (orgId, query) => selectHoldsPage(db, orgId, query),
    findHold: createHoldLookups(db),
    holdsInMemory: () => undefined,
    limitUsage: (orgId, limitIds) =>
      usageOf(deps, orgId, [], (limits, nowMs) => ownCounters(limits, limitIds, nowMs)),
    limitUsageIn: (orgId, limitId, scopes) =>
      usageOf(deps, orgId, scopes, (limits, nowMs) => countersOfScopes(limits, limitId, scopes, nowMs)),
    inspect: (orgId, read) =>
      db.transaction(async (tx) => {
        await lockOrg(tx, orgId);
        const counters = await tx.query<InspectedCounter>(
          'SELECT key, settled, held, growth FROM counters WHERE org_id = $1',
          [orgId],
        );
        const holds = await selectAllHolds(tx, orgId);
        return { result: await read(tx), counters, holds };
      }),
  };
}

/**
 * Returns the usage of counters. `scopes` has the scope of each counter; it is empty for limits without a wildcard, whose counters
 * need none.
 */
async function usageOf(
  { db, clock }: ReadDependencies,
  orgId: string,
  scopes: readonly Scope[],
  countersAt: (limits: OrgLimits, nowMs: number) => readonly LimitWindow[],
): Promise<LimitUsage[]> {
  const nowMs = (await agreedNow(db, clock)).getTime();
  const limits = await readOrgLimits(db, orgId);
  const wanted = countersAt(limits, nowMs);
  const rows = await db.query<CounterState>(
    'SELECT key, settled, held FROM counters WHERE org_id = $1 AND key = ANY($2)',
    [orgId, wanted.map(({ key }) => key)],
  );
  const counters = new Map(rows.map((row) => [row.key, row]));
  const missing = wanted.flatMap((limitWindow, index) =>
    counters.has(limitWindow.key) ? [] : [{ limitWindow, scope: scopes[index] ?? emptyScope }],
  );
  for (const counter of await sumCounters(db, limits, missing)) {
    counters.set(counter.key, counter);
  }
  return wanted.map((one) => limitUsageOf(one, counters.get(one.key) ?? { settled: 0n, held: 0n }));
}

/**
 * Sums counters that have no row, because they were not needed for a while or their limit changed. They are not created, because a
 * read must change nothing. Uses a snapshot: otherwise a hold that is settled in between would be counted twice or not at all.
 */
async function sumCounters(
  db: Database,
  limits: OrgLimits,
  missing: readonly MissingCounter[],
): Promise<CounterState[]> {
  if (missing.length === 0) {
    return [];
  }
  const { orgId } = limits;
  const windows = missing.map(({ limitWindow }) => limitWindow);
  return db.transaction(
    async (tx) => {
      const reserved = reservedAmounts(limits, await selectHoldsSince(tx, orgId, missing), windows);
      const counters: CounterState[] = [];
      for (const { limitWindow, scope } of missing) {
        const { settled } = await readSettled(tx, orgId, limitWindow, scope);
        counters.push({ key: limitWindow.key, settled, held: reserved.get(limitWindow.key) ?? 0n });
      }
      return counters;
    },
    { snapshot: true },
  );
}
