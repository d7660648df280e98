/** Reads and writes the rows of counters on PostgreSQL. */

import type { Counter } from '../../kernel/admission.ts';
import { lifetime } from '../../kernel/windows.ts';
import type { Queryable } from '../../platform/db/database.ts';
import { distinctOrgs } from '../distinct-orgs.ts';
import type { OrgLedgerState } from '../holds/org-ledger-state.ts';

/** The columns of a counter that decisions change. */
export type CounterAmounts = Pick<Counter, 'settled' | 'held' | 'alerted'>;

/** A counter, and the key of its row. */
interface StoredCounter {
  readonly orgId: string;
  readonly key: string;
  readonly counter: Counter;
}

/** The condition on the orgs is for Citus, which finds their shards by it. PostgreSQL searches the list for each row. */
export async function selectCounters(
  tx: Queryable,
  keys: readonly { readonly orgId: string; readonly key: string }[],
): Promise<StoredCounter[]> {
  if (keys.length === 0) {
    return [];
  }
  const rows = await tx.query<CounterAmounts & { org_id: string; key: string; window_end: Date }>(
    `SELECT c.org_id, c.key, settled, held, alerted, window_end
       FROM unnest($1::text[], $2::text[]) AS w(org_id, key) JOIN counters c ON c.org_id = w.org_id AND c.key = w.key
      WHERE c.org_id = ANY($3)`,
    [keys.map(({ orgId }) => orgId), keys.map(({ key }) => key), distinctOrgs(keys)],
  );
  return rows.map(({ org_id, key, settled, held, alerted, window_end }) => ({
    orgId: org_id,
    key,
    counter: { settled, held, alerted, endMs: window_end.getTime() },
  }));
}

/** The counters of an org, and those of them that were read, as they were. */
interface ChangedCounters {
  readonly orgState: OrgLedgerState;
  readonly countersRead: ReadonlyMap<string, CounterAmounts>;
}

/** Writes the counters that are new or differ from what was read. */
export async function writeCounters(
  tx: Queryable,
  orgs: readonly ChangedCounters[],
  nowMs: number,
): Promise<void> {
  const changed = orgs.flatMap(({ orgState: { orgId, counters }, countersRead }) =>
    [...counters].flatMap(([key, counter]) => {
      const { settled, held, alerted } = counter;
      const before = countersRead.get(key);
      return before?.settled !== settled || before.held !== held || before.alerted !== alerted
        ? [{ orgId, key, counter }]
        : [];
    }),
  );
  if (changed.length === 0) {
    return;
  }
  await tx.query(
    `INSERT INTO counters (org_id, key, limit_id, window_end, settled, held, alerted)
     SELECT org_id, key, split_part(key, '@', 1), window_end, settled, held, alerted
       FROM unnest($1::text[], $2::text[], $3::timestamptz[], $4::int8[], $5::int8[], $6::int4[])
              AS c(org_id, key, window_end, settled, held, alerted)
     ON CONFLICT (org_id, key) DO UPDATE SET settled = excluded.settled, held = excluded.held, alerted = excluded.alerted,
       window_end = excluded.window_end`,
    [
      changed.map(({ orgId }) => orgId),
      changed.map(({ key }) => key),
      changed.map(({ counter }) => new Date(neededUntil(counter.endMs, nowMs))),
      changed.map(({ counter }) => counter.settled),
      changed.map(({ counter }) => counter.held),
      changed.map(({ counter }) => counter.alerted),
    ],
  );
}

/** A counter without a window, such as that of a chain, is kept for as long as it is used. */
function neededUntil(endMs: number, nowMs: number): number {
  return endMs === lifetime.endMs ? nowMs : Math.max(endMs, nowMs);
}
