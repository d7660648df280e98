/** One webhook: its deliveries, its signing, and what can be done with it. */
import type { Item, Responses } from '../../../contract/views/responses.ts';
import { ApiFailure } from '../../api.ts';
import {
  actionButton,
  askFirst,
  badge,
  card,
  cardOf,
  definitionList,
  empty,
  heading,
  linkButton,
  nextPage,
  secretBox,
  type Tone,
  table,
} from '../../components.ts';
import { type Filter, filterBar, filterQuery } from '../../filters.ts';
import { actionScreen, formScreens } from '../../form-screens.ts';
import { count, milliseconds, time, words } from '../../format.ts';
import { localTime } from '../../forms.ts';
import { html, link, type Markup, type Part, path } from '../../html.ts';
import { pathOf } from '../../operations.ts';
import { type Screen, type ScreenVisit, seeOther, view } from '../../screen.ts';
import { type SubscriptionView, signingBadge, subscriptionFields, subscriptionStatus } from './webhooks.ts';

const subPath = '/console/webhooks/{sub_id}';
const dayMs = 86_400_000;
const soonWithinMs = 60_000;

type DeliveryView = Item<'webhooks.deliveries.list'>;
type AttemptView = DeliveryView['attempts'][number];
type SigningView = Responses['webhooks.signing.read'];
type Redelivered = Responses['webhooks.redeliver'];

const filters: readonly Filter[] = [
  {
    name: 'state',
    label: 'State',
    options: ['waiting', 'delivered', 'failed'].map((value) => ({ value, label: value })),
  },
  { name: 'event_type', label: 'Event' },
];

/** Parameters of the page's address that say what was done. */
const notFilters = ['redelivering', 'more'];

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
    title: 'Webhook',
    submit: 'Save',
    back: '/console/webhooks',
    fields: () => subscriptionFields,
    async load(visit) {
      const { url, events, description } = await visit.api.get<'webhooks.read'>(apiPath(visit));
      return { url, events, description: description ?? '' };
    },
    call: 'PATCH {org}/webhooks/{sub_id}',
    done: 'saved',
  }),
  action('/pause', 'POST', '/pause', 'paused'),
  action('/resume', 'POST', '/resume', 'resumed'),
  action('/test', 'POST', '/test', 'test_sent'),
  action('/delete', 'DELETE', '', 'deleted'),
  action('/deliveries/{delivery_id}/redeliver', 'POST', '/deliveries/{delivery_id}/redeliver', 'redelivered'),
  ...formScreens<'webhooks.redeliver'>({
    path: `${subPath}/redeliver`,
    title: 'Deliver again',
    intro:
      'Every delivery of a range, the oldest first, with the ids that they had: receivers tell them apart by these.',
    submit: 'Deliver again',
    back: subPath,
    fields: () => [
      {
        name: 'state',
        label: 'Those that',
        kind: 'select',
        required: true,
        options: [
          { value: 'failed', label: 'failed' },
          { value: 'delivered', label: 'arrived' },
        ],
      },
      { name: 'from', label: 'From', kind: 'instant', required: true, help: 'In the time zone of the org.' },
      { name: 'to', label: 'To', kind: 'instant', help: 'Empty: until now.' },
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
      view(
        'The secret was made',
        html`${heading('The secret was made')}${secretBox('This secret signs from now on.', secret)}
<p>Deliveries carry <code>X-Svc-Signature: t=…,v1=…</code>. Where there was a secret before, both sign for 24 hours.</p>
<p><a class="button" href="${pathOf(subPath, params)}">Back to the webhook</a></p>`,
      ),
  }),
];

/** Of a page's own time: what is left then is asked for again. */
const roundsMax = 20;

/**
 * The API takes so many at a time and says where to go on. What is in line already stays there if it is refused half way, or
 * if nobody waits for it any more.
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
      visit.tell({ done: redelivering, unit: 'deliveries' });
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
      link(apiPath(visit, '/deliveries'), { ...filterQuery(query, notFilters), limit: '50' }),
    ),
  ]);
  const here = pathOf(subPath, params);
  const inLine = Number(query.get('redelivering'));
  const soonMs = visit.now.getTime() + soonWithinMs;
  // What is tried again in an hour is not worth watching.
  const isMoving =
    query.get('state') === 'waiting' &&
    !(deliveries instanceof ApiFailure) &&
    deliveries.data.some(
      ({ next_attempt_at }) => next_attempt_at !== null && Date.parse(next_attempt_at) < soonMs,
    );
  const page = view(
    'Webhook',
    html`${heading('Webhook', buttons(sub, here, visit), sub.url)}
${card(
  'About it',
  definitionList([
    ['Status', subscriptionStatus(sub)],
    ['Events', sub.events.map((event) => html`<code>${event}</code> `)],
    ['Description', sub.description ?? '–'],
    ['Since', time(sub.created_at, org.timezone)],
  ]),
)}
${cardOf('Signing', signing, (found) => signingBody(sub, found, here, visit))}
${inLine > 0 && html`<p class="note">${count(inLine)} ${inLine === 1 ? 'delivery was' : 'deliveries were'} put in line again; those that still wait are listed below.${query.has('more') && ' There are more in that range: deliver again once these are through.'}</p>`}
${filterBar(here, filters, query, notFilters)}
${cardOf('Deliveries', deliveries, ({ data, next_cursor }) => deliveryList(data, here, visit, nextPage(here, query, next_cursor)))}`,
  );
  return { ...page, goesOn: sub.status === 'active' && isMoving };
}

function buttons(sub: SubscriptionView, here: string, visit: ScreenVisit): Markup {
  return html`${actionButton(visit, { path: `${here}/test`, label: 'Send a test' })}
${linkButton(visit, { path: `${here}/redeliver`, label: 'Deliver again' })}
${linkButton(visit, { path: `${here}/edit`, label: 'Edit' })}
${sub.status === 'active' ? actionButton(visit, { path: `${here}/pause`, label: 'Pause' }) : actionButton(visit, { path: `${here}/resume`, label: 'Resume', tone: 'primary' })}
${askFirst(visit, { path: `${here}/delete`, label: 'Delete' }, 'It gets no more events, and what waits for it is dropped.')}`;
}

function signingBody(sub: SubscriptionView, signing: SigningView, here: string, visit: ScreenVisit): Part {
  const { timezone } = visit.org;
  const isOwn = signing.event_version === 2;
  const isOverlapping = signing.overlap_ends_at !== null;
  return html`${definitionList([
    ['Signed with', signingBadge(sub)],
    ['Fingerprint', signing.fingerprint === null ? '–' : html`<code>${signing.fingerprint}</code>`],
    ['Made', time(signing.created_at, timezone)],
    ['The one before signs too, until', time(signing.overlap_ends_at, timezone)],
  ])}<p class="more">${askFirst(
    visit,
    {
      path: `${here}/signing`,
      once: true,
      label: isOwn ? 'Rotate the secret' : 'Make a secret of its own',
      ...(isOverlapping && { fields: { force: 'true' } }),
    },
    isOverlapping
      ? 'An overlap is under way: the older of the two secrets ends now.'
      : isOwn
        ? 'Both secrets sign for 24 hours; then only the new one does.'
        : 'From now on deliveries are signed with it, in the format of v2. Make the receiver ready first.',
  )}</p>`;
}

const tones: Readonly<Record<string, Tone>> = { delivered: 'good', failed: 'bad', waiting: 'info' };

function deliveryList(
  deliveries: readonly DeliveryView[],
  here: string,
  visit: ScreenVisit,
  next: Part,
): Part {
  const { timezone } = visit.org;
  if (deliveries.length === 0) {
    return empty(
      'No deliveries',
      'When an event happens that this webhook listens to, its delivery is listed here. Send a test to see one.',
    );
  }
  return html`${table({
    caption: 'Deliveries',
    rows: deliveries,
    columns: [
      { title: 'When', cell: (one) => html`<span class="nowrap">${time(one.created_at, timezone)}</span>` },
      {
        title: 'Event',
        cell: (one) => html`${one.event_type}<span class="sub"><code>${one.event_id}</code></span>`,
      },
      {
        title: 'State',
        cell: (one) =>
          html`${badge(one.state, tones[one.state] ?? 'plain')}${one.failure !== null && html`<span class="sub">${words(one.failure)}</span>`}${one.next_attempt_at !== null && html`<span class="sub">next try ${time(one.next_attempt_at, timezone)}</span>`}`,
      },
      { title: 'Attempts', cell: (one) => attempts(one.attempts, timezone) },
      {
        title: '',
        cell: (one) =>
          one.state !== 'waiting' &&
          actionButton(visit, {
            path: `${here}${path`/deliveries/${one.id}/redeliver`}`,
            label: 'Redeliver',
            about: one.event_type,
          }),
      },
    ],
  })}${next}`;
}

function attempts(made: readonly AttemptView[], timezone: string): Part {
  const last = made.at(-1);
  return (
    last !== undefined &&
    html`<details><summary>${made.length}: ${last.status ?? words(last.error ?? '')}</summary><ul class="attempts">${made.map(
      (attempt) =>
        html`<li>${time(attempt.at, timezone)}: <strong>${attempt.status ?? words(attempt.error ?? '')}</strong>, ${milliseconds(attempt.latency_ms)}${attempt.response !== null && attempt.response !== '' && html`<span class="sub">${attempt.response}</span>`}</li>`,
    )}</ul></details>`
  );
}
