import { defineConfig } from 'vitest/config';
import { findPostgres } from './test/support/postgres-cluster.ts';

/**
 * Two projects, the same tests: the embedded engine always, PostgreSQL wherever the machine has it.
 * PURSER_TEST_REQUIRE_ALL turns a missing engine from a skip into a failure.
 */
const postgres = findPostgres() !== undefined;
if (!postgres) {
  const message = 'PostgreSQL 15 or newer was not found on this machine';
  if (process.env.PURSER_TEST_REQUIRE_ALL === '1') {
    throw new Error(`${message}, and PURSER_TEST_REQUIRE_ALL is set`);
  }
  process.stderr.write(`${message}: its tests are skipped.\n`);
}

const common = {
  // A process runs one file after the other: to load the service anew for each takes longer than most files do. A file
  // therefore leaves nothing behind, and counts only what it has caused itself.
  isolate: false,
  globalSetup: './test/support/global-setup.ts',
  // How long something takes is no part of what most tests claim: these only end what would never come.
  testTimeout: 90_000,
  hookTimeout: 120_000,
};

export default defineConfig({
  test: {
    pool: 'forks',
    // One more than most machines that run them have cores for: many files wait for processes, clocks and browsers.
    maxWorkers: 3,
    projects: [
      {
        test: {
          ...common,
          name: 'embedded',
          include: ['src/**/*.test.ts', 'packages/**/*.test.ts', 'test/**/*.test.ts'],
          env: { PURSER_TEST_ENGINE: 'embedded' },
        },
      },
      ...(postgres
        ? [
            {
              test: {
                ...common,
                name: 'postgres',
                include: [
                  'src/{capabilities,edge,platform/db,platform/ledger}/**/*.test.ts',
                  'test/{contract,e2e}/**/*.test.ts',
                ],
                // What a browser shows of an answer, and what is refused before anybody asks the database, does not depend
                // on who stores it.
                exclude: [
                  'test/e2e/console*.test.ts',
                  'test/contract/http-edges.*.test.ts',
                  'src/capabilities/safety/built-in.test.ts',
                ],
                env: { PURSER_TEST_ENGINE: 'postgres' },
              },
            },
          ]
        : []),
    ],
  },
});
