/** Reads exports in FOCUS columns. */
import { formatUsd, parseSignedUsd } from '../../src/kernel/money.ts';

export type FocusCells = Readonly<Record<string, string>>;

/** Parses CSV without line breaks in cells. */
export function focusRows(csv: string): FocusCells[] {
  const [names = [], ...rows] = csv
    .trimEnd()
    .split('\r\n')
    .map((line) =>
      [...line.matchAll(/(?:^|,)(?:"((?:[^"]|"")*)"|([^,]*))/g)].map(
        ([, quoted, plain]) => quoted?.replaceAll('""', '"') ?? plain ?? '',
      ),
    );
  return rows.map((cells) => Object.fromEntries(names.map((name, index) => [name, cells[index] ?? ''])));
}

export function sumOfColumn(rows: readonly FocusCells[], column: string): string {
  return formatUsd(rows.reduce((sum, row) => sum + (parseSignedUsd(row[column] ?? '') ?? 0n), 0n));
}
