/** Reads and writes the rows of counters on PostgreSQL. */
import type { Counter } from '../../kernel/admission.ts';
import { lifetime } from '../../kernel/windows.ts';
import type { Transaction } from '../../platform/db/database.ts';
import { binaryArray } from '../../platform/db/wire/binary-values.ts';
import type { OrgLedgerState } from '../holds/org-ledger-state.ts';

/** The columns of a counter that decisions change. */
export type CounterAmounts = Pick<Counter, 'settled' | 'held' | 'alerted'>;

/** A counter, and the key of its row. */
interface StoredCounter {
  readonly orgId: string;
  readonly key: string;
  readonly counter: Counter;
}

type CounterTransaction = Pick<Transaction, 'query' | 'isDistributed'>;

/** Citus finds the shards by the list of orgs. PostgreSQL would search the list for each row. */
function inTheirShards({ isDistributed }: CounterTransaction): string {
  return isDistributed === true ? 'AND c.org_id = ANY($1)' : '';
}

export async function selectCounters(
  tx: CounterTransaction,
  keys: readonly { readonly orgId: string; readonly key: string }[],
): Promise<StoredCounter[]> {
  if (keys.length === 0) {
    return [];
  }
  const rows = await tx.query<CounterAmounts & { org_id: string; key: string; window_end: Date }>(
    `SELECT c.org_id, c.key, settled, held, alerted, window_end
       FROM unnest($1::text[], $2::text[]) AS w(org_id, key)
       JOIN counters c ON c.org_id = w.org_id AND c.key = w.key ${inTheirShards(tx)}`,
    [
      binaryArray(
        'text',
        keys.map(({ orgId }) => orgId),
      ),
      binaryArray(
        'text',
        keys.map(({ key }) => key),
      ),
    ],
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
  tx: CounterTransaction,
  orgs: readonly ChangedCounters[],
  nowMs: number,
): Promise<void> {
  const created: StoredCounter[] = [];
  const changed: StoredCounter[] = [];
  for (const { orgState, countersRead } of orgs) {
    const { orgId } = orgState;
    for (const [key, counter] of orgState.counters) {
      const before = countersRead.get(key);
      if (before === undefined) {
        created.push({ orgId, key, counter });
      } else if (
        before.settled !== counter.settled ||
        before.held !== counter.held ||
        before.alerted !== counter.alerted
      ) {
        changed.push({ orgId, key, counter });
      }
    }
  }
  await Promise.all([insertCounters(tx, created, nowMs), updateCounters(tx, changed, nowMs)]);
}

async function insertCounters(
  tx: CounterTransaction,
  counters: readonly StoredCounter[],
  nowMs: number,
): Promise<void> {
  if (counters.length === 0) {
    return;
  }
  await tx.query(
    `INSERT INTO counters (org_id, key, limit_id, window_end, settled, held, alerted)
     SELECT org_id, key, split_part(key, '@', 1), window_end, settled, held, alerted FROM ${unnested}
     ON CONFLICT (org_id, key) DO UPDATE SET settled = excluded.settled, held = excluded.held, alerted = excluded.alerted,
       window_end = excluded.window_end`,
    columnsOf(counters, nowMs),
  );
}

/**
 * Not an INSERT with ON CONFLICT, which locks each row before it updates it. A counter that was evicted since it was read is not
 * written: the next decision sums it from the ledger.
 */
async function updateCounters(
  tx: CounterTransaction,
  counters: readonly StoredCounter[],
  nowMs: number,
): Promise<void> {
  if (counters.length === 0) {
    return;
  }
  await tx.query(
    `UPDATE counters c SET settled = w.settled, held = w.held, alerted = w.alerted, window_end = w.window_end
       FROM ${unnested} WHERE c.org_id = w.org_id AND c.key = w.key ${inTheirShards(tx)}`,
    columnsOf(counters, nowMs),
  );
}

const columnTypes = ['text', 'text', 'timestamptz', 'int8', 'int8', 'int4'] as const;
const unnested = `unnest(${columnTypes.map((type, index) => `$${index + 1}::${type}[]`).join(', ')})
  AS w(org_id, key, window_end, settled, held, alerted)`;

function columnsOf(counters: readonly StoredCounter[], nowMs: number): Uint8Array[] {
  const columns = [
    counters.map(({ orgId }) => orgId),
    counters.map(({ key }) => key),
    counters.map(({ counter }) => new Date(neededUntil(counter.endMs, nowMs))),
    counters.map(({ counter }) => counter.settled),
    counters.map(({ counter }) => counter.held),
    counters.map(({ counter }) => counter.alerted),
  ];
  return columns.map((values, index) => binaryArray(columnTypes[index] ?? 'text', values));
}

/** A counter without a window, such as that of a chain, is kept for as long as it is used. */
function neededUntil(endMs: number, nowMs: number): number {
  return endMs === lifetime.endMs ? nowMs : Math.max(endMs, nowMs);
}
