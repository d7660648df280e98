/**
 * The method of most figures: service and floor take turns, each turn of the service is compared with the turn of the
 * floor that follows it, and the median of those comparisons counts. What else the machine does meanwhile then strikes
 * both halves of a pair, and a pair that it strikes unevenly does not decide.
 *
 * What has no floor to take turns with (memory, the time of a start) is a single figure.
 */

/** What one turn measured, by figure: `requests/s`, `p99 ms`, … A figure that this machine cannot give is absent. */
export type Sample = Readonly<Record<string, number>>;

/** What a figure has to reach. Figures without a bar are for orientation. */
export type Bar = { readonly atLeast: number } | { readonly atMost: number };

export interface RowOptions {
  /** Much less data than the row is about, to see whether it works. */
  readonly small: boolean;
  progress(text: string): void;
}

interface AnyRow {
  readonly name: string;
  readonly what: string;
  /** By figure. */
  readonly toReach: Readonly<Record<string, Bar>>;
  /** Has less data with `small`, and then says nothing about its bars. */
  readonly shrinks?: boolean;
}

/** `floor` says what the service is compared with. */
export interface PairsRow extends AnyRow {
  readonly kind: 'pairs';
  readonly floor: string;
  /** Figures of which the floor's is taken off; of all others the service's is divided by the floor's. */
  readonly differences?: readonly string[];
  prepare(options: RowOptions): Promise<Contenders>;
}

export interface Contenders {
  service(seconds: number): Promise<Sample>;
  floor(seconds: number): Promise<Sample>;
  /** What is to be said once all turns are over, such as whether the books agree. */
  notes?(): Promise<readonly string[]>;
  /** Stops whatever was started for the row. */
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

/** The row as it can be judged. */
export function judgeable(row: Row, small: boolean): Row {
  return small && row.shrinks === true ? { ...row, toReach: {} } : row;
}

export interface Pair {
  readonly service: Sample;
  readonly floor: Sample;
}

export interface Figure {
  readonly name: string;
  /** Of pairs the median of their ratios, or of their differences. */
  readonly value: number;
  readonly bar?: Bar;
  readonly met?: boolean;
  readonly of?: Comparison;
}

export interface Comparison {
  readonly by: 'ratio' | 'difference';
  /** The extremes, which show how noisy the run was. */
  readonly lowest: number;
  readonly highest: number;
  /** Medians, for orientation only: they say more about the machine than about the service. */
  readonly service: number;
  readonly floor: number;
}

export interface Turns {
  readonly pairs: number;
  readonly secondsPerTurn: number;
  progress(text: string): void;
}

/** The service has far more code than the floor for the engine to compile; measured earlier it looks half as fast. */
const warmUpSeconds = { service: 6, floor: 2 };

export async function measurePairs(contenders: Contenders, { pairs, secondsPerTurn, progress }: Turns) {
  progress('warming up');
  await contenders.service(warmUpSeconds.service);
  await contenders.floor(warmUpSeconds.floor);
  const measured: Pair[] = [];
  for (let turn = 1; turn <= pairs; turn += 1) {
    progress(`pair ${turn} of ${pairs}: service`);
    const service = await contenders.service(secondsPerTurn);
    progress(`pair ${turn} of ${pairs}: floor`);
    const floor = await contenders.floor(secondsPerTurn);
    measured.push({ service, floor });
  }
  return measured;
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
