/** Providers' statements: upload, comparison with the ledger, reconciliation. */
import { actionCard, buttonTo, confirmButton, linkButton } from '../../buttons.ts';
import { card, definitionList, empty, nextPage } from '../../components.ts';
import { type Filter, filterBar, filterQuery } from '../../filters.ts';
import { actionScreen, type FormBody, formScreens } from '../../form-screens.ts';
import { count, exactUsd, humanize, time } from '../../format.ts';
import { html, link, type Markup, type Part, path } from '../../html.ts';
import { badge, subline, type Tone } from '../../inline.ts';
import { listing } from '../../listing.ts';
import { pathOf } from '../../operations.ts';
import type { Responses } from '../../responses.ts';
import { type Screen, type ScreenVisit, view } from '../../screen.ts';
import { table } from '../../table.ts';

const statementsPath = '/console/statements';
const statementPath = `${statementsPath}/{statement_id}`;

type StatementResponse = Responses['statements.read'];
type ComparisonResponse = Responses['statements.compare'];
type ComparisonItem = ComparisonResponse['data'][number];

const causeTones: Readonly<Record<string, Tone>> = {
  missing: 'bad',
  price: 'warn',
  unsettled: 'warn',
  unknown: 'bad',
};
const causes = ['missing', 'unsettled', 'late', 'price', 'time_zone', 'unknown', 'rounding'];
const filters: readonly Filter[] = [
  {
    name: 'cause',
    label: 'Cause',
    all: 'All rows',
    options: causes.map((value) => ({ value, label: humanize(value) })),
  },
];

export const statementScreens: readonly Screen[] = [
  { path: statementsPath, audience: 'org', handler: statements },
  ...formScreens<'statements.create'>({
    path: `${statementsPath}/new`,
    title: 'Upload statement',
    intro: html`Paste the cost and usage pages of OpenAI or Anthropic as JSON, or a CSV file: FOCUS 1.2 to 1.4,
or the exports of OpenAI’s usage dashboard or Anthropic’s console, one after the other. Send larger files with POST /v1/orgs/{id}/statements.`,
    submit: 'Upload statement',
    back: statementsPath,
    fields: () => [
      { name: 'file', label: 'Content', kind: 'code', required: true },
      {
        name: 'gateway_key_ids',
        label: 'Provider keys of your gateways',
        kind: 'list',
        help: 'One per line. Calls with other keys are then reported as missing.',
      },
      {
        name: 'project_dimension',
        label: 'Project dimension',
        kind: 'text',
        placeholder: 'tag:project',
        help: 'The dimension of runs that holds the provider’s project.',
      },
      { name: 'drift_threshold_usd', label: 'Alert from a difference of', kind: 'money' },
    ],
    call: 'POST {org}/statements',
    body: statementOf,
  }),
  { path: statementPath, audience: 'org', handler: comparison },
  actionScreen({
    path: `${statementPath}/reconcile`,
    call: 'POST {org}/statements/{statement_id}/reconcile',
    done: 'reconciled',
    back: statementPath,
  }),
  actionScreen({
    path: `${statementPath}/delete`,
    call: 'DELETE {org}/statements/{statement_id}',
    done: 'deleted',
    back: statementsPath,
  }),
];

/** Text that does not begin like JSON is CSV. JSON may be a page, a list of pages, or a page per line. */
function statementOf({ file = '', gateway_key_ids, ...rest }: FormBody): object {
  const keys = Array.isArray(gateway_key_ids) && gateway_key_ids.length > 0 ? { gateway_key_ids } : {};
  return { ...fileOf(String(file).trim()), ...keys, ...rest };
}

function fileOf(text: string): object {
  if (!text.startsWith('{') && !text.startsWith('[')) {
    return { csv: text };
  }
  const parsed = parsedJson(text) as { pages?: unknown } | undefined;
  if (parsed === undefined) {
    const lines = text.split('\n').filter((line) => line.trim() !== '');
    return { pages: lines.map((line) => parsedJson(line) ?? null) };
  }
  return { pages: Array.isArray(parsed) ? parsed : (parsed.pages ?? [parsed]) };
}

function parsedJson(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}

async function statements(visit: ScreenVisit) {
  const { api, org, query } = visit;
  const listed = await api.get<'statements.list'>(link(`${org.path}/statements`, filterQuery(query)));
  return view({
    title: 'Statements',
    actions: linkButton(visit, {
      path: `${statementsPath}/new`,
      label: 'Upload statement',
      tone: 'primary',
    }),
    intro: 'Costs as the provider bills them, compared with the ledger.',
  })`
${card(
  'Statements',
  listing<StatementResponse>({
    listed,
    path: statementsPath,
    query,
    none: empty('No statements yet', 'Upload the cost report of a provider to compare it with the ledger.'),
    caption: 'Statements',
    columns: [
      {
        title: 'Period',
        cell: (one) =>
          html`<a href="${path`/console/statements/${one.id}`}">${one.period_start} – ${lastDay(one.period_end)}</a>${subline(one.provider)}`,
      },
      { title: 'Billed', isNumber: true, cell: (one) => exactUsd(one.billed_usd) },
      {
        title: 'Difference',
        isNumber: true,
        cell: (one) => (one.difference_usd === null ? '–' : exactUsd(one.difference_usd)),
      },
      { title: 'Status', cell: status },
      { title: 'Uploaded', cell: (one) => time(one.created_at, org.timezone) },
    ],
  }),
)}`;
}

function status({ reconciled_at, reconciled_runs }: StatementResponse): Part {
  if (reconciled_at !== null) {
    return badge('Reconciled', 'good');
  }
  return reconciled_runs > 0 ? badge('Partly reconciled', 'warn') : badge('Open');
}

function lastDay(end: string): string {
  return new Date(Date.parse(end) - 86_400_000).toISOString().slice(0, 10);
}

async function comparison(visit: ScreenVisit) {
  const { api, org, query, params } = visit;
  const target = org.path + pathOf('/statements/{statement_id}', params);
  const page = pathOf(statementPath, params);
  const statement = await api.get<'statements.read'>(target);
  const compared = await api.get<'statements.compare'>(
    link(`${target}/comparison`, {
      cause: query.get('cause') || undefined,
      cursor: query.get('cursor') ?? undefined,
    }),
  );
  const title = `${statement.provider}, ${statement.period_start} – ${lastDay(statement.period_end)}`;
  return view({
    title: 'Statement',
    heading: title,
    actions: buttonTo(statementsPath, 'All statements'),
    intro: html`<code>${statement.id}</code>`,
  })`
${card('Total', totals(statement, compared, org.timezone))}
${filterBar(page, filters, query)}
${card('Comparison', html`${rows(compared)}${nextPage(page, query, compared.next_cursor)}`)}
${actions(visit, statement, page)}`;
}

function totals(statement: StatementResponse, { total }: ComparisonResponse, timezone: string): Markup {
  return html`<p>${status(statement)}</p>${definitionList([
    ['Billed', exactUsd(total.billed_usd)],
    ['Recorded', exactUsd(total.recorded_usd)],
    ['Difference', exactUsd(total.difference_usd)],
    ...total.causes.flatMap(({ cause, usd, kinds }): [string, Part][] => [
      [humanize(cause), exactUsd(usd)],
      ...kinds.map((one): [string, Part] => [causeName(cause, one.kind), exactUsd(one.usd)]),
    ]),
    ...(statement.reconciled_at === null
      ? []
      : [['Reconciled', time(statement.reconciled_at, timezone)] as [string, Part]]),
  ])}`;
}

function rows({ data }: ComparisonResponse): Part {
  if (data.length === 0) {
    return empty('No rows', 'Nothing was billed or recorded with this cause.');
  }
  return table<ComparisonItem>({
    caption: 'Comparison by day, model and project',
    rows: data,
    columns: [
      { title: 'Day', cell: (row) => row.day },
      { title: 'Model', cell: (row) => html`${row.model}${subline(row.project)}` },
      { title: 'Billed', isNumber: true, cell: (row) => exactUsd(row.billed.usd) },
      { title: 'Recorded', isNumber: true, cell: (row) => exactUsd(row.recorded.usd) },
      { title: 'Difference', isNumber: true, cell: (row) => exactUsd(row.difference.usd) },
      {
        title: 'Causes',
        cell: (row) =>
          row.causes.length === 0
            ? '–'
            : row.causes.map(({ cause, kind, usd, tokens, provider_key_ids }) => {
                const used = tokens !== null && tokens !== 0 ? [`${count(tokens)} tokens`] : [];
                const details = [exactUsd(usd), ...used, ...provider_key_ids].join(', ');
                return subline([badge(causeName(cause, kind), causeTones[cause] ?? 'plain'), ' ', details]);
              }),
      },
    ],
  });
}

/** Such as “price of cache write”. */
function causeName(cause: string, kind: string | null): string {
  return kind === null ? humanize(cause) : `${humanize(cause)} of ${humanize(kind)}`;
}

function actions(
  visit: ScreenVisit,
  { reconciled_at, reconciled_runs }: StatementResponse,
  page: string,
): Part {
  return html`${
    reconciled_at === null &&
    actionCard(
      'Reconcile',
      confirmButton(
        visit,
        { path: `${page}/reconcile`, label: 'Post differences' },
        'Every difference is posted to the ledger as a run. This cannot be undone.',
      ),
    )
  }${
    reconciled_runs === 0 &&
    actionCard(
      'Delete',
      confirmButton(
        visit,
        { path: `${page}/delete`, label: 'Delete statement' },
        'Its lines are deleted. Nothing was posted.',
      ),
    )
  }`;
}
