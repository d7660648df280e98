/** Benchmarks: participation, cohorts and comparison with a cohort. */
import { ApiFailure } from '../../api.ts';
import { actionCard, buttonTo, confirmButton, linkButton } from '../../buttons.ts';
import { quartileBar } from '../../charts/quartiles.ts';
import { card, cardOf, definitionList, empty, notice, panel } from '../../components.ts';
import { filterQuery } from '../../filters.ts';
import { actionScreen, formScreens } from '../../form-screens.ts';
import { count, day, milliseconds, percent, usd } from '../../format.ts';
import type { Field } from '../../forms.ts';
import { html, link, type Markup, type Part, path } from '../../html.ts';
import { badge, nowrap } from '../../inline.ts';
import { listing } from '../../listing.ts';
import { pathOf } from '../../operations.ts';
import type { Item, Responses } from '../../responses.ts';
import { type Screen, type ScreenVisit, view } from '../../screen.ts';
import { type Column, table } from '../../table.ts';

const listPath = '/console/benchmarks';
const cohortPath = `${listPath}/{cohort_id}`;

type CohortItem = Item<'benchmarks.list_cohorts'>;
type BenchmarkResponse = Responses['benchmarks.read_cohort'];
type BenchmarkMetric = keyof BenchmarkResponse['metrics'];
type MetricView = NonNullable<BenchmarkResponse['metrics'][BenchmarkMetric]>;

const industry: Field = {
  name: 'industry',
  label: 'Industry',
  kind: 'text',
  help: 'Use a common name, such as software or fintech.',
  placeholder: 'software',
};
const sizeBand: Field = { name: 'size_band', label: 'Size', kind: 'text', placeholder: '51-200' };

export const benchmarkScreens: readonly Screen[] = [
  { path: listPath, audience: 'org', handler: overview },
  ...formScreens({
    path: `${listPath}/participation`,
    title: 'Participation',
    intro:
      'You share weekly totals, which are published only in aggregate with other organizations. Leaving deletes them.',
    submit: 'Save',
    back: listPath,
    fields: () => [
      { name: 'enabled', label: 'Participate in benchmarks', kind: 'checkbox' },
      industry,
      sizeBand,
    ],
    async load({ api, org }) {
      const found = await api.get<'benchmark_participation.read'>(`${org.path}/benchmark-participation`);
      return {
        enabled: String(found.enabled),
        industry: found.industry ?? '',
        size_band: found.size_band ?? '',
      };
    },
    call: 'PUT {org}/benchmark-participation',
  }),
  ...formScreens({
    path: `${listPath}/new`,
    title: 'Create cohort',
    intro: 'Compare with all participants, or with those of an industry or size.',
    submit: 'Create cohort',
    back: listPath,
    fields: () => [{ name: 'name', label: 'Name', kind: 'text', required: true }, industry, sizeBand],
    call: 'POST /v1/benchmarks/cohorts',
    body: ({ name, ...criteria }) => ({ name, criteria }),
    done: 'cohort_created',
  }),
  { path: cohortPath, audience: 'org', handler: compared },
  actionScreen({
    path: `${cohortPath}/delete`,
    call: 'DELETE /v1/benchmarks/cohorts/{cohort_id}',
    done: 'deleted',
    back: listPath,
  }),
];

async function overview(visit: ScreenVisit) {
  const { api, org, query } = visit;
  const create = (label: string) => linkButton(visit, { path: `${listPath}/new`, label, tone: 'primary' });
  const [participation, cohorts] = await Promise.all([
    api.tryGet<'benchmark_participation.read'>(`${org.path}/benchmark-participation`),
    api.tryGet<'benchmarks.list_cohorts'>(
      link('/v1/benchmarks/cohorts', { ...filterQuery(query), sort: 'name' }),
    ),
  ]);
  const actions = [
    create('Create cohort'),
    linkButton(visit, { path: `${listPath}/participation`, label: 'Participation' }),
  ];
  return view({
    title: 'Benchmarks',
    actions,
    intro: 'Compare your costs with similar organizations, anonymously.',
  })`
${cardOf('Participation', participation, participationStatus)}
${cardOf('Cohorts', cohorts, (listed) =>
  listing({
    listed,
    path: listPath,
    query,
    none: empty('No cohorts yet', 'Choose who to compare with.', create('Create cohort')),
    caption: 'Cohorts',
    columns: cohortColumns(org.timezone),
  }),
)}`;
}

function participationStatus({
  enabled,
  industry: field,
  size_band,
}: Responses['benchmark_participation.read']): Markup {
  return enabled
    ? html`<p>${badge('participating', 'good')} Industry: ${field ?? 'any'}, size: ${size_band ?? 'any'}.</p>`
    : html`<p>${badge('not participating')} Your data is not shared. You can still view benchmarks.</p>`;
}

function criteriaText({ criteria }: CohortItem): string {
  const parts = [criteria.industry, criteria.size_band].filter((part) => part !== null);
  return parts.length === 0 ? 'all participants' : parts.join(', ');
}

function cohortColumns(timezone: string): Column<CohortItem>[] {
  return [
    {
      title: 'Cohort',
      cell: (one) => html`<a href="${path`/console/benchmarks/${one.id}`}">${one.name}</a>`,
    },
    { title: 'Criteria', cell: criteriaText },
    { title: 'Created', cell: (one) => nowrap(day(one.created_at, timezone)) },
  ];
}

const small = new Intl.NumberFormat('en-US', { maximumSignificantDigits: 3 });

/** In display order; lower is better in all but one. */
const metrics: readonly { name: BenchmarkMetric; title: string; format(value: number): string }[] = [
  { name: 'cost_per_run_usd', title: 'Cost per run', format: usd },
  { name: 'cost_per_1k_tokens_usd', title: 'Cost per 1,000 tokens', format: usd },
  { name: 'failure_rate', title: 'Failure rate', format: (value) => `${small.format(value * 100)}%` },
  { name: 'latency_p50_ms', title: 'Median latency', format: milliseconds },
  { name: 'latency_p95_ms', title: '95th percentile latency', format: milliseconds },
  { name: 'output_ratio', title: 'Output tokens per input token', format: (value) => small.format(value) },
];
const quarters = ['the lowest quarter', 'the second quarter', 'the third quarter', 'the highest quarter'];

async function compared(visit: ScreenVisit) {
  const { api, org, params } = visit;
  const answer = await api.tryGet<'benchmarks.read_cohort'>(
    pathOf('/v1/benchmarks/cohorts/{cohort_id}', params),
  );
  const back = buttonTo(listPath, 'All cohorts');
  const removal = actionCard(
    'Delete',
    confirmButton(
      visit,
      {
        path: `${pathOf(cohortPath, params)}/delete`,
        label: 'Delete cohort',
        thing: answer instanceof ApiFailure ? undefined : answer.name,
      },
      'It will be deleted for the entire organization. Participation does not change.',
    ),
  );
  if (answer instanceof ApiFailure) {
    if (answer.code !== 'insufficient_cohort_size') {
      throw answer;
    }
    return view({ title: 'Cohort', actions: back })`
${panel(empty('Not enough participants', html`${notice(answer)} Widen the criteria, or try again later.`))}${removal}`;
  }
  const { week, from, until } = answer.release;
  const intro = html`${criteriaText(answer)}: ${count(answer.contributing_orgs)} organizations, week ${week},
${day(from, 'UTC')} to ${day(until, 'UTC')}.`;
  return view({ title: answer.name, actions: back, intro })`
<div class="grid">${metrics.map(({ name, title, format }) => metricCard(title, answer.metrics[name], format))}</div>
${card('Models', answer.model_mix.length === 0 ? html`<p class="quiet">No model is used by enough organizations.</p>` : mix(answer.model_mix))}
${panel(
  definitionList([
    ['Minimum cohort size', count(answer.minimum_cohort_size)],
    ['Time zone of weeks', 'UTC'],
    ['Your time zone', org.timezone],
  ]),
)}
${removal}`;
}

function metricCard(title: string, metric: MetricView | null, format: (value: number) => string): Part {
  if (metric === null) {
    return card(title, html`<p class="quiet">Not enough data.</p>`);
  }
  const own = metric.own === null ? null : Number(metric.own);
  return card(
    title,
    html`${quartileBar({ label: title, q1: Number(metric.q1), median: Number(metric.median), q3: Number(metric.q3), own, format })}
${definitionList([
  ['25th percentile', format(Number(metric.q1))],
  ['Median', format(Number(metric.median))],
  ['75th percentile', format(Number(metric.q3))],
  [
    'You',
    own === null
      ? 'no data yet'
      : html`<strong>${format(own)}</strong>${metric.own_quarter !== null && `, in ${quarters[metric.own_quarter - 1]}`}`,
  ],
])}`,
  );
}

function mix(models: BenchmarkResponse['model_mix']): Markup {
  return table({
    caption: 'Model share',
    rows: models,
    columns: [
      { title: 'Model', cell: (one) => one.model },
      { title: 'Cohort', isNumber: true, cell: (one) => percent(one.share) },
      { title: 'You', isNumber: true, cell: (one) => percent(one.own_share) },
    ],
  });
}
