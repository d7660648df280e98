import { usageDimensions } from '../../../contract/run-dimensions.ts';
import type { Queryable, Transaction } from '../../../platform/db/database.ts';
import { type ExportParts, fetchLines, type GroupBy, Params, type TakeLines } from '../usage/index.ts';
import type { ChargeGroup } from './charge.ts';
import type { FocusPlan } from './plan.ts';
import type { FocusVersion } from './version.ts';

/** Columns of the values of a plan: the charge period, the provider, the model, the labels, and the kind if there is one. */
export function valueColumns({ groupBy }: FocusPlan): readonly string[] {
  return groupBy.map((_, index) => `v${index}`);
}

/** The columns that charges are grouped by. */
export function groupColumns(plan: FocusPlan): readonly string[] {
  return [...valueColumns(plan), 'corrected_in'];
}

/** Reads the charges of a version. The order does not depend on the collation of the database. */
export async function readCharges(
  tx: Transaction,
  plan: FocusPlan,
  version: FocusVersion,
  { limit, perPart, take }: ExportParts & { readonly take: TakeLines },
): Promise<void> {
  const params = new Params();
  const groups = groupColumns(plan);
  const order = groups.map((name, index) => (index === 0 ? name : `${name} COLLATE "C"`));
  await fetchLines(
    tx,
    `SELECT to_json(ARRAY[${[...groups, ...version.sums].map((name) => `${name}::text`).join(', ')}])::text AS line
       FROM (${version.selectCharges(plan, params)}) AS charges
      ORDER BY ${order.join(', ')} LIMIT ${params.add(limit, 'int8')}`,
    params,
    { perPart, take },
  );
}

/**
 * Selects corrections of money that were posted in a later month than that of their charge: the values of the plan, `corrected_in`,
 * `quantity` and `usd_nanos`. Undefined if there can be none: the range starts in the current month, or it is restricted to a status,
 * which corrections do not have.
 */
export function selectCorrections(plan: FocusPlan, params: Params): string | undefined {
  const { orgId, range, now, filters, tags, withoutTags = [], groupBy } = plan;
  const monthMs = Date.UTC(now.getUTCFullYear(), now.getUTCMonth());
  if (range.fromMs >= monthMs || filters.status !== undefined) {
    return undefined;
  }
  const values = groupBy.map((one, index) => `${correctedValue(one, params)} AS v${index}`);
  const isByKind = groupBy.some(({ kind }) => kind === 'part');
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
  const [sums, from] = isByKind
    ? [
        'split.quantity, split.nanos AS usd_nanos',
        'ledger_entries CROSS JOIN LATERAL cost_parts(parts, usd_nanos) AS split',
      ]
    : ['0 AS quantity, usd_nanos', 'ledger_entries'];
  return `SELECT ${values.join(', ')}, to_char(booked_at AT TIME ZONE 'UTC', 'YYYY-MM') AS corrected_in, ${sums}
            FROM ${from} WHERE ${conditions.join(' AND ')}`;
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
export function parseCharge(
  line: string,
  { labels }: FocusPlan,
  { sums }: FocusVersion,
): ChargeGroup<string> {
  const cells = JSON.parse(line) as string[];
  const [period = '', provider = '', model = ''] = cells;
  const first = cells.length - sums.length;
  const afterLabels = 3 + labels.length;
  return {
    period: Number(period),
    provider,
    model,
    labels: cells.slice(3, afterLabels),
    kind: afterLabels === first - 1 ? '' : (cells[afterLabels] ?? ''),
    correctedIn: cells[first - 1] ?? '',
    sums: Object.fromEntries(
      sums.map((name, index) => [name, BigInt(cells[first + index] ?? '0')]),
    ) as ChargeGroup<string>['sums'],
  };
}

export async function findAccountName(db: Queryable, orgId: string): Promise<string> {
  const [row] = await db.query<{ name: string }>('SELECT name FROM orgs WHERE id = $1', [orgId]);
  return row?.name ?? orgId;
}
