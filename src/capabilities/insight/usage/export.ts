/** Exports all rows of a usage query, as CSV or NDJSON. */
import { invalidField } from '../../../contract/api-error.ts';
import { tagPrefix } from '../../../kernel/limits.ts';
import type { Database } from '../../../platform/db/database.ts';
import type { StreamResponse } from '../../../platform/http/message/reply.ts';
import { jsonLine } from '../../../platform/line-breaks.ts';
import { csvRecord, safeText } from './csv.ts';
import { parseGroup, readGroups, zeroSums } from './queries.ts';
import type { GroupBy } from './rows.ts';
import type { UsageQuery, UsageRow } from './schema.ts';
import type { SpooledExports } from './spooled-exports.ts';
import { planUsage, type UsagePlan } from './usage.ts';
import { viewCompared, viewGroup } from './view.ts';

const contentTypes = {
  csv: 'text/csv; charset=utf-8',
  ndjson: 'application/x-ndjson; charset=utf-8',
} as const;

type UsageExportQuery = UsageQuery & { readonly format: keyof typeof contentTypes };

export interface UsageExportDependencies {
  readonly db: Database;
  readonly exports: SpooledExports;
}

export type ExportUsage = (orgId: string, query: UsageExportQuery, now: Date) => Promise<StreamResponse>;

export function createUsageExport({ db, exports }: UsageExportDependencies): ExportUsage {
  return async (orgId, query, now) => {
    if (query.cursor !== undefined) {
      throw invalidField('cursor', 'invalid_value', 'Only `json` is paginated.');
    }
    const plan = await planUsage(db, orgId, query, now);
    return exports(orgId, {
      contentType: contentTypes[query.format],
      read: (tx, parts, take) => readGroups(tx, plan, parts, take),
      write: (lines) => formatLines(lines, plan, query.format),
    });
  };
}

async function* formatLines(
  lines: AsyncIterable<readonly string[]>,
  plan: UsagePlan,
  format: UsageExportQuery['format'],
): AsyncGenerator<string> {
  const writer = format === 'csv' ? csvWriter(plan.groupBy) : jsonWriter;
  yield writer.first(viewCompared({ ...zeroSums, previous: plan.before && zeroSums }));
  for await (const part of lines) {
    yield part
      .map((line) => writer.line(viewGroup(parseGroup(line, plan), plan.groupBy, plan.timezone)))
      .join('');
  }
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

/** The name of a nested field consists of both names, such as `previous_cost_usd`. */
function csvWriter(groupBy: readonly GroupBy[]): RowWriter {
  const names = groupBy.map(({ kind, name }) => (kind === 'tag' ? `${tagPrefix}${name}` : name));
  const valueOfGroup = (row: UsageRow, { kind, name }: GroupBy) =>
    safeText((kind === 'tag' ? row.tags?.[name] : row[name as keyof UsageRow]) ?? '');
  return {
    first: (sums) => csvRecord([...names.map(safeText), ...flat(sums).map(([name]) => name)]),
    line(row) {
      const sums = flat(row).filter(([name]) => !names.includes(name) && !name.startsWith('tags_'));
      return csvRecord([
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
