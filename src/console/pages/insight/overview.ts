/** The overview: spend, forecast, limits, blocked requests and top models, customers and workflows. */
import { localTime } from '../../../kernel/local-time.ts';
import { calendarWindow } from '../../../kernel/windows.ts';
import { ApiFailure } from '../../api.ts';
import { cardOf, panel } from '../../components.ts';
import { daysOf } from '../../day-range.ts';
import { usageLink } from '../../drill-down.ts';
import { clockTime, shortDate } from '../../format.ts';
import { html, link, type Part } from '../../html.ts';
import { limitLink } from '../../limit-names.ts';
import { type Screen, type ScreenVisit, seeOther, view } from '../../screen.ts';
import { getStartedCard } from './get-started.ts';
import {
  costsByModel,
  modelsPerDay,
  monthChart,
  type SpendForecast,
  spendPerDay,
} from './overview-charts.ts';
import { denialList, nearestLimits, topList, topRows } from './overview-lists.ts';
import { monthBudget, overviewStats } from './overview-stats.ts';

const dayMs = 86_400_000;
const spendDays = 30;
const approvalsCounted = 100;
/** The page has a dozen queries, and nothing on it is in a hurry. */
const refreshSeconds = 30;

export const overviewScreens: readonly Screen[] = [
  {
    path: '/console',
    audience: 'everyone',
    // Operators have no spend, so they are redirected to the organizations.
    handler: async (visit) => (visit.credential.org === null ? seeOther('/console/orgs') : overview(visit)),
  },
];

async function overview(visit: ScreenVisit) {
  const { api, org, now } = visit;
  const nowMs = now.getTime();
  const window = calendarWindow('month', org.timezone, nowMs);
  const daysLeft = Math.max(1, Math.ceil((window.endMs - nowMs) / dayMs));
  const fromMs = Math.min(
    window.startMs,
    calendarWindow('day', org.timezone, nowMs - (spendDays - 1) * dayMs).startMs,
  );
  const from = new Date(fromMs).toISOString();
  const usage = (query: Readonly<Record<string, string>>) =>
    api.tryGet<'usage.read'>(link(`${org.path}/usage`, { ...query, from }));
  // Queries one row more than the values to show: the row of runs without the field may be among them.
  const top = (group_by: string) => usage({ group_by, limit: String(topRows + 1) });
  const limitsOf = (query: Readonly<Record<string, string>>) =>
    api.tryGet<'limits.list'>(link(`${org.path}/limits`, { ...query, limit: '200' }));
  const [
    byDay,
    byDayAndModel,
    byModel,
    byWorkflow,
    byCustomer,
    limits,
    caps,
    budgets,
    forecasts,
    denials,
    approvals,
  ] = await Promise.all([
    usage({ group_by: 'day', limit: '200' }),
    api.tryGet<'usage.series'>(link(`${org.path}/usage/series`, { ...modelsPerDay, from })),
    top('model'),
    top('workflow'),
    top('customer_id'),
    limitsOf({}),
    // Queried by kind: among thousands of customer limits, the first page may contain neither a spend cap nor a budget.
    limitsOf({ kind: 'spend_cap' }),
    limitsOf({ kind: 'budget' }),
    api.tryGet<'forecasts.list'>(`${org.path}/forecasts?horizon_days=${daysLeft}`),
    api.tryGet<'refusals.list'>(`${org.path}/refusals?limit=8`),
    api.tryGet<'approvals.list'>(`${org.path}/approvals?state=pending&limit=${approvalsCounted}`),
  ]);
  // The call has no `group_by`, so there is one forecast, of all runs.
  const forecast = forecasts instanceof ApiFailure ? forecasts : (forecasts.data[0] as SpendForecast);
  const nearest = await nearestLimits(limits, visit);
  const today = localTime(org.timezone, nowMs).date;
  const month = { start: localTime(org.timezone, window.startMs).date, today };
  const monthDays = daysOf(window.startMs, window.endMs, org.timezone);
  const days = daysOf(fromMs, nowMs + 1, org.timezone);
  const budget = budgets instanceof ApiFailure ? undefined : monthBudget(budgets.data);
  const period = html`<span class="quiet">${shortDate(days.from)} – ${shortDate(days.to)}</span>`;
  const monthUsage = usageLink({}, { from: month.start, to: today });
  const intro = html`Spend and limits of ${org.name}. Times in ${org.timezone}. ${asOf(visit)}`;
  return view({ title: 'Overview', intro, autoRefresh: refreshSeconds })`
${!(byDay instanceof ApiFailure) && byDay.data.length === 0 && (await getStartedCard(visit))}
${overviewStats(visit, { byDay, caps, budgets, budget, forecast, approvals, month, monthDays })}
<div class="grid wide">
${
  byDay instanceof ApiFailure || forecast instanceof ApiFailure
    ? cardOf('This month', byDay instanceof ApiFailure ? byDay : forecast, () => '')
    : panel([
        monthChart({ days: byDay.data, forecast, budget: budget && Number(budget.limit), month }),
        html`<p class="more">${budget && html`Budget ${limitLink(budget)} · `}<a href="${monthUsage}">Usage this month</a> ·
<a href="/console/forecasts">Forecasts</a></p>`,
      ])
}
${
  byDayAndModel instanceof ApiFailure || byDay instanceof ApiFailure
    ? cardOf('Spend per day', byDay instanceof ApiFailure ? byDay : byDayAndModel, () => '')
    : panel([
        spendPerDay(byDay.data, costsByModel(byDayAndModel)),
        html`<p class="more"><a href="${usageLink({}, days)}">Usage by model</a></p>`,
      ])
}
</div>
<div class="grid wide">
${cardOf('Limits closest to exhaustion', limits, () => nearest)}
${cardOf('Recently blocked', denials, ({ data }) => denialList(data, visit))}
</div>
<div class="grid">
${(
  [
    ['model', byModel, 'model'],
    ['customer', byCustomer, 'customer_id'],
    ['workflow', byWorkflow, 'workflow'],
  ] as const
).map(([noun, found, field]) =>
  cardOf(`Top ${noun}s`, found, (rows) => [
    topList({ noun, field, days }, rows),
    html`<p class="more">${period} · <a href="${usageLink({ group_by: field }, days)}">Usage by ${noun}</a></p>`,
  ]),
)}
</div>`;
}

/** The time of the figures, and how to get newer ones. */
function asOf({ now, org, query, credential }: ScreenVisit): Part {
  const isPaused = query.has('still');
  // In a support session every refresh would be recorded, so there is none.
  const isLive = !isPaused && credential.support === undefined;
  const [target, label] = isPaused ? ['/console', 'Resume updates'] : ['/console?still=yes', 'Pause updates'];
  return html`<span class="as-of">As of <time datetime="${now.toISOString()}">${clockTime(now, org.timezone)}</time>${
    isLive && `, updated every ${refreshSeconds} seconds`
  } · <a href="${isPaused ? '/console?still=yes' : '/console'}">Refresh</a>${
    credential.support === undefined && html` · <a href="${target}">${label}</a>`
  }</span>`;
}
