/** The gateway: connections to providers, and how calls are treated. */
import { confirmButton, linkButton } from '../../buttons.ts';
import { card, cardOf, definitionList, empty } from '../../components.ts';
import { filterQuery } from '../../filters.ts';
import { formScreens } from '../../form-screens.ts';
import { ago, count, exactUsd, milliseconds, time } from '../../format.ts';
import { holdHelp, holdLabels, holdOptions, reserveLabel } from '../../hold-options.ts';
import { html, link, type Markup, type Part, path } from '../../html.ts';
import { badge, codeList, subline, type Tone } from '../../inline.ts';
import { listing } from '../../listing.ts';
import { pathOf } from '../../operations.ts';
import type { Responses } from '../../responses.ts';
import { type Screen, type ScreenVisit, view } from '../../screen.ts';
import {
  apiPath,
  type ConnectionResponse,
  connectionFormScreens,
  connectionPath,
  keySource,
  kindLabel,
} from './connection-forms.ts';
import { gatewayPath, gatewayTabs, newKeyPath } from './gateway-tabs.ts';

const settingsPage = `${gatewayPath}/settings`;
type GatewayResponse = Responses['gateway.read'];

const unseenInputLabels = {
  hold: 'Hold its tokens',
  refuse: 'Refuse the call',
};
const unknownTokenizerLabels = {
  estimate: 'Estimate',
  bytes: 'One token for each byte',
};
const plainCallLabels = {
  as_sent: 'As they are',
  streamed: 'As streams, put together for the client',
};
const onLimitLabels = {
  refuse: 'Deny the call',
  fit: 'Lower the maximum output',
  fallback: 'Use a cheaper model',
};
const onAbortLabels = {
  drain: 'Read the response to its end',
  close: 'Close the connection, estimate the usage',
};

const options = (labels: Readonly<Record<string, string>>) =>
  Object.entries(labels).map(([value, label]) => ({ value, label }));

export const gatewayScreens: readonly Screen[] = [
  { path: gatewayPath, audience: 'org', handler: overview },
  ...connectionFormScreens,
  { path: connectionPath, audience: 'org', handler: one },
  ...formScreens({
    path: settingsPage,
    title: 'Gateway settings',
    submit: 'Save',
    back: gatewayPath,
    fields: () => [
      {
        name: 'default_max_output_tokens',
        label: 'Default maximum output (tokens)',
        kind: 'number',
        required: true,
        help: 'For calls that set no maximum.',
      },
      {
        name: 'min_output_tokens',
        label: 'Minimum output (tokens)',
        kind: 'number',
        required: true,
        help: 'A limit never lowers the maximum output below this.',
      },
      {
        name: 'unseen_input',
        label: 'Input that cannot be seen',
        kind: 'select',
        required: true,
        options: options(unseenInputLabels),
        help: 'Earlier responses, files, audio, and fields that the gateway does not know. Results of tools of the provider are always held.',
      },
      {
        name: 'unseen_input_tokens',
        label: 'Input that cannot be seen (tokens)',
        kind: 'number',
        whenEmpty: 'null',
        help: 'Held for such input, and for results of tools of the provider. Leave blank for the context of the model.',
      },
      {
        name: 'unknown_tokenizer',
        label: 'Text of models with an unknown tokenizer',
        kind: 'select',
        required: true,
        options: options(unknownTokenizerLabels),
        help: 'All models but the current ones of OpenAI. Hostile text can have up to three times the estimate, but never more tokens than bytes.',
      },
      {
        name: 'max_tool_calls',
        label: 'Calls of tools of the provider',
        kind: 'number',
        required: true,
        help: 'Held for calls that set no maximum, such as web searches.',
      },
      {
        name: 'unpriced_tool_call_usd',
        label: 'Call of a tool without a price',
        kind: 'money',
        whenEmpty: 'null',
        help: 'Held and charged for each call of a tool that the provider runs. Leave blank to refuse such tools.',
      },
      { name: 'hold', label: 'Hold', kind: 'select', required: true, options: holdOptions, help: holdHelp },
      {
        name: 'reserve_for_running',
        label: reserveLabel,
        kind: 'number',
        required: true,
        help: 'With cost by duration: when a limit becomes tight, new calls leave running ones room for this time.',
      },
      {
        name: 'plain_calls',
        label: 'Calls that are not streamed',
        kind: 'select',
        required: true,
        options: options(plainCallLabels),
        help: 'As streams, their holds follow them too, unless the highest possible cost is held.',
      },
      {
        name: 'on_limit',
        label: 'If a limit is reached',
        kind: 'select',
        required: true,
        options: options(onLimitLabels),
      },
      {
        name: 'on_abort',
        label: 'If the client leaves',
        kind: 'select',
        required: true,
        options: options(onAbortLabels),
      },
      {
        name: 'customer_from_body',
        label: 'The end user in a call is its customer',
        kind: 'checkbox',
      },
    ],
    async load({ api, org }) {
      const { updated_at: _, ...settings } = await api.get<'gateway.read'>(`${org.path}/gateway`);
      return Object.fromEntries(Object.entries(settings).map(([name, value]) => [name, String(value ?? '')]));
    },
    call: 'PUT {org}/gateway',
    done: 'saved',
  }),
];

const tones: Readonly<Record<ConnectionResponse['breaker']['state'], Tone>> = {
  closed: 'good',
  half_open: 'warn',
  open: 'bad',
};
const breakerLabels = { closed: 'available', half_open: 'trying again', open: 'failing' } as const;

function breakerBadge({ breaker }: ConnectionResponse): Markup {
  return badge(breakerLabels[breaker.state], tones[breaker.state]);
}

const failureLabels = {
  timeout: 'No answer in time',
  unreachable: 'Could not be reached',
  key_unavailable: 'Key not available',
} as const;

function failureText({ reason, status }: NonNullable<ConnectionResponse['breaker']['last_failure']>): string {
  if (reason !== 'status') {
    return failureLabels[reason];
  }
  return status === 401 || status === 403 ? `Key rejected (${status})` : `Status ${status}`;
}

function lastFailure({ breaker: { last_failure } }: ConnectionResponse, now: Date): Part {
  return last_failure && html`${failureText(last_failure)} ${ago(last_failure.at, now)}`;
}

/** Shown while no renewal of the credentials works. */
function credentialFailure({ credential_state }: ConnectionResponse, now: Date): Part {
  const last = credential_state?.is_failing === true ? credential_state.last_failure : null;
  return last && html`Credentials: ${last.reason} ${ago(last.at, now)}`;
}

function modelList({ models }: ConnectionResponse): Part {
  return models === null ? 'all' : codeList(models);
}

async function overview(visit: ScreenVisit) {
  const { api, org, query, now } = visit;
  const create = linkButton(visit, {
    path: `${gatewayPath}/connections/new`,
    label: 'Create connection',
  });
  const createKey =
    visit.credential.scopes.has('gateway:call') &&
    linkButton(visit, { path: newKeyPath, label: 'Create gateway key', tone: 'primary' });
  const [listed, settings] = await Promise.all([
    api.get<'connections.list'>(link(`${org.path}/connections`, { ...filterQuery(query), limit: '50' })),
    api.tryGet<'gateway.read'>(`${org.path}/gateway`),
  ]);
  const body = listing({
    listed,
    path: gatewayPath,
    query,
    none: empty('No connections yet', 'Connect a provider, then point your SDKs at the gateway.', create),
    caption: 'Connections',
    columns: [
      {
        title: 'Connection',
        cell: (one) =>
          html`<a href="${path`/console/gateway/connections/${one.id}`}">${one.name}</a>${subline(one.base_url)}`,
      },
      { title: 'Provider', cell: (one) => kindLabel(visit, one) },
      { title: 'Key', cell: keySource },
      { title: 'Models', cell: modelList },
      { title: 'Priority', isNumber: true, cell: (one) => count(one.priority) },
      { title: 'Weight', isNumber: true, cell: (one) => count(one.weight) },
      {
        title: 'State',
        cell: (one) => [
          breakerBadge(one),
          subline(lastFailure(one, now)),
          subline(credentialFailure(one, now)),
        ],
      },
    ],
  });
  return view({
    title: 'Gateway',
    actions: html`${createKey}${create}`,
    intro: 'Calls of SDKs and tools through Purser, and the providers that they are sent to.',
  })`
${gatewayTabs(gatewayPath)}
${card('Connections', body)}
${cardOf('Settings', settings, (found) => settingsBody(visit, found))}`;
}

function settingsBody(visit: ScreenVisit, settings: GatewayResponse): Markup {
  return html`${definitionList([
    ['Default maximum output', html`${count(settings.default_max_output_tokens)} tokens`],
    ['Minimum output', html`${count(settings.min_output_tokens)} tokens`],
    ['Input that cannot be seen', unseenInputLabels[settings.unseen_input]],
    [
      'Tokens of input that cannot be seen',
      settings.unseen_input_tokens === null
        ? 'Context of the model'
        : html`${count(settings.unseen_input_tokens)} tokens`,
    ],
    ['Text of models with an unknown tokenizer', unknownTokenizerLabels[settings.unknown_tokenizer]],
    ['Calls of tools of the provider', count(settings.max_tool_calls)],
    [
      'Call of a tool without a price',
      settings.unpriced_tool_call_usd === null ? 'Refused' : exactUsd(settings.unpriced_tool_call_usd),
    ],
    ['Hold', holdLabels[settings.hold]],
    [reserveLabel, count(settings.reserve_for_running)],
    ['Calls that are not streamed', plainCallLabels[settings.plain_calls]],
    ['If a limit is reached', onLimitLabels[settings.on_limit]],
    ['If the client leaves', onAbortLabels[settings.on_abort]],
    ['The end user in a call is its customer', settings.customer_from_body ? 'Yes' : 'No'],
  ])}<p class="more">${linkButton(visit, { path: settingsPage, label: 'Edit settings' })}</p>`;
}

async function one(visit: ScreenVisit) {
  const { org, params } = visit;
  const connection = await visit.api.get<'connections.read'>(apiPath(visit));
  const { breaker, timeouts } = connection;
  const here = pathOf(connectionPath, params);
  const buttons = html`${linkButton(visit, { path: `${here}/edit`, label: 'Edit' })}
${linkButton(visit, { path: `${here}/rotate`, label: 'Rotate key' })}
${confirmButton(
  visit,
  { path: `${here}/delete`, label: 'Delete connection', thing: connection.name },
  'Calls are no longer sent to this provider. Its key is deleted.',
)}`;
  const autoRefresh = breaker.state !== 'closed';
  return view({ title: connection.name, actions: buttons, intro: connection.base_url, autoRefresh })`
${card(
  'Details',
  definitionList([
    ['Provider', kindLabel(visit, connection)],
    ['Formats', connection.formats.map((format) => html`<code>${format}</code> `)],
    ['Key', keySource(connection)],
    ...(connection.region === null ? [] : [['Region', connection.region] as const]),
    ['Key set', time(connection.api_key_set_at, org.timezone)],
    ['Previous key usable until', time(connection.previous_key_until, org.timezone)],
    ['Models', modelList(connection)],
    ...(Object.keys(connection.deployment_models).length === 0
      ? []
      : [
          [
            'Deployments',
            Object.entries(connection.deployment_models).map(
              ([name, model]) => html`<code>${name}: ${model}</code> `,
            ),
          ] as const,
        ]),
    ['Priority', count(connection.priority)],
    ['Weight', count(connection.weight)],
    [
      'Timeouts',
      html`connect ${milliseconds(timeouts.connect_ms)}, first byte ${milliseconds(timeouts.first_byte_ms)},
between parts ${milliseconds(timeouts.idle_ms)}, total ${milliseconds(timeouts.total_ms)}`,
    ],
    [
      'Additional headers',
      Object.keys(connection.headers).length === 0
        ? '–'
        : Object.entries(connection.headers).map(([name, value]) => html`<code>${name}: ${value}</code> `),
    ],
    ['Created', time(connection.created_at, org.timezone)],
  ]),
)}
${connection.credential_state !== null && credentialCard(connection.credential_state, org.timezone)}
${card(
  'Circuit breaker',
  html`${definitionList([
    ['State', breakerBadge(connection)],
    ['Failures in a row', count(breaker.consecutive_failures)],
    ['Next try', time(breaker.retry_at, org.timezone)],
    [
      'Last failure',
      breaker.last_failure === null
        ? 'none since the process started'
        : html`${failureText(breaker.last_failure)}, ${time(breaker.last_failure.at, org.timezone)}`,
    ],
  ])}<p class="sub">Of the process that served this page.</p>`,
)}`;
}

function credentialCard(
  state: NonNullable<ConnectionResponse['credential_state']>,
  timezone: ScreenVisit['org']['timezone'],
): Markup {
  const { is_failing, renewed_at, expires_at, last_failure } = state;
  const isUnused = renewed_at === null && !is_failing;
  return card(
    'Credentials',
    html`${definitionList([
      [
        'State',
        isUnused ? 'not used yet' : badge(is_failing ? 'failing' : 'valid', is_failing ? 'bad' : 'good'),
      ],
      ['Renewed', time(renewed_at, timezone)],
      ['Valid until', time(expires_at, timezone)],
      [
        'Last failure',
        last_failure === null
          ? 'none since the process started'
          : html`${last_failure.reason}, ${time(last_failure.at, timezone)}`,
      ],
    ])}<p class="sub">Of the process that served this page.</p>`,
  );
}
