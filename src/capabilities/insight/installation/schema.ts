import { type Static, Type } from 'typebox';
import { choice, closed, nullable, timestamp } from '../../../platform/http/routes/schemas.ts';

export const checkStatuses = ['ok', 'warn', 'fail'] as const;
export type CheckStatus = (typeof checkStatuses)[number];

export const CheckView = closed({
  id: Type.String({ description: 'Stable, in kebab-case.' }),
  status: choice(checkStatuses),
  finding: Type.String(),
  remedy: Type.String({ description: 'What to do; empty if nothing is needed.' }),
});
export type CheckView = Static<typeof CheckView>;

const count = (description: string) => Type.Integer({ minimum: 0, description });
const seconds = (description: string) => Type.Number({ minimum: 0, description });

export const ProcessView = closed({
  id: Type.String(),
  version: nullable(Type.String()),
  seen_at: timestamp,
  current: Type.Boolean({ description: 'The process that answered.' }),
});

export const JobView = closed({
  id: Type.String(),
  every_seconds: Type.Number(),
  last_started_at: nullable(timestamp),
  last_ended_at: nullable(timestamp),
  running: Type.Boolean(),
  failures: count('Failed runs since the last success.'),
  last_error: nullable(Type.String({ description: 'Error of the last failure, also after a success.' })),
  last_failed_at: nullable(timestamp),
});
export type JobView = Static<typeof JobView>;

export const InstallationView = closed({
  status: choice(checkStatuses, 'The worst status of the checks.'),
  checks: Type.Array(CheckView),
  version: Type.String(),
  engine: choice(['embedded', 'postgres']),
  database_version: Type.String(),
  region: nullable(Type.String()),
  process_started_at: timestamp,
  processes: Type.Array(ProcessView, { description: 'Processes that share the database.' }),
  migrations: closed({
    applied: count('Number of applied migrations.'),
    last_applied: nullable(Type.String({ description: 'Name of the last one.' })),
    last_applied_at: nullable(timestamp),
    due: Type.Array(Type.String(), { description: 'Migrations that the next start applies.' }),
    postponed: Type.Array(Type.String(), {
      description: 'Migrations that wait for `purser migrate --contract`.',
    }),
  }),
  queues: closed({
    events_waiting: count('Events that were not queued for their subscriptions yet.'),
    events_oldest_seconds: seconds('Age of the oldest of them.'),
    webhook_deliveries_waiting: count('Deliveries that wait for an attempt.'),
    webhook_overdue_seconds: seconds('How long the most overdue of them has waited.'),
  }),
  holds: closed({
    open: count('Open holds.'),
    overdue: count('Expired holds that were not released yet.'),
    overdue_seconds: seconds('Time since the expiry of the oldest of them.'),
  }),
  spools: closed({
    fail_open_decisions: count('Decisions made without the ledger, not imported yet.'),
    fail_open_bytes: count('Their size.'),
    gateway_settlements: count('Settlements of gateway calls that wait for the ledger.'),
  }),
  credentials_failing: count('Credentials of clouds that this process cannot renew.'),
  ledger_drift_usd: Type.Number({ description: 'Differences that the last reconciliations have found.' }),
  retention_failing_orgs: count('Organizations whose last deletion failed.'),
  prices: closed({
    newest_at: nullable(timestamp),
    changes_pending: count('Changes that wait for an operator.'),
  }),
  database_connections: closed({
    used: count('In use.'),
    idle: count('Idle.'),
    waiting: count('Waiting callers.'),
  }),
  jobs: Type.Array(JobView, { description: 'Background jobs of the process that answered.' }),
});
export type InstallationView = Static<typeof InstallationView>;
