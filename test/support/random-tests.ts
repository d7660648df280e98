/**
 * The random tests: their files, the seeds that `npm test` uses, and all cases that ever failed. `npm run fuzz` runs
 * the same files with new seeds. Every failure that it finds becomes an entry of `regressions` here.
 */

export interface FixedCase {
  readonly seed: number;
  /** A path of fast-check: replays only the case at this path instead of all cases of the seed. */
  readonly path?: string;
  /** Title of the test that the path belongs to. Required if there is a path. */
  readonly test?: string;
}

export interface RandomTest {
  readonly file: string;
  readonly projects: readonly Project[];
  /** The projects whose soak run contains the file instead (`vitest.config.ts`). */
  readonly inSoakRunOf?: readonly Project[];
  /** If most of the file is not random, `npm run fuzz` runs only the tests whose full name matches. */
  readonly only?: string;
  /**
   * The number of new seeds in one turn of `npm run fuzz`, chosen so that a turn takes from a few seconds to about a
   * minute.
   */
  readonly seedsPerTurn: number;
  readonly seeds: readonly number[];
  readonly regressions: readonly FixedCase[];
}

export type Project = 'embedded' | 'postgres';

/** Far apart, because a test may add a small number to its seed for each of its parts. */
const cheap = [1, 1_001, 2_001];
const expensive = [1];

const embedded: readonly Project[] = ['embedded'];
const both: readonly Project[] = ['embedded', 'postgres'];

const fastPathTitle = 'the fast HTTP path responds exactly like Node to random streams of bytes';

export const randomTests = {
  'telemetry-bytes': {
    file: 'src/capabilities/integration/telemetry/decode.test.ts',
    projects: embedded,
    inSoakRunOf: embedded,
    seedsPerTurn: 20,
    seeds: cheap,
    regressions: [],
  },
  'gateway-adversary': {
    file: 'src/gateway/adversary.test.ts',
    projects: embedded,
    seedsPerTurn: 10,
    seeds: cheap,
    regressions: [{ seed: 1_115_636_447 }, { seed: 246_666_119 }],
  },
  'gateway-unused-input': {
    file: 'src/gateway/unused-input.test.ts',
    projects: embedded,
    only: 'what the hold covers in addition',
    seedsPerTurn: 20,
    seeds: cheap,
    regressions: [],
  },
  'gateway-pace': {
    file: 'src/growing-holds/paced-holds.test.ts',
    projects: embedded,
    only: 'calls of all lengths',
    seedsPerTurn: 5,
    seeds: cheap,
    regressions: [],
  },
  'gateway-agents': {
    file: 'src/growing-holds/paced-agents.test.ts',
    projects: embedded,
    seedsPerTurn: 10,
    seeds: cheap,
    regressions: [],
  },
  'gateway-agents-kill': {
    file: 'test/e2e/gateway-agents-kill.test.ts',
    projects: both,
    inSoakRunOf: both,
    seedsPerTurn: 1,
    seeds: [1, 2],
    regressions: [],
  },
  'gateway-budgets': {
    file: 'src/gateway/paced-budgets.test.ts',
    projects: embedded,
    seedsPerTurn: 4,
    seeds: [1, 2],
    regressions: [],
  },
  'gateway-calls': {
    file: 'src/gateway/parallel-streams.test.ts',
    projects: both,
    only: 'with random aborts',
    seedsPerTurn: 2,
    seeds: expensive,
    regressions: [],
  },
  'gateway-chaos': {
    file: 'test/e2e/gateway-chaos.test.ts',
    projects: both,
    seedsPerTurn: 1,
    seeds: expensive,
    regressions: [],
  },
  'gateway-streams': {
    file: 'src/gateway/stream/relay-filter.test.ts',
    projects: embedded,
    seedsPerTurn: 20,
    seeds: cheap,
    regressions: [],
  },
  'gateway-stream-bytes': {
    file: 'src/gateway/stream-bytes.test.ts',
    projects: embedded,
    inSoakRunOf: embedded,
    only: 'random chunks',
    seedsPerTurn: 5,
    seeds: expensive,
    regressions: [],
  },
  'gateway-frames': {
    file: 'src/gateway/stream/event-stream.test.ts',
    projects: embedded,
    seedsPerTurn: 20,
    seeds: cheap,
    regressions: [],
  },
  'gateway-bodies': {
    file: 'src/gateway/body/edit-body.test.ts',
    projects: embedded,
    seedsPerTurn: 20,
    seeds: cheap,
    regressions: [],
  },
  'text-scores': {
    file: 'src/gateway/body/text-score.test.ts',
    projects: embedded,
    only: 'a search finds no text',
    seedsPerTurn: 20,
    seeds: cheap,
    regressions: [],
  },
  'fast-path': {
    file: 'src/platform/http/fast/fast-path.test.ts',
    projects: embedded,
    only: 'streams of bytes',
    seedsPerTurn: 1,
    seeds: expensive,
    regressions: [
      // A key that the other server was given before.
      { seed: 1_945_204_103, path: '45', test: fastPathTitle },
      // Bytes after a request that closes the connection.
      {
        seed: 170_470_125,
        path: '403:1:1:1:2:2:3:5:7:6:6:6:11:4:15:9:7:5:5:8:3:4:22:7:5:5:4:4:29:5',
        test: fastPathTitle,
      },
      {
        seed: 1_981_194_237,
        path: '267:4:7:6:6:6:6:6:6:6:6:6:6:6:6:6:6:6:6:5:12:7:6:7:6:6:6:6:6',
        test: fastPathTitle,
      },
      { seed: 108, path: '363:1:3:4:4:4:5:4:4:4', test: fastPathTitle },
      { seed: 113, path: '566:2:4:4:4:5:5:5', test: fastPathTitle },
      { seed: 114, path: '410:1:4:5:5:5', test: fastPathTitle },
    ],
  },
  focus: {
    file: 'src/capabilities/insight/focus/kind-charges.test.ts',
    projects: both,
    inSoakRunOf: embedded,
    only: 'random postings',
    seedsPerTurn: 4,
    seeds: [1, 2],
    regressions: [],
  },
  forecast: {
    file: 'src/kernel/forecast/forecast.test.ts',
    projects: embedded,
    only: 'whatever the history',
    seedsPerTurn: 50,
    seeds: cheap,
    regressions: [],
  },
  html: {
    file: 'src/console/html.test.ts',
    projects: embedded,
    seedsPerTurn: 100,
    seeds: cheap,
    regressions: [],
  },
  json: {
    file: 'src/platform/http/message/json.test.ts',
    projects: embedded,
    seedsPerTurn: 50,
    seeds: cheap,
    regressions: [],
  },
  'json-survey': {
    file: 'src/platform/http/message/json-survey.test.ts',
    projects: embedded,
    seedsPerTurn: 10,
    seeds: expensive,
    regressions: [],
  },
  'kernel-fit': {
    file: 'src/kernel/fit.test.ts',
    projects: embedded,
    only: 'one unit more',
    seedsPerTurn: 50,
    seeds: cheap,
    regressions: [],
  },
  'kernel-pace': {
    file: 'src/kernel/pace.test.ts',
    projects: embedded,
    seedsPerTurn: 50,
    seeds: cheap,
    regressions: [],
  },
  'kernel-workload': {
    file: 'src/kernel/workload.test.ts',
    projects: embedded,
    seedsPerTurn: 2,
    seeds: expensive,
    regressions: [],
  },
  'kill-nine': {
    file: 'test/e2e/kill-nine.test.ts',
    projects: both,
    seedsPerTurn: 1,
    seeds: expensive,
    regressions: [],
  },
  'provider-bills': {
    file: 'test/e2e/provider-bills.test.ts',
    projects: both,
    seedsPerTurn: 1,
    seeds: expensive,
    regressions: [],
  },
  'ledger-workload': {
    file: 'src/ledger/workload.test.ts',
    projects: both,
    seedsPerTurn: 1,
    seeds: expensive,
    regressions: [],
  },
  'gateway-paced-chaos': {
    file: 'src/gateway/paced-chaos.test.ts',
    projects: embedded,
    seedsPerTurn: 3,
    seeds: cheap,
    regressions: [],
  },
  'ledger-growth': {
    file: 'src/ledger/growth.test.ts',
    projects: both,
    seedsPerTurn: 3,
    seeds: cheap,
    regressions: [],
  },
  'linear-forecast': {
    file: 'src/capabilities/insight/forecasts/linear.test.ts',
    projects: embedded,
    inSoakRunOf: embedded,
    seedsPerTurn: 200,
    seeds: cheap,
    regressions: [],
  },
  money: {
    file: 'src/kernel/money.test.ts',
    projects: embedded,
    seedsPerTurn: 200,
    seeds: cheap,
    regressions: [],
  },
  'money-faults': {
    file: 'test/e2e/money-faults.test.ts',
    projects: both,
    inSoakRunOf: embedded,
    only: 'SIGTERM under load',
    seedsPerTurn: 1,
    seeds: expensive,
    regressions: [],
  },
  'power-cut': {
    file: 'test/e2e/power-cut.test.ts',
    projects: embedded,
    inSoakRunOf: embedded,
    only: 'times in a row under load',
    seedsPerTurn: 1,
    seeds: expensive,
    regressions: [],
  },
  'money-faults-embedded': {
    file: 'test/e2e/money-faults-embedded.test.ts',
    projects: embedded,
    only: 'dies under load',
    seedsPerTurn: 1,
    seeds: expensive,
    regressions: [],
  },
  'money-faults-postgres': {
    file: 'test/e2e/money-faults-postgres.test.ts',
    projects: ['postgres'],
    only: 'under load, and comes back',
    seedsPerTurn: 1,
    seeds: expensive,
    regressions: [],
  },
  policy: {
    file: 'src/kernel/policy.test.ts',
    projects: embedded,
    seedsPerTurn: 50,
    seeds: cheap,
    regressions: [],
  },
  prices: {
    file: 'src/kernel/prices.test.ts',
    projects: embedded,
    seedsPerTurn: 50,
    seeds: cheap,
    regressions: [],
  },
  'rate-modifiers': {
    file: 'src/kernel/rate-modifiers.test.ts',
    projects: embedded,
    seedsPerTurn: 20,
    seeds: cheap,
    regressions: [],
  },
  'random-requests': {
    file: 'test/contract/random-requests.test.ts',
    projects: both,
    inSoakRunOf: ['postgres'],
    seedsPerTurn: 1,
    seeds: expensive,
    regressions: [],
  },
  rate: {
    file: 'src/kernel/rate.test.ts',
    projects: embedded,
    seedsPerTurn: 5,
    seeds: expensive,
    regressions: [],
  },
  'redis-rates': {
    file: 'src/platform/rates/redis-rate-limiter.test.ts',
    projects: embedded,
    only: 'decides and waits exactly as the kernel does',
    seedsPerTurn: 10,
    seeds: expensive,
    regressions: [],
  },
  routing: {
    file: 'src/kernel/routing.test.ts',
    projects: embedded,
    seedsPerTurn: 3,
    seeds: expensive,
    regressions: [],
  },
  windows: {
    file: 'src/kernel/windows.test.ts',
    projects: embedded,
    seedsPerTurn: 5,
    seeds: expensive,
    regressions: [],
  },
} as const satisfies Record<string, RandomTest>;

export type RandomTestName = keyof typeof randomTests;

/**
 * Returns the cases of a random test: the fixed ones, or those in the environment variables that `npm run fuzz` sets.
 * `PURSER_TEST_SEED` contains one seed or several, separated by commas; `PURSER_TEST_PATH` requires a single seed.
 */
export function casesOf(
  { seeds, regressions }: Pick<RandomTest, 'seeds' | 'regressions'>,
  { PURSER_TEST_SEED: given, PURSER_TEST_PATH: path }: NodeJS.ProcessEnv,
): readonly FixedCase[] {
  if (given === undefined && path === undefined) {
    return [...seeds.map((seed) => ({ seed })), ...regressions];
  }
  const all = (given ?? '').split(',');
  if (!all.every((text) => /^\d{1,10}$/.test(text)) || (path !== undefined && all.length > 1)) {
    throw new Error(`PURSER_TEST_SEED must be an integer, or several if there is no path: ${given}`);
  }
  return all.map((text) => (path === undefined ? { seed: Number(text) } : { seed: Number(text), path }));
}
