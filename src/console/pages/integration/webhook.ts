/** One webhook: deliveries, signing and actions. */
import { ApiFailure } from '../../api.ts';
import { actionButton, confirmButton, linkButton } from '../../buttons.ts';
import { card, cardOf, definitionList, nextPage, secretBox } from '../../components.ts';
import { type Filter, filterBar, filterQuery, withInstants } from '../../filters.ts';
import { actionScreen, formScreens } from '../../form-screens.ts';
import { count, time } from '../../format.ts';
import { localTime } from '../../forms.ts';
import { html, link, type Markup, type Part } from '../../html.ts';
import { codeList } from '../../inline.ts';
import { pathOf } from '../../operations.ts';
import type { Responses } from '../../responses.ts';
import { type Screen, type ScreenVisit, seeOther, view } from '../../screen.ts';
import { deliveryList, deliveryScreens, notFilters } from './webhook-delivery.ts';
import {
  formatName,
  signatureNote,
  signingBadge,
  subscriptionBody,
  subscriptionFields,
  subscriptionStatus,
  type WebhookResponse,
} from './webhooks.ts';

const subPath = '/console/webhooks/{sub_id}';
const dayMs = 86_400_000;
const soonWithinMs = 60_000;

type SigningResponse = Responses['webhooks.signing.read'];
type Redelivered = Responses['webhooks.redeliver'];

const filters: readonly Filter[] = [
  {
    name: 'state',
    label: 'Status',
    options: [
      { value: 'waiting', label: 'Pending' },
      { value: 'delivered', label: 'Delivered' },
      { value: 'failed', label: 'Failed' },
    ],
  },
  { name: 'event_type', label: 'Event' },
  { name: 'from', label: 'From', type: 'datetime-local' },
  { name: 'to', label: 'To', type: 'datetime-local' },
];

const apiPath = ({ org, params }: ScreenVisit, rest = '') =>
  org.path + pathOf(`/webhooks/{sub_id}${rest}`, params);

function action(
  name: string,
  method: 'POST' | 'DELETE',
  target: string,
  done: 'paused' | 'resumed' | 'test_sent' | 'redelivered' | 'deleted',
): Screen {
  return actionScreen({
    path: `${subPath}${name}`,
    call: `${method} {org}/webhooks/{sub_id}${target}`,
    done,
    back: done === 'deleted' ? '/console/webhooks' : subPath,
  });
}

export const webhookDetailScreens: readonly Screen[] = [
  { path: subPath, audience: 'org', handler: one },
  ...formScreens({
    path: `${subPath}/edit`,
    title: 'Edit webhook',
    submit: 'Save',
    back: subPath,
    async fields(visit) {
      const { events } = await visit.api.get<'webhooks.read'>(apiPath(visit));
      return subscriptionFields(visit, events);
    },
    async load(visit) {
      const { url, format, events, description } = await visit.api.get<'webhooks.read'>(apiPath(visit));
      return { url, format, events, description: description ?? '' };
    },
    call: 'PATCH {org}/webhooks/{sub_id}',
    body: subscriptionBody,
    done: 'saved',
  }),
  action('/pause', 'POST', '/pause', 'paused'),
  action('/resume', 'POST', '/resume', 'resumed'),
  action('/test', 'POST', '/test', 'test_sent'),
  action('/delete', 'DELETE', '', 'deleted'),
  action('/deliveries/{delivery_id}/redeliver', 'POST', '/deliveries/{delivery_id}/redeliver', 'redelivered'),
  ...deliveryScreens,
  ...formScreens<'webhooks.redeliver'>({
    path: `${subPath}/redeliver`,
    title: 'Redeliver',
    intro: 'Resend deliveries in a time range, oldest first, with their original IDs.',
    submit: 'Redeliver',
    back: subPath,
    fields: () => [
      {
        name: 'state',
        label: 'Status',
        kind: 'select',
        required: true,
        options: [
          { value: 'failed', label: 'Failed' },
          { value: 'delivered', label: 'Delivered' },
        ],
      },
      {
        name: 'from',
        label: 'From',
        kind: 'instant',
        required: true,
        help: 'In the time zone of the organization.',
      },
      { name: 'to', label: 'To', kind: 'instant', help: 'Defaults to now.' },
    ],
    load: async ({ now, org }) => ({
      state: 'failed',
      from: localTime(new Date(now.getTime() - dayMs).toISOString(), org.timezone),
    }),
    call: 'POST {org}/webhooks/{sub_id}/redeliver',
    send: redelivered,
    longWork: true,
    show: async ({ params }, { redelivering, next_cursor }) =>
      seeOther(
        link(pathOf(subPath, params), {
          state: 'waiting',
          redelivering: String(redelivering),
          more: next_cursor === null ? undefined : 'yes',
        }),
      ),
  }),
  actionScreen<'webhooks.signing.rotate'>({
    path: `${subPath}/signing`,
    call: 'POST {org}/webhooks/{sub_id}/signing/rotate',
    body: ({ form }) => (form.has('force') ? { force: true } : {}),
    done: 'saved',
    back: subPath,
    show: async ({ params }, { secret }) =>
      view({ title: 'Signing secret created' })`
${secretBox('New deliveries are signed with this secret.', secret)}
${signatureNote}<p>A previous secret stays valid for 24 hours.</p>
<p><a class="button" href="${pathOf(subPath, params)}">Back to webhook</a></p>`,
  }),
];

/** Maximum number of calls per form submission. The rest must be requested again. */
const roundsMax = 20;

/**
 * Calls the API until it returns no cursor, at most `roundsMax` times. Deliveries that are already queued stay queued
 * if a later call fails or the visitor leaves.
 */
async function redelivered(visit: ScreenVisit, body: object): Promise<Redelivered | ApiFailure> {
  let redelivering = 0;
  let cursor: string | null = null;
  for (let round = 0; round === 0 || (cursor !== null && round < roundsMax); round += 1) {
    const answer: Redelivered | ApiFailure = await visit.api.send<'webhooks.redeliver'>(
      'POST',
      apiPath(visit, '/redeliver'),
      { ...body, ...(cursor !== null && { cursor }) },
    );
    if (answer instanceof ApiFailure) {
      return answer;
    }
    redelivering += answer.redelivering;
    cursor = answer.next_cursor;
    if (cursor !== null) {
      visit.reportProgress({ done: redelivering, unit: 'deliveries' });
    }
  }
  return { redelivering, more: cursor !== null, next_cursor: cursor };
}

async function one(visit: ScreenVisit) {
  const { api, org, params, query } = visit;
  const sub = await api.get<'webhooks.read'>(apiPath(visit));
  const [signing, deliveries] = await Promise.all([
    api.tryGet<'webhooks.signing.read'>(apiPath(visit, '/signing')),
    api.tryGet<'webhooks.deliveries.list'>(
      link(apiPath(visit, '/deliveries'), {
        ...withInstants(filterQuery(query, notFilters), filters, org.timezone),
        limit: '50',
      }),
    ),
  ]);
  const here = pathOf(subPath, params);
  const queued = Number(query.get('redelivering'));
  const soonMs = visit.now.getTime() + soonWithinMs;
  // Retries that are due later are not worth refreshing for.
  const isDelivering =
    query.get('state') === 'waiting' &&
    !(deliveries instanceof ApiFailure) &&
    deliveries.data.some(
      ({ next_attempt_at }) => next_attempt_at !== null && Date.parse(next_attempt_at) < soonMs,
    );
  const autoRefresh = sub.status === 'active' && isDelivering;
  return view({ title: 'Webhook', actions: buttons(sub, here, visit), intro: sub.url, autoRefresh })`
${card(
  'Details',
  definitionList([
    ['Status', subscriptionStatus(sub)],
    ['Format', formatName(sub.format)],
    ['Events', codeList(sub.events)],
    ['Description', sub.description ?? '–'],
    ['Created', time(sub.created_at, org.timezone)],
  ]),
)}
${cardOf('Signing', signing, (found) => signingBody(sub, found, here, visit))}
${
  queued > 0 &&
  html`<p class="note">${count(queued)} ${queued === 1 ? 'delivery' : 'deliveries'} queued again. Pending ones are listed below.
${query.has('more') && 'The range has more deliveries: redeliver again when these are done.'}</p>`
}
${filterBar(here, filters, query, notFilters)}
${cardOf('Deliveries', deliveries, ({ data, next_cursor }) => deliveryList(data, here, visit, nextPage(here, query, next_cursor)))}`;
}

function buttons(sub: WebhookResponse, here: string, visit: ScreenVisit): Markup {
  return html`${actionButton(visit, { path: `${here}/test`, label: 'Send test event' })}
${linkButton(visit, { path: `${here}/redeliver`, label: 'Redeliver' })}
${linkButton(visit, { path: `${here}/edit`, label: 'Edit' })}
${
  sub.status === 'active'
    ? actionButton(visit, { path: `${here}/pause`, label: 'Pause' })
    : actionButton(visit, { path: `${here}/resume`, label: 'Resume', tone: 'primary' })
}
${confirmButton(visit, { path: `${here}/delete`, label: 'Delete webhook', thing: sub.url }, 'Pending deliveries will be dropped. This cannot be undone.')}`;
}

function signingBody(sub: WebhookResponse, signing: SigningResponse, here: string, visit: ScreenVisit): Part {
  const { timezone } = visit.org;
  const isOwn = signing.event_version === 2;
  const isOverlapping = signing.overlap_ends_at !== null;
  return html`${definitionList([
    ['Signing', signingBadge(sub)],
    ['Fingerprint', signing.fingerprint === null ? '–' : html`<code>${signing.fingerprint}</code>`],
    ['Created', time(signing.created_at, timezone)],
    ['Previous secret valid until', time(signing.overlap_ends_at, timezone)],
  ])}<p class="more">${confirmButton(
    visit,
    {
      path: `${here}/signing`,
      once: true,
      label: isOwn ? 'Rotate secret' : 'Create signing secret',
      ...(isOverlapping && { fields: { force: 'true' } }),
    },
    isOverlapping
      ? 'The previous secret is still valid and ends now.'
      : isOwn
        ? 'The previous secret stays valid for 24 hours.'
        : 'Deliveries will be signed with it, in format v2. Prepare the receiver first.',
  )}</p>`;
}
