/**
 * The method of most figures: service and floor alternate, each turn of the service is compared with the following turn of the
 * floor, and the median of the comparisons counts. Other load on the machine then affects both halves of a pair, and a pair
 * that it affects unevenly does not change the median. What the host disturbed is measured again.
 * Figures without a floor (memory, the time of a start) are measured once.
 */
import { startStolenTime } from './stolen-time.ts';

/** Result of one turn, by figure: `requests/s`, `p99 ms`, … Figures that this machine cannot measure are missing. */
export type Sample = Readonly<Record<string, number>>;

/** Target of a figure. Figures without a target are for orientation. */
export type Bar = { readonly atLeast: number } | { readonly atMost: number };

export interface RowOptions {
  /** Uses much less data, to check that the row works. */
  readonly small: boolean;
  /** Number of turns of each contender, for single rows that take turns by themselves. */
  readonly pairs: number;
  readonly secondsPerTurn: number;
  progress(text: string): void;
}

interface AnyRow {
  readonly name: string;
  readonly what: string;
  /** Targets by figure. */
  readonly toReach: Readonly<Record<string, Bar>>;
  /** Uses less data with `small`; its targets are not evaluated then. */
  readonly shrinks?: boolean;
}

/** `floor` describes the baseline. */
export interface PairsRow extends AnyRow {
  readonly kind: 'pairs';
  readonly floor: string;
  /** Figures that are compared by difference; all others are compared by ratio. */
  readonly differences?: readonly string[];
  prepare(options: RowOptions): Promise<Contenders>;
}

export interface Contenders {
  service(seconds: number): Promise<Sample>;
  floor(seconds: number): Promise<Sample>;
  /** Returns notes after all turns, such as whether the ledger is balanced. */
  notes?(): Promise<readonly string[]>;
  /** Stops all processes of the row. */
  close(): Promise<void>;
}

export interface SingleRow extends AnyRow {
  readonly kind: 'single';
  measure(options: RowOptions): Promise<Singles>;
}

export interface Singles {
  readonly figures: Sample;
  readonly notes?: readonly string[];
}

export type Row = PairsRow | SingleRow;

/** Returns the row without its targets if it was measured with less data. */
export function judgeable(row: Row, small: boolean): Row {
  return small && row.shrinks === true ? { ...row, toReach: {} } : row;
}

export interface Pair {
  readonly service: Sample;
  readonly floor: Sample;
}

export interface Figure {
  readonly name: string;
  /** For pairs, the median of their ratios or differences. */
  readonly value: number;
  readonly bar?: Bar;
  readonly met?: boolean;
  readonly of?: Comparison;
}

export interface Comparison {
  readonly by: 'ratio' | 'difference';
  /** The extremes, which show the noise of the run. */
  readonly lowest: number;
  readonly highest: number;
  /** Medians, for orientation only: they depend on the machine more than on the service. */
  readonly service: number;
  readonly floor: number;
}

export interface Turns {
  readonly pairs: number;
  readonly secondsPerTurn: number;
  progress(text: string): void;
}

/**
 * Duration of the warm-up. The service has far more code to compile than the floor; without a warm-up it appears half
 * as fast.
 */
const warmUpSeconds = { service: 6, floor: 2 };

/** If the host took more of the machine than this, it may have taken it from one contender alone. */
const stolenMax = 0.05;
/** A host that is busy for long must not keep the run from ending. */
const measuredPerRound = 3;

/** One measurement that the host may have disturbed. */
export interface Round<T> {
  readonly result: T;
  /** The share of the machine that its host took meanwhile. */
  readonly stolen: number;
}

export interface Rounds<T> {
  /** As many as asked for: those from which the host took least. */
  readonly counted: readonly Round<T>[];
  readonly all: readonly Round<T>[];
}

/** Measures again what the host disturbed. */
export async function measureRounds<T>(
  { pairs, progress }: Pick<Turns, 'pairs' | 'progress'>,
  measure: () => Promise<T>,
): Promise<Rounds<T>> {
  const all: Round<T>[] = [];
  const undisturbed = () => all.filter(({ stolen }) => stolen <= stolenMax).length;
  while (undisturbed() < pairs && all.length < pairs * measuredPerRound) {
    progress(`round ${undisturbed() + 1} of ${pairs}`);
    const stolenSince = startStolenTime();
    const result = await measure();
    all.push({ result, stolen: stolenSince() });
  }
  return { counted: all.toSorted((a, b) => a.stolen - b.stolen).slice(0, pairs), all };
}

export async function measurePairs(contenders: Contenders, turns: Turns): Promise<Rounds<Pair>> {
  turns.progress('warming up');
  await contenders.service(warmUpSeconds.service);
  await contenders.floor(warmUpSeconds.floor);
  return measureRounds(turns, async () => ({
    service: await contenders.service(turns.secondsPerTurn),
    floor: await contenders.floor(turns.secondsPerTurn),
  }));
}

/** Returns a note if the host took much of the machine. `what` names what was measured, if it is not the whole row. */
export function noteOnStolenTime({ counted, all }: Rounds<unknown>, what?: string): string[] {
  const percent = ({ stolen }: Round<unknown>) => Math.round(stolen * 100);
  const most = Math.max(...counted.map(percent));
  return all.length === counted.length && most <= stolenMax * 100
    ? []
    : [
        `${what === undefined ? '' : `${what}: `}The host took up to ${Math.max(...all.map(percent))} % of the machine. Of ${all.length} rounds the ${counted.length} count from which it took least, at most ${most} %.`,
      ];
}

export function figuresOfPairs({ toReach, differences = [] }: PairsRow, pairs: readonly Pair[]): Figure[] {
  return Object.keys(pairs[0]?.service ?? {}).map((name) => {
    const service = pairs.map((pair) => usable(pair.service, name));
    const floor = pairs.map((pair) => usable(pair.floor, name));
    const by = differences.includes(name) ? 'difference' : 'ratio';
    const compared = service.map((value, index) => {
      const other = floor[index] ?? Number.NaN;
      return by === 'ratio' ? value / other : value - other;
    });
    const of: Comparison = {
      by,
      lowest: Math.min(...compared),
      highest: Math.max(...compared),
      service: median(service),
      floor: median(floor),
    };
    return { ...judged(name, median(compared), toReach[name]), of };
  });
}

export function figuresOfSingles({ toReach }: SingleRow, { figures }: Singles): Figure[] {
  return Object.entries(figures).map(([name, value]) => judged(name, value, toReach[name]));
}

function judged(name: string, value: number, bar: Bar | undefined): Figure {
  if (bar === undefined) {
    return { name, value };
  }
  return { name, value, bar, met: 'atLeast' in bar ? value >= bar.atLeast : value <= bar.atMost };
}

function usable(sample: Sample, name: string): number {
  const value = sample[name];
  if (value === undefined || !(value > 0)) {
    throw new Error(`a turn gave no usable ${name}: ${value}`);
  }
  return value;
}

export function median(values: readonly number[]): number {
  const sorted = values.toSorted((a, b) => a - b);
  const middle = sorted.length / 2;
  const [low, high] = [sorted[Math.ceil(middle) - 1], sorted[Math.floor(middle)]];
  if (low === undefined || high === undefined) {
    throw new Error('no median of nothing');
  }
  return (low + high) / 2;
}
