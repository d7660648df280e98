/** Judges the figures of an installation. Pure functions. */
import { counted } from '../../../platform/counted.ts';
import type { MailState } from '../../../platform/mail/mail-state.ts';
import type { CheckStatus, CheckView, InstallationView } from './schema.ts';
import {
  overdueEventSeconds,
  overdueHoldSeconds,
  overdueWebhookSeconds,
  pricesWarnDays,
} from './thresholds.ts';

/** Input of the checks. */
export type InstallationFigures = Omit<InstallationView, 'status' | 'checks'> & {
  /** Why the process is not ready; empty if it is. */
  readonly notReady: readonly string[];
  /** Why change notifications may be missing; undefined if they arrive. */
  readonly notificationProblem: string | undefined;
  readonly mail: MailState;
};

const dayMs = 86_400_000;

export function checksOf(figures: InstallationFigures, now: Date): CheckView[] {
  return [
    checkReady(figures),
    checkNotifications(figures),
    checkMigrations(figures),
    checkProcesses(figures),
    checkEvents(figures),
    checkWebhooks(figures),
    checkMail(figures),
    checkCredentials(figures),
    checkHolds(figures),
    checkSpools(figures),
    checkDrift(figures),
    checkRetention(figures),
    checkPrices(figures, now),
    checkJobs(figures),
  ];
}

export function worstOf(checks: readonly CheckView[]): CheckStatus {
  const has = (status: CheckStatus) => checks.some((check) => check.status === status);
  if (has('fail')) {
    return 'fail';
  }
  return has('warn') ? 'warn' : 'ok';
}

const ok = (id: string, finding: string): CheckView => ({ id, status: 'ok', finding, remedy: '' });
const warn = (id: string, finding: string, remedy: string): CheckView => ({
  id,
  status: 'warn',
  finding,
  remedy,
});
const fail = (id: string, finding: string, remedy: string): CheckView => ({
  id,
  status: 'fail',
  finding,
  remedy,
});

function byAge(
  id: string,
  [ageSeconds, limits]: readonly [number, { readonly warn: number; readonly fail: number }],
  finding: string,
  remedy: string,
): CheckView {
  if (ageSeconds > limits.fail) {
    return fail(id, finding, remedy);
  }
  return ageSeconds > limits.warn ? warn(id, finding, remedy) : ok(id, finding);
}

function checkReady({ notReady }: InstallationFigures): CheckView {
  return notReady.length === 0
    ? ok('ready', 'The process serves requests.')
    : fail(
        'ready',
        `The process is not ready: ${notReady.join(', ').replaceAll('_', ' ')}.`,
        'See the log of the service, and run `purser doctor`.',
      );
}

function checkNotifications({ notificationProblem }: InstallationFigures): CheckView {
  return notificationProblem === undefined
    ? ok('notifications', 'Change notifications arrive.')
    : warn(
        'notifications',
        `Change notifications may be missing (${notificationProblem}): caches are bypassed, so requests are slower.`,
        'Set SVC_DATABASE_LISTEN_URL to a direct connection, or use a pooler in session mode.',
      );
}

function checkMigrations({ migrations: { due, postponed } }: InstallationFigures): CheckView {
  if (due.length > 0) {
    return warn(
      'migrations',
      `${due.length} pending, the first is ${due[0]}.`,
      'Run `purser migrate`, or restart the service, which applies them.',
    );
  }
  return ok(
    'migrations',
    postponed.length === 0
      ? 'All migrations are applied.'
      : `${postponed.length} wait for \`purser migrate --contract\`, which makes a return to the previous version impossible.`,
  );
}

function checkProcesses({ processes }: InstallationFigures): CheckView {
  const versions = [...new Set(processes.map(({ version }) => version ?? 'before 0.1.0'))];
  const finding = `${counted(processes.length, 'process', 'processes')} of version ${versions.join(' and ')}.`;
  return versions.length <= 1
    ? ok('processes', finding)
    : warn('processes', finding, 'Finish the upgrade: stop the processes of the older version.');
}

function checkEvents({ queues: { events_waiting, events_oldest_seconds } }: InstallationFigures): CheckView {
  return byAge(
    'events',
    [events_oldest_seconds, overdueEventSeconds],
    `${counted(events_waiting, 'event waits', 'events wait')}, the oldest for ${Math.round(events_oldest_seconds)} s.`,
    'See the job fan-out-events below, and the log of the service.',
  );
}

function checkWebhooks({ queues }: InstallationFigures): CheckView {
  const { webhook_deliveries_waiting: waiting, webhook_overdue_seconds: overdue } = queues;
  return byAge(
    'webhooks',
    [overdue, overdueWebhookSeconds],
    `${counted(waiting, 'delivery waits', 'deliveries wait')}, the most overdue for ${Math.round(overdue)} s.`,
    'Start more processes, and look for slow receivers.',
  );
}

function checkMail({ mail: { isConfigured, problem } }: InstallationFigures): CheckView {
  if (problem !== null) {
    return warn(
      'mail',
      `The mail server cannot be used: ${problem}`,
      'Start it, or correct SVC_SMTP_URL. E-mail waits.',
    );
  }
  return ok('mail', isConfigured ? 'The mail server accepts connections.' : 'E-mail is not configured.');
}

function checkCredentials({ credentials_failing }: InstallationFigures): CheckView {
  return credentials_failing === 0
    ? ok('credentials', 'No renewal of a credential of a cloud fails.')
    : warn(
        'credentials',
        `${counted(credentials_failing, 'credential of a connection', 'credentials of connections')} cannot be renewed by this process.`,
        'See the last failure of the credentials on the page of each connection.',
      );
}

function checkHolds({ holds: { open, overdue_seconds } }: InstallationFigures): CheckView {
  return byAge(
    'holds',
    [overdue_seconds, overdueHoldSeconds],
    `${counted(open, 'open hold', 'open holds')}, ${overdue_seconds > 0 ? `the oldest is ${Math.round(overdue_seconds)} s overdue` : 'none overdue'}.`,
    'See the job expire-holds below, and locks in the database.',
  );
}

function checkSpools({
  spools: { fail_open_decisions, gateway_settlements },
}: InstallationFigures): CheckView {
  const finding = `${fail_open_decisions} decisions and ${gateway_settlements} settlements wait for the ledger.`;
  return fail_open_decisions + gateway_settlements === 0
    ? ok('spools', 'Nothing waits for the ledger.')
    : warn(
        'spools',
        finding,
        'They are posted when the ledger is available. If they stay, see the log of the service.',
      );
}

function checkDrift({ ledger_drift_usd }: InstallationFigures): CheckView {
  return ledger_drift_usd === 0
    ? ok('drift', 'Reconciliation has found no difference.')
    : fail(
        'drift',
        `Reconciliation has found a difference of $${ledger_drift_usd}.`,
        'Compare GET /v1/orgs/{id}/ledger/reconciliation with your own records, and report it with the log of the service.',
      );
}

function checkRetention({ retention_failing_orgs: failing }: InstallationFigures): CheckView {
  return failing === 0
    ? ok('retention', 'Retention works for all organizations.')
    : fail(
        'retention',
        `Retention fails for ${counted(failing, 'organization', 'organizations')}: data are kept longer than promised.`,
        'The log of the service names them and the reason.',
      );
}

function checkPrices({ prices: { newest_at, changes_pending } }: InstallationFigures, now: Date): CheckView {
  const days = newest_at === null ? 0 : Math.floor((now.getTime() - Date.parse(newest_at)) / dayMs);
  if (days >= pricesWarnDays) {
    return warn(
      'prices',
      `The latest price was stored ${days} days ago.`,
      'Update them with `purser prices update`, and compare them with those of your providers.',
    );
  }
  return changes_pending > 0
    ? warn(
        'prices',
        `${counted(changes_pending, 'price change waits', 'price changes wait')} for a decision.`,
        'Approve or reject them under Prices.',
      )
    : ok('prices', `The latest price was stored ${days} days ago.`);
}

function checkJobs({ jobs }: InstallationFigures): CheckView {
  const failing = jobs.filter(({ failures }) => failures > 0).map(({ id }) => id);
  return failing.length === 0
    ? ok('jobs', `${counted(jobs.length, 'job', 'jobs')}, none fails.`)
    : warn(
        'jobs',
        `${failing.join(', ')} failed.`,
        'They are tried again. See the errors below, and the log of the service.',
      );
}
