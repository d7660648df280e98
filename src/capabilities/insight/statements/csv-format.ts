/** The columns of a provider's CSV export. */
import type { NamedCells } from './csv-table.ts';
import type { LineCollector } from './line-collector.ts';
import type { StatementSource } from './statement-source.ts';

export interface CsvFormat {
  /** Names of columns that tell its header from any other row. */
  readonly signature: readonly string[];
  /** Returns the problem of a header that has too few columns. */
  problemOf?(columns: ReadonlyMap<string, number>): string | undefined;
  /** Returns the provider that a row is from, with the field that says so. */
  providerOf(row: NamedCells): { readonly name: string; readonly field: string };
  /** Adds the line of a row, and returns its report and day. Undefined: the row has nothing to compare. */
  add(row: NamedCells, lines: LineCollector): AddedRow | undefined;
}

export interface AddedRow {
  readonly source: StatementSource;
  readonly day: string;
}
