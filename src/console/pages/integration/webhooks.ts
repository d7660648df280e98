/** Webhook subscriptions: list and form. */
import { alertEvents } from '../../../contract/alert-events.ts';
import { linkButton } from '../../buttons.ts';
import { card, empty, secretBox } from '../../components.ts';
import { filterQuery } from '../../filters.ts';
import { formScreens } from '../../form-screens.ts';
import type { Field } from '../../forms.ts';
import { html, link, type Markup, path } from '../../html.ts';
import { badge, codeList, subline, type Tone } from '../../inline.ts';
import { listing } from '../../listing.ts';
import type { Responses } from '../../responses.ts';
import { type Screen, type ScreenVisit, view } from '../../screen.ts';
import { eventsField, withoutIncluded } from './event-picker.ts';

const listPath = '/console/webhooks';

export type WebhookResponse = Responses['webhooks.read'];

const formats = [
  { value: 'json', label: 'JSON, for programs' },
  { value: 'slack', label: 'Slack message' },
  { value: 'teams', label: 'Microsoft Teams card' },
] as const;

export function formatName(format: WebhookResponse['format']): string {
  return formats.find(({ value }) => value === format)?.label ?? format;
}

/** `selected`: the events of an existing webhook. */
export function subscriptionFields({ org }: ScreenVisit, selected: readonly string[] = []): readonly Field[] {
  return [
    {
      name: 'url',
      label: 'Endpoint URL',
      kind: 'url',
      required: true,
      placeholder: 'https://hooks.example.com/purser',
    },
    {
      name: 'format',
      label: 'Format',
      kind: 'select',
      required: true,
      options: formats,
      help: html`For chats, paste the URL of an incoming webhook of Slack or of a Teams workflow, and select alerts only.
<a href="/docs/guides/alerts">How to</a>`,
    },
    eventsField(org.id, selected),
    { name: 'description', label: 'Description', kind: 'text', whenEmpty: 'null' },
  ];
}

/** Converts the values of the form to the body of the API. */
export function subscriptionBody(body: Record<string, unknown>): Record<string, unknown> {
  const events = withoutIncluded(body.events as string[]);
  // People get all alerts unless they choose.
  return events.length === 0 && (body.format === 'slack' || body.format === 'teams')
    ? { ...body, events: [...alertEvents] }
    : { ...body, events };
}

export const webhookScreens: readonly Screen[] = [
  { path: listPath, audience: 'org', handler: list },
  ...formScreens<'webhooks.create'>({
    path: `${listPath}/new`,
    title: 'Create webhook',
    intro: 'Each event is sent at least once, with retries for three days.',
    submit: 'Create webhook',
    back: listPath,
    fields: (visit) => subscriptionFields(visit),
    load: async () => ({ format: 'json' }),
    call: 'POST {org}/webhooks',
    body: (body) => ({ ...subscriptionBody(body), create_secret: true }),
    async show(_visit, { id, secret = '' }) {
      const open = html`<a class="button primary" href="${path`/console/webhooks/${id}`}">Open webhook</a>`;
      const box = secretBox('Deliveries are signed with this secret.', secret);
      return view({ title: 'Webhook created', actions: open })`
${box}${signatureNote}`;
    },
  }),
];

/** Explains to receivers how to use the secret. */
export const signatureNote = html`<p>Deliveries carry <code>X-Svc-Signature: t=…,v1=…</code>. <a href="/docs/guides/webhooks">Verify signatures</a></p>`;

const tones: Readonly<Record<string, Tone>> = { active: 'good', paused: 'warn', disabled: 'bad' };

export function subscriptionStatus({ status, disabled_reason }: WebhookResponse): Markup {
  return badge(disabled_reason === null ? status : `${status}: ${disabled_reason}`, tones[status] ?? 'plain');
}

export function signingBadge({ event_version }: WebhookResponse): Markup {
  return event_version === 2
    ? badge('own secret (v2)', 'good')
    : badge('organization secret (v1, deprecated)', 'warn');
}

async function list(visit: ScreenVisit) {
  const { api, org, query } = visit;
  const create = linkButton(visit, { path: `${listPath}/new`, label: 'Create webhook', tone: 'primary' });
  const listed = await api.get<'webhooks.list'>(
    link(`${org.path}/webhooks`, { ...filterQuery(query), limit: '50' }),
  );
  const onV1 = listed.data.filter(({ event_version }) => event_version === 1).length;
  const body = listing({
    listed,
    path: listPath,
    query,
    none: empty(
      'No webhooks yet',
      'Send alerts, exhausted limits, approvals and other events to your systems.',
      create,
    ),
    caption: 'Webhooks',
    columns: [
      {
        title: 'Endpoint',
        cell: (sub) =>
          html`<a href="${path`/console/webhooks/${sub.id}`}">${sub.url}</a>${subline(sub.description)}`,
      },
      { title: 'Format', cell: ({ format }) => formatName(format) },
      { title: 'Events', cell: (sub) => codeList(sub.events) },
      { title: 'Status', cell: subscriptionStatus },
      { title: 'Signing', cell: signingBadge },
    ],
  });
  return view({ title: 'Webhooks', actions: create, intro: 'Send events to your systems.' })`
${
  onV1 > 0 &&
  html`<p class="note">${onV1 === 1 ? 'One webhook is' : `${onV1} webhooks are`} still signed with the organization secret (v1),
which ends on 31 December 2027. Open the webhook and create a signing secret.</p>`
}
${card('Webhooks', body)}`;
}
