/**
 * All rows of a question about usage, as CSV or as lines of JSON. They are read in one transaction, whose rows are those of
 * one moment, and put aside on disk; from there they are sent as the receiver takes them. So memory does not grow with them,
 * nobody waits for all of them to be made, and no slow receiver keeps the database busy.
 *
 * One export at a time is made. The embedded engine has one connection for everybody: whoever waits for it while an export is
 * made comes before the next export, and so waits for one of them at most.
 */
import { apiError, invalidField } from '../../../contract/api-error.ts';
import type { Database } from '../../../platform/db/database.ts';
import { FairMutex } from '../../../platform/db/pglite/fair-mutex.ts';
import type { StreamResponse } from '../../../platform/http/message/reply.ts';
import { jsonLine } from '../../../platform/line-breaks.ts';
import { Spool } from '../../../platform/spool.ts';
import { groupIn, nothing, readGroups } from './queries.ts';
import type { GroupBy } from './rows.ts';
import { tagPrefix, type UsageQuery, type UsageRow } from './schema.ts';
import { planUsage, type UsagePlan } from './usage.ts';
import { viewCompared, viewGroup } from './view.ts';

/** More rows than these are for several questions, each of a shorter time. */
const rowsMax = 100_000;
const rowsPerPart = 500;

const contentTypes = {
  csv: 'text/csv; charset=utf-8',
  ndjson: 'application/x-ndjson; charset=utf-8',
} as const;

type ExportQuery = UsageQuery & { readonly format: keyof typeof contentTypes };

export interface ExportDependencies {
  readonly db: Database;
  /** Where rows are put aside. Undefined: where the system puts such things. */
  readonly spoolDir: string | undefined;
}

export type ExportUsage = (orgId: string, query: ExportQuery, now: Date) => Promise<StreamResponse>;

/** Waiting, being made or being read: each is room on disk. */
export const exportsMax = 20;
/** So that one org whose receivers are slow leaves room for the others. */
export const exportsPerOrgMax = 5;
const waitMsMax = 60_000;

export function createUsageExport({ db, spoolDir }: ExportDependencies): ExportUsage {
  const turns = new FairMutex('the export before', waitMsMax);
  /** The orgs of those that are under way. */
  const open: string[] = [];

  async function* chunks(
    orgId: string,
    plan: UsagePlan,
    format: ExportQuery['format'],
  ): AsyncGenerator<string> {
    if (open.length >= exportsMax || open.filter((one) => one === orgId).length >= exportsPerOrgMax) {
      throw apiError('service_unavailable', 'Too many exports are under way.');
    }
    open.push(orgId);
    try {
      const spool = await Spool.open(spoolDir);
      try {
        await turns.take(() => putAside(db, plan, spool));
        yield* linesOf(spool, plan, format);
      } finally {
        await spool.close();
      }
    } finally {
      open.splice(open.indexOf(orgId), 1);
    }
  }

  return async (orgId, query, now) => {
    if (query.cursor !== undefined) {
      throw invalidField('cursor', 'invalid_value', 'Only `json` comes in pages.');
    }
    const plan = await planUsage(db, orgId, query, now);
    return { contentType: contentTypes[query.format], chunks: chunks(orgId, plan, query.format) };
  };
}

async function* linesOf(
  spool: Spool,
  plan: UsagePlan,
  format: ExportQuery['format'],
): AsyncGenerator<string> {
  const writer = format === 'csv' ? csvWriter(plan.groupBy) : jsonWriter;
  yield writer.first(viewCompared({ ...nothing, previous: plan.before && nothing }));
  for await (const lines of spool.lines()) {
    yield lines
      .map((line) => writer.line(viewGroup(groupIn(line, plan), plan.groupBy, plan.timezone)))
      .join('');
  }
}

async function putAside(db: Database, plan: UsagePlan, spool: Spool): Promise<void> {
  await db.transaction(async (tx) => {
    // A transaction that was undone is run again.
    await spool.empty();
    let count = 0;
    await readGroups(tx, plan, { limit: rowsMax + 1, perPart: rowsPerPart }, async (lines) => {
      count += lines.length;
      if (count > rowsMax) {
        throw invalidField('format', 'too_many', `That is more than ${rowsMax} rows.`);
      }
      await spool.append(lines);
    });
  });
}

interface RowWriter {
  /** What stands before the rows; `sums` has the fields that every row has besides its values. */
  first(sums: object): string;
  line(row: UsageRow): string;
}

const jsonWriter: RowWriter = {
  first: () => '',
  line: (row) => `${jsonLine(row)}\n`,
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

/**
 * A text that a spreadsheet would take for a formula is told to be none: people choose these, numbers are ours. Some
 * spreadsheets take the full-width forms of the signs for the signs.
 */
function safeText(value: unknown): string {
  const text = String(value);
  return /^[=+\-@\t\r\n\uff1d\uff0b\uff0d\uff20]/.test(text) ? `'${text}` : text;
}

function record(values: readonly string[]): string {
  const cells = values.map((value) =>
    /[",\r\n\u0085\u2028\u2029]/.test(value) ? `"${value.replaceAll('"', '""')}"` : value,
  );
  return `${cells.join(',')}\r\n`;
}
