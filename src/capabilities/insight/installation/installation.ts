/** Reads the state of the installation: what `/readyz`, `/metrics` and the tables of the platform say, in one answer. */
import type { Database } from '../../../platform/db/database.ts';
import { pendingMigrations, readMigrations } from '../../../platform/db/migrate.ts';
import type { JobHistory, JobStatus } from '../../../platform/jobs/job-history.ts';
import { listProcesses, type Processes } from '../../../platform/jobs/processes.ts';
import type { MailState } from '../../../platform/mail/mail-state.ts';
import type { Metrics } from '../../../platform/observability/metrics.ts';
import { pricesStoredAt } from '../../spend/models/index.ts';
import { checksOf, type InstallationFigures, worstOf } from './checks.ts';
import { databaseVersion, lastMigration } from './queries.ts';
import type { InstallationView, JobView } from './schema.ts';

export interface InstallationDependencies {
  readonly db: Database;
  readonly processes: Pick<Processes, 'id'>;
  readonly metrics: Pick<Metrics, 'value'>;
  readonly jobHistory: Pick<JobHistory, 'statuses'>;
  readonly version: string;
  readonly region: string | undefined;
  readonly startedAt: Date;
  mailState(): Promise<MailState>;
  /** Returns the reasons of `/readyz`. */
  notReady(): readonly string[];
}

export async function readInstallation(deps: InstallationDependencies, now: Date): Promise<InstallationView> {
  const figures = await readFigures(deps, now);
  const checks = checksOf(figures, now);
  const { notReady: _, notificationProblem: __, mail: ___, ...view } = figures;
  return { status: worstOf(checks), checks, ...view };
}

async function readFigures(deps: InstallationDependencies, now: Date): Promise<InstallationFigures> {
  const { db, metrics, processes, version, region, startedAt } = deps;
  // Not a number: the figure could not be read.
  const gauge = async (name: string) => (await metrics.value(name)) || 0;
  const { connections, idle, waiting, notificationProblem } = db.stats();
  const last = await lastMigration(db);
  const { due, postponed } = await pendingMigrations(db, await readMigrations(), { build: version });
  return {
    version,
    engine: db.engine,
    database_version: await databaseVersion(db),
    region: region ?? null,
    process_started_at: startedAt.toISOString(),
    processes: (await listProcesses(db)).map(({ id, build, seen_at }) => ({
      id,
      version: build,
      // The process that answers is alive; on the embedded engine it sends no heartbeats.
      seen_at: (id === processes.id ? now : seen_at).toISOString(),
      current: id === processes.id,
    })),
    migrations: {
      applied: last.applied,
      last_applied: last.name,
      last_applied_at: last.applied_at?.toISOString() ?? null,
      due: due.map(({ name }) => name),
      postponed: postponed.map(({ name }) => name),
    },
    queues: {
      events_waiting: await gauge('svc_events_waiting'),
      events_oldest_seconds: await gauge('svc_oldest_event_seconds'),
      webhook_deliveries_waiting: await gauge('svc_webhook_deliveries_waiting'),
      webhook_overdue_seconds: await gauge('svc_webhook_oldest_overdue_seconds'),
    },
    holds: {
      open: await gauge('svc_open_holds'),
      overdue: await gauge('svc_overdue_holds'),
      overdue_seconds: await gauge('svc_oldest_overdue_hold_seconds'),
    },
    spools: {
      fail_open_decisions: await gauge('svc_fail_open_pending'),
      fail_open_bytes: await gauge('svc_fail_open_spool_bytes'),
      gateway_settlements: await gauge('svc_gateway_settlements_pending'),
    },
    credentials_failing: await gauge('svc_gateway_credentials_failing'),
    ledger_drift_usd: await gauge('svc_ledger_drift'),
    retention_failing_orgs: await gauge('svc_retention_failing_orgs'),
    prices: {
      newest_at: (await pricesStoredAt(db))?.toISOString() ?? null,
      changes_pending: await gauge('svc_price_changes_pending'),
    },
    database_connections: { used: connections - idle, idle, waiting },
    jobs: deps.jobHistory.statuses().map(viewJob),
    notReady: deps.notReady(),
    notificationProblem,
    mail: await deps.mailState(),
  };
}

function viewJob(job: JobStatus): JobView {
  return {
    id: job.id,
    every_seconds: job.everyMs / 1_000,
    last_started_at: job.startedAt?.toISOString() ?? null,
    last_ended_at: job.endedAt?.toISOString() ?? null,
    running: job.isRunning,
    failures: job.failures,
    last_error: job.lastError,
    last_failed_at: job.failedAt?.toISOString() ?? null,
  };
}
