/** Routing and evals: the policy, cost and score of each model, and a routing test. */
import { ApiFailure, readPages } from '../../api.ts';
import { confirmButton, linkButton } from '../../buttons.ts';
import { scatterChart } from '../../charts/scatter.ts';
import { card, cardOf, definitionList, empty, nextPage, notice, panel } from '../../components.ts';
import { type Filter, filterBar, filterQuery } from '../../filters.ts';
import { actionScreen, formScreens } from '../../form-screens.ts';
import { count, humanize, milliseconds, time, usd } from '../../format.ts';
import type { Field } from '../../forms.ts';
import { html, link, type Markup, type Part, path } from '../../html.ts';
import { badge, codeList, nowrap } from '../../inline.ts';
import type { Item, Responses } from '../../responses.ts';
import { type Screen, type ScreenVisit, view } from '../../screen.ts';
import { table } from '../../table.ts';

const listPath = '/console/routing';
/** More points would cover each other. */
const chartedModelsMax = 30;
/** The call that the chart computes costs for. */
const typicalCall = { inputTokens: 2_000, outputTokens: 500 };

type RoutingPolicyResponse = Responses['routing_policy.read'];
type EvalItem = Item<'evals.list'>;
type ModelItem = Item<'models.list'>;

const policyFields: readonly Field[] = [
  {
    name: 'candidates',
    label: 'Candidates',
    kind: 'list',
    required: true,
    help: 'Models to choose from, one per line; * is a wildcard.',
    placeholder: 'gpt-5*',
  },
  {
    name: 'suite',
    label: 'Eval suite',
    kind: 'text',
    required: true,
    help: 'The suite whose results are used.',
  },
  {
    name: 'min_score',
    label: 'Minimum score',
    kind: 'number',
    required: true,
    help: 'From 0 to 1.',
    placeholder: '0.8',
  },
  { name: 'min_samples', label: 'Minimum samples', kind: 'number', placeholder: '1' },
  {
    name: 'max_age_days',
    label: 'Max result age (days)',
    kind: 'number',
    required: true,
    placeholder: '30',
  },
  {
    name: 'objective',
    label: 'Optimize for',
    kind: 'select',
    required: true,
    options: [
      { value: 'cost', label: 'Lowest cost' },
      { value: 'latency', label: 'Lowest latency' },
      { value: 'quality', label: 'Best score' },
    ],
  },
  {
    name: 'fallbacks',
    label: 'Fallbacks',
    kind: 'list',
    help: 'Models to use, in this order, when no candidate passes. Exempt from the minimum score.',
  },
];

const filters: readonly Filter[] = [
  { name: 'suite', label: 'Eval suite' },
  { name: 'model', label: 'Model' },
];

export const routingScreens: readonly Screen[] = [
  { path: listPath, audience: 'org', handler: overview },
  ...formScreens({
    path: `${listPath}/policy`,
    title: 'Routing policy',
    intro: 'Candidate models and the score they must reach.',
    submit: 'Save',
    back: listPath,
    fields: () => policyFields,
    async load(visit) {
      const found = await currentPolicy(visit);
      return found === undefined
        ? { objective: 'cost', max_age_days: '30' }
        : {
            candidates: found.candidates,
            suite: found.suite,
            min_score: String(found.min_score),
            min_samples: String(found.min_samples),
            max_age_days: String(found.max_age_days),
            objective: found.objective,
            fallbacks: found.fallbacks,
          };
    },
    call: 'PUT {org}/routing-policy',
    // The form has no fields for weights: saving keeps them.
    async body(body, visit) {
      const weights = (await currentPolicy(visit))?.weights ?? null;
      return weights === null ? body : { ...body, weights };
    },
  }),
  ...formScreens({
    path: `${listPath}/evals/new`,
    title: 'Create eval result',
    intro: 'Only the latest result of a suite and model is used.',
    submit: 'Save result',
    back: listPath,
    fields: () => [
      { name: 'suite', label: 'Eval suite', kind: 'text', required: true },
      { name: 'model', label: 'Model', kind: 'text', required: true },
      { name: 'score', label: 'Score', kind: 'number', required: true, help: 'From 0 to 1.' },
      { name: 'samples', label: 'Samples', kind: 'number', required: true },
      { name: 'ran_at', label: 'Run at', kind: 'instant', help: 'Defaults to now.' },
      { name: 'source', label: 'Source', kind: 'text', help: 'For example a pipeline, commit or report.' },
    ],
    call: 'POST {org}/evals',
  }),
  actionScreen({
    path: `${listPath}/evals/{eval_id}/delete`,
    call: 'DELETE {org}/evals/{eval_id}',
    done: 'deleted',
    back: listPath,
  }),
  ...trial(),
];

/** Returns undefined if no policy is set. Throws if the policy cannot be read: saving the form would replace it. */
async function currentPolicy({ api, org }: ScreenVisit): Promise<RoutingPolicyResponse | undefined> {
  const found = await api.tryGet<'routing_policy.read'>(`${org.path}/routing-policy`);
  if (!(found instanceof ApiFailure)) {
    return found;
  }
  if (found.code !== 'not_found') {
    throw found;
  }
  return undefined;
}

async function overview(visit: ScreenVisit) {
  const { api, org, query } = visit;
  const to = (target: string, label: string, tone?: 'primary') =>
    linkButton(visit, { path: `${listPath}/${target}`, label, ...(tone && { tone }) });
  const [policy, evals] = await Promise.all([
    api.tryGet<'routing_policy.read'>(`${org.path}/routing-policy`),
    api.tryGet<'evals.list'>(
      link(`${org.path}/evals`, { ...filterQuery(query), newest: 'true', limit: '100' }),
    ),
  ]);
  const models = evals instanceof ApiFailure ? [] : await modelsOf(visit, evals.data);
  const actions = [
    to('policy', 'Routing policy', 'primary'),
    to('evals/new', 'Create eval result'),
    to('try', 'Test routing'),
  ];
  const found = policy instanceof ApiFailure ? undefined : policy;
  const noPolicy = html`Choose candidate models and a minimum score. <code>POST /v1/routing/decisions</code> then picks a model.`;
  const intro = 'Route to the cheapest, fastest or best model that passes your evals.';
  return view({ title: 'Routing', actions, intro })`
${
  policy instanceof ApiFailure && policy.code === 'not_found'
    ? panel(empty('No routing policy yet', noPolicy, to('policy', 'Create policy', 'primary')))
    : cardOf('Policy', policy, policyDetails)
}
${!(evals instanceof ApiFailure) && costScoreChart(evals.data, models, found)}
${filterBar(listPath, filters, query)}
${cardOf('Latest results', evals, ({ data, next_cursor }) =>
  data.length === 0
    ? noEvals(to('evals/new', 'Create eval result', 'primary'))
    : [evalTable(data, visit, found), nextPage(listPath, query, next_cursor)],
)}`;
}

/** Reads the catalog until it has every model: a page of it takes little longer than a request for one model. */
async function modelsOf(
  { api }: ScreenVisit,
  evals: readonly EvalItem[],
): Promise<readonly ModelItem[] | ApiFailure> {
  const names = new Set([...new Set(evals.map(({ model }) => model))].slice(0, chartedModelsMax));
  const isCharted = ({ model }: ModelItem) => names.has(model);
  const listed = await readPages(
    (cursor) => api.tryGet<'models.list'>(link('/v1/models', { limit: '200', cursor })),
    (models) => models.filter(isCharted).length === names.size,
  );
  return listed instanceof ApiFailure ? listed : listed.data.filter(isCharted);
}

function policyDetails(policy: RoutingPolicyResponse): Markup {
  return definitionList([
    ['Candidates', codeList(policy.candidates)],
    ['Eval suite', policy.suite],
    ['Minimum score', `${policy.min_score} with at least ${count(policy.min_samples)} samples`],
    ['Max result age', `${count(policy.max_age_days)} days`],
    ['Optimize for', policy.objective],
    ['Fallbacks', policy.fallbacks.length === 0 ? 'none' : policy.fallbacks.join(', ')],
  ]);
}

function noEvals(create: Part): Markup {
  return empty(
    'No eval results',
    html`Add a result here, or send results from your pipeline to <code>POST …/evals</code>.`,
    create,
  );
}

function callCost({
  input_usd_per_million: input,
  output_usd_per_million: output,
}: ModelItem): number | undefined {
  return input === null || output === null
    ? undefined
    : (Number(input) * typicalCall.inputTokens + Number(output) * typicalCall.outputTokens) / 1e6;
}

function costScoreChart(
  evals: readonly EvalItem[],
  models: readonly ModelItem[] | ApiFailure,
  policy: RoutingPolicyResponse | undefined,
): Part {
  if (models instanceof ApiFailure) {
    return card('Cost and score', notice(models));
  }
  const suite = policy?.suite ?? evals[0]?.suite;
  const costs = new Map(models.map((model) => [model.model, callCost(model)]));
  const points = evals
    .filter((result) => result.suite === suite)
    .flatMap(({ model, score }) => {
      const cost = costs.get(model);
      return cost === undefined
        ? []
        : [{ name: model, x: cost, y: score, passes: score >= (policy?.min_score ?? 0) }];
    });
  if (points.length === 0) {
    return false;
  }
  const passing = points.filter(({ passes }) => passes);
  const cheapest = passing.toSorted((a, b) => a.x - b.x)[0];
  return panel(
    scatterChart({
      id: 'evals',
      title: `Cost and score, suite ${suite}`,
      summary: `${passing.length} of ${points.length} models reach the minimum score${cheapest === undefined ? '' : `; the cheapest is ${cheapest.name}`}.`,
      x: {
        name: `Cost of ${count(typicalCall.inputTokens)} input and ${count(typicalCall.outputTokens)} output tokens`,
        format: usd,
      },
      y: { name: 'Score', format: (value) => value.toFixed(2), from: lowest(points, policy) },
      points,
      minimum: policy && { name: `Minimum score ${policy.min_score}`, value: policy.min_score },
    }),
  );
}

/** The axis starts at a tenth, one to two tenths below the lowest value, so that close points stay distinguishable. */
function lowest(
  points: readonly { readonly y: number }[],
  policy: RoutingPolicyResponse | undefined,
): number {
  const least = Math.min(policy?.min_score ?? 1, ...points.map(({ y }) => y));
  return Math.max(0, Math.floor(least * 10 - 1) / 10);
}

function evalTable(
  evals: readonly EvalItem[],
  visit: ScreenVisit,
  policy: RoutingPolicyResponse | undefined,
): Markup {
  return table({
    caption: 'Eval results',
    rows: evals,
    columns: [
      { title: 'Eval suite', cell: (one) => one.suite },
      { title: 'Model', cell: (one) => one.model },
      { title: 'Score', isNumber: true, cell: (one) => one.score.toFixed(3) },
      { title: 'Samples', isNumber: true, cell: (one) => count(one.samples) },
      {
        title: 'Minimum score',
        cell: (one) =>
          policy?.suite === one.suite &&
          (one.score >= policy.min_score ? badge('passes', 'good') : badge('fails', 'bad')),
      },
      { title: 'Run at', cell: (one) => nowrap(time(one.ran_at, visit.org.timezone)) },
      { title: 'Source', cell: (one) => one.source ?? '–' },
      {
        title: '',
        cell: (one) =>
          confirmButton(
            visit,
            {
              path: path`/console/routing/evals/${one.id}/delete`,
              label: 'Delete',
              about: `${one.model} in ${one.suite}`,
            },
            'The previous result, if any, will be used again.',
          ),
      },
    ],
  });
}

function trial(): readonly Screen[] {
  const text = (name: string, label: string): Field => ({ name, label, kind: 'text' });
  return formScreens<'routing.decide'>({
    path: `${listPath}/try`,
    title: 'Test routing',
    intro: 'See which model a request would be routed to. Nothing is reserved.',
    submit: 'Test',
    back: listPath,
    fields: () => [
      { name: 'input_tokens', label: 'Input tokens', kind: 'number', required: true },
      { name: 'max_output_tokens', label: 'Max output tokens', kind: 'number', required: true },
      text('action', 'Action'),
      text('workflow', 'Workflow'),
      text('customer_id', 'Customer'),
    ],
    load: async () => ({
      input_tokens: String(typicalCall.inputTokens),
      max_output_tokens: String(typicalCall.outputTokens),
    }),
    call: 'POST /v1/routing/decisions',
    result: (_visit, decision) =>
      card(
        decision.model,
        html`<p>${decision.fallback ? badge('fallback', 'warn') : badge('chosen', 'good')} ${usd(decision.expected_cost_usd)},
score ${decision.score ?? 'unknown'}, ${milliseconds(decision.latency_ms)}.</p>${table({
          caption: 'Other candidates',
          rows: decision.considered,
          columns: [
            { title: 'Model', cell: (one) => one.model },
            {
              title: 'Reason',
              cell: (one) =>
                one.rank === null ? badge(humanize(one.reason), 'warn') : `eligible (#${one.rank})`,
            },
            { title: 'Cost', isNumber: true, cell: (one) => usd(one.expected_cost_usd) },
            { title: 'Score', isNumber: true, cell: (one) => one.score ?? '–' },
            { title: 'Latency', isNumber: true, cell: (one) => milliseconds(one.latency_ms) },
          ],
        })}`,
      ),
  });
}
