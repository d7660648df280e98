/** Shows the result of a price update as a table with totals. */
import { type PriceList, type SkipReason, skipReasons } from '../capabilities/spend/price-lists/index.ts';
import type { PriceUpdateView } from '../capabilities/spend/price-updates/index.ts';

export type UpdateResult = PriceUpdateView;
type UpdatedModel = UpdateResult['models'][number];

const statusTexts: Readonly<Record<UpdatedModel['status'], string>> = {
  added: 'new',
  changed: 'changed',
  pending: 'waits',
  kept: 'kept',
  skipped: 'skipped',
  unchanged: 'unchanged',
};
const reasonTexts: Readonly<Record<NonNullable<UpdatedModel['reason']>, string>> = {
  operator_price: 'an operator set the price',
  name_of_operator_price: 'an operator set the price of the model that this name stands for',
  rejected: 'an operator rejected this change',
  no_price: 'billed in a way that prices cannot express',
  too_many_versions: 'too many versions',
};
/** Statuses in the order of the table. Skipped models are only counted, because a list has the same ones every day. */
const shownStatuses = ['pending', 'changed', 'added', 'kept'] as const;

const columnCount = 6;
/** The first of the right-aligned columns. */
const firstNumber = 3;

export function showUpdate(result: UpdateResult, list: PriceList): string {
  const rows = shownStatuses.flatMap((status) =>
    result.models.filter((one) => one.status === status).flatMap(rowsOf),
  );
  const header = ['', 'MODEL', 'RATE', 'BEFORE', 'AFTER', 'CHANGE'];
  const table = rows.length === 0 ? [] : [...aligned([header, ...rows]), ''];
  return [...table, ...totals(result, list)].join('\n');
}

/** Returns a row per rate; the first one names the model. The rates of new models are in `after`. */
function rowsOf({ model, status, reason, priced_as, rates }: UpdatedModel): string[][] {
  const name = priced_as === null ? model : `${model} (was priced as ${priced_as})`;
  const head = [statusTexts[status], name];
  const rows = rates.map(({ rate, before, after, change_percent }, index) => [
    ...(index === 0 ? head : ['', '']),
    rate,
    before ?? '–',
    after ?? '–',
    status === 'added' ? '' : percentText(change_percent),
  ]);
  const why = reason === null ? [] : [['', '', reasonTexts[reason]]];
  return [...(rows.length === 0 ? [head] : rows), ...why];
}

function percentText(percent: number | null): string {
  return percent === null ? 'new rate' : `${percent > 0 ? '+' : ''}${percent} %`;
}

function totals(
  { counts, dry_run, effective_from }: UpdateResult,
  { format, catalog, skipped }: PriceList,
): string[] {
  const left = Object.entries(skipped)
    .filter(([, count]) => count > 0)
    .map(([reason, count]) => `${count} ${skipReasons[reason as SkipReason]}`);
  return [
    `list        ${format}, ${catalog.models.length} models imported${left.length > 0 ? `; not imported: ${left.join(', ')}` : ''}`,
    `new         ${counts.added}`,
    `changed     ${counts.changed}`,
    `waits       ${counts.pending}${counts.pending > 0 ? ', for an operator: see Prices in the console, or GET /v1/admin/price-changes' : ''}`,
    `kept        ${counts.kept}`,
    `unchanged   ${counts.unchanged}`,
    `skipped     ${counts.skipped}${counts.skipped > 0 ? ', with billing that prices cannot express: see --json' : ''}`,
    dry_run ? 'dry run: nothing was changed' : `in force    from ${effective_from}`,
  ];
}

/** Aligns the columns. The last cell of a short row may be longer than its column. */
function aligned(rows: readonly (readonly string[])[]): string[] {
  const width = (column: number) =>
    Math.max(
      ...rows
        .filter((row) => row.length > column + 1 || row.length === columnCount)
        .map((row) => row[column]?.length ?? 0),
    );
  const widths = Array.from({ length: columnCount }, (_, column) => width(column));
  const pad = (cell: string, column: number) =>
    column >= firstNumber ? cell.padStart(widths[column] ?? 0) : cell.padEnd(widths[column] ?? 0);
  return rows.map((row) => row.map(pad).join('  ').trimEnd());
}
