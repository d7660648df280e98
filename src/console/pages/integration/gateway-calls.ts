/** Calls through the gateway that are in progress now. The page refreshes itself and never shows content. */
import { card, empty } from '../../components.ts';
import { type Filter, filterBar, filterQuery } from '../../filters.ts';
import { count, seconds, usd } from '../../format.ts';
import { html, link, type Markup, type Part, path } from '../../html.ts';
import { badge, subline, type Tone } from '../../inline.ts';
import { listing } from '../../listing.ts';
import { keyLink, keysById, memberNames } from '../../names.ts';
import type { Item, Responses } from '../../responses.ts';
import { type Screen, type ScreenVisit, view } from '../../screen.ts';
import { callsPath, gatewayTabs } from './gateway-tabs.ts';

type CallView = Item<'gateway.calls.list'>;

const stateLabels: Readonly<Record<CallView['state'], string>> = {
  waiting: 'waiting for the provider',
  streaming: 'streaming',
  draining: 'draining',
  settling: 'settling',
};
const tones: Readonly<Record<CallView['state'], Tone>> = {
  waiting: 'plain',
  streaming: 'good',
  draining: 'warn',
  settling: 'info',
};
const filters: readonly Filter[] = [
  {
    name: 'state',
    label: 'State',
    options: Object.entries(stateLabels).map(([value, label]) => ({ value, label })),
  },
  { name: 'member_id', label: 'Member' },
  { name: 'key_id', label: 'API key ID', isRare: true },
];

export const gatewayCallScreens: readonly Screen[] = [{ path: callsPath, audience: 'org', handler: calls }];

async function calls({ api, org, query, now }: ScreenVisit) {
  const listed = await api.get<'gateway.calls.list'>(
    link(`${org.path}/gateway/calls`, { ...filterQuery(query), limit: '50' }),
  );
  const [keys, members] = await Promise.all([
    keysById(
      api,
      org,
      listed.data.map(({ key_id }) => key_id),
    ),
    memberNames(
      api,
      org,
      listed.data.map(({ member_id }) => member_id),
    ),
  ]);
  const body = listing<CallView>({
    listed,
    path: callsPath,
    query,
    none: empty('No calls in progress', 'Calls appear here while their responses are on their way.'),
    caption: 'Calls in progress',
    columns: [
      {
        title: 'Running for',
        cell: ({ started_at: at }) =>
          html`<time class="nowrap" datetime="${at}" title="${at}">${seconds((now.getTime() - Date.parse(at)) / 1_000)}</time>`,
      },
      { title: 'State', cell: ({ state }) => badge(stateLabels[state], tones[state]) },
      { title: 'API key', cell: (call) => keyLink(call.key_id, keys) },
      {
        title: 'Member',
        cell: ({ member_id }) => (member_id === null ? '–' : (members.get(member_id) ?? member_id)),
      },
      { title: 'Model', cell: (call) => html`${call.model}${subline(operation(call))}` },
      { title: 'Connection', cell: connection },
      { title: 'Reserved', isNumber: true, cell: (call) => usd(call.held_usd) },
      { title: 'Output so far', isNumber: true, cell: output },
      {
        title: '',
        cell: ({ run_id }) => run_id !== null && html`<a href="${path`/console/runs/${run_id}`}">Run</a>`,
      },
    ],
  });
  const intro = 'Calls in progress. Prompts and responses are never shown or stored.';
  return view({ title: 'Live calls', heading: 'Gateway', intro, autoRefresh: true })`
${gatewayTabs(callsPath)}${filterBar(callsPath, filters, query)}
${card('Live calls', html`${body}${scopeNote(listed)}`)}`;
}

function operation({ operation: name, stream, attempts }: CallView): string {
  const kind = stream ? `${name}, streamed` : name;
  return attempts > 1 ? `${kind}, attempt ${attempts}` : kind;
}

function connection({ connection_id, connection_name }: CallView): Part {
  return connection_id === null
    ? '–'
    : html`<a href="${path`/console/gateway/connections/${connection_id}`}">${connection_name}</a>`;
}

/** Most providers report tokens at the end of a stream, so until then the received text is shown. */
function output({ output_tokens, output_tokens_at_most, max_output_tokens }: CallView): Markup {
  const received =
    output_tokens === null ? `≤ ${count(output_tokens_at_most)} tokens` : `${count(output_tokens)} tokens`;
  return html`${received}<span class="sub">maximum ${count(max_output_tokens)}</span>`;
}

function scopeNote({ process_id, processes }: Responses['gateway.calls.list']): Markup | false {
  return (
    processes > 1 &&
    html`<p class="sub">Calls of the process <code>${process_id}</code>, one of ${count(processes)}: each refresh may be answered by
another one. <a href="/console/limits/holds">Open reservations</a> include the calls of all processes.</p>`
  );
}
