import { defineConfig } from 'vitest/config';
import { findCitus } from './test/support/citus-cluster.ts';
import { findPgBouncer } from './test/support/pgbouncer.ts';
import { findPostgres } from './test/support/postgres-cluster.ts';
import { ProcessesFirst } from './test/support/sequencer.ts';

/**
 * The same tests on two engines: the embedded one always, PostgreSQL wherever the machine has it.
 * PURSER_TEST_REQUIRE_ALL turns a missing engine from a skip into a failure.
 *
 * `npm test` runs the projects `embedded` and `postgres`. `npm run test:soak` runs `soak-*`: long repetitions, rare events, whole
 * tasks in a browser, on the other engine the tests whose code path does not depend on the engine, databases behind a pooler, and
 * the contract over sockets. `.ci/run` runs the first command, `.ci/soak` the second.
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
  // No test is about its duration: these only end a test that would never end, on however busy a machine.
  testTimeout: 600_000,
  hookTimeout: 600_000,
  // The default is a second, which is short for a busy machine.
  expect: { poll: { timeout: 300_000, interval: 20 } },
};
/** Ten times the rounds may take ten times as long. */
const soak = { ...common, testTimeout: 6_000_000 };

/** Repeated tests: a few rounds in `npm test`, many under PURSER_TEST_SOAK (test/support/rounds.ts). */
const repeated = [
  'packages/client/src/growing-holds.test.ts',
  'src/growing-holds/paced-agents.test.ts',
  'src/kernel/routing.test.ts',
  'src/kernel/workload.test.ts',
  'src/ledger/workload.test.ts',
  'src/platform/jobs/checkpoint-job.test.ts',
  'src/platform/http/fast/fast-path.test.ts',
  'test/contract/money.test.ts',
  'test/contract/random-requests.test.ts',
  'test/e2e/client-spool.test.ts',
  'test/e2e/kill-nine.test.ts',
  'test/e2e/money-faults-embedded.test.ts',
  'test/e2e/provider-bills.test.ts',
  'test/e2e/statement-month.test.ts',
  'test/frozen-contract/published.test.ts',
];
/**
 * Slow tests of tools around the service: the guides (`npm test` runs the README), samples of the documentation, the command line,
 * upgrades of the packaged program, and the rules that hold the code to the contract.
 */
const tools = [
  'test/e2e/{client-package,samples}.test.ts',
  'test/e2e/{command-line,configuration,demo,gateway-commands,guides,init,prices,upgrade}.test.ts',
  'test/frozen-contract/{command,contract,every-name}.test.ts',
];
/**
 * Rare events in the life of a deployment: backups, moves, power cuts, full disks, databases and regions that are away. They copy
 * whole databases or start many processes. `npm test` covers the same code with injected faults in one process
 * (`fail-open-decisions`, `unknown-outcome`, `disk-space-guard`, `write-probes`, `retention`, `regions`), and with the kills of `kill-nine` and
 * `money-faults-*`.
 */
const operations = [
  'test/e2e/{backup,database-away,disk-full,doctor,edge-fail-open,gateway-fail-open,ledger-clock,move,power-cut,readiness,regions,retention}.test.ts',
  'src/platform/db/transfer/transfer.test.ts',
];
/**
 * Several processes around a part that `npm test` covers in one process, with the same faults: telemetry, deliveries of webhooks, their secrets
 * and a receiver that follows the guide (`dispatcher`, `secrets`, `packages/client`), and rates that processes share, with Redis and
 * while it is away (`redis-rate-limiter`, `conformance` of rates).
 */
const severalProcesses = 'test/e2e/{shared-rates,telemetry-load,webhooks}.test.ts';
/**
 * Whole tasks in a browser. `npm test` opens every page in a browser (`console-pages`), and sends every form without one
 * (test/contract/console*.test.ts).
 */
const tasksInBrowser =
  'test/e2e/{console,console-accessibility,console-blocked,console-gateway,console-insight,console-layout,console-tasks-admin,console-usage,console-without-script,docs-site}.test.ts';
/**
 * The gateway with thousands of calls, with a small heap, processes that are killed, and databases that are away. `npm test` has the same in
 * small and in one process (`parallel-streams`, `call-memory`, `choices`, `stopping`, `outage`).
 */
const gatewayUnderLoad = [
  'src/gateway/expected-holds.test.ts',
  'test/e2e/gateway-{agents-kill,chaos,kill,memory,paced-kill}.test.ts',
];
/** Every kind of fault in turn, with processes and databases of its own: minutes. `npm run faults` runs it with more rounds. */
const faultTable = 'test/faults/fault-table.test.ts';
/**
 * The gateway and the client package in front of a whole service. The gateway takes and settles holds through `Ledger`; its files that
 * are about a ledger that is away, or about many calls at once, run on both engines: `outage`, `parallel-streams`.
 */
const gatewayOfOneEngine = [
  'src/gateway/{admission,azure,breaker,calls,calls-in-progress,choices,client-matrix,client-snippets,content,failures,idempotent-calls,in-progress,paced-calls,stopping,stored-responses,stream-bytes,stream-endings,unknown-usage}.test.ts',
  'src/gateway/learned/*.test.ts',
  'packages/client/src/{client,guard,spool,wrap}.test.ts',
];
/** Every page in a browser: the rest of the browser tests, which are soak tests, run on the embedded engine. */
const pagesInBrowser = 'test/e2e/console-pages.test.ts';
/**
 * Tests whose code path is the same on either engine. `npm test` runs them on PostgreSQL, which takes about 60 % of the time, and on
 * the embedded engine if the machine lacks PostgreSQL. The soak run adds the embedded engine. What is not listed runs on both engines
 * in `npm test`: the ledger and its HTTP API, the database layer, the edge, every denial about money over HTTP, idempotency, crashes.
 * Capabilities use an engine only through `Database` and `Ledger`, whose conformance suites run on both. `random-requests` reaches
 * every route on the embedded engine.
 */
const sameOnEitherEngine = [
  ...gatewayOfOneEngine,
  pagesInBrowser,
  'src/capabilities/{access,governance,integration,spend}/**/*.test.ts',
  'src/capabilities/compliance/{audit,erasure,key-rotation,org-removal,residency,retention}/*.test.ts',
  'src/capabilities/insight/{benchmarks,digests,focus,forecasts,installation,org-summaries,statements,usage}/*.test.ts',
  'src/capabilities/insight/ledger/{drift-watch,limit-detail,limit-usage-list}.test.ts',
  'src/ledger/postgres/*.test.ts',
  'src/platform/db/migrate.test.ts',
  'test/monitoring.test.ts',
  'test/contract/{access,attribution,body-limits,catalog,console*,deprecations,entity-tags,field-errors,forms,granting,lists,openapi,ranges,request-rate}.test.ts',
  'test/e2e/{alerts,deprecation-usage,edge-fail-mode,fairness,idempotency,log-output,money-faults,process,provider-bills,revocation,safety,sign-in,statement-month}.test.ts',
];
/** Tests of which parts are about the embedded engine alone, or need it to reach every route. */
const leftToEmbedded = ['test/contract/random-requests.test.ts', 'test/e2e/process-in-place.test.ts'];
/** A browser shows the same answer whatever engine stored it, and what is refused before any query never meets one. */
const neverOnPostgres = ['test/e2e/client-*.test.ts', tasksInBrowser, 'test/contract/http-edges.*.test.ts'];
/** The container image, the manifests and the unit, checked with tools that a machine may lack. */
const deployment = 'test/deploy/**/*.test.ts';
/** Programs of others, installed by the tests: `npm run test:clients`. */
const clients = 'test/clients/**/*.test.ts';
/** PostgreSQL servers that a test starts by itself, with a standby, with a pooler, or too late: only the soak run has the time. */
const ownServers = 'test/e2e/{failover,failover-guide,pooler,start-without-database,doctor-servers}.test.ts';
/** Clusters with Citus: `npm run test:citus`. */
const citus = 'test/citus/**/*.test.ts';
const onPostgres = [
  'src/{capabilities,edge,ledger,platform/db}/**/*.test.ts',
  'src/platform/rates/{conformance,postgres-rate-limiter}.test.ts',
  'src/gateway/{outage,parallel-streams}.test.ts',
  ...gatewayOfOneEngine,
  'test/{contract,e2e}/**/*.test.ts',
];
const notOnPostgres = [
  ...neverOnPostgres,
  ...leftToEmbedded,
  ...tools,
  ...operations,
  severalProcesses,
  ownServers,
  ...gatewayUnderLoad,
];
const soakEnv = { PURSER_TEST_SOAK: '1' };
/** The contract over sockets instead of injected requests. Leaves out files that need no server, or that always use sockets. */
const socketEnv = { PURSER_TEST_ENGINE: 'embedded', PURSER_TEST_TRANSPORT: 'sockets' };
const withoutServer = 'test/contract/{lists,ranges}.test.ts';
const alwaysOnSockets = 'test/contract/{forms,http-edges.*}.test.ts';

export default defineConfig({
  test: {
    pool: 'forks',
    // More than most machines that run them have cores for: many files wait for processes, clocks and browsers.
    maxWorkers: 4,
    sequence: { sequencer: ProcessesFirst },
    // Keeps what files were transformed to for the next project and the next command, for as long as nothing in them changes.
    experimental: { fsModuleCache: true },
    projects: [
      {
        test: {
          ...common,
          name: 'embedded',
          include: ['src/**/*.test.ts', 'packages/**/*.test.ts', 'test/**/*.test.ts'],
          exclude: [
            ...tools,
            ...operations,
            severalProcesses,
            ...(postgres ? sameOnEitherEngine : []),
            tasksInBrowser,
            ownServers,
            ...gatewayUnderLoad,
            faultTable,
            deployment,
            clients,
            citus,
          ],
          env: { PURSER_TEST_ENGINE: 'embedded' },
        },
      },
      {
        test: {
          ...soak,
          name: 'soak-embedded',
          include: [
            ...repeated,
            ...tools,
            ...operations,
            severalProcesses,
            ...sameOnEitherEngine,
            tasksInBrowser,
            ...gatewayUnderLoad,
            faultTable,
          ],
          env: { PURSER_TEST_ENGINE: 'embedded', ...soakEnv },
        },
      },
      {
        test: {
          ...soak,
          name: 'soak-deploy',
          include: [deployment],
          env: { PURSER_TEST_ENGINE: 'embedded' },
        },
      },
      {
        test: {
          ...soak,
          name: 'soak-clients',
          include: [clients],
          env: { PURSER_TEST_ENGINE: 'embedded' },
        },
      },
      {
        test: {
          ...soak,
          name: 'soak-sockets',
          include: ['test/contract/**/*.test.ts'],
          exclude: [withoutServer, alwaysOnSockets],
          env: socketEnv,
        },
      },
      {
        test: {
          ...soak,
          name: 'soak-without-fast-path',
          include: ['test/contract/**/*.test.ts'],
          exclude: [withoutServer],
          env: { ...socketEnv, PURSER_TEST_FAST_PATH: 'off' },
        },
      },
      ...(postgres
        ? [
            {
              test: {
                ...common,
                name: 'postgres',
                include: onPostgres,
                exclude: notOnPostgres,
                env: { PURSER_TEST_ENGINE: 'postgres' },
              },
            },
            {
              test: {
                ...soak,
                name: 'soak-postgres',
                include: [
                  ...leftToEmbedded,
                  ownServers,
                  ...gatewayUnderLoad,
                  'test/e2e/{command-line,configuration,demo,init,upgrade}.test.ts',
                  'src/ledger/workload.test.ts',
                  'test/contract/money.test.ts',
                  'test/e2e/{kill-nine,money-faults,money-faults-postgres,provider-bills,statement-month}.test.ts',
                  ...operations,
                  severalProcesses,
                  faultTable,
                ],
                exclude: neverOnPostgres,
                env: { PURSER_TEST_ENGINE: 'postgres', ...soakEnv },
              },
            },
            ...(findCitus() === undefined
              ? []
              : [
                  {
                    test: {
                      ...soak,
                      name: 'soak-citus',
                      include: [...onPostgres, citus],
                      exclude: [...notOnPostgres, pagesInBrowser],
                      env: { PURSER_TEST_ENGINE: 'postgres', PURSER_TEST_CITUS: '1' },
                    },
                  },
                ]),
            ...(findPgBouncer() === undefined
              ? []
              : [
                  {
                    test: {
                      ...soak,
                      name: 'soak-pooler-postgres',
                      include: ['src/platform/db/conformance.test.ts', 'src/ledger/conformance.test.ts'],
                      env: { PURSER_TEST_ENGINE: 'postgres', PURSER_TEST_POOLER: 'transaction' },
                    },
                  },
                ]),
          ]
        : []),
    ],
  },
});
