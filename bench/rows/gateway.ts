/** Calls through the gateway, beside a bare reverse proxy and the gateways of others, all to the same provider. */
import {
  direct,
  floor,
  type Provider,
  peers,
  purser,
  startProvider,
  type Way,
} from '../gateway/contenders.ts';
import { type Client, connectClient, requestBytes } from '../gateway/exchange.ts';
import { percentile } from '../load.ts';
import {
  type Bar,
  measureRounds,
  median,
  noteOnStolenTime,
  type Rounds,
  type RowOptions,
  type Sample,
  type SingleRow,
} from '../measure.ts';
import { cpuMs } from '../processes.ts';

interface Shape {
  readonly name: string;
  readonly connections: number;
  readonly bodyBytes: number;
  readonly stream: boolean;
}

const shapes: readonly Shape[] = [false, true].flatMap((stream) =>
  [1, 32].flatMap((connections) =>
    [1, 100].map((kilobytes) => ({
      name: `${stream ? 'stream' : 'plain'}, ${connections} at once, ${kilobytes} KB`,
      connections,
      bodyBytes: kilobytes * 1_024,
      stream,
    })),
  ),
);

/** The answer has the same size in all shapes. */
const tokens = 50;
const warmUpSeconds = 3;
/**
 * Before the first shape, with 32 at once and 1 KB, plain and streamed. A gateway runs for weeks; the first thousand calls run on code that is not
 * compiled yet, which takes ten times as long and is slower the more a gateway does.
 */
const firstWarmUpSeconds = 10;

/** One turn of one way. For streams `latency` is that of the first byte. */
interface Turn {
  readonly calls: number;
  readonly perSecond: number;
  readonly p50Ms: number;
  readonly p99Ms: number;
  readonly cpuUs: number;
}

export const gateway: SingleRow = {
  kind: 'single',
  name: 'gateway',
  what:
    'chat completions through the gateway with eight limits and durable holds, embedded; through a bare reverse proxy ' +
    '(the floor); and through the gateways of others, one process each, in turns. Added: latency of the whole answer, ' +
    'or of the first byte of a stream, less that of the provider itself in the same round. Medians of the rounds',
  toReach: targets(),
  async measure(options) {
    const provider = await startProvider();
    await provider.behave({ tokens, everyMs: 0 });
    const service = await purser(provider);
    const others = await peers(provider);
    const ways = [direct(provider), await floor(provider), service, ...others.started];
    try {
      const { figures, notes } = await allShapes(provider, ways, options);
      return { figures, notes: [...others.notes, ...notes] };
    } finally {
      await Promise.all(ways.map((way) => way.stop()));
    }
  },
};

function targets(): Record<string, Bar> {
  return Object.fromEntries(
    shapes.flatMap(({ name, connections }) => [
      ...(connections > 1 ? [[`${name}: requests/s of the floor's`, { atLeast: 0.6 }]] : []),
      [`${name}: added p50 of Portkey's`, { atMost: 0.5 }],
      [`${name}: added p50 of LiteLLM's`, { atMost: 0.1 }],
    ]),
  );
}

/** One turn of each way, by its name. */
type Round = Readonly<Record<string, Turn>>;

async function allShapes(provider: Provider, ways: readonly Way[], options: RowOptions) {
  const figures: Record<string, number> = {};
  const notes: string[] = [];
  options.progress('warming up');
  for (const shape of shapes.filter(({ connections, bodyBytes }) => connections > 1 && bodyBytes === 1_024)) {
    for (const way of ways) {
      await turn(way, shape, firstWarmUpSeconds);
    }
  }
  for (const shape of shapes) {
    const rounds = await roundsOf(provider, ways, shape, options);
    const counted = rounds.counted.map(({ result }) => result);
    Object.assign(figures, comparisons(shape, counted), absolutes(shape, counted));
    notes.push(...noteOnStolenTime(rounds, shape.name));
  }
  return { figures, notes };
}

async function roundsOf(
  provider: Provider,
  ways: readonly Way[],
  shape: Shape,
  { pairs, secondsPerTurn, progress }: RowOptions,
): Promise<Rounds<Round>> {
  for (const way of ways) {
    await turn(way, shape, warmUpSeconds);
  }
  const named = { pairs, progress: (text: string) => progress(`${shape.name}: ${text}`) };
  return measureRounds(named, async () => {
    const round: Record<string, Turn> = {};
    for (const way of ways) {
      await provider.behave({});
      const result = await turn(way, shape, secondsPerTurn);
      const { completed } = await provider.bill();
      if (completed !== result.calls) {
        throw new Error(
          `${way.name} answered ${result.calls} calls, of which ${completed} reached the provider`,
        );
      }
      round[way.name] = result;
    }
    return round;
  });
}

async function turn(way: Way, { connections, bodyBytes, stream }: Shape, seconds: number): Promise<Turn> {
  const content = 'word '.repeat(Math.ceil(bodyBytes / 5)).slice(0, bodyBytes - 100);
  const body = { model: 'gpt-4o', max_tokens: tokens, stream, messages: [{ role: 'user', content }] };
  const request = requestBytes(way.port, { path: way.path, headers: way.headers, body });
  const clients = await Promise.all(Array.from({ length: connections }, () => connectClient(way.port)));
  const latenciesMs: number[] = [];
  const cpuBeforeMs = cpuMs(way.pid);
  const startedMs = performance.now();
  try {
    await Promise.all(clients.map((client) => repeat(client, request, seconds, stream, latenciesMs)));
  } finally {
    for (const client of clients) {
      client.close();
    }
  }
  const elapsedMs = performance.now() - startedMs;
  latenciesMs.sort((a, b) => a - b);
  return {
    calls: latenciesMs.length,
    perSecond: (latenciesMs.length * 1_000) / elapsedMs,
    p50Ms: percentile(latenciesMs, 50),
    p99Ms: percentile(latenciesMs, 99),
    cpuUs: ((cpuMs(way.pid) - cpuBeforeMs) * 1_000) / latenciesMs.length,
  };
}

async function repeat(
  client: Client,
  request: Buffer,
  seconds: number,
  stream: boolean,
  latenciesMs: number[],
): Promise<void> {
  const endMs = performance.now() + seconds * 1_000;
  do {
    const { status, firstByteMs, totalMs } = await client.send(request);
    if (status !== 200) {
      throw new Error(`a call was answered with ${status}`);
    }
    latenciesMs.push(stream ? firstByteMs : totalMs);
  } while (performance.now() < endMs);
}

/** Compares the service with the others within each round. */
function comparisons({ name, connections }: Shape, rounds: readonly Round[]): Sample {
  const figure = (round: Round, way: string, what: keyof Turn) => round[way]?.[what] ?? Number.NaN;
  const added = (round: Round, way: string) => figure(round, way, 'p50Ms') - figure(round, 'direct', 'p50Ms');
  const ratio = (compare: (round: Round) => number) => median(rounds.map(compare));
  const figures: Record<string, number> = {};
  if (connections > 1) {
    figures[`${name}: requests/s of the floor's`] = ratio(
      (round) => figure(round, 'Purser', 'perSecond') / figure(round, 'bare proxy', 'perSecond'),
    );
  }
  for (const peer of ['Portkey', 'LiteLLM'].filter((one) => rounds[0]?.[one] !== undefined)) {
    figures[`${name}: added p50 of ${peer}'s`] = ratio(
      (round) => added(round, 'Purser') / Math.max(added(round, peer), Number.EPSILON),
    );
  }
  return figures;
}

function absolutes({ name }: Shape, rounds: readonly Round[]): Sample {
  const of = (way: string, figure: keyof Turn) =>
    median(rounds.map((round) => round[way]?.[figure] ?? Number.NaN));
  return Object.fromEntries(
    Object.keys(rounds[0] ?? {}).flatMap((way) => [
      [`${name}: ${way} requests/s`, of(way, 'perSecond')],
      ...(way === 'direct'
        ? [[`${name}: ${way} p50 ms`, of(way, 'p50Ms')]]
        : [
            [`${name}: ${way} added p50 ms`, of(way, 'p50Ms') - of('direct', 'p50Ms')],
            [`${name}: ${way} added p99 ms`, of(way, 'p99Ms') - of('direct', 'p99Ms')],
          ]),
      [`${name}: ${way} CPU µs/request`, of(way, 'cpuUs')],
    ]),
  );
}
