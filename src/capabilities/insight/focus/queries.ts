import { usageDimensions } from '../../../contract/run-dimensions.ts';
import type { Queryable, Transaction } from '../../../platform/db/database.ts';
import {
  type ExportParts,
  fetchLines,
  type GroupBy,
  Params,
  selectRows,
  type TakeLines,
} from '../usage/index.ts';
import type { FocusPlan } from './plan.ts';

/** Sums of a charge, in the order of its line. */
const sums = [
  'runs',
  'input_tokens',
  'cached_input_tokens',
  'cache_write_tokens',
  'output_tokens',
  'usd_nanos',
] as const;
export type ChargeSums = Readonly<Record<(typeof sums)[number], bigint>>;

/** The sums of one charge period, with the same provider, model and labels. */
export interface ChargeGroup extends ChargeSums {
  /** Number of the charge period, from 1. */
  readonly period: number;
  /** Empty: none. */
  readonly provider: string;
  readonly model: string;
  readonly labels: readonly string[];
  /** Month in which a correction was posted, as `YYYY-MM`; empty: not a correction of an earlier month. */
  readonly correctedIn: string;
}

/**
 * Reads the charges from the usage rollups, and corrections that were posted after the month of their charge as rows of their own:
 * the rollups contain them, so they are subtracted there. The order does not depend on the collation of the database.
 */
export async function readCharges(
  tx: Transaction,
  plan: FocusPlan,
  { limit, perPart }: ExportParts,
  take: TakeLines,
): Promise<void> {
  const params = new Params();
  const values = plan.groupBy.map((_, index) => `v${index}`);
  const groups = [...values, 'corrected_in'];
  const usage = `SELECT ${values.join(', ')}, '' AS corrected_in, ${sums.join(', ')} FROM (${selectRows(plan, params)}) AS rows`;
  const corrections = selectCorrections(plan, params);
  const moved = (sign: string, correctedIn: string) =>
    `SELECT ${values.join(', ')}, ${correctedIn}, 0, 0, 0, 0, 0, ${sign}usd_nanos FROM corrections`;
  const charges =
    corrections === undefined
      ? usage
      : `${usage} UNION ALL ${moved('-', "''")} UNION ALL ${moved('', 'corrected_in')}`;
  const order = groups.map((name, index) => (index === 0 ? name : `${name} COLLATE "C"`));
  await fetchLines(
    tx,
    `${corrections === undefined ? '' : `WITH corrections AS (${corrections})`}
     SELECT to_json(ARRAY[${[...groups.map((name) => `${name}::text`), ...sums.map((name) => `sum(${name})::text`)].join(', ')}])::text AS line
       FROM (${charges}) AS charges
      GROUP BY ${groups.join(', ')} HAVING ${sums.map((name) => `sum(${name}) <> 0`).join(' OR ')}
      ORDER BY ${order.join(', ')} LIMIT ${params.add(limit, 'int8')}`,
    params,
    { perPart, take },
  );
}

/**
 * Selects corrections of money that were posted in a later month than that of their charge. Undefined if there can be none: the
 * range starts in the current month, or it is restricted to a status, which corrections do not have.
 */
function selectCorrections(plan: FocusPlan, params: Params): string | undefined {
  const { orgId, range, now, filters, tags, withoutTags = [], groupBy } = plan;
  const monthMs = Date.UTC(now.getUTCFullYear(), now.getUTCMonth());
  if (range.fromMs >= monthMs || filters.status !== undefined) {
    return undefined;
  }
  const values = groupBy.map((one, index) => `${correctedValue(one, params)} AS v${index}`);
  const conditions = [
    `org_id = ${params.add(orgId, 'text')}`,
    `charged_at >= ${params.add(new Date(range.fromMs), 'timestamptz')}`,
    `charged_at < ${params.add(new Date(Math.min(range.toMs, monthMs)), 'timestamptz')}`,
    // The condition of the index `ledger_entries_adjustments`.
    "kind = 'adjustment'",
    'tokens = 0 AND requests = 0',
    "date_trunc('month', booked_at AT TIME ZONE 'UTC') > date_trunc('month', charged_at AT TIME ZONE 'UTC')",
    ...usageDimensions.flatMap((name) => {
      const value = filters[name];
      if (value === '') {
        return [`${name} IS NULL`];
      }
      return value === undefined ? [] : [`${name} = ${params.add(value, 'text')}`];
    }),
    ...(tags === undefined ? [] : [`tags @> ${params.add(tags, 'jsonb')}`]),
    ...withoutTags.map((name) => `coalesce(tags ->> ${params.add(name, 'text')}, '') = ''`),
  ];
  return `SELECT ${values.join(', ')}, to_char(booked_at AT TIME ZONE 'UTC', 'YYYY-MM') AS corrected_in, usd_nanos
            FROM ledger_entries WHERE ${conditions.join(' AND ')}`;
}

function correctedValue(one: GroupBy, params: Params): string {
  switch (one.kind) {
    case 'field':
      return `coalesce(${one.name}, '')`;
    case 'tag':
      return `coalesce(tags ->> ${params.add(one.name, 'text')}, '')`;
    case 'part':
      return 'split.code';
    case 'span':
      return `width_bucket(charged_at, ${params.addList(one.startsMs, (ms) => new Date(ms), 'timestamptz')})`;
  }
}

/** Parses a line of `readCharges`. */
export function parseCharge(line: string): ChargeGroup {
  const cells = JSON.parse(line) as string[];
  const [period = '', provider = '', model = ''] = cells;
  const first = cells.length - sums.length;
  return {
    period: Number(period),
    provider,
    model,
    labels: cells.slice(3, first - 1),
    correctedIn: cells[first - 1] ?? '',
    ...(Object.fromEntries(
      sums.map((name, index) => [name, BigInt(cells[first + index] ?? '0')]),
    ) as ChargeSums),
  };
}

export async function findAccountName(db: Queryable, orgId: string): Promise<string> {
  const [row] = await db.query<{ name: string }>('SELECT name FROM orgs WHERE id = $1', [orgId]);
  return row?.name ?? orgId;
}
