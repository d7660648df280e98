/** A row of a CSV table, read by the names of its columns. */
import { type ApiError, invalidField } from '../../../contract/api-error.ts';

export const cellMax = 200;

export class NamedCells {
  readonly line: number;
  readonly field: string;
  readonly #columns: ReadonlyMap<string, number>;
  readonly #cells: readonly string[];

  constructor(line: number, columns: ReadonlyMap<string, number>, cells: readonly string[]) {
    this.line = line;
    this.field = `csv[${line}]`;
    this.#columns = columns;
    this.#cells = cells;
  }

  columns(): readonly string[] {
    return [...this.#columns.keys()];
  }

  has(name: string): boolean {
    return this.#columns.has(name);
  }

  /** Returns the text of a cell, empty if the table has no such column. */
  cell(name: string): string {
    return this.#cells[this.#columns.get(name) ?? -1] ?? '';
  }

  shortCell(name: string): string {
    const text = this.cell(name).trim();
    if (text.length > cellMax) {
      throw this.wrong(name, `must have at most ${cellMax} characters`);
    }
    return text;
  }

  wrong(name: string, problem: string): ApiError {
    return invalidField(`${this.field}.${name}`, 'invalid_value', `Line ${this.line}: ${name} ${problem}.`);
  }
}
