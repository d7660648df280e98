/**
 * `npm run fuzz`: runs the random tests with fresh seeds for a given time, one after the other, and continues
 * after a failure.
 *
 *   npm run fuzz -- --minutes 10
 *   npm run fuzz -- --minutes 10 --only rate
 *   npm run fuzz -- --only rate --seed 5 [--path 12:0:1 --test 'title of the test'] [--project postgres]
 *
 * With `--seed`, only one turn is run, with that seed, to replay a failure. Add each failure that was caused by a bug
 * of the product or of a test to `regressions` in test/support/random-tests.ts, so that `npm test` runs it from then
 * on.
 */
import { spawn } from 'node:child_process';
import { randomInt } from 'node:crypto';
import { mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { parseArgs } from 'node:util';
import { sumFigures } from '../test/support/figures.ts';
import { findPostgres } from '../test/support/postgres-cluster.ts';
import { type Project, type RandomTest, randomTests } from '../test/support/random-tests.ts';
import { type Failure, failuresIn, type Report, replayCommand } from './fuzz-report.ts';

const allTests: Readonly<Record<string, RandomTest>> = randomTests;
const largestSeed = 2 ** 31;

interface Turn {
  readonly name: string;
  readonly project: Project;
  readonly seeds: readonly number[];
  readonly path?: string | undefined;
  readonly title?: string | undefined;
}

const { values: options } = parseArgs({
  options: {
    minutes: { type: 'string', default: '10' },
    only: { type: 'string', multiple: true },
    project: { type: 'string' },
    seed: { type: 'string' },
    path: { type: 'string' },
    test: { type: 'string' },
  },
});

function usageError(message: string): never {
  process.stderr.write(`${message}\n`);
  process.exit(2);
}

const minutes = Number(options.minutes);
if (!(minutes > 0)) {
  usageError('--minutes must be a positive number.');
}
const names = options.only ?? Object.keys(allTests);
for (const name of names) {
  if (!(name in allTests)) {
    usageError(`There is no random test "${name}". There are: ${Object.keys(allTests).join(', ')}.`);
  }
}
const seed = options.seed === undefined ? undefined : Number(options.seed);
if (seed !== undefined && !(Number.isInteger(seed) && seed >= 0)) {
  usageError('--seed must be an integer.');
}
if (options.path !== undefined && (seed === undefined || names.length !== 1)) {
  usageError('--path goes with --seed and one --only.');
}
const installed: readonly string[] = findPostgres() === undefined ? ['embedded'] : ['embedded', 'postgres'];
const turns = names.flatMap((name) =>
  projectsOf(name).map((project) => ({ name, project, path: options.path, title: options.test })),
);
if (turns.length === 0) {
  usageError('No project of these tests can run here.');
}

function projectsOf(name: string): readonly Project[] {
  return (allTests[name]?.projects ?? []).filter(
    (project) => installed.includes(project) && (options.project ?? project) === project,
  );
}

/** Seeds are far apart, since a test may add small numbers to its seed. */
function freshSeeds(count: number): number[] {
  const first = randomInt(largestSeed);
  return Array.from({ length: count }, (_, index) => (first + index * 1_000) % largestSeed);
}

/** Runs one vitest process. */
async function runTurn({ name, project, seeds, path, title }: Turn): Promise<Failure[]> {
  const { file, only, inSoakRunOf } = allTests[name] as RandomTest;
  const folder = mkdtempSync(join(tmpdir(), 'purser-fuzz-'));
  const reportFile = join(folder, 'report.json');
  const figuresFile = join(folder, 'figures');
  const pattern = title === undefined ? only : title.replaceAll(/[\\^$.*+?()[\]{}|]/g, '\\$&');
  const child = spawn(
    process.execPath,
    [
      'node_modules/vitest/vitest.mjs',
      ...['run', '--project', inSoakRunOf?.includes(project) ? `soak-${project}` : project, file],
      // The report lacks errors outside of tests; the default reporter prints them.
      ...['--reporter=default', '--reporter=json', '--outputFile.json', reportFile],
      ...(pattern === undefined ? [] : ['--testNamePattern', pattern]),
    ],
    {
      env: {
        ...process.env,
        PURSER_TEST_SEED: seeds.join(','),
        PURSER_TEST_FIGURES: figuresFile,
        ...(path !== undefined && { PURSER_TEST_PATH: path }),
      },
      stdio: ['ignore', 'pipe', 'pipe'],
    },
  );
  const output: Buffer[] = [];
  child.stdout.on('data', (data: Buffer) => output.push(data));
  child.stderr.on('data', (data: Buffer) => output.push(data));
  const code = await new Promise<number | null>((resolve, reject) => {
    child.once('error', reject);
    child.once('close', resolve);
  });
  const log = Buffer.concat(output).toString();
  try {
    const failures = failuresIn(readReport(reportFile), seeds);
    if (failures.length > 0 || code === 0) {
      return failures.map((failure) => ({ ...failure, message: `${failure.message}\n${log}` }));
    }
    return [{ test: undefined, seed: seeds[0] as number, path: undefined, message: log }];
  } finally {
    const sums = figures.get(name) ?? new Map<string, bigint>();
    sumFigures(figuresFile, sums);
    figures.set(name, sums);
    rmSync(folder, { recursive: true, force: true });
  }
}

/** Returns undefined if vitest exited before it wrote a report. */
function readReport(file: string): Report | undefined {
  try {
    return JSON.parse(readFileSync(file, 'utf8'));
  } catch {
    return undefined;
  }
}

let isStopped = false;
// vitest gets the signal as well, as part of the terminal's process group.
process.on('SIGINT', () => {
  isStopped = true;
});

const deadlineMs = performance.now() + minutes * 60_000;
const ran = new Map<string, number>();
/** Sums of the figures that tests report, by the name of the test. */
const figures = new Map<string, Map<string, bigint>>();
const failed: string[] = [];
do {
  for (const turn of turns) {
    if (isStopped || (seed === undefined && performance.now() > deadlineMs)) {
      break;
    }
    const { seedsPerTurn } = allTests[turn.name] as RandomTest;
    const seeds = seed === undefined ? freshSeeds(seedsPerTurn) : [seed];
    const label = `${turn.name} on ${turn.project}`;
    const startedMs = performance.now();
    const failures = await runTurn({ ...turn, seeds });
    if (isStopped) {
      break;
    }
    ran.set(label, (ran.get(label) ?? 0) + seeds.length);
    const seconds = ((performance.now() - startedMs) / 1_000).toFixed(1);
    const outcome = failures.length === 0 ? 'ok' : 'FAILED';
    process.stdout.write(`${label}: ${outcome} in ${seconds} s, ${seeds.length} seeds from ${seeds[0]}\n`);
    for (const failure of failures) {
      const command = replayCommand(turn, failure);
      failed.push(command);
      process.stdout.write(`${failure.message}\nReplay: ${command}\n`);
    }
  }
} while (!isStopped && seed === undefined && performance.now() <= deadlineMs);

process.stdout.write('\nSeeds tried:\n');
for (const [label, count] of ran) {
  process.stdout.write(`  ${label}: ${count}\n`);
}
for (const [name, sums] of figures) {
  if (sums.size > 0) {
    const listed = [...sums].map(([figure, sum]) => `${figure} ${sum}`).join(', ');
    process.stdout.write(`Figures of ${name}: ${listed}\n`);
  }
}
process.stdout.write(failed.length === 0 ? 'Nothing failed.\n' : `${failed.length} failed:\n`);
for (const command of failed) {
  process.stdout.write(`  ${command}\n`);
}
if (failed.length > 0) {
  process.stdout.write(
    'Add each to the regressions in test/support/random-tests.ts once its cause is fixed.\n',
  );
}
process.exitCode = failed.length === 0 ? 0 : 1;
