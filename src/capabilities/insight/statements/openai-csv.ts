/** The exports of OpenAI's usage dashboard: the fields of its API as columns, a row per result. */
import type { CsvFormat } from './csv-format.ts';
import type { NamedCells } from './csv-table.ts';
import type { LineCollector } from './line-collector.ts';
import { openAiReport } from './openai-report.ts';
import { type At, timeAt } from './page-fields.ts';
import { isCompared, type StatementSource } from './statement-source.ts';

const startColumn = 'start_time';
const endColumn = 'end_time';
const providerOf: CsvFormat['providerOf'] = ({ field }) => ({ name: openAiReport.provider, field });

export const openAiCostCsv: CsvFormat = {
  signature: [startColumn, endColumn, 'amount_value'],
  providerOf,
  add: (row, lines) => {
    const amount = { value: row.cell('amount_value'), currency: row.cell('amount_currency') || 'usd' };
    return addResult(row, lines, { source: 'openai_costs', isEmpty: amount.value === '', more: { amount } });
  },
};

export const openAiUsageCsv: CsvFormat = {
  signature: [startColumn, endColumn],
  providerOf,
  add: (row, lines) => addResult(row, lines, { source: sourceOf(row), isEmpty: isBlank(row), more: {} }),
};

/** Sources by a column that only their export has. */
const sources: readonly (readonly [column: string, source: StatementSource])[] = [
  ['output_tokens', 'openai_usage'],
  ['input_tokens', 'openai_embeddings'],
  ['images', 'openai_images'],
  ['characters', 'openai_audio_speeches'],
  ['seconds', 'openai_audio_transcriptions'],
  ['usage_bytes', 'openai_vector_stores'],
  ['num_sessions', 'openai_code_interpreter_sessions'],
  ['vector_store_id', 'openai_file_searches'],
  ['context_level', 'openai_web_searches'],
];

/** The exports of embeddings and moderations have the same columns. */
function sourceOf(row: NamedCells): StatementSource {
  const source = sources.find(([column]) => row.has(column))?.[1] ?? 'openai_other';
  return source === 'openai_embeddings' && row.cell('model').includes('moderation')
    ? 'openai_moderations'
    : source;
}

const timeColumns: ReadonlySet<string> = new Set([startColumn, endColumn, 'start_time_iso', 'end_time_iso']);

/** Time buckets without usage are rows with their times alone. */
function isBlank(row: NamedCells): boolean {
  return row.columns().every((name) => timeColumns.has(name) || row.cell(name).trim() === '');
}

interface Result {
  readonly source: StatementSource;
  readonly isEmpty: boolean;
  readonly more: object;
}

function addResult(row: NamedCells, lines: LineCollector, { source, isEmpty, more }: Result) {
  if (!isEmpty) {
    lines.addSource(source);
  }
  if (!isCompared(source)) {
    return undefined;
  }
  const startMs = timeIn(row, startColumn);
  const endMs = timeIn(row, endColumn);
  if (isEmpty) {
    lines.emptyBucket(row.field, startMs, endMs);
    return undefined;
  }
  const day = lines.bucket(row.field, startMs, endMs);
  openAiReport.add(source, resultOf(row, more), day, lines);
  return { source, day };
}

/** Returns the row as a result of the API, in which empty fields are absent. */
function resultOf(row: NamedCells, more: object): At {
  const cells = row.columns().flatMap((name) => {
    const text = row.cell(name).trim();
    return text === '' ? [] : [[name, text] as const];
  });
  return { field: row.field, value: { ...Object.fromEntries(cells), ...more } };
}

/** Times are seconds since 1970. */
function timeIn(row: NamedCells, name: string): number {
  const text = row.cell(name).trim();
  const value = /^\d{1,12}(\.0+)?$/.test(text) ? Number(text) : text;
  return timeAt({ value, field: `${row.field}.${name}` });
}
