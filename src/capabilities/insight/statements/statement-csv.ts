/**
 * Reads a CSV file as one or more tables, each of which begins with its header: the exports of a provider's costs and usage are separate
 * files, and may be appended to one another.
 */
import { invalidField } from '../../../contract/api-error.ts';
import type { Sliced } from '../../../platform/sliced-work.ts';
import { anthropicCostCsv, anthropicUsageCsv } from './anthropic-csv.ts';
import { CsvError, readCsv } from './csv.ts';
import type { CsvFormat } from './csv-format.ts';
import { NamedCells } from './csv-table.ts';
import { focusCsv } from './focus-csv.ts';
import type { LineCollector } from './line-collector.ts';
import { openAiCostCsv, openAiUsageCsv } from './openai-csv.ts';

const formats: readonly CsvFormat[] = [
  openAiCostCsv,
  openAiUsageCsv,
  anthropicCostCsv,
  anthropicUsageCsv,
  focusCsv,
];

/** Cells that a later header has in any case. */
const marks: ReadonlySet<string> = new Set(formats.flatMap(({ signature }) => signature.slice(0, 1)));

interface CsvTable {
  readonly format: CsvFormat;
  readonly columns: ReadonlyMap<string, number>;
}

/** Adds the lines of the file, and returns the provider. */
export function* readStatementCsv(text: string, lines: LineCollector): Sliced<string> {
  const tablesByDay = new Map<string, CsvTable>();
  let provider: string | undefined;
  let table: CsvTable | undefined;
  try {
    for (const { line, cells } of readCsv(text)) {
      yield;
      if (cells.length === 0) {
        continue;
      }
      const header = formatOf(cells) ?? (table === undefined ? focusCsv : undefined);
      if (table === undefined || header !== undefined) {
        table = tableOf(line, cells, header ?? focusCsv);
        continue;
      }
      const row = rowOf(line, cells, table);
      const { name, field } = table.format.providerOf(row);
      if (provider !== undefined && name !== provider) {
        const message = `Line ${line}: The provider must be the same in every line.`;
        throw invalidField(field, 'invalid_value', message);
      }
      provider = name;
      const added = table.format.add(row, lines);
      if (added !== undefined) {
        const key = `${added.source} ${added.day}`;
        if ((tablesByDay.get(key) ?? table) !== table) {
          throw new CsvError(line, `${added.day} is in an earlier table of the file too.`);
        }
        tablesByDay.set(key, table);
      }
    }
  } catch (error) {
    throw error instanceof CsvError
      ? invalidField(`csv[${error.line}]`, 'invalid_value', `Line ${error.line}: ${error.message}`)
      : error;
  }
  return provider ?? '';
}

/** Returns the format whose header the cells are. */
function formatOf(cells: readonly string[]): CsvFormat | undefined {
  const isCandidate = cells.some((cell) => marks.has(cell.trim()));
  const names = isCandidate ? new Set(cells.map((cell) => cell.trim())) : undefined;
  return names && formats.find(({ signature }) => signature.every((name) => names.has(name)));
}

function tableOf(line: number, cells: readonly string[], format: CsvFormat): CsvTable {
  const columns = new Map(cells.map((name, index) => [name.trim(), index]));
  const problem = format.problemOf?.(columns);
  if (problem !== undefined) {
    throw new CsvError(line, problem);
  }
  if (columns.size !== cells.length) {
    throw new CsvError(line, 'A column appears twice.');
  }
  return { format, columns };
}

function rowOf(line: number, cells: readonly string[], { columns }: CsvTable): NamedCells {
  if (cells.length !== columns.size) {
    throw new CsvError(line, `There are ${cells.length} cells, but ${columns.size} columns.`);
  }
  return new NamedCells(line, columns, cells);
}
