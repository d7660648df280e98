/** Forecasts and capacity: the days to come with their band, scenarios side by side, and what more teams would bring. */
import { type Api, type Listed, Refused } from '../api.ts';
import { lineChart } from '../charts/line.ts';
import { badge, card, cardOf, empty, heading, panel, stat, table } from '../components.ts';
import { type Filter, filterBar } from '../filters.ts';
import { count, shortDate, shortUsd, usd, words } from '../format.ts';
import { type Html, html, link, type Part, path } from '../html.ts';
import { kindName, scopeName } from '../limit-names.ts';
import { type Screen, type ScreenVisit, view } from '../screen.ts';
import { type ScenarioView, scenarioScreens } from './scenarios.ts';

const listPath = '/console/forecasts';
/** As many lines as a picture can hold. */
const comparedMax = 4;
const filters: readonly Filter[] = [
  {
    name: 'horizon_days',
    label: 'Days ahead',
    options: ['14', '60', '90', '180', '365'].map((value) => ({ value, label: value })),
    all: '30',
  },
  { name: 'deployment', label: 'Deployment' },
];

interface Projected {
  readonly expected: string;
  readonly low: string | null;
  readonly high: string | null;
}

interface CapacityForecast {
  readonly method: string;
  readonly quality: string;
  readonly coverage: number;
  readonly history: { readonly days: number };
  readonly total_band: { readonly cost_usd: Projected };
  readonly total: { readonly cost_usd: string; readonly runs: number; readonly tokens: number };
  readonly days: readonly { readonly date: string; readonly cost_usd: Projected }[];
  readonly teams: {
    readonly observed: number;
    readonly curve: { readonly family: string; readonly quality: string } | null;
    readonly pays_up_to: {
      readonly expected: number | null;
      readonly low: number | null;
      readonly high: number | null;
    } | null;
    readonly points: readonly {
      readonly teams: number;
      readonly value_usd: string;
      readonly cost_usd: string;
      readonly return_usd: string;
    }[];
  };
}

interface SpendForecast {
  readonly data: readonly {
    readonly history: readonly { readonly date: string; readonly value: string }[];
    readonly forecast: readonly ({ readonly date: string } & Projected)[];
    readonly limits: readonly {
      readonly limit_id: string;
      readonly kind: string;
      readonly match: Readonly<Record<string, string>>;
      readonly limit: string;
      readonly used: string;
      readonly runs_out_on: string | null;
      readonly earliest_on: string | null;
      readonly runs_out_in_window: boolean;
    }[];
  }[];
}

export const forecastScreens: readonly Screen[] = [
  { path: listPath, audience: 'org', handler: overview },
  ...scenarioScreens,
];

async function overview({ api, org, query }: ScreenVisit) {
  const asked = {
    horizon_days: query.get('horizon_days') || '30',
    deployment: query.get('deployment')?.trim() || undefined,
  };
  const [capacity, spend, scenarios] = await Promise.all([
    api.get<CapacityForecast>(link('/v1/capacity/forecasts', asked)),
    api.tryGet<SpendForecast>(link(`${org.path}/forecasts`, { ...asked, history_days: '60' })),
    api.tryGet<Listed<ScenarioView>>(`${org.path}/capacity-scenarios?limit=100`),
  ]);
  const compared = await withScenarios(api, asked, scenarios);
  return view(
    'Forecasts',
    html`${heading('Forecasts and capacity', html`<a class="button primary" href="${listPath}/scenarios/new">New scenario</a>`, 'What the days to come may cost, how sure that is, and what would change it.')}
${filterBar(listPath, filters, query)}
<div class="stats">${[
      stat(
        `Next ${asked.horizon_days} days`,
        usd(capacity.total.cost_usd),
        band(capacity.total_band.cost_usd),
      ),
      stat(
        'Runs',
        count(Math.round(capacity.total.runs)),
        `${count(Math.round(capacity.total.tokens))} tokens`,
      ),
      stat(
        'Goes by',
        `${count(capacity.history.days)} days`,
        capacity.quality === 'none'
          ? 'No history yet'
          : `${words(capacity.method)}, ${words(capacity.quality)} quality`,
      ),
    ]}</div>
${spend instanceof Refused ? cardOf('Spend', spend, () => '') : capacity.history.days === 0 ? card('Spend per day', empty('Nothing to go by yet', 'What days will cost is told by those that were: come back when there are runs.')) : spendChart(spend, capacity)}
${cardOf('Scenarios side by side', scenarios, () => comparison(capacity, compared))}
${spend instanceof Refused ? '' : outlook(spend)}
${teamChart(capacity)}`,
  );
}

function band({ low, high }: Projected): Part {
  return low === null || high === null
    ? 'Too little history for a band'
    : `Four times in five between ${usd(low)} and ${usd(high)}`;
}

interface Compared {
  readonly scenario: ScenarioView;
  readonly forecast: CapacityForecast;
}

async function withScenarios(
  api: Api,
  asked: Record<string, string | undefined>,
  scenarios: Listed<ScenarioView> | Refused,
): Promise<readonly Compared[]> {
  const shown = scenarios instanceof Refused ? [] : scenarios.data.slice(0, comparedMax);
  const forecasts = await Promise.all(
    shown.map(({ id }) =>
      api.tryGet<CapacityForecast>(link('/v1/capacity/forecasts', { ...asked, scenario: id })),
    ),
  );
  return shown.flatMap((scenario, index) => {
    const forecast = forecasts[index];
    return forecast === undefined || forecast instanceof Refused ? [] : [{ scenario, forecast }];
  });
}

function spendChart({ data }: SpendForecast, { days }: CapacityForecast): Html {
  const history = data[0]?.history ?? [];
  const dates = [...history.map(({ date }) => date), ...days.map(({ date }) => date)];
  const gone = history.length;
  const ahead = (pick: (projected: Projected) => string | null) =>
    dates.map((_, index) => {
      const day = days[index - gone];
      const value = day === undefined ? null : pick(day.cost_usd);
      return value === null ? null : Number(value);
    });
  const hasBand = days.some(({ cost_usd }) => cost_usd.low !== null);
  return panel(
    lineChart({
      id: 'spend',
      size: 'full',
      title: 'Spend per day',
      summary: `${count(gone)} days gone by and ${count(days.length)} to come.`,
      labels: dates.map(shortDate),
      lines: [
        {
          name: 'Spent',
          className: 'series-1',
          values: [...history.map(({ value }) => Number(value)), ...days.map(() => null)],
        },
        { name: 'Expected', className: 'series-2', dashed: true, values: ahead(({ expected }) => expected) },
      ],
      band: hasBand
        ? { name: 'Four days in five', low: ahead(({ low }) => low), high: ahead(({ high }) => high) }
        : undefined,
      formatTick: shortUsd,
      format: usd,
    }),
  );
}

/** Summed up from today on, where scenarios part from one another. */
function comparison(base: CapacityForecast, compared: readonly Compared[]): Part {
  if (compared.length === 0) {
    return empty(
      'No scenarios yet',
      'What if volume grows, a model gets cheaper, a new deployment starts? Describe it, and see it beside the forecast.',
      html`<a class="button primary" href="${listPath}/scenarios/new">New scenario</a>`,
    );
  }
  const all = [
    { name: 'As things are', forecast: base },
    ...compared.map(({ scenario, forecast }) => ({ name: scenario.name, forecast })),
  ];
  const sums = (forecast: CapacityForecast) => {
    let sum = 0;
    return forecast.days.map(({ cost_usd }) => {
      sum += Number(cost_usd.expected);
      return sum;
    });
  };
  return html`${lineChart({
    id: 'scenarios',
    size: 'full',
    title: 'Spent from today on',
    summary: all.map(({ name, forecast }) => `${name}: ${usd(forecast.total.cost_usd)}`).join('; '),
    labels: base.days.map(({ date }) => shortDate(date)),
    lines: all.map(({ name, forecast }, index) => ({
      name,
      className: `series-${index + 1}`,
      values: sums(forecast),
    })),
    formatTick: shortUsd,
    format: usd,
  })}${table({
    caption: 'Scenarios',
    rows: compared,
    columns: [
      {
        title: 'Scenario',
        cell: ({ scenario }) =>
          html`<a href="${path`/console/forecasts/scenarios/${scenario.id}`}">${scenario.name}</a><span class="sub">${scenario.description}</span>`,
      },
      { title: 'Expected', isNumber: true, cell: ({ forecast }) => usd(forecast.total.cost_usd) },
      {
        title: 'Against things as they are',
        isNumber: true,
        cell: ({ forecast }) => difference(Number(forecast.total.cost_usd), Number(base.total.cost_usd)),
      },
      { title: 'Runs', isNumber: true, cell: ({ forecast }) => count(Math.round(forecast.total.runs)) },
    ],
  })}`;
}

function difference(value: number, base: number): Part {
  const more = value - base;
  return base === 0
    ? usd(more)
    : `${more >= 0 ? '+' : ''}${usd(more)} (${more >= 0 ? '+' : ''}${Math.round((more / base) * 100)} %)`;
}

function outlook({ data }: SpendForecast): Part {
  const limits = data[0]?.limits ?? [];
  return (
    limits.length > 0 &&
    card(
      'When limits run out',
      table({
        caption: 'Limits of this scope',
        rows: limits,
        columns: [
          {
            title: 'Limit',
            cell: (limit) => html`${kindName(limit.kind)}<span class="sub">${scopeName(limit.match)}</span>`,
          },
          { title: 'Used', isNumber: true, cell: (limit) => usd(limit.used) },
          { title: 'Of', isNumber: true, cell: (limit) => usd(limit.limit) },
          {
            title: 'Runs out',
            cell: ({ runs_out_on, earliest_on, runs_out_in_window }) =>
              runs_out_on === null
                ? badge('not in sight', 'good')
                : html`${badge(shortDate(runs_out_on), runs_out_in_window ? 'bad' : 'warn')}${earliest_on !== null && earliest_on !== runs_out_on && html`<span class="sub">at the earliest ${shortDate(earliest_on)}</span>`}`,
          },
        ],
      }),
    )
  );
}

function teamChart({ teams }: CapacityForecast): Part {
  const { curve, pays_up_to: paysUpTo, points } = teams;
  if (curve === null || points.length === 0) {
    return card(
      'What more teams would bring',
      html`<p class="quiet">No run of the last weeks says what it was worth (<code>value_usd</code>), so there is nothing to tell.</p>`,
    );
  }
  const upTo =
    paysUpTo === null
      ? 'Not enough is known to say up to how many teams it pays.'
      : `Another team pays up to ${paysUpTo.expected ?? 'more than 10,000'} teams${paysUpTo.low === null ? '' : ` (four times in five between ${paysUpTo.low} and ${paysUpTo.high ?? 'more'})`}; ${teams.observed} are observed.`;
  return panel(
    html`${lineChart({
      id: 'teams',
      size: 'full',
      title: 'What more teams would bring',
      summary: upTo,
      labels: points.map((point) => `${point.teams}`),
      lines: [
        { name: 'Value', className: 'series-1', values: points.map(({ value_usd }) => Number(value_usd)) },
        { name: 'Cost', className: 'series-3', values: points.map(({ cost_usd }) => Number(cost_usd)) },
      ],
      formatTick: shortUsd,
      format: usd,
    })}<p class="quiet">${upTo} The curve is of ${words(curve.quality)} quality.</p>`,
  );
}
