/**
 * `npm run faults`: injects every fault of the table (test/faults) under load on both engines, and prints for each what was
 * acknowledged, lost, doubled and overspent. The exit code is 1 if anything was.
 *
 *   npm run faults
 *   npm run faults -- --rounds 10 --seed 7
 *   npm run faults -- --engine postgres --only COMMIT
 */
import { spawn } from 'node:child_process';
import { parseArgs } from 'node:util';
import { findPostgres } from '../test/support/postgres-cluster.ts';

const engines = ['embedded', 'postgres'];

const { values: options } = parseArgs({
  options: {
    rounds: { type: 'string', default: '3' },
    seed: { type: 'string', default: '1' },
    engine: { type: 'string', multiple: true },
    only: { type: 'string', default: '' },
  },
});

function usageError(message: string): never {
  process.stderr.write(`${message}\n`);
  process.exit(2);
}

const { rounds, seed, only, engine: chosen = engines } = options;
if (!/^[1-9]\d*$/.test(rounds)) {
  usageError('--rounds must be a positive integer.');
}
if (!/^\d+$/.test(seed)) {
  usageError('--seed must be an integer.');
}
for (const engine of chosen) {
  if (!engines.includes(engine)) {
    usageError(`--engine must be one of: ${engines.join(', ')}.`);
  }
}
if (chosen.includes('postgres') && findPostgres() === undefined) {
  usageError('PostgreSQL 15 or newer was not found on this machine. Use --engine embedded.');
}

const child = spawn(
  'npx',
  [
    'vitest',
    'run',
    ...chosen.flatMap((engine) => ['--project', `soak-${engine}`]),
    'test/faults/fault-table.test.ts',
  ],
  {
    stdio: 'inherit',
    env: {
      ...process.env,
      PURSER_FAULTS_ROUNDS: rounds,
      PURSER_FAULTS_SEED: seed,
      PURSER_FAULTS_ONLY: only,
    },
  },
);
child.once('exit', (code) => {
  process.exitCode = code ?? 1;
});
