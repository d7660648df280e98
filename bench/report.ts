/** The report of a bench run: a table per row, and at the end which targets are met. */
import type { Bar, Figure, Row } from './measure.ts';
import { busyCores } from './turn.ts';

export interface RowResult {
  readonly row: Row;
  readonly figures: readonly Figure[];
  readonly notes: readonly string[];
  /** Reason for missing figures. */
  readonly failure?: string;
}

/** If the floor kept fewer cores busy than this, it was not saturated, and its requests/s is too low. */
const floorBusyCoresMin = 0.85;

export function rowText({ row, figures, notes, failure }: RowResult): string {
  const head = `\n${row.name}: ${row.what}\n${row.kind === 'pairs' ? `floor: ${row.floor}\n` : ''}`;
  const body = failure ?? (row.kind === 'pairs' ? pairsTable(figures) : singlesTable(figures));
  return [head, body, ...notes, ...idleFloor(figures)].join('\n').concat('\n');
}

/** Returns a line per target. */
export function summary(results: readonly RowResult[]): string {
  const lines = results.flatMap(({ row, figures, failure }) =>
    Object.entries(row.toReach).map(([name, bar]) => {
      const figure = figures.find((one) => one.name === name);
      const verdict = failure !== undefined ? 'FAILED' : verdictOf(figure);
      return [verdict, row.name, name, figure === undefined ? '' : shown(figure.value), barText(bar)];
    }),
  );
  return lines.length === 0 ? '' : `\n${table(['', 'row', 'figure', 'value', 'to reach'], lines, 3)}\n`;
}

function pairsTable(figures: readonly Figure[]): string {
  const head = ['figure', 'by', 'median', 'lowest', 'highest', 'service', 'floor', 'to reach', ''];
  const lines = figures.map(({ name, value, bar, met, of }) => [
    name,
    of?.by ?? '',
    ...[value, of?.lowest, of?.highest, of?.service, of?.floor].map(shown),
    barText(bar),
    metText(met),
  ]);
  return table(head, lines, 2);
}

function singlesTable(figures: readonly Figure[]): string {
  const lines = figures.map(({ name, value, bar, met }) => [name, shown(value), barText(bar), metText(met)]);
  return table(['figure', 'value', 'to reach', ''], lines, 1);
}

function verdictOf(figure: Figure | undefined): string {
  return figure === undefined ? 'not measured' : metText(figure.met);
}

function metText(met: boolean | undefined): string {
  return met === undefined ? '' : met ? 'met' : 'NOT MET';
}

function barText(bar: Bar | undefined): string {
  if (bar === undefined) {
    return '';
  }
  return 'atLeast' in bar ? `≥ ${shown(bar.atLeast)}` : `≤ ${shown(bar.atMost)}`;
}

function idleFloor(figures: readonly Figure[]): string[] {
  const cores = figures.find(({ name }) => name === busyCores)?.of?.floor;
  return cores === undefined || cores >= floorBusyCoresMin
    ? []
    : [
        `The floor was busy for only ${shown(cores)} of a core, so its requests/s and p99 are not its best and their`,
        'ratios flatter or blur. Run again on a quiet machine; CPU per request suffers less, but is not immune.',
      ];
}

/** The first columns are texts and are left-aligned. */
function table(head: readonly string[], lines: readonly (readonly string[])[], texts: number): string {
  const widths = head.map((_, column) =>
    Math.max(...[head, ...lines].map((line) => line[column]?.length ?? 0)),
  );
  return [head, ...lines]
    .map((line) =>
      line.map((cell, column) =>
        column < texts ? cell.padEnd(widths[column] ?? 0) : cell.padStart(widths[column] ?? 0),
      ),
    )
    .map((cells) => cells.join('  ').trimEnd())
    .join('\n');
}

function shown(value: number | undefined): string {
  if (value === undefined) {
    return '';
  }
  const size = Math.abs(value);
  return size >= 100 ? String(Math.round(value)) : value.toFixed(size >= 10 ? 1 : 2);
}
