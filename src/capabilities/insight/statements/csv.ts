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

/** Characters of a row with its line breaks, so that reading one takes a few milliseconds at most. */
const rowCharsMax = 262_144;

const overlong = (line: number) => new CsvError(line, 'A line has at most 262,144 characters.');

/** Yields the rows. An empty line has no cells. Throws a `CsvError` for a quote that is out of place. */
export function* readCsv(text: string): Generator<CsvRow> {
  let at = text.startsWith('\uFEFF') ? 1 : 0;
  const separator = separatorOf(text);
  let line = 1;
  while (at < text.length) {
    const cells: string[] = [];
    const firstLine = line;
    const rowStart = at;
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
      if (at - rowStart > rowCharsMax) {
        throw overlong(firstLine);
      }
      if (cells.length > cellsMax) {
        throw new CsvError(firstLine, `A line has at most ${cellsMax} cells.`);
      }
      ends = text[at] !== separator;
      at += text[at] === '\r' && text[at + 1] === '\n' ? 2 : 1;
    }
    line += 1;
    yield { line: firstLine, cells: cells.length === 1 && cells[0] === '' ? [] : cells };
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
  const end = Math.min(text.length, from + rowCharsMax + 1);
  for (let at = from; at < end; at += 1) {
    const char = text[at];
    if (char === separator || char === '\n' || char === '\r') {
      return at;
    }
  }
  return end;
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
    if (quote - from > rowCharsMax) {
      throw overlong(line);
    }
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
