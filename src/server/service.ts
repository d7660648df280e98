/** A running service: opens the database, migrates, listens, and drains when it stops. */
import { once } from 'node:events';
import type { Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { performance } from 'node:perf_hooks';
import { setTimeout as pause } from 'node:timers/promises';
import { bootstrapOperator } from '../capabilities/access/keys/index.ts';
import type { Config } from '../config/settings.ts';
import { version } from '../config/version.ts';
import { clockWatch } from '../ledger/clock-watch.ts';
import type { Database } from '../platform/db/database.ts';
import { type Migration, type MigrationProgress, migrate, readMigrations } from '../platform/db/migrate.ts';
import { openDatabase } from '../platform/db/open-database.ts';
import { guardSchema } from '../platform/db/schema-guard.ts';
import { requireCompleteDatabase } from '../platform/db/transfer/database-target.ts';
import { watchWrites } from '../platform/db/watch-writes.ts';
import { type Faults, noFaults } from '../platform/faults.ts';
import { openFastPath } from '../platform/http/fast/fast-path.ts';
import { drainable } from '../platform/http/server/drain.ts';
import { openHealthListener } from '../platform/http/server/health-listener.ts';
import { listenFailure } from '../platform/http/server/listen-failure.ts';
import { localUrl, urlOf } from '../platform/http/server/local-url.ts';
import { ProcessHealth, unreadyReasonsOf } from '../platform/http/server/process-health.ts';
import { createHttpServer } from '../platform/http/server/server.ts';
import { createIds } from '../platform/ids.ts';
import { backfillJob } from '../platform/jobs/backfill-job.ts';
import { startJobs } from '../platform/jobs/jobs.ts';
import { WriteFailures } from '../platform/jobs/write-failures.ts';
import type { Log } from '../platform/log.ts';
import { startTracing } from '../platform/observability/tracing.ts';
import { type SharedClock, systemClock } from '../platform/time/clock.ts';
import { createApp } from './app.ts';
import type { AppDependencies } from './dependencies.ts';
import { openServices } from './services.ts';
import { explainStartFailure } from './start-failure.ts';
import { logStartPhases, type StartPhases } from './start-phases.ts';
import { beginSession } from './unsynced-session.ts';
import { type ReservedPort, startWhenPossible } from './wait-for-database.ts';
import { startWriteProbes } from './write-probes.ts';

export interface Service {
  /** The URL with the host and the port that the server listens on. */
  readonly url: string;
  /** The URL of the health listener; undefined without `SVC_HEALTH_PORT`. */
  readonly healthUrl: string | undefined;
  /** Stops accepting connections, waits for requests in flight, then closes everything. Can be called twice. */
  stop(): Promise<void>;
}

export interface ServiceOptions {
  readonly config: Config;
  readonly log: Log;
  readonly clock?: SharedClock;
  readonly faults?: Faults;
  /** True to wait for a database that is unavailable. Otherwise the start fails. */
  readonly waitsForDatabase?: boolean;
}

export async function startService(options: ServiceOptions): Promise<Service> {
  const health = new ProcessHealth();
  // Opened before the database, which may take long, so that liveness is answered in the meantime.
  const listener = await openHealth(options, health);
  const closeHealth = async () => {
    health.close();
    await listener?.close();
  };
  try {
    const service = await startWithHealth(options, health);
    return {
      url: service.url,
      healthUrl: listener && urlOf(options.config.host, listener.port),
      stop: () => service.stop().finally(closeHealth),
    };
  } catch (error) {
    await closeHealth();
    throw explainStartFailure(error, options.config);
  }
}

async function openHealth({ config, log }: ServiceOptions, { state }: ProcessHealth) {
  const { host, healthPort: port } = config;
  if (port === undefined) {
    return undefined;
  }
  const listener = await openHealthListener({ host, port, state, log });
  log.info({ url: urlOf(host, listener.port) }, 'health listener is open');
  return listener;
}

type StartedService = Pick<Service, 'url' | 'stop'>;

async function startWithHealth(options: ServiceOptions, health: ProcessHealth): Promise<StartedService> {
  const { config, log, waitsForDatabase = false } = options;
  return waitsForDatabase && config.databaseUrl !== undefined
    ? startWhenPossible((port) => openAndStart(options, health, port), { config, log })
    : openAndStart(options, health, { number: config.port, async free() {} });
}

async function openAndStart(
  options: ServiceOptions,
  health: ProcessHealth,
  port: ReservedPort,
): Promise<StartedService> {
  const phases = logStartPhases(options.log);
  const { config, log, clock = systemClock } = options;
  const db = await phases.run('open-database', () => openDatabase(config, log));
  try {
    const session = db.engine === 'embedded' ? beginSession({ config, log, now: clock.now() }) : undefined;
    const service = await startOn(db, options, { health, port, phases });
    return { ...service, stop: () => service.stop().then(() => session?.end()) };
  } catch (error) {
    // Closed, because an open database would keep the process alive and its directory locked.
    await db.close();
    throw error;
  }
}

async function startOn(
  opened: Database,
  { config, log, clock = systemClock, faults = noFaults }: ServiceOptions,
  { health, port, phases }: ServiceStartContext,
): Promise<StartedService> {
  const ids = createIds(clock);
  await requireCompleteDatabase(opened);
  const migrations = await readMigrations();
  await applyMigrations(opened, migrations, { log, phases });
  const unreadable = new AbortController();
  const onUnreadable = () => unreadable.abort();
  const guard = guardSchema(opened, { migrations, build: version, log, onUnreadable });
  const writeFailures = new WriteFailures();
  const db = watchWrites(guard.db, (error) => writeFailures.report('database', error));
  const services = await phases.run('load-state', () =>
    openServices({ config, db, clock, ids, log, writeFailures }),
  );
  try {
    // Checked again, because a contract migration may have run before this process had a heartbeat, which prevents one from now on.
    await guard.check();
    const operator = await bootstrapOperator({
      db,
      ids,
      heads: services.auditHeads,
      clock,
      environment: config.keyEnvironment,
      dataDir: config.dataDir,
      chosenKey: config.bootstrapOperatorKey,
    });
    if (operator.kind === 'made') {
      log.info({ file: operator.file }, 'made the first operator key; it is in this file');
    } else if (operator.kind === 'chosen') {
      log.info('added the operator key in SVC_BOOTSTRAP_OPERATOR_KEY');
    }
    return await serve(
      { config, db, clock, ids, log, faults, services, health },
      { port, phases, migrations, writeFailures, unreadable: unreadable.signal },
    );
  } catch (error) {
    await services.close();
    throw error;
  }
}

interface ServiceStartContext {
  readonly health: ProcessHealth;
  readonly port: ReservedPort;
  readonly phases: StartPhases;
}

async function applyMigrations(
  db: Database,
  migrations: readonly Migration[],
  { log, phases }: { readonly log: Log; readonly phases: StartPhases },
): Promise<void> {
  let progress: MigrationProgress | { readonly pending: 0 } = { pending: 0 };
  const applied = await phases.run(
    'apply-migrations',
    () =>
      migrate(db, migrations, {
        build: version,
        onNext(next) {
          progress = next;
        },
      }),
    () => progress,
  );
  if (applied.length > 0) {
    log.info({ count: applied.length, migrations: applied.map(({ name }) => name) }, 'applied migrations');
  }
}

type ServeDependencies = Omit<AppDependencies, 'tracer' | 'baseUrl' | 'health'> & {
  readonly health: ProcessHealth;
};

interface ServeOptions {
  readonly port: ReservedPort;
  readonly phases: StartPhases;
  readonly migrations: readonly Migration[];
  readonly writeFailures: WriteFailures;
  readonly unreadable: AbortSignal;
}

/** Serves requests. When the schema becomes unreadable, the jobs stop and requests get 503. */
async function serve(
  deps: ServeDependencies,
  { port, phases, migrations, writeFailures, unreadable }: ServeOptions,
): Promise<StartedService> {
  const { config, db, log, services, health } = deps;
  let address: AddressInfo | undefined;
  const tracing = await startTracing(
    !config.otelDisabled && (config.otlpEndpoint ?? config.otlpTracesEndpoint) !== undefined,
    version,
  );
  const app = createApp({
    ...deps,
    tracer: tracing.tracer,
    baseUrl: () => config.baseUrl ?? localUrl(config.host, address?.port ?? config.port),
  });
  const server = createHttpServer(app.handler, log, app.headersOfUnread);
  const connections = drainable(server, app.fastPath && openFastPath(server, app.fastPath));
  const probes = await startWriteProbes({
    config,
    db,
    processes: services.processes,
    health,
    failures: writeFailures,
    log,
  });
  const clockJob = clockWatch({
    ledger: services.ledger.maintenance,
    log,
    // On PostgreSQL this may concern a single organization, so the process stays ready for the others.
    onChange: (isAhead) => db.engine === 'embedded' && health.set('ledger_clock_ahead', isAhead),
  });
  // Errors are ignored: the database may be unavailable now, and the job tries again.
  await clockJob.runOnce().catch(() => undefined);
  await port.free();
  address = await phases
    .run('listen', () => listen(server, config.host, port.number))
    .catch((error) => {
      probes.stop();
      throw error;
    });
  health.set('starting', false);
  const jobs = startJobs([...app.jobs, ...[backfillJob(db, migrations), clockJob].map(app.observeJob)], log);
  unreadable.addEventListener('abort', () => void jobs.stop());
  const url = urlOf(config.host, address.port);
  const shownUrl = localUrl(config.host, address.port);
  log.info({ url, engine: db.engine, version }, `Purser is listening on ${shownUrl}`);
  logReadiness(health, phases, log);

  async function drain(): Promise<void> {
    health.set('draining', true);
    log.info('draining: no new connections, waiting for requests in flight');
    const deadlineMs = performance.now() + config.drainSeconds * 1_000;
    await connections.drain(config.drainSeconds * 1_000, app.endStreams);
    probes.stop();
    await jobs.stop();
    await app
      .finish(Math.max(0, deadlineMs - performance.now()))
      .catch((error) => log.warn({ err: error }, 'what was only in memory is lost'));
    await services.close();
    await db.close();
    await Promise.race([tracing.stop(), pause(2_000, undefined, { ref: false })]).catch(() => undefined);
    log.info('stopped');
  }

  let stopping: Promise<void> | undefined;
  return {
    url,
    stop() {
      stopping ??= drain();
      return stopping;
    },
  };
}

/** Logs the last line of a start. */
function logReadiness(health: ProcessHealth, phases: StartPhases, log: Log): void {
  const reasons = unreadyReasonsOf(health);
  const durationMs = phases.elapsedMs();
  if (reasons.length === 0) {
    log.info({ durationMs }, 'start: ready');
  } else {
    log.warn({ durationMs, reasons }, 'start: not ready');
  }
}

/** Maximum number of connections that the system queues. Its own maximum applies too; on Linux it is `net.core.somaxconn`. */
const acceptBacklog = 4_096;

async function listen(server: Server, host: string, port: number): Promise<AddressInfo> {
  server.listen({ port, host, backlog: acceptBacklog });
  try {
    await once(server, 'listening');
  } catch (error) {
    throw listenFailure({ host, port, portSetting: 'SVC_PORT' }, error);
  }
  return server.address() as AddressInfo;
}
