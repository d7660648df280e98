/** Reads CSV (RFC 4180): quoted cells may contain separators, quotes and line breaks. */

export interface CsvRow {
  /** Number of the row's first line in the file, from 1. */
  readonly line: number;
  readonly cells: readonly string[];
}

export class CsvError extends Error {
  readonly line: number;
  constructor(line: number, message: string) {
    super(message);
    this.line = line;
  }
}

/** A line of separators alone would otherwise be millions of cells. */
const cellsMax = 1_000;

/** Yields the rows, without empty lines. Throws a `CsvError` for a quote that is out of place. */
export function* readCsv(text: string): Generator<CsvRow> {
  let at = text.startsWith('\uFEFF') ? 1 : 0;
  const separator = separatorOf(text);
  let line = 1;
  while (at < text.length) {
    const cells: string[] = [];
    const firstLine = line;
    for (let ends = false; !ends; ) {
      let cell: string;
      if (text[at] === '"') {
        const quoted = quotedCell(text, { from: at, line, separator });
        cell = quoted.cell;
        at = quoted.end;
        line += quoted.lineBreaks;
      } else {
        const end = cellEnd(text, at, separator);
        cell = text.slice(at, end);
        if (cell.includes('"')) {
          throw new CsvError(line, 'A quote must start a cell.');
        }
        at = end;
      }
      cells.push(cell);
      if (cells.length > cellsMax) {
        throw new CsvError(firstLine, `A line has at most ${cellsMax} cells.`);
      }
      ends = text[at] !== separator;
      at += text[at] === '\r' && text[at + 1] === '\n' ? 2 : 1;
    }
    line += 1;
    if (cells.length > 1 || cells[0] !== '') {
      yield { line: firstLine, cells };
    }
  }
}

const separators = [',', ';', '\t'];
const headerMax = 65_536;

/** Spreadsheets also write semicolons and tabs. Returns the most frequent one of the first line, whose cells are names. */
function separatorOf(text: string): string {
  const [header = ''] = text.slice(0, headerMax).split(/[\r\n]/, 1);
  const counts = separators.map((separator) => header.split(separator).length);
  return separators[counts.indexOf(Math.max(...counts))] ?? ',';
}

function cellEnd(text: string, from: number, separator: string): number {
  for (let at = from; at < text.length; at += 1) {
    const char = text[at];
    if (char === separator || char === '\n' || char === '\r') {
      return at;
    }
  }
  return text.length;
}

interface CellStart {
  readonly from: number;
  readonly line: number;
  readonly separator: string;
}

function quotedCell(text: string, { from, line, separator }: CellStart) {
  let cell = '';
  for (let at = from + 1; ; ) {
    const quote = text.indexOf('"', at);
    if (quote === -1) {
      throw new CsvError(line, 'A quoted cell does not end.');
    }
    cell += text.slice(at, quote);
    if (text[quote + 1] !== '"') {
      const next = text[quote + 1];
      if (next !== undefined && next !== separator && next !== '\n' && next !== '\r') {
        throw new CsvError(line, 'A separator or the end of the line must follow a quoted cell.');
      }
      return { cell, end: quote + 1, lineBreaks: cell.split('\n').length - 1 };
    }
    cell += '"';
    at = quote + 2;
  }
}
