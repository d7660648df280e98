/**
 * Exports all rows of a usage query, as CSV or NDJSON. The rows are read in one transaction, as a consistent snapshot,
 * and spooled to disk; from there they are streamed as the receiver consumes them. So memory use does not grow with the
 * rows, and a slow receiver does not occupy the database. The response starts when all rows are spooled.
 *
 * One export at a time reads the database. The embedded engine has a single connection, and its queue is fair: other
 * requests run before the next export, and so wait for one export at most.
 */

import { apiError, invalidField } from '../../../contract/api-error.ts';
import { tagPrefix } from '../../../kernel/limits.ts';
import type { Database } from '../../../platform/db/database.ts';
import { FairMutex } from '../../../platform/db/pglite/fair-mutex.ts';
import { FairShare } from '../../../platform/fair-share.ts';
import type { StreamResponse } from '../../../platform/http/message/reply.ts';
import { jsonLine } from '../../../platform/line-breaks.ts';
import { Spool } from '../../../platform/spool.ts';
import { parseGroup, readGroups, zeroSums } from './queries.ts';
import type { GroupBy } from './rows.ts';
import type { UsageQuery, UsageRow } from './schema.ts';
import { planUsage, type UsagePlan } from './usage.ts';
import { viewCompared, viewGroup } from './view.ts';

/** Maximum number of rows of an export; more rows require several exports of shorter periods. */
export const exportRowsMax = 100_000;
const rowsPerPart = 500;

const contentTypes = {
  csv: 'text/csv; charset=utf-8',
  ndjson: 'application/x-ndjson; charset=utf-8',
} as const;

type ExportQuery = UsageQuery & { readonly format: keyof typeof contentTypes };

export interface ExportDependencies {
  readonly db: Database;
  /** Directory of the spool files. Undefined: the system's temporary directory. */
  readonly spoolDir: string | undefined;
  /** Only tests have a lower maximum. */
  readonly rowsMax?: number;
}

export type ExportUsage = (orgId: string, query: ExportQuery, now: Date) => Promise<StreamResponse>;

/** Maximum number of exports that are waiting, being read or being sent; each of them uses disk space. */
export const exportsMax = 20;
/** Maximum number of exports per org, so that an org with slow receivers leaves room for others. */
export const exportsPerOrgMax = 5;
const waitMsMax = 60_000;

export function createUsageExport({
  db,
  spoolDir,
  rowsMax = exportRowsMax,
}: ExportDependencies): ExportUsage {
  const turns = new FairMutex('the previous export', waitMsMax);
  const places = new FairShare({ capacity: exportsMax, perTenantMax: exportsPerOrgMax });

  async function* chunks(
    orgId: string,
    plan: UsagePlan,
    format: ExportQuery['format'],
  ): AsyncGenerator<string> {
    if (!places.tryTake(orgId)) {
      throw apiError('service_unavailable', 'Too many exports are in progress. Try again later.');
    }
    try {
      const spool = await Spool.open(spoolDir);
      try {
        await turns.take(() => spoolRows(db, plan, { spool, rowsMax }));
        yield* linesOf(spool, plan, format);
      } finally {
        await spool.close();
      }
    } finally {
      places.release(orgId);
    }
  }

  return async (orgId, query, now) => {
    if (query.cursor !== undefined) {
      throw invalidField('cursor', 'invalid_value', 'Only `json` is paginated.');
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
  yield writer.first(viewCompared({ ...zeroSums, previous: plan.before && zeroSums }));
  for await (const lines of spool.lines()) {
    yield lines
      .map((line) => writer.line(viewGroup(parseGroup(line, plan), plan.groupBy, plan.timezone)))
      .join('');
  }
}

async function spoolRows(
  db: Database,
  plan: UsagePlan,
  { spool, rowsMax }: { readonly spool: Spool; readonly rowsMax: number },
): Promise<void> {
  await db.transaction(async (tx) => {
    // The transaction may be retried after a rollback, so rows of an earlier attempt are removed.
    await spool.empty();
    let count = 0;
    await readGroups(tx, plan, { limit: rowsMax + 1, perPart: rowsPerPart }, async (lines) => {
      count += lines.length;
      if (count > rowsMax) {
        throw invalidField(
          'format',
          'too_many',
          `The result has more than ${rowsMax} rows. Choose a shorter period.`,
        );
      }
      await spool.append(lines);
    });
  });
}

interface RowWriter {
  /** Returns the text before the rows; `sums` has the fields that every row has in addition to its values. */
  first(sums: object): string;
  line(row: UsageRow): string;
}

const jsonWriter: RowWriter = {
  first: () => '',
  line: (row) => `${jsonLine(row)}\n`,
};

/** Writes CSV according to RFC 4180. The name of a nested field consists of both names, such as `previous_cost_usd`. */
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
 * Prefixes text that a spreadsheet would interpret as a formula: such values come from users, numbers do not. Some
 * spreadsheets also interpret the full-width forms of the signs.
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
