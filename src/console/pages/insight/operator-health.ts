/** For operators: the state of the installation. */
import { card, definitionList } from '../../components.ts';
import { ago, count, exactUsd, seconds, time } from '../../format.ts';
import { html, type Markup, type Part } from '../../html.ts';
import { badge, codeList, subline, type Tone } from '../../inline.ts';
import type { Responses } from '../../responses.ts';
import { type Screen, type ScreenVisit, view } from '../../screen.ts';
import { table } from '../../table.ts';

type InstallationResponse = Responses['installation.read'];
type InstallationCheck = InstallationResponse['checks'][number];
type InstallationJob = InstallationResponse['jobs'][number];

export const operatorHealthScreens: readonly Screen[] = [
  { path: '/console/health', audience: 'operator', handler: health },
];

const tones: Readonly<Record<InstallationCheck['status'], Tone>> = { ok: 'good', warn: 'warn', fail: 'bad' };
const labels: Readonly<Record<InstallationCheck['status'], string>> = {
  ok: 'OK',
  warn: 'Warning',
  fail: 'Failed',
};
const summaries: Readonly<Record<InstallationCheck['status'], string>> = {
  ok: 'All checks passed.',
  warn: 'Some checks need attention.',
  fail: 'Some checks failed.',
};

async function health({ api, now }: ScreenVisit) {
  const found = await api.get<'installation.read'>('/v1/admin/installation');
  return view({
    title: 'Health',
    intro: html`${statusBadge(found.status)} ${summaries[found.status]} As of ${time(now.toISOString(), 'UTC')} UTC.`,
  })`
${card('Checks', checkTable(found.checks))}
<div class="grid wide">${card('Installation', installation(found))}${card('Queues', queues(found))}</div>
${card('Processes', processTable(found, now))}
${card('Jobs', html`<p class="quiet">Of the process that answered.</p>${jobTable(found.jobs, now)}`)}`;
}

function statusBadge(status: InstallationCheck['status']): Markup {
  return badge(labels[status], tones[status]);
}

function checkTable(checks: readonly InstallationCheck[]): Part {
  return table({
    caption: 'Checks',
    rows: checks,
    columns: [
      { title: 'Check', cell: ({ id }) => html`<code>${id}</code>` },
      { title: 'Status', cell: ({ status }) => statusBadge(status) },
      {
        title: 'Finding',
        cell: ({ finding, remedy }) => html`${finding}${remedy !== '' && subline(remedy)}`,
      },
    ],
  });
}

function installation(found: InstallationResponse): Part {
  const { migrations, prices, database_connections: connections } = found;
  return definitionList([
    ['Version', found.version],
    ['Engine', found.engine === 'embedded' ? 'Embedded' : 'PostgreSQL'],
    ['Database', found.database_version],
    ['Region', found.region ?? '–'],
    ['Process started', time(found.process_started_at, 'UTC')],
    ['Migrations applied', html`${count(migrations.applied)}, last <code>${migrations.last_applied}</code>`],
    ['Migrations pending', namesOr(migrations.due, 'None')],
    ['Migrations postponed', namesOr(migrations.postponed, 'None')],
    ['Newest price', time(prices.newest_at, 'UTC')],
    ['Price changes pending', count(prices.changes_pending)],
    [
      'Database connections',
      `${count(connections.used)} used, ${count(connections.idle)} idle, ${count(connections.waiting)} waiting`,
    ],
  ]);
}

function namesOr(names: readonly string[], none: string): Part {
  return names.length === 0 ? none : codeList(names);
}

function queues({
  queues,
  holds,
  spools,
  ledger_drift_usd,
  retention_failing_orgs,
}: InstallationResponse): Part {
  return definitionList([
    ['Events waiting', `${count(queues.events_waiting)}, oldest ${seconds(queues.events_oldest_seconds)}`],
    [
      'Webhook deliveries waiting',
      `${count(queues.webhook_deliveries_waiting)}, most overdue ${seconds(queues.webhook_overdue_seconds)}`,
    ],
    ['Open holds', `${count(holds.open)}, ${count(holds.overdue)} overdue`],
    ['Decisions without the ledger', count(spools.fail_open_decisions)],
    ['Gateway settlements waiting', count(spools.gateway_settlements)],
    ['Ledger drift', exactUsd(String(ledger_drift_usd))],
    ['Organizations with failing retention', count(retention_failing_orgs)],
  ]);
}

function processTable({ processes }: InstallationResponse, now: Date): Part {
  return table({
    caption: 'Processes',
    rows: processes,
    columns: [
      {
        title: 'Process',
        cell: ({ id, current }) => html`<code>${id}</code>${current && html` ${badge('This one', 'info')}`}`,
      },
      { title: 'Version', cell: ({ version }) => version ?? 'Before 0.1.0' },
      { title: 'Last heartbeat', cell: ({ seen_at }) => ago(seen_at, now) },
    ],
  });
}

function jobTable(jobs: readonly InstallationJob[], now: Date): Part {
  return table({
    caption: 'Jobs',
    rows: jobs,
    columns: [
      { title: 'Job', cell: ({ id }) => html`<code>${id}</code>` },
      { title: 'Interval', isNumber: true, cell: ({ every_seconds }) => interval(every_seconds) },
      { title: 'Last run', cell: ({ last_started_at }) => ago(last_started_at, now) },
      { title: 'Status', cell: jobStatus },
      {
        title: 'Last error',
        cell: ({ last_error, last_failed_at }) =>
          last_error !== null && html`${last_error}${subline(ago(last_failed_at, now))}`,
      },
    ],
  });
}

function interval(everySeconds: number): string {
  return everySeconds < 1 ? `${everySeconds * 1_000} ms` : seconds(everySeconds);
}

function jobStatus({ running, failures, last_started_at }: InstallationJob): Markup {
  if (failures > 0) {
    return badge(failures === 1 ? 'Failed' : `Failed ${count(failures)} times`, 'bad');
  }
  if (running) {
    return badge('Running', 'info');
  }
  return last_started_at === null ? badge('Not run yet') : badge('OK', 'good');
}
