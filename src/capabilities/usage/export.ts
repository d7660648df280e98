/** All rows of a question about usage, as CSV or as lines of JSON. They are read at once and sent in parts. */
import { refuseField } from '../../contract/refusal.ts';
import type { Queryable } from '../../platform/db/database.ts';
import type { StreamAnswer } from '../../platform/http/route.ts';
import { type FoundGroup, findGroups, readGroup } from './queries.ts';
import type { GroupBy } from './rows.ts';
import { tagPrefix, type UsageQuery, type UsageRow } from './schema.ts';
import { earlier, nothing, planUsage, type UsagePlan } from './usage.ts';
import { viewCompared, viewGroup } from './view.ts';

/** More rows than these are for several questions, each of a shorter time. */
const rowsMax = 100_000;
const rowsPerChunk = 2_000;

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
    const { count, rows } = await readEveryRow(db, plan);
    const { before } = plan;
    yield writer.first(viewCompared(nothing, before && nothing));
    for (let sent = 0; sent < count; sent += rowsPerChunk) {
      yield rows(sent, sent + rowsPerChunk)
        .map(writer.line)
        .join('');
    }
  }
  return { contentType: contentTypes[query.format], chunks: chunks() };
}

/**
 * Read in one statement, whose rows are those of one moment: pages that are read while runs are booked leave out rows, or
 * have them twice. They are made into what is sent a part at a time, so that nobody else waits for all of them.
 */
async function readEveryRow(
  db: Queryable,
  { timezone, before, groupBy, request }: UsagePlan,
): Promise<{ count: number; rows(from: number, to: number): UsageRow[] }> {
  const groups = await findGroups(db, { ...request, limit: rowsMax + 1 });
  if (groups.length > rowsMax) {
    throw refuseField('format', 'too_many', `That is more than ${rowsMax} rows.`);
  }
  const previous =
    before === undefined
      ? undefined
      : byValues(await findGroups(db, earlier(request, before, timezone, groups)));
  const previousOf = ({ values }: FoundGroup) => {
    const found = previous?.get(JSON.stringify(values));
    return found === undefined ? previous && nothing : readGroup(found);
  };
  return {
    count: groups.length,
    rows: (from, to) =>
      groups
        .slice(from, to)
        .map((group) => viewGroup(readGroup(group), groupBy, timezone, previousOf(group))),
  };
}

function byValues(groups: readonly FoundGroup[]): ReadonlyMap<string, FoundGroup> {
  return new Map(groups.map((group) => [JSON.stringify(group.values), group]));
}

interface RowWriter {
  /** What stands before the rows; `sums` has the fields that every row has besides its values. */
  first(sums: object): string;
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
    first: (sums) => record([...names.map(safeText), ...flat(sums).map(([name]) => name)]),
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
