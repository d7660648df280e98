/** Reads and writes the rows of counters on PostgreSQL. */
import type { Counter } from '../../kernel/admission.ts';
import { lifetime } from '../../kernel/windows.ts';
import type { TransactionStatements } from '../../platform/db/database.ts';
import { type ArrayType, binaryArray } from '../../platform/db/wire/binary-values.ts';
import type { OrgLedgerState } from '../holds/org-ledger-state.ts';

/** The columns of a counter that decisions change. */
export type CounterAmounts = Pick<Counter, 'settled' | 'held' | 'growth' | 'alerted'>;

export interface CounterKey {
  readonly orgId: string;
  readonly key: string;
}

/** A counter, and the key of its row. */
interface StoredCounter extends CounterKey {
  readonly counter: Counter;
}

/** The end of the window is not read. Only the stored row needs it, for eviction. */
const unread = Number.NaN;

/** Returns a condition by which Citus finds the shards. PostgreSQL would check the list for each row. */
function inTheirShards({ isDistributed }: TransactionStatements): string {
  return isDistributed ? 'AND c.org_id = ANY($1)' : '';
}

/** Reads the amounts of the counters that exist. It returns few columns, since each decision reads several counters. */
export async function selectCounters(
  tx: TransactionStatements,
  keys: readonly CounterKey[],
): Promise<StoredCounter[]> {
  if (keys.length === 0) {
    return [];
  }
  const rows = await tx.query<CounterAmounts & { at: number }>(
    `SELECT w.at, settled, held, growth, alerted
       FROM unnest($1::text[], $2::text[], $3::int4[]) AS w(org_id, key, at)
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
      binaryArray('int4', [...keys.keys()]),
    ],
  );
  return rows.map(({ at, settled, held, growth, alerted }) => {
    const { orgId, key } = keys[at] as CounterKey;
    return { orgId, key, counter: { settled, held, growth, alerted, endMs: unread } };
  });
}

/** The counters of an org, and copies of those that were read. */
interface ChangedCounters {
  readonly orgState: OrgLedgerState;
  readonly countersRead: ReadonlyMap<string, CounterAmounts>;
}

/**
 * Writes the counters that are new or have changed. A counter that is too large for its columns is not stored: each decision that
 * needs it sums it from the ledger and finds the limit used up.
 */
export async function writeCounters(
  tx: TransactionStatements,
  orgs: readonly ChangedCounters[],
  nowMs: number,
): Promise<void> {
  const created: StoredCounter[] = [];
  const changed: StoredCounter[] = [];
  const unfit: CounterKey[] = [];
  for (const { orgState, countersRead } of orgs) {
    const { orgId } = orgState;
    for (const [key, counter] of orgState.counters) {
      const before = countersRead.get(key);
      if (counter.settled > int8Max || counter.held > int8Max) {
        unfit.push({ orgId, key });
      } else if (before === undefined) {
        created.push({ orgId, key, counter });
      } else if (
        before.settled !== counter.settled ||
        before.held !== counter.held ||
        before.growth !== counter.growth ||
        before.alerted !== counter.alerted
      ) {
        changed.push({ orgId, key, counter });
      }
    }
  }
  await Promise.all([
    insertCounters(tx, created, nowMs),
    updateCounters(tx, changed, nowMs),
    deleteCounters(tx, unfit),
  ]);
}

/** Charges are admitted up to this amount. Backfilled runs, corrections and costs beyond their holds may push a counter above it. */
const int8Max = 2n ** 63n - 1n;

async function deleteCounters(tx: TransactionStatements, keys: readonly CounterKey[]): Promise<void> {
  if (keys.length === 0) {
    return;
  }
  await tx.query(
    `DELETE FROM counters c USING unnest($1::text[], $2::text[]) AS w(org_id, key)
      WHERE c.org_id = w.org_id AND c.key = w.key ${inTheirShards(tx)}`,
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
}

async function insertCounters(
  tx: TransactionStatements,
  counters: readonly StoredCounter[],
  nowMs: number,
): Promise<void> {
  if (counters.length === 0) {
    return;
  }
  await tx.query(
    `INSERT INTO counters (org_id, key, limit_id, settled, held, growth, alerted, window_end)
     SELECT org_id, key, split_part(key, '@', 1), settled, held, growth, alerted, window_end
       FROM unnest(${amountColumns}, $7::timestamptz[]) AS w(org_id, key, settled, held, growth, alerted, window_end)
     ON CONFLICT (org_id, key) DO UPDATE SET settled = excluded.settled, held = excluded.held, growth = excluded.growth,
       alerted = excluded.alerted, window_end = excluded.window_end`,
    [
      ...amountsOf(counters),
      binaryArray(
        'timestamptz',
        counters.map(({ counter }) => new Date(neededUntil(counter, nowMs))),
      ),
    ],
  );
}

/**
 * Uses UPDATE, because INSERT with ON CONFLICT locks each row before it updates it. A counter that was evicted after it was read is
 * not written: the next decision sums it from the ledger.
 */
async function updateCounters(
  tx: TransactionStatements,
  counters: readonly StoredCounter[],
  nowMs: number,
): Promise<void> {
  if (counters.length === 0) {
    return;
  }
  await tx.query(
    `UPDATE counters c SET settled = w.settled, held = w.held, growth = w.growth, alerted = w.alerted,
            window_end = greatest(c.window_end, $7)
       FROM unnest(${amountColumns}) AS w(org_id, key, settled, held, growth, alerted)
      WHERE c.org_id = w.org_id AND c.key = w.key ${inTheirShards(tx)}`,
    [...amountsOf(counters), new Date(nowMs)],
  );
}

const amountColumns = '$1::text[], $2::text[], $3::int8[], $4::int8[], $5::int8[], $6::int4[]';

function amountsOf(counters: readonly StoredCounter[]): Uint8Array[] {
  const column = (type: ArrayType, field: (stored: StoredCounter) => unknown) =>
    binaryArray(type, counters.map(field));
  return [
    column('text', ({ orgId }) => orgId),
    column('text', ({ key }) => key),
    column('int8', ({ counter }) => counter.settled),
    column('int8', ({ counter }) => counter.held),
    column('int8', ({ counter }) => counter.growth),
    column('int4', ({ counter }) => counter.alerted),
  ];
}

/** Returns the time until which a counter is needed. A counter without a window, such as that of a chain, is needed while it is used. */
function neededUntil({ endMs }: Counter, nowMs: number): number {
  return endMs === lifetime.endMs ? nowMs : Math.max(endMs, nowMs);
}
