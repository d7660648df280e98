/** Alerts by e-mail: list, form, and the page of one subscription with its messages. */
import { alertEvents, digestEvent } from '../../../contract/alert-events.ts';
import { ApiFailure } from '../../api.ts';
import { actionButton, confirmButton, linkButton } from '../../buttons.ts';
import { card, cardOf, definitionList, empty, nextPage } from '../../components.ts';
import { filterQuery } from '../../filters.ts';
import { actionScreen, formScreens } from '../../form-screens.ts';
import { humanize, time } from '../../format.ts';
import type { Field } from '../../forms.ts';
import { html, link, type Markup, type Part, path } from '../../html.ts';
import { badge, nowrap, subline } from '../../inline.ts';
import { listing } from '../../listing.ts';
import { pathOf } from '../../operations.ts';
import type { Item, Responses } from '../../responses.ts';
import { type Screen, type ScreenVisit, view } from '../../screen.ts';
import { table } from '../../table.ts';
import { alertLabel, alertsField } from './event-picker.ts';
import { deliveryStatus } from './webhook-delivery.ts';

const listPath = '/console/email-alerts';
const onePath = `${listPath}/{email_subscription_id}`;
const soonWithinMs = 60_000;

type Subscription = Responses['email_subscriptions.read'];
type Delivery = Item<'email_subscriptions.deliveries.list'>;

/** Shown before a form is filled in that the API would reject. */
const mailNote = ({ canSendMail }: ScreenVisit): Part =>
  !canSendMail &&
  html`<p class="note">Purser cannot send e-mail yet. Ask the operator to set <code>SVC_SMTP_URL</code>.</p>`;

const apiPath = ({ org, params }: ScreenVisit, rest = '') =>
  org.path + pathOf(`/email-subscriptions/{email_subscription_id}${rest}`, params);

function fields(selected: readonly string[] = []): readonly Field[] {
  return [
    {
      name: 'recipients',
      label: 'Recipients',
      kind: 'list',
      required: true,
      help: 'Up to 20 addresses, one per line. Each gets a message of its own, with a link to unsubscribe.',
    },
    alertsField(selected),
    {
      name: 'digest',
      label: 'Weekly digest',
      kind: 'select',
      required: true,
      options: [
        { value: 'none', label: 'No' },
        { value: 'weekly', label: 'Mondays at 9:00' },
      ],
      help: 'Spend of the past week, limits that are nearly used up, blocked requests and more.',
    },
    { name: 'description', label: 'Description', kind: 'text', whenEmpty: 'null' },
    { name: 'enabled', label: 'Enabled', kind: 'checkbox', help: 'While it is off, nothing is sent.' },
  ];
}

export const emailAlertScreens: readonly Screen[] = [
  { path: listPath, audience: 'org', handler: list },
  ...formScreens<'email_subscriptions.create'>({
    path: `${listPath}/new`,
    title: 'Create e-mail alert',
    intro: 'Each alert is sent once, such as once per limit and day.',
    submit: 'Create e-mail alert',
    back: listPath,
    above: mailNote,
    fields: () => fields(),
    load: async () => ({ events: [...alertEvents], digest: 'none', enabled: 'true' }),
    call: 'POST {org}/email-subscriptions',
    done: 'email_alert_created',
  }),
  { path: onePath, audience: 'org', handler: one },
  ...formScreens({
    path: `${onePath}/edit`,
    title: 'Edit e-mail alert',
    submit: 'Save',
    back: onePath,
    async fields(visit) {
      const { events } = await visit.api.get<'email_subscriptions.read'>(apiPath(visit));
      return fields(events);
    },
    async load(visit) {
      const found = await visit.api.get<'email_subscriptions.read'>(apiPath(visit));
      return {
        recipients: found.recipients.join('\n'),
        events: found.events,
        digest: found.digest,
        description: found.description ?? '',
        enabled: found.enabled ? 'true' : '',
      };
    },
    call: 'PATCH {org}/email-subscriptions/{email_subscription_id}',
    done: 'saved',
  }),
  actionScreen({
    path: `${onePath}/test`,
    call: 'POST {org}/email-subscriptions/{email_subscription_id}/test',
    done: 'test_mail_sent',
    back: onePath,
  }),
  actionScreen({
    path: `${onePath}/delete`,
    call: 'DELETE {org}/email-subscriptions/{email_subscription_id}',
    done: 'deleted',
    back: listPath,
  }),
  actionScreen({
    path: `${onePath}/deliveries/{email_delivery_id}/redeliver`,
    call: 'POST {org}/email-subscriptions/{email_subscription_id}/deliveries/{email_delivery_id}/redeliver',
    done: 'redelivered',
    back: onePath,
  }),
];

function recipientsText({ recipients, id }: Subscription): string {
  const [first = id, ...others] = recipients;
  return others.length === 0 ? first : `${first} and ${others.length} more`;
}

function statusOf({ enabled }: Subscription): Markup {
  return enabled ? badge('active', 'good') : badge('off', 'warn');
}

const codes = (events: readonly string[]): Part =>
  events.length === alertEvents.length ? 'All alerts' : events.map(alertLabel).join(', ');

async function list(visit: ScreenVisit) {
  const { api, org, query } = visit;
  const create = linkButton(visit, {
    path: `${listPath}/new`,
    label: 'Create e-mail alert',
    tone: 'primary',
  });
  const listed = await api.get<'email_subscriptions.list'>(
    link(`${org.path}/email-subscriptions`, { ...filterQuery(query), limit: '50' }),
  );
  const body = listing({
    listed,
    path: listPath,
    query,
    none: empty(
      'No e-mail alerts yet',
      'Send alerts about limits, prices and keys to people, and a digest every Monday.',
      create,
    ),
    caption: 'E-mail alerts',
    columns: [
      {
        title: 'Recipients',
        cell: (one) =>
          html`<a href="${path`/console/email-alerts/${one.id}`}">${recipientsText(one)}</a>${subline(one.description)}`,
      },
      { title: 'Alerts', cell: ({ events }) => codes(events) },
      { title: 'Digest', cell: ({ digest }) => (digest === 'weekly' ? 'Weekly' : '–') },
      { title: 'Status', cell: statusOf },
    ],
  });
  return view({
    title: 'E-mail alerts',
    actions: create,
    intro: html`For Slack and Microsoft Teams, create a <a href="/console/webhooks">webhook</a>.`,
  })`
${mailNote(visit)}
${card('E-mail alerts', body)}`;
}

async function one(visit: ScreenVisit) {
  const { api, org, params, query } = visit;
  const found = await api.get<'email_subscriptions.read'>(apiPath(visit));
  const deliveries = await api.tryGet<'email_subscriptions.deliveries.list'>(
    link(apiPath(visit, '/deliveries'), { ...filterQuery(query), limit: '50' }),
  );
  const here = pathOf(onePath, params);
  const soonMs = visit.now.getTime() + soonWithinMs;
  const isSending =
    !(deliveries instanceof ApiFailure) &&
    deliveries.data.some(
      ({ next_attempt_at }) => next_attempt_at !== null && Date.parse(next_attempt_at) < soonMs,
    );
  const buttons = html`${actionButton(visit, { path: `${here}/test`, label: 'Send test e-mail' })}
${linkButton(visit, { path: `${here}/edit`, label: 'Edit' })}
${confirmButton(
  visit,
  { path: `${here}/delete`, label: 'Delete e-mail alert', thing: recipientsText(found) },
  'Messages that wait will not be sent. This cannot be undone.',
)}`;
  const autoRefresh = found.enabled && isSending;
  return view({ title: 'E-mail alert', actions: buttons, intro: recipientsText(found), autoRefresh })`
${mailNote(visit)}
${card(
  'Details',
  definitionList([
    ['Status', statusOf(found)],
    ['Recipients', found.recipients.join(', ')],
    ['Alerts', found.events.length === 0 ? '–' : codes(found.events)],
    ['Weekly digest', found.digest === 'weekly' ? 'Mondays at 9:00' : 'No'],
    ['Description', found.description ?? '–'],
    ['Created', time(found.created_at, org.timezone)],
  ]),
)}
${cardOf('Messages', deliveries, ({ data, next_cursor }) => html`${messages(data, here, visit)}${nextPage(here, query, next_cursor)}`)}`;
}

function messageName(type: string): string {
  return type === 'webhook.test' ? 'Test' : type === digestEvent ? 'Weekly digest' : alertLabel(type);
}

function messages(deliveries: readonly Delivery[], here: string, visit: ScreenVisit): Part {
  const { timezone } = visit.org;
  if (deliveries.length === 0) {
    return empty('No messages', 'Alerts that were sent appear here. Send a test e-mail to see one.');
  }
  return table({
    caption: 'Messages',
    rows: deliveries,
    columns: [
      { title: 'Time', cell: (sent) => nowrap(time(sent.created_at, timezone)) },
      {
        title: 'Alert',
        cell: (sent) =>
          html`${messageName(sent.event_type)}<span class="sub"><code>${sent.event_id}</code></span>`,
      },
      { title: 'Recipient', cell: ({ recipient }) => recipient ?? 'All' },
      {
        title: 'Status',
        cell: (sent) => deliveryStatus(sent, timezone, { delivered: 'Sent', reply: replyOf(sent) }),
      },
      {
        title: '',
        cell: (sent) =>
          sent.state !== 'waiting' &&
          actionButton(visit, {
            path: `${here}${path`/deliveries/${sent.id}/redeliver`}`,
            label: 'Send again',
            about: `${messageName(sent.event_type)} to ${sent.recipient ?? 'all'}`,
          }),
      },
    ],
  });
}

function replyOf({ attempts }: Delivery): string | null {
  const last = attempts.at(-1);
  return last?.response ?? (last?.error == null ? null : humanize(last.error));
}
