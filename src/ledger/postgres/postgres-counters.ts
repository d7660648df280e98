/** Reads and writes the rows of counters on PostgreSQL. */
import type { Counter } from '../../kernel/admission.ts';
import { lifetime } from '../../kernel/windows.ts';
import type { Queryable } from '../../platform/db/database.ts';
import type { OrgLedgerState } from '../holds/org-ledger-state.ts';

/** The columns of a counter that decisions change. */
export type CounterAmounts = Pick<Counter, 'settled' | 'held' | 'alerted'>;

export async function selectCounters(
  tx: Queryable,
  orgId: string,
  keys: readonly string[],
): Promise<ReadonlyMap<string, Counter>> {
  const rows = await tx.query<CounterAmounts & { key: string; window_end: Date }>(
    'SELECT key, settled, held, alerted, window_end FROM counters WHERE org_id = $1 AND key = ANY($2)',
    [orgId, keys],
  );
  return new Map(
    rows.map(({ key, settled, held, alerted, window_end }) => [
      key,
      { settled, held, alerted, endMs: window_end.getTime() },
    ]),
  );
}

/** Writes the counters that are new or differ from what was read. */
export async function writeCounters(
  tx: Queryable,
  { orgId, counters }: OrgLedgerState,
  read: ReadonlyMap<string, CounterAmounts>,
  nowMs: number,
): Promise<void> {
  const changed = [...counters].filter(([key, { settled, held, alerted }]) => {
    const before = read.get(key);
    return before?.settled !== settled || before.held !== held || before.alerted !== alerted;
  });
  if (changed.length === 0) {
    return;
  }
  await tx.query(
    `INSERT INTO counters (org_id, key, limit_id, window_end, settled, held, alerted)
     SELECT $1, key, split_part(key, '@', 1), window_end, settled, held, alerted
       FROM unnest($2::text[], $3::timestamptz[], $4::int8[], $5::int8[], $6::int4[]) AS c(key, window_end, settled, held, alerted)
     ON CONFLICT (org_id, key) DO UPDATE SET settled = excluded.settled, held = excluded.held, alerted = excluded.alerted,
       window_end = excluded.window_end`,
    [
      orgId,
      changed.map(([key]) => key),
      changed.map(([, { endMs }]) => new Date(neededUntil(endMs, nowMs))),
      changed.map(([, { settled }]) => settled),
      changed.map(([, { held }]) => held),
      changed.map(([, { alerted }]) => alerted),
    ],
  );
}

/** A counter without a window, such as that of a chain, is kept for as long as it is used. */
function neededUntil(endMs: number, nowMs: number): number {
  return endMs === lifetime.endMs ? nowMs : Math.max(endMs, nowMs);
}
