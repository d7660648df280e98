/**
 * The method of every figure: service and floor take turns, each turn of the service is divided by the turn of
 * the floor that follows it, and the median of those ratios counts. What else the machine does meanwhile then
 * strikes both halves of a pair, and a pair that it strikes unevenly does not decide.
 */

/** What one turn measured, by figure: `requests/s`, `p99 ms`, … A figure that this machine cannot give is absent. */
export type Sample = Readonly<Record<string, number>>;

export interface Contenders {
  service(seconds: number): Promise<Sample>;
  floor(seconds: number): Promise<Sample>;
  /** Stops whatever was started for the row. */
  close(): Promise<void>;
}

/** One line of the bench. `floor` says what the service is compared with. */
export interface Row {
  readonly name: string;
  readonly what: string;
  readonly floor: string;
  prepare(): Promise<Contenders>;
}

export interface Pair {
  readonly service: Sample;
  readonly floor: Sample;
}

export interface Figure {
  readonly name: string;
  /** The median of the pairs' ratios, service to floor; then the extremes, which show how noisy the run was. */
  readonly ratio: number;
  readonly ratioMin: number;
  readonly ratioMax: number;
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

export function figuresOf(pairs: readonly Pair[]): Figure[] {
  return Object.keys(pairs[0]?.service ?? {}).map((name) => {
    const service = pairs.map((pair) => figure(pair.service, name));
    const floor = pairs.map((pair) => figure(pair.floor, name));
    const ratios = service.map((value, index) => value / (floor[index] ?? Number.NaN));
    return {
      name,
      ratio: median(ratios),
      ratioMin: Math.min(...ratios),
      ratioMax: Math.max(...ratios),
      service: median(service),
      floor: median(floor),
    };
  });
}

function figure(sample: Sample, name: string): number {
  const value = sample[name];
  if (value === undefined || !(value > 0)) {
    throw new Error(`a turn gave no usable ${name}: ${value}`);
  }
  return value;
}

function median(values: readonly number[]): number {
  const sorted = values.toSorted((a, b) => a - b);
  const middle = sorted.length / 2;
  const [low, high] = [sorted[Math.ceil(middle) - 1], sorted[Math.floor(middle)]];
  if (low === undefined || high === undefined) {
    throw new Error('no median of nothing');
  }
  return (low + high) / 2;
}
