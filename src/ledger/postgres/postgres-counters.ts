/** Reads and writes the rows of counters on PostgreSQL. */
import type { Counter } from '../../kernel/admission.ts';
import { lifetime } from '../../kernel/windows.ts';
import type { Queryable } from '../../platform/db/database.ts';

export type StoredCounter = Readonly<Counter>;

export async function selectCounters(
  tx: Queryable,
  orgId: string,
  keys: readonly string[],
): Promise<(readonly [key: string, counter: StoredCounter])[]> {
  const rows = await tx.query<Omit<StoredCounter, 'endMs'> & { key: string; window_end: Date }>(
    'SELECT key, settled, held, alerted, window_end FROM counters WHERE org_id = $1 AND key = ANY($2)',
    [orgId, keys],
  );
  return rows.map(({ key, settled, held, alerted, window_end }) => [
    key,
    { settled, held, alerted, endMs: window_end.getTime() },
  ]);
}

export async function upsertCounters(
  tx: Queryable,
  orgId: string,
  counters: readonly (readonly [key: string, counter: StoredCounter])[],
  nowMs: number,
): Promise<void> {
  if (counters.length === 0) {
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
      counters.map(([key]) => key),
      counters.map(([, { endMs }]) => new Date(neededUntil(endMs, nowMs))),
      counters.map(([, { settled }]) => settled),
      counters.map(([, { held }]) => held),
      counters.map(([, { alerted }]) => alerted),
    ],
  );
}

/** A counter without a window, such as that of a chain, is kept for as long as it is used. */
function neededUntil(endMs: number, nowMs: number): number {
  return endMs === lifetime.endMs ? nowMs : Math.max(endMs, nowMs);
}
