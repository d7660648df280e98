/** All rows of a question about usage, as CSV or as lines of JSON. They are read in pages and sent as they are read. */
import { refuseField } from '../../contract/refusal.ts';
import type { Queryable } from '../../platform/db/database.ts';
import type { StreamAnswer } from '../../platform/http/route.ts';
import type { GroupBy } from './rows.ts';
import { tagPrefix, type UsageQuery, type UsageRow } from './schema.ts';
import { planUsage, readPage } from './usage.ts';

/** More rows than these are for several questions, each of a shorter time. */
const rowsMax = 100_000;
const rowsPerPage = 2_000;

const contentTypes = {
  csv: 'text/csv; charset=utf-8',
  ndjson: 'application/x-ndjson; charset=utf-8',
} as const;

type ExportQuery = UsageQuery & { readonly format: keyof typeof contentTypes };

export async function exportUsage(
  db: Queryable,
  orgId: string,
  query: ExportQuery,
  now: Date,
): Promise<StreamAnswer> {
  if (query.cursor !== undefined) {
    throw refuseField('cursor', 'invalid_value', 'Only `json` comes in pages.');
  }
  const plan = await planUsage(db, orgId, query, now);
  const writer = query.format === 'csv' ? csvWriter(plan.groupBy) : jsonWriter;
  async function* chunks(): AsyncGenerator<string> {
    let page = await readPage(db, plan, undefined, rowsPerPage);
    if (page.count > rowsMax) {
      throw refuseField('format', 'too_many', `That is ${page.count} rows, and ${rowsMax} are the most.`);
    }
    yield writer.first(page.total) + page.rows.map(writer.line).join('');
    while (page.next !== undefined) {
      page = await readPage(db, plan, page.next, rowsPerPage);
      yield page.rows.map(writer.line).join('');
    }
  }
  return { contentType: contentTypes[query.format], chunks: chunks() };
}

interface RowWriter {
  /** What stands before the rows; the total has the fields that every row has. */
  first(total: object): string;
  line(row: UsageRow): string;
}

const jsonWriter: RowWriter = {
  first: () => '',
  line: (row) => `${JSON.stringify(row)}\n`,
};

/** RFC 4180. What is nested is named by both names: `previous_cost_usd`. */
function csvWriter(groupBy: readonly GroupBy[]): RowWriter {
  const names = groupBy.map(({ kind, name }) => (kind === 'tag' ? `${tagPrefix}${name}` : name));
  const valueOfGroup = (row: UsageRow, { kind, name }: GroupBy) =>
    safeText((kind === 'tag' ? row.tags?.[name] : row[name as keyof UsageRow]) ?? '');
  return {
    first: (total) => record([...names.map(safeText), ...flat(total).map(([name]) => name)]),
    line(row) {
      const sums = flat(row).filter(([name]) => !names.includes(name) && !name.startsWith('tags_'));
      return record([
        ...groupBy.map((one) => valueOfGroup(row, one)),
        ...sums.map(([, value]) => String(value ?? '')),
      ]);
    },
  };
}

function flat(sums: object): [string, unknown][] {
  return Object.entries(sums).flatMap(([name, value]): [string, unknown][] =>
    typeof value === 'object' && value !== null
      ? Object.entries(value).map(([inner, one]) => [`${name}_${inner}`, one])
      : [[name, value]],
  );
}

/** A text that a spreadsheet would take for a formula is told to be none: people choose these, numbers are ours. */
function safeText(value: unknown): string {
  const text = String(value);
  return /^[=+\-@\t\r]/.test(text) ? `'${text}` : text;
}

function record(values: readonly string[]): string {
  const cells = values.map((value) => (/[",\r\n]/.test(value) ? `"${value.replaceAll('"', '""')}"` : value));
  return `${cells.join(',')}\r\n`;
}
