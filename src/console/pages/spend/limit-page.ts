/** One limit: usage now and in past periods, alerts, owner. Its form is a page of its own. */
import { buttonTo, linkButton } from '../../buttons.ts';
import { meter } from '../../charts/meter.ts';
import { card, definitionList, empty, stat } from '../../components.ts';
import { daysOf } from '../../day-range.ts';
import { matchFilters, runsLink, spendPerValueLink } from '../../drill-down.ts';
import { ago, capitalized, count, day, inUnit, percent, time, usd } from '../../format.ts';
import { html, link, type Markup, type Part } from '../../html.ts';
import { badge, nowrap, subline } from '../../inline.ts';
import {
  fieldName,
  kindName,
  limitEditPath,
  limitName,
  limitSubtitle,
  managedByOperator,
  remaining,
  remainingText,
  scopeName,
  stateBadge,
  usageMeter,
  usedShare,
} from '../../limit-names.ts';
import { pathOf } from '../../operations.ts';
import { contactLink } from '../../owner.ts';
import { type Screen, type ScreenVisit, view } from '../../screen.ts';
import { table } from '../../table.ts';
import type { LimitResponse } from '../../views.ts';
import { raisesOf } from './limit-raises.ts';
import { limitValues } from './limit-values.ts';

export const limitPageScreens: readonly Screen[] = [
  { path: '/console/limits/{limit_id}', audience: 'org', handler: page },
];

async function page(visit: ScreenVisit) {
  const { api, org, params } = visit;
  const limit = await api.get<'limits.read'>(org.path + pathOf('/limits/{limit_id}', params));
  const name = limitName(limit);
  const edit = limitEditPath(limit);
  const actions = edit !== undefined && linkButton(visit, { path: edit, label: 'Edit', tone: 'primary' });
  return view({ title: name, actions, intro: html`${limitSubtitle(limit)} ${stateBadge(limit)}` })`
${await usageNow(limit, visit)}
<div class="grid wide">
${card('Details', details(limit, visit))}
${card('Alerts', alerts(limit, visit))}
</div>
${await raisesOf(limit, visit)}
${shownPeriods(limit).length > 0 && card('Past periods', pastPeriods(limit, visit))}
<p class="form-end">${buttonTo('/console/limits', 'All limits')}
${buttonTo(link('/console/refusals', { limit_id: limit.id }), 'Blocked requests')}
${buttonTo(link('/console/audit', changesFilter(limit)), 'Changes')}</p>`;
}

/** The limits of chains are changed together, as the organization's chain budget. */
function changesFilter({ kind, id }: LimitResponse): Record<string, string> {
  return kind.startsWith('chain_') ? { target_kind: 'chain_budget' } : { target: id };
}

async function usageNow(limit: LimitResponse, visit: ScreenVisit): Promise<Markup> {
  const { org } = visit;
  const { standing, unit } = limit;
  if (standing === null) {
    return card('Usage', await withoutUsage(limit, visit));
  }
  const used = usedShare(limit);
  const runs = runsOfWindow(limit, standing, org.timezone);
  return html`<div class="stats">
${stat('Spent', inUnit(unit, standing.settled), runs)}
${stat('Reserved', inUnit(unit, standing.held), html`<a href="/console/limits/holds">Open reservations</a>`)}
${stat('Remaining', remaining(limit, standing), ofLimit(limit, standing, org.timezone))}
${stat('Used', usedPercent(used), resets(limit, org.timezone))}
</div>
${card('Usage', html`${usageMeter(limit, standing)}<p class="legend-line quiet">${remainingText(limit, standing)}</p>`)}`;
}

/** The whole limit, and which part of it ends when. */
function ofLimit(
  { unit, limit }: LimitResponse,
  { raised_usd, raised_until }: NonNullable<LimitResponse['standing']>,
  timezone: string,
): Part {
  const whole = `of ${inUnit(unit, limit)}`;
  return raised_usd === null
    ? whole
    : html`${whole}, raised by ${usd(raised_usd)} until ${time(raised_until, timezone)}`;
}

/** Rounded, but not to 100% while something remains. */
function usedPercent(share: number): string {
  return share < 1 ? percent(Math.min(share, 0.99)) : percent(share);
}

async function withoutUsage(limit: LimitResponse, visit: ScreenVisit): Promise<Markup> {
  const { kind, unit, match } = limit;
  const field = Object.keys(match).find((name) => match[name] === '*');
  if (kind === 'rate' && unit !== 'concurrent') {
    return html`<p>A rolling rate: it has no single usage.</p>`;
  }
  if (field === undefined || field === 'chain_id') {
    return html`<p>Counted separately for each chain.</p>`;
  }
  const href = spendPerValueLink(field, limit, visit);
  return html`<p>Counted separately for each ${fieldName(field)}.
${href !== undefined && html`<a href="${href}">Spend per ${fieldName(field)}</a>`}</p>
${kind !== 'rate' && (await limitValues(limit, field, visit))}`;
}

function resets({ standing, expires_at }: LimitResponse, timezone: string): Part {
  const at = standing?.window_end;
  if (at != null) {
    return html`Resets ${day(at, timezone)}`;
  }
  return expires_at === null ? 'Does not reset' : html`Expires ${day(expires_at, timezone)}`;
}

/** Links to the runs that count in the current period. */
function runsOfWindow(
  limit: LimitResponse,
  { window_start, window_end }: { readonly window_start: string | null; readonly window_end: string | null },
  timezone: string,
): Part {
  const filters = matchFilters(limit.match);
  if (filters === undefined) {
    return undefined;
  }
  const days =
    window_start === null || window_end === null
      ? undefined
      : daysOf(Date.parse(window_start), Date.parse(window_end), timezone);
  return html`<a href="${runsLink(filters, days)}">View runs</a>`;
}

function details(limit: LimitResponse, { org }: ScreenVisit): Markup {
  const { kind, owner, match, period, window_seconds, timezone, enforcement, alert_thresholds } = limit;
  const scope = scopeName(match);
  return definitionList(
    [
      ['Owner', ownerOf(kind, owner)] as const,
      ['Kind', kindName(kind)] as const,
      ['Applies to', scope === '' ? 'Entire organization' : capitalized(scope)] as const,
      period !== null && (['Period', capitalized(period)] as const),
      window_seconds !== null && (['Period', `${count(window_seconds)} s`] as const),
      period !== null && (['Time zone', timezone ?? `${org.timezone} (organization)`] as const),
      [
        'When exceeded',
        enforcement === 'block' ? badge('Block', 'info') : badge('Alert only', 'plain'),
      ] as const,
      alert_thresholds.length > 0 &&
        (['Alert at', alert_thresholds.map((threshold) => `${threshold}%`).join(', ')] as const),
      ['Created', time(limit.created_at, org.timezone)] as const,
      ['ID', html`<code>${limit.id}</code>`] as const,
    ].filter((entry) => entry !== false),
  );
}

function ownerOf(kind: string, owner: string | null): Part {
  if (owner !== null) {
    return contactLink(owner);
  }
  return managedByOperator(kind) ? 'Managed by your operator' : html`<span class="quiet">Not set</span>`;
}

function alerts({ alerts: sent, match }: LimitResponse, { org, now }: ScreenVisit): Markup {
  const hasValues = Object.values(match).includes('*');
  if (sent.length === 0) {
    return empty(
      'No alerts sent',
      html`Alerts are events; receive them by <a href="/console/email-alerts">e-mail</a>, or in Slack, Teams and programs with a
<a href="/console/webhooks">webhook</a>.`,
    );
  }
  return table({
    caption: 'Alerts',
    rows: sent,
    columns: [
      {
        title: 'Sent',
        cell: ({ at }) => html`<span class="nowrap">${time(at, org.timezone)}</span>${subline(ago(at, now))}`,
      },
      {
        title: 'Alert',
        cell: ({ threshold }) =>
          threshold === null
            ? badge('Blocked requests', 'bad')
            : badge(`${threshold}% reached`, threshold >= 100 ? 'bad' : 'warn'),
      },
      ...(hasValues
        ? [{ title: 'For', cell: ({ value }: LimitResponse['alerts'][number]) => value ?? '–' }]
        : []),
      { title: 'Period from', cell: ({ window_start }) => day(window_start, org.timezone) },
    ],
  });
}

/** The past periods, without the oldest ones if nothing was spent before the limit existed. */
function shownPeriods({ windows, created_at }: LimitResponse): LimitResponse['windows'] {
  const last = windows.findLastIndex(
    ({ settled, window_end }) => Number(settled) > 0 || window_end > created_at,
  );
  return windows.slice(0, last + 1);
}

/** Compared with the limit as it is now; earlier amounts of the limit are in the audit log. */
function pastPeriods(limit: LimitResponse, { org }: ScreenVisit): Markup {
  const whole = Number(limit.limit);
  const filters = matchFilters(limit.match);
  return table({
    caption: 'Past periods',
    rows: shownPeriods(limit),
    columns: [
      {
        title: 'Period',
        cell: ({ window_start, window_end }) => {
          const days = daysOf(Date.parse(window_start), Date.parse(window_end), org.timezone);
          const until = days.from !== days.to && html` – ${day(lastInstant(window_end), org.timezone)}`;
          return [
            nowrap([day(window_start, org.timezone), until]),
            subline(window_end < limit.created_at && 'before this limit'),
          ];
        },
      },
      {
        title: 'Usage',
        cell: ({ settled, window_start }) =>
          meter({
            label: window_start.slice(0, 10),
            settled: Number(settled),
            held: 0,
            limit: whole,
            format: (value) => inUnit(limit.unit, value),
          }),
      },
      { title: 'Spent', isNumber: true, cell: ({ settled }) => inUnit(limit.unit, settled) },
      {
        title: 'Of limit',
        isNumber: true,
        cell: ({ settled }) => (whole === 0 ? '–' : percent(Number(settled) / whole)),
      },
      {
        title: '',
        cell({ window_start, window_end }) {
          const days = daysOf(Date.parse(window_start), Date.parse(window_end), org.timezone);
          const from = html`<span class="hidden"> from ${window_start.slice(0, 10)}</span>`;
          return filters !== undefined && html`<a href="${runsLink(filters, days)}">View runs${from}</a>`;
        },
      },
    ],
  });
}

/** The last millisecond before the end of a period, whose day is the last of the period. */
function lastInstant(end: string): string {
  return new Date(Date.parse(end) - 1).toISOString();
}
