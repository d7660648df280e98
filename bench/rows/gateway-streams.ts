/** Many streams at once through a gateway that has one core: dropped streams, added delay between tokens, memory. */
import { direct, floor, type Provider, purser, startProvider, type Way } from '../gateway/contenders.ts';
import { connectClient, requestBytes } from '../gateway/exchange.ts';
import { percentile } from '../load.ts';
import { measureRounds, median, noteOnStolenTime, type SingleRow } from '../measure.ts';
import { forgetPeak, residentBytes } from '../processes.ts';

const streams = 500;
/** 20 tokens a second, which is what one reader of a large model gets. */
const everyMs = 50;
const tokens = 100;
const megabyte = 1_000_000;
const nanosecondsPerMs = 1_000_000;

interface Result {
  readonly complete: number;
  /** 99th percentile of how much longer two tokens were apart on arrival than when they were sent. */
  readonly gapP99Ms: number;
}

export const gatewayStreams: SingleRow = {
  kind: 'single',
  name: 'gateway-streams',
  what:
    `${streams} streams at once, ${1_000 / everyMs} tokens a second each, through a service that has one core, embedded, ` +
    'eight limits. Added delay: how much further apart two tokens of a stream arrive than they were sent, 99th ' +
    'percentile, less that of the provider without a gateway in the same round; medians of the rounds. Memory: peak of ' +
    'the resident memory, above that of the idle service after a collection of garbage',
  toReach: {
    dropped: { atMost: 0 },
    'added delay between tokens, p99 ms': { atMost: 10 },
    'MB above idle': { atMost: 300 },
  },
  async measure(options) {
    const provider = await startProvider();
    await provider.behave({ tokens, everyMs, timed: true });
    const service = await purser(provider, { collectable: true, oneCore: true });
    const ways = { direct: direct(provider), proxy: await floor(provider), service };
    try {
      await service.service.memory();
      const idleBytes = residentBytes(service.pid, 'now');
      forgetPeak(service.pid);
      options.progress('warming up');
      await all(service, streams);
      await provider.behave({});
      const rounds = await measureRounds(options, () => oneRound(provider, ways));
      const results = rounds.counted.map(({ result }) => result);
      const peakBytes = residentBytes(service.pid, 'peak');
      const added = results.map((round) => round.service.gapP99Ms - round.direct.gapP99Ms);
      const dropped = rounds.all.reduce((total, { result }) => total + streams - result.service.complete, 0);
      return {
        figures: {
          dropped,
          'added delay between tokens, p99 ms': median(added),
          'highest of these': Math.max(...added),
          'MB above idle': (peakBytes - idleBytes) / megabyte,
          'idle MB': idleBytes / megabyte,
          'p99 ms, Purser': median(results.map((round) => round.service.gapP99Ms)),
          'p99 ms, bare proxy': median(results.map((round) => round.proxy.gapP99Ms)),
          'p99 ms, without a gateway': median(results.map((round) => round.direct.gapP99Ms)),
        },
        notes: noteOnStolenTime(rounds),
      };
    } finally {
      await Promise.all(Object.values(ways).map((way) => way.stop()));
    }
  },
};

async function oneRound(provider: Provider, ways: Record<'direct' | 'proxy' | 'service', Way>) {
  const service = await all(ways.service, streams);
  const { completed } = await provider.bill();
  await provider.behave({});
  // The row would not mean anything if the client had counted streams that the provider did not finish.
  if (completed < service.complete) {
    throw new Error(`${service.complete} streams were complete, but the provider finished ${completed}`);
  }
  return { service, proxy: await all(ways.proxy, streams), direct: await all(ways.direct, streams) };
}

async function all(way: Way, count: number): Promise<Result> {
  const body = {
    model: 'gpt-4o',
    max_tokens: tokens,
    stream: true,
    messages: [{ role: 'user', content: 'hello' }],
  };
  const request = requestBytes(way.port, { path: way.path, headers: way.headers, body });
  const gapsMs: number[] = [];
  const ends = await Promise.all(Array.from({ length: count }, () => one(way.port, request, gapsMs)));
  gapsMs.sort((a, b) => a - b);
  return {
    complete: ends.filter((received) => received === tokens).length,
    gapP99Ms: percentile(gapsMs, 99),
  };
}

/** Returns the number of tokens that arrived. */
async function one(port: number, request: Buffer, gapsMs: number[]): Promise<number> {
  const client = await connectClient(port);
  let last: { sent: number; arrived: number } | undefined;
  let received = 0;
  try {
    await client.send(request, (chunk) => {
      const arrived = Number(process.hrtime.bigint()) / nanosecondsPerMs;
      for (const [, nanoseconds] of chunk.toString('latin1').matchAll(/"content":"(\d+) "/g)) {
        received += 1;
        const sent = Number(nanoseconds) / nanosecondsPerMs;
        if (last !== undefined) {
          gapsMs.push(arrived - last.arrived - (sent - last.sent));
        }
        last = { sent, arrived };
      }
    });
  } catch {
    return received;
  } finally {
    client.close();
  }
  return received;
}
