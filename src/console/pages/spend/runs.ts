/** Runs: list, details with the chain, and cost adjustment. */
import { labelDimensions } from '../../../contract/run-dimensions.ts';
import { actionButton, linkButton } from '../../buttons.ts';
import { card, cardOf, definitionList } from '../../components.ts';
import { kindTable } from '../../cost-kinds.ts';
import { actionScreen, formScreens } from '../../form-screens.ts';
import { capitalized, count, exactUsd, milliseconds, time, usd } from '../../format.ts';
import { html, link, type Part, path } from '../../html.ts';
import { badge, chip } from '../../inline.ts';
import { fieldName } from '../../limit-names.ts';
import { customerLink, type KeysById, keyLink, keysById } from '../../names.ts';
import { pathOf } from '../../operations.ts';
import { type Screen, type ScreenVisit, view } from '../../screen.ts';
import { adjustmentsCard } from './run-adjustments.ts';
import { adjustedBadge, adjustedCost, isAdjusted, totalCost } from './run-cost.ts';
import { listPath, listRuns } from './run-list.ts';
import { marks, statusBadge } from './run-marks.ts';
import { type RunResponse, runTree } from './run-tree.ts';

const runPath = `${listPath}/{run_id}`;
const chainShown = 200;

export const runScreens: readonly Screen[] = [
  { path: listPath, audience: 'org', handler: listRuns },
  { path: runPath, audience: 'org', handler: one },
  ...formScreens({
    path: `${runPath}/adjust`,
    title: 'Adjust run cost',
    intro: 'Adds a posting to the same budget periods as the run. The original posting is kept.',
    submit: 'Save adjustment',
    back: runPath,
    fields: () => [
      {
        name: 'amount_usd',
        label: 'Adjustment',
        kind: 'money',
        required: true,
        help: 'Use a negative amount such as -0.25 to reduce the cost.',
      },
      { name: 'reason', label: 'Reason', kind: 'text', required: true },
    ],
    call: 'POST /v1/runs/{run_id}/adjustments',
    done: 'corrected',
  }),
  actionScreen({
    path: `${runPath}/reprice`,
    call: 'POST /v1/runs/{run_id}/reprice',
    done: 'corrected',
    back: runPath,
  }),
];

async function one(visit: ScreenVisit) {
  const { api, org, params } = visit;
  const run = await api.get<'runs.read'>(path`/v1/runs/${params.run_id ?? ''}`);
  const related =
    run.chain_id === null
      ? { parent_run_id: run.id, limit: String(chainShown) }
      : { chain_id: run.chain_id, sort: 'charged_at', limit: String(chainShown) };
  const [chain, keys, adjustments] = await Promise.all([
    api.tryGet<'runs.list'>(link('/v1/runs', related)),
    keysById(api, org, [run.key_id]),
    run.cost_usd === null ? undefined : adjustmentsCard(visit, run.id),
  ]);
  const adjust =
    run.cost_usd !== null &&
    linkButton(visit, { path: `${pathOf(runPath, params)}/adjust`, label: 'Adjust cost' });
  const reprice =
    isUnpriced(run) && actionButton(visit, { path: `${pathOf(runPath, params)}/reprice`, label: 'Reprice' });
  const head = { title: `Run ${run.id}`, heading: `${run.model} run`, intro: html`<code>${run.id}</code>` };
  return view({ ...head, actions: html`${reprice}${adjust}` })`
${card('Details', definitionList(details(run, visit, keys)))}
${card('Cost', definitionList(costs(run)))}
${run.cost_parts !== null && card('Cost by kind', kindTable(run.cost_parts, { caption: 'Cost by kind of usage' }))}
${adjustments}
${cardOf('Chain', chain, ({ data, next_cursor }) => chainBody(run, data, next_cursor !== null))}
${Object.keys(run.metadata).length > 0 && card('Metadata', html`<pre class="scroll" tabindex="0">${JSON.stringify(run.metadata, null, 2)}</pre>`)}`;
}

function filtered(name: string, value: string | null): Part {
  return value === null ? '–' : html`<a href="${link(listPath, { [name]: value })}">${value}</a>`;
}

function details(run: RunResponse, visit: ScreenVisit, keys: KeysById): (readonly [string, Part])[] {
  return [
    ['Status', html`${statusBadge(run.status)} ${marks(run)}`],
    ['Model', filtered('model', run.model)],
    ['Served model', run.served_model ?? '–'],
    ...labelDimensions
      .filter((name) => name !== 'customer_id' && name !== 'chain_id')
      .map((name) => [capitalized(fieldName(name)), filtered(name, run[name])] as const),
    ['Customer', run.customer_id === null ? '–' : customerLink(visit, run.customer_id)],
    ['External ID', run.external_id ?? '–'],
    [
      'API key',
      html`${keyLink(run.key_id, keys)} <a href="${link(listPath, { key_id: run.key_id })}">View runs</a>`,
    ],
    ['Started', time(run.started_at, visit.org.timezone)],
    ['Finished', time(run.finished_at, visit.org.timezone)],
    ['Charged', time(run.charged_at, visit.org.timezone)],
    ['Latency', milliseconds(run.latency_ms)],
    ['Flagged by', run.flagged_by.length === 0 ? '–' : run.flagged_by.join(', ')],
    [
      'Tags',
      Object.keys(run.tags).length === 0
        ? '–'
        : Object.entries(run.tags).map(
            ([name, value]) =>
              html`<a href="${link(listPath, { tag: `${name}=${value}` })}">${chip(`${name}=${value}`)}</a> `,
          ),
    ],
  ];
}

function costs(run: RunResponse): (readonly [string, Part])[] {
  return [
    ['Cost', costText(run)],
    ...(isAdjusted(run)
      ? ([
          ['Original cost', exactUsd(run.cost_usd)],
          ['Adjustments', exactUsd(run.adjustment_usd)],
        ] as const)
      : []),
    ['Not covered by credits', exactUsd(run.uncovered_usd)],
    ['Value', exactUsd(run.value_usd)],
    ['Input tokens', count(run.input_tokens)],
    ['Cached input tokens', count(run.cached_input_tokens)],
    ['Cache write tokens', count(run.cache_write_tokens)],
    ['One-hour cache write tokens', count(run.cache_write_1h_tokens)],
    ['Output tokens', count(run.output_tokens)],
    ['Other units', unitsText(run)],
    ['Service tier', run.service_tier ?? '–'],
    ['Region', run.region ?? '–'],
    ['Price', priceText(run)],
    ['Priced as', run.priced_as ?? '–'],
    ['Decision', run.decision_id === null ? '–' : html`<code>${run.decision_id}</code>`],
  ];
}

function isUnpriced({ price_source }: RunResponse): boolean {
  return price_source === 'default_rates' || price_source === 'none';
}

function priceText({ price_source, price_version, status }: RunResponse): Part {
  switch (price_source) {
    case 'default_rates':
      return html`${badge('default rates', 'warn')} ${price_version} <span class="quiet">The model had no price. Reprice the run once it has one.</span>`;
    case 'none':
      return html`${badge('no price', 'warn')} <span class="quiet">The reserved amount or $0 was charged. Reprice the run once the model has a price.</span>`;
    default:
      return price_version ?? (status === 'running' ? '–' : 'reported by client');
  }
}

function unitsText({ units }: RunResponse): string {
  const counts = Object.entries(units).map(([unit, number]) => `${unit}: ${count(number)}`);
  return counts.length === 0 ? '–' : counts.join(', ');
}

function costText(run: RunResponse): Part {
  if (run.cost_usd === null) {
    return html`${exactUsd(run.held_usd)} reserved`;
  }
  const cost = html`${exactUsd(adjustedCost(run))}${adjustedBadge(run)}`;
  return run.marks.includes('unsettled')
    ? html`${cost} <span class="quiet">The reservation expired before the run was settled, so the reserved amount was charged.
Completing the run corrects the cost.</span>`
    : cost;
}

function chainBody(run: RunResponse, found: readonly RunResponse[], isTruncated: boolean): Part {
  const all = found.some(({ id }) => id === run.id) ? found : [run, ...found];
  if (all.length === 1) {
    return html`<p class="quiet">${run.chain_id === null ? 'Not part of a chain.' : html`The only run in chain <code>${run.chain_id}</code>.`}</p>`;
  }
  const depth = Math.max(...all.map((one) => one.depth));
  return html`<p>${run.chain_id !== null && html`Chain ${filtered('chain_id', run.chain_id)}: `}
${isTruncated && 'first '}${count(all.length)} runs, ${usd(totalCost(all))} total, depth ${depth}.</p>
${runTree(all, run.id)}`;
}
