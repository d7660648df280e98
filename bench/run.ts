/** `npm run bench`: runs the rows, shows progress, prints a table and writes the figures to `bench/results/`. */
import { mkdir, writeFile } from 'node:fs/promises';
import { availableParallelism } from 'node:os';
import { fileURLToPath } from 'node:url';
import { parseArgs } from 'node:util';
import { busyCores } from './against-bare-server.ts';
import { type Figure, figuresOf, measurePairs, type Row } from './measure.ts';
import { edgeDecision } from './rows/edge-decision.ts';
import { readOrg } from './rows/read-org.ts';

const rows: readonly Row[] = [edgeDecision, readOrg];

const pairsMin = 5;
/** Below this the floor waited, for the load or for other programs, and its requests/s is not its best. */
const floorBusyCoresMin = 0.85;

const { values: options } = parseArgs({
  options: {
    only: { type: 'string', multiple: true },
    pairs: { type: 'string', default: '5' },
    seconds: { type: 'string', default: '2' },
  },
});
const pairs = Number(options.pairs);
const secondsPerTurn = Number(options.seconds);
if (!Number.isInteger(pairs) || pairs < pairsMin || !(secondsPerTurn > 0)) {
  throw new Error(`--pairs has to be at least ${pairsMin} and --seconds above 0`);
}
const unknown = options.only?.find((name) => rows.every((row) => row.name !== name));
if (unknown !== undefined) {
  throw new Error(`there is no row ${unknown}; the rows are ${rows.map(({ name }) => name).join(', ')}`);
}

const startedAt = new Date().toISOString();
const results = [];
for (const row of rows.filter(({ name }) => options.only?.includes(name) ?? true)) {
  const progress = (text: string) => void process.stderr.write(`${row.name}: ${text}\n`);
  progress('starting');
  const contenders = await row.prepare();
  try {
    const measured = await measurePairs(contenders, { pairs, secondsPerTurn, progress });
    const { name, what, floor } = row;
    results.push({ name, what, floor, figures: figuresOf(measured), pairs: measured });
  } finally {
    await contenders.close();
  }
}

for (const { name, what, floor, figures } of results) {
  process.stdout.write(`\n${name}: ${what}\nfloor: ${floor}\n\n${table(figures)}\n`);
  const floorCores = figures.find((figure) => figure.name === busyCores)?.floor;
  if (floorCores !== undefined && floorCores < floorBusyCoresMin) {
    process.stdout.write(
      `\nThe floor was busy for only ${shown(floorCores)} of a core, so its requests/s and p99 are not its best and\n` +
        'their ratios flatter or blur. Run again on a quiet machine; CPU per request suffers less, but is not immune.\n',
    );
  }
}

const directory = new URL('./results/', import.meta.url);
const file = new URL(`${startedAt.replaceAll(':', '-')}.json`, directory);
const machine = { node: process.version, platform: process.platform, cores: availableParallelism() };
await mkdir(directory, { recursive: true });
await writeFile(file, `${JSON.stringify({ startedAt, machine, secondsPerTurn, rows: results }, null, 2)}\n`);
process.stdout.write(`\nwritten to ${fileURLToPath(file)}\n`);

function table(figures: readonly Figure[]): string {
  const head = ['figure', 'ratio', 'lowest', 'highest', 'service', 'floor'];
  const lines = figures.map(({ name, ratio, ratioMin, ratioMax, service, floor }) => [
    name,
    ...[ratio, ratioMin, ratioMax, service, floor].map(shown),
  ]);
  const widths = head.map((_, column) => Math.max(...[head, ...lines].map((l) => l[column]?.length ?? 0)));
  return [head, ...lines]
    .map((line) => line.map((cell, i) => (i === 0 ? cell.padEnd(18) : cell.padStart((widths[i] ?? 0) + 2))))
    .map((cells) => cells.join(''))
    .join('\n');
}

function shown(value: number): string {
  return value >= 100 ? String(Math.round(value)) : value.toFixed(value >= 10 ? 1 : 2);
}
