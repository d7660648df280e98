/** The figures of all scenarios as text. */
import type { FaultFigures } from './run-scenario.ts';

export interface FaultRow {
  readonly name: string;
  /** The message of the error if the scenario did not end. */
  readonly figures: FaultFigures | string;
}

const heads = [
  'acknowledged',
  'denied',
  'lost',
  'doubled',
  'overspent',
  'drift USD',
  'cut off',
  '500s',
  's unavailable',
];

/** The figures of one scenario in one line, for progress. */
export function faultLine({ name, figures }: FaultRow): string {
  return typeof figures === 'string'
    ? `${name}: FAILED: ${figures}`
    : `${name}: ${cellsOf(figures)
        .map((cell, index) => `${cell} ${heads[index]}`)
        .join(', ')}`;
}

export function faultTable(title: string, rows: readonly FaultRow[]): string {
  const width = Math.max(title.length, ...rows.map(({ name }) => name.length));
  const line = (name: string, cells: readonly string[]) =>
    `${name.padEnd(width)}${cells.map((cell, index) => `  ${cell.padStart(heads[index]?.length ?? 0)}`).join('')}`;
  const lines = rows.map(({ name, figures }) =>
    typeof figures === 'string' ? `${name.padEnd(width)}  FAILED: ${figures}` : line(name, cellsOf(figures)),
  );
  return [line(title, heads), ...lines, line('total', totals(rows))].join('\n');
}

function cellsOf(figures: FaultFigures): string[] {
  const { acknowledged, denied, lost, doubled, overspent, driftUsd, cutOff, internalErrors } = figures;
  return [
    ...[acknowledged, denied, lost, doubled, overspent].map(String),
    driftUsd,
    String(cutOff),
    String(internalErrors),
    figures.secondsUnavailable.toFixed(1),
  ];
}

function totals(rows: readonly FaultRow[]): string[] {
  const all = rows.flatMap(({ figures }) => (typeof figures === 'string' ? [] : [figures]));
  const sum = (pick: (figures: FaultFigures) => number) =>
    String(all.reduce((total, figures) => total + pick(figures), 0));
  return [
    sum(({ acknowledged }) => acknowledged),
    sum(({ denied }) => denied),
    sum(({ lost }) => lost),
    sum(({ doubled }) => doubled),
    sum(({ overspent }) => overspent),
    '',
    sum(({ cutOff }) => cutOff),
    sum(({ internalErrors }) => internalErrors),
    '',
  ];
}
