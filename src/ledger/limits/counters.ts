/** Computes the settled amount of a limit in a window from the ledger, when the counter does not exist yet. */
import type { LimitWindow } from '../../kernel/admission.ts';
import {
  alertKey,
  fieldsOf,
  isTagField,
  type Match,
  type Scope,
  tagNameOf,
  type Unit,
  valueIn,
  WILDCARD,
} from '../../kernel/limits.ts';
import { bucketMs, rollupParts, type TimeRange } from '../../kernel/rollup-parts.ts';
import type { Queryable } from '../../platform/db/database.ts';

const rollupSum: Record<Unit, string> = {
  usd: 'usd_nanos',
  tokens: 'input_tokens + output_tokens',
  requests: 'requests',
};
const rollups = {
  day: { table: 'usage_days', column: 'day' },
  bucket: { table: 'usage_rollups', column: 'bucket' },
} as const;
const entrySum: Record<Unit, string> = { usd: 'usd_nanos', tokens: 'tokens', requests: 'requests' };

export interface Settled {
  readonly settled: bigint;
  /** The highest threshold, in percent, whose event was emitted. */
  readonly alerted: number;
}

const nothingSettled: Settled = { settled: 0n, alerted: 0 };

export async function readSettled(
  db: Queryable,
  orgId: string,
  limitWindow: LimitWindow,
  scope: Scope,
): Promise<Settled> {
  if (limitWindow.limit.kind === 'concurrency') {
    return nothingSettled;
  }
  const query = settledQuery(limitWindow, scope);
  const params = [orgId, alertKey(limitWindow.limit, limitWindow.key), ...query.params];
  // Read as text: each entry fits into 64 bits, but a sum may not, because some charges, such as backfilled runs, are counted
  // without the limits' consent.
  const [row] = await db.query<{ settled: string; alerted: number }>(
    `SELECT coalesce((${query.sql}), 0)::text AS settled,
            coalesce((SELECT max(threshold) FROM limit_alerts WHERE org_id = $1 AND counter_key = $2), 0) AS alerted`,
    params,
  );
  return row === undefined ? nothingSettled : { settled: BigInt(row.settled), alerted: row.alerted };
}

interface SettledQuery {
  readonly sql: string;
  /** Values of the parameters from `$3` on. */
  readonly params: readonly unknown[];
}

function settledQuery({ limit, window }: LimitWindow, scope: Scope): SettledQuery {
  if (limit.kind === 'prepaid' || limit.kind === 'credits') {
    return {
      sql: 'SELECT settled FROM limit_tallies WHERE org_id = $1 AND limit_id = $3',
      params: [limit.id],
    };
  }
  if (limit.span.kind === 'lifetime') {
    // `closed_chains` has the sums of entries that were deleted.
    const sum = (table: string) =>
      `coalesce((SELECT sum(${entrySum[limit.unit]}) FROM ${table} WHERE org_id = $1 AND chain_id = $3), 0)`;
    return { sql: `SELECT ${sum('ledger_entries')} + ${sum('closed_chains')}`, params: [scope.chain_id] };
  }
  const params: unknown[] = [];
  const add = (value: unknown) => `$${params.push(value) + 2}`;
  const conditions = fieldsOf(limit.match).map((field) => {
    const value = limit.match[field] === WILDCARD ? valueIn(scope, field) : limit.match[field];
    return isTagField(field)
      ? ` AND tags @> ${add(JSON.stringify({ [tagNameOf(field)]: value }))}::jsonb`
      : ` AND ${field} = ${add(value)}`;
  });
  const sumOf = ({ sum, table, column }: SumSource, { fromMs, toMs }: TimeRange) =>
    `coalesce((SELECT sum(${sum}) FROM ${table} WHERE org_id = $1 AND ${column} >= ${add(new Date(fromMs))}
        AND ${column} < ${add(new Date(toMs))}${conditions.join('')}), 0)`;
  const range = { fromMs: window.startMs, toMs: window.endMs };
  if (range.fromMs % bucketMs !== 0 || range.toMs % bucketMs !== 0 || hasTag(limit.match)) {
    const entries = { sum: entrySum[limit.unit], table: 'ledger_entries', column: 'charged_at' };
    return { sql: `SELECT ${sumOf(entries, range)}`, params };
  }
  const sum = rollupSum[limit.unit];
  const parts = rollupParts(range).map(
    (part) => `${part.sign < 0 ? '-' : '+'} ${sumOf({ sum, ...rollups[part.unit] }, part)}`,
  );
  return { sql: `SELECT ${parts.join(' ')}`, params };
}

/**
 * Returns true if the match has a tag. Rollups do not have every value of a tag (`usage-tags.ts`), so such limits are summed from
 * entries.
 */
function hasTag(match: Match): boolean {
  return fieldsOf(match).some(isTagField);
}

interface SumSource {
  readonly sum: string;
  readonly table: string;
  /** The timestamp column. */
  readonly column: string;
}
