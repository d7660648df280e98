/** Forecasts: daily spend with its range, scenarios, exhaustion of limits, and the value of adding teams. */
import { type Api, ApiFailure, type Listed } from '../../api.ts';
import { linkButton } from '../../buttons.ts';
import { lineChart } from '../../charts/line.ts';
import { card, cardOf, empty, notice, panel, stat } from '../../components.ts';
import { type Filter, filterBar, filterQuery } from '../../filters.ts';
import { count, humanize, shortDate, shortUsd, usd } from '../../format.ts';
import { html, link, type Markup, type Part, path } from '../../html.ts';
import { badge, subline } from '../../inline.ts';
import { kindName, limitLink, limitSubtitle, scopeName, usedShare } from '../../limit-names.ts';
import type { Item, Responses } from '../../responses.ts';
import { type Screen, type ScreenVisit, view } from '../../screen.ts';
import { table } from '../../table.ts';
import type { LimitItem } from '../../views.ts';
import { hasForecast } from './overview-charts.ts';
import { type ScenarioResponse, scenarioScreens } from './scenarios.ts';

const listPath = '/console/forecasts';
/** Maximum number of scenarios in the chart. */
const comparedMax = 4;
/** Maximum number of scopes whose limits are forecast. */
const scopesMax = 6;
const history_days = '60';
const filters: readonly Filter[] = [
  {
    name: 'horizon_days',
    label: 'Days ahead',
    options: ['14', '60', '90', '180', '365'].map((value) => ({ value, label: value })),
    all: '30',
  },
  { name: 'deployment', label: 'Deployment' },
];

type CapacityForecast = Responses['forecasts.capacity'];
type Projected = CapacityForecast['total_band']['cost_usd'];
type ForecastsResponse = Responses['forecasts.list'];
type LimitOutlook = Item<'forecasts.list'>['limits'][number];

const noHistory = 'No history yet';
const confidence = { none: 'no', low: 'low', fair: 'medium', good: 'high' } as const;

export const forecastScreens: readonly Screen[] = [
  { path: listPath, audience: 'org', handler: overview },
  ...scenarioScreens,
];

async function overview(visit: ScreenVisit) {
  const { api, org, query } = visit;
  const create = linkButton(visit, {
    path: `${listPath}/scenarios/new`,
    label: 'Create scenario',
    tone: 'primary',
  });
  const parameters = { ...filterQuery(query), horizon_days: query.get('horizon_days') || '30' };
  const [capacity, spend, scenarios, limits] = await Promise.all([
    api.get<'forecasts.capacity'>(link('/v1/capacity/forecasts', parameters)),
    api.tryGet<'forecasts.list'>(link(`${org.path}/forecasts`, { ...parameters, history_days })),
    api.tryGet<'capacity_scenarios.list'>(`${org.path}/capacity-scenarios?limit=100`),
    api.tryGet<'limits.list'>(`${org.path}/limits?limit=200`),
  ]);
  // With a deployment filter the page is about that deployment only.
  const scopes = query.get('deployment') ? [] : nearestScopes(limits);
  const [compared, scoped] = await Promise.all([
    withScenarios(api, parameters, scenarios),
    Promise.all(
      scopes.map((scope) =>
        api.tryGet<'forecasts.list'>(
          link(`${org.path}/forecasts`, { ...scope, horizon_days: parameters.horizon_days, history_days }),
        ),
      ),
    ),
  ]);
  return view({
    title: 'Forecasts',
    actions: create,
    intro: 'Projected spend with confidence range and scenarios.',
  })`
${filterBar(listPath, filters, query)}
<div class="stats">${[
    ...(hasForecast(capacity)
      ? [
          stat(
            `Next ${parameters.horizon_days} days`,
            usd(capacity.total.cost_usd),
            band(capacity.total_band.cost_usd),
          ),
          stat(
            'Runs',
            count(Math.round(capacity.total.runs)),
            `${count(Math.round(capacity.total.tokens))} tokens`,
          ),
        ]
      : [stat(`Next ${parameters.horizon_days} days`, '–', noHistory), stat('Runs', '–', noHistory)]),
    stat(
      'Based on',
      `${count(capacity.history.days)} days`,
      capacity.quality === 'none'
        ? noHistory
        : `${humanize(capacity.method)}, ${confidence[capacity.quality]} confidence`,
    ),
  ]}</div>
${
  spend instanceof ApiFailure
    ? card('Spend', notice(spend))
    : hasForecast(capacity)
      ? spendChart(spend, capacity)
      : card('Spend per day', empty('No forecast yet', 'Forecasts appear after a few days of runs.'))
}
${cardOf('Scenarios', scenarios, () => comparison(capacity, compared, create))}
${spend instanceof ApiFailure ? '' : outlook([spend, ...scoped], limits)}
${teamChart(capacity)}`;
}

function band({ low, high }: Projected): Part {
  return low === null || high === null
    ? 'Not enough history for a range'
    : `80% range: ${usd(low)} to ${usd(high)}`;
}

interface ComparedScenario {
  readonly scenario: ScenarioResponse;
  readonly forecast: CapacityForecast | ApiFailure;
}

async function withScenarios(
  api: Api,
  parameters: Record<string, string | undefined>,
  scenarios: Listed<ScenarioResponse> | ApiFailure,
): Promise<readonly ComparedScenario[]> {
  // The card of the list shows its error.
  const shown = scenarios instanceof ApiFailure ? [] : scenarios.data.slice(0, comparedMax);
  const forecasts = await Promise.all(
    shown.map(({ id }) =>
      api.tryGet<'forecasts.capacity'>(link('/v1/capacity/forecasts', { ...parameters, scenario: id })),
    ),
  );
  return shown.flatMap((scenario, index) => {
    const forecast = forecasts[index];
    return forecast === undefined ? [] : [{ scenario, forecast }];
  });
}

function spendChart({ data }: ForecastsResponse, { days }: CapacityForecast): Markup {
  const history = data[0]?.history ?? [];
  const dates = [...history.map(({ date }) => date), ...days.map(({ date }) => date)];
  const past = history.length;
  const ahead = (pick: (projected: Projected) => string | null) =>
    dates.map((_, index) => {
      const day = days[index - past];
      const value = day === undefined ? null : pick(day.cost_usd);
      return value === null ? null : Number(value);
    });
  const hasBand = days.some(({ cost_usd }) => cost_usd.low !== null);
  return panel(
    lineChart({
      id: 'spend',
      size: 'full',
      title: 'Spend per day',
      summary: `${count(past)} past days and ${count(days.length)} forecast days.`,
      labels: dates.map(shortDate),
      lines: [
        {
          name: 'Spent',
          className: 'series-1',
          values: [...history.map(({ value }) => Number(value)), ...days.map(() => null)],
        },
        { name: 'Forecast', className: 'series-2', dashed: true, values: ahead(({ expected }) => expected) },
      ],
      band: hasBand
        ? { name: '80% range', low: ahead(({ low }) => low), high: ahead(({ high }) => high) }
        : undefined,
      formatTick: shortUsd,
      format: usd,
    }),
  );
}

/** Cumulative spend from today on, when scenarios start to differ. */
function comparison(base: CapacityForecast, compared: readonly ComparedScenario[], create: Part): Part {
  if (compared.length === 0) {
    return empty(
      'No scenarios yet',
      'Describe a change such as growth, new prices or a new deployment, and compare it with the forecast.',
      create,
    );
  }
  const isForecast = hasForecast(base);
  const all = [
    { name: 'Baseline', forecast: base },
    ...compared.flatMap(({ scenario, forecast }) =>
      forecast instanceof ApiFailure ? [] : [{ name: scenario.name, forecast }],
    ),
  ];
  const sums = (forecast: CapacityForecast) => {
    let sum = 0;
    return forecast.days.map(({ cost_usd }) => {
      sum += Number(cost_usd.expected);
      return sum;
    });
  };
  return html`${
    isForecast
      ? lineChart({
          id: 'scenarios',
          size: 'full',
          title: 'Cumulative spend',
          summary: all.map(({ name, forecast }) => `${name}: ${usd(forecast.total.cost_usd)}`).join('; '),
          labels: base.days.map(({ date }) => shortDate(date)),
          lines: all.map(({ name, forecast }, index) => ({
            name,
            className: `series-${index + 1}`,
            values: sums(forecast),
          })),
          formatTick: shortUsd,
          format: usd,
        })
      : html`<p class="quiet">Scenarios are compared with the forecast, which appears after a few days of runs.</p>`
  }${table({
    caption: 'Scenarios',
    rows: compared,
    columns: [
      {
        title: 'Scenario',
        cell: ({ scenario }) =>
          html`<a href="${path`/console/forecasts/scenarios/${scenario.id}`}">${scenario.name}</a>${subline(scenario.description)}`,
      },
      { title: 'Forecast', isNumber: true, cell: figureCell(({ total }) => usd(total.cost_usd)) },
      {
        title: 'vs baseline',
        isNumber: true,
        cell: figureCell(({ total }) => difference(Number(total.cost_usd), Number(base.total.cost_usd))),
      },
      { title: 'Runs', isNumber: true, cell: figureCell(({ total }) => count(Math.round(total.runs))) },
    ],
  })}`;
}

/** Returns a cell for a figure of each scenario. Scenarios without a forecast are listed without figures. */
function figureCell(figure: (forecast: CapacityForecast) => Part): (row: ComparedScenario) => Part {
  return ({ forecast }) =>
    forecast instanceof ApiFailure || !hasForecast(forecast) ? '–' : figure(forecast);
}

function difference(value: number, base: number): Part {
  const more = value - base;
  return base === 0
    ? usd(more)
    : `${more >= 0 ? '+' : ''}${usd(more)} (${more >= 0 ? '+' : ''}${Math.round((more / base) * 100)}%)`;
}

/** Fields that a forecast can be filtered by. */
const scopeFields: readonly string[] = ['workflow', 'deployment', 'department', 'customer_id'];

/** The scopes whose limits are closest to exhaustion. Each needs its own forecast, so their number is limited. */
function nearestScopes(limits: Listed<LimitItem> | ApiFailure): LimitItem['match'][] {
  const scoped =
    limits instanceof ApiFailure
      ? []
      : limits.data
          .filter(({ unit, match, standing }) => {
            const [field = '', value] = Object.entries(match)[0] ?? [];
            const isOne = Object.keys(match).length === 1 && value !== '*';
            return unit === 'usd' && standing !== null && isOne && scopeFields.includes(field);
          })
          .sort((a, b) => usedShare(b) - usedShare(a))
          .map(({ match }) => match);
  const byName = new Map(scoped.map((match) => [JSON.stringify(match), match]));
  return [...byName.values()].slice(0, scopesMax);
}

function outlook(
  forecasts: readonly (ForecastsResponse | ApiFailure)[],
  limits: Listed<LimitItem> | ApiFailure,
): Part {
  const rows = forecasts.flatMap((one) => (one instanceof ApiFailure ? [] : outlooksIn(one)));
  const failure = forecasts.find((one) => one instanceof ApiFailure);
  const named = new Map((limits instanceof ApiFailure ? [] : limits.data).map((limit) => [limit.id, limit]));
  return (
    rows.length > 0 &&
    card(
      'Projected exhaustion',
      html`${table({
        caption: 'Limits of the organization, and scoped limits closest to exhaustion',
        rows,
        columns: [
          { title: 'Limit', cell: (limit) => limitCell(limit, named.get(limit.limit_id)) },
          { title: 'Used', isNumber: true, cell: (limit) => usd(limit.used) },
          { title: 'Limit', isNumber: true, cell: (limit) => usd(limit.limit) },
          { title: 'Runs out on', cell: runsOut },
        ],
      })}${failure instanceof ApiFailure && notice(failure)}<p class="more"><a href="/console/limits">All limits</a></p>`,
    )
  );
}

type OutlookRow = LimitOutlook & { readonly isForecast: boolean };

function outlooksIn({ data: [one] }: ForecastsResponse): OutlookRow[] {
  return one === undefined ? [] : one.limits.map((limit) => ({ ...limit, isForecast: hasForecast(one) }));
}

function limitCell({ kind, match }: LimitOutlook, limit: LimitItem | undefined): Part {
  return limit === undefined
    ? html`${kindName(kind)}${subline(scopeName(match))}`
    : html`${limitLink(limit)}${subline(limitSubtitle(limit))}`;
}

const dayMs = 86_400_000;
/** A day on which clocks are set back has 25 hours. */
const longestDayMs = dayMs + 3_600_000;

export function runsOut(limit: OutlookRow): Part {
  const { used, window_start, window_end, runs_out_on, earliest_on, runs_out_in_window } = limit;
  if (Number(used) >= Number(limit.limit)) {
    return badge('exhausted', 'bad');
  }
  if (!limit.isForecast) {
    return html`– <span class="quiet">${noHistory}</span>`;
  }
  const windowMs = window_end === null ? undefined : Date.parse(window_end) - Date.parse(window_start ?? '');
  const isDaily = windowMs !== undefined && windowMs <= longestDayMs;
  if (isDaily && !runs_out_in_window) {
    return badge('not today', 'good');
  }
  if (runs_out_on === null) {
    return badge('not projected', 'good');
  }
  const isRange = earliest_on !== null && earliest_on !== runs_out_on;
  return [
    badge(shortDate(runs_out_on), runs_out_in_window ? 'bad' : 'warn'),
    subline(isRange && `as early as ${shortDate(earliest_on)}`),
  ];
}

/** Maximum multiple of the observed team count that is shown: the curve is not reliable far beyond it. */
const extrapolationMax = 3;

export function teamChart({ teams }: Pick<CapacityForecast, 'teams'>): Part {
  const { curve, observed } = teams;
  const teamsMax = observed * extrapolationMax;
  const points = teams.points.filter((point) => point.teams <= teamsMax);
  if (curve === null || points.length === 0) {
    return card(
      'Value of adding teams',
      html`<p class="quiet">No recent runs have a <code>value_usd</code>.</p>`,
    );
  }
  if (curve.quality === 'low') {
    return card(
      'Value of adding teams',
      html`<p class="quiet">Not enough data for a projection: ${count(observed)} ${observed === 1 ? 'team' : 'teams'} observed.</p>`,
    );
  }
  const upTo = paysUpTo(teams, teamsMax);
  return panel(
    html`${lineChart({
      id: 'teams',
      size: 'full',
      title: 'Value of adding teams',
      summary: upTo,
      labels: points.map((point) => `${point.teams}`),
      lines: [
        { name: 'Value', className: 'series-1', values: points.map(({ value_usd }) => Number(value_usd)) },
        { name: 'Cost', className: 'series-3', values: points.map(({ cost_usd }) => Number(cost_usd)) },
      ],
      formatTick: shortUsd,
      format: usd,
    })}<p class="quiet">${upTo} Confidence: ${confidence[curve.quality]}.</p>`,
  );
}

function paysUpTo({ pays_up_to: found, observed }: CapacityForecast['teams'], teamsMax: number): string {
  if (found === null) {
    return 'Not enough data to project up to how many teams this pays off.';
  }
  const number = (teams: number | null) =>
    teams === null || teams > teamsMax ? `more than ${count(teamsMax)}` : count(teams);
  const range =
    found.low === null || found.low > teamsMax
      ? ''
      : ` (80% range: ${number(found.low)} to ${number(found.high)})`;
  return `Adding teams is projected to pay off up to ${number(found.expected)} teams${range}; ${count(observed)} observed.`;
}
