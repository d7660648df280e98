/** Subscriptions: webhooks, of which a new one gets its own secret, and those by e-mail. */
import { alertEvents } from '../../../contract/alert-events.ts';
import { viewEmailSubscription, withoutWildcard } from '../email-subscriptions/index.ts';
import {
  isMailSubscription,
  selectSubscriptions,
  urlForReaders,
  viewSubscription,
  type WebhookFormat,
} from '../webhooks/index.ts';
import { type FileFields, type ListSection, pick } from './section.ts';

export const webhooks: ListSection = {
  shape: 'list',
  name: 'webhooks',
  label: 'webhook',
  key: ['url'],
  secondaryKey: ['description'],
  readRoute: 'webhooks.list',
  // URLs of chats are shown only to those who may change the subscription.
  exportRoute: 'webhooks.change',
  defaults: { description: null, format: 'json' },
  async load({ db, orgId }) {
    const rows = await selectSubscriptions(db, [orgId]);
    return rows
      .filter(({ id }) => !isMailSubscription(id))
      .map((row) => ({
        id: row.id,
        fields: pick(viewSubscription(row), ['url', 'format', 'events', 'description']),
      }));
  },
  // Programs choose their events, so there is no default for `json`.
  complete: (item) => ({
    description: null,
    format: 'json',
    ...((item.format ?? 'json') !== 'json' && { events: alertEvents }),
    ...item,
    url: normalizedUrl(item.url),
  }),
  // Plans are printed and logged.
  shown: (fields) =>
    URL.canParse(String(fields.url))
      ? { ...fields, url: urlForReaders((fields.format ?? 'json') as WebhookFormat, String(fields.url)) }
      : fields,
  create: (item) => ({ route: 'webhooks.create', body: { ...item, create_secret: true } }),
  change: ({ id }, body) => ({ route: 'webhooks.change', params: { sub_id: id }, body }),
  remove: ({ id }) => ({ route: 'webhooks.delete', params: { sub_id: id } }),
  secretIn: ({ secret }) => (typeof secret === 'string' ? secret : undefined),
};

/** URLs are stored without a fragment, and with a path. An invalid URL is left to the route, which rejects it. */
function normalizedUrl(text: unknown): unknown {
  if (typeof text !== 'string' || !URL.canParse(text)) {
    return text;
  }
  const url = new URL(text);
  url.hash = '';
  return url.href;
}

export const emailSubscriptions: ListSection = {
  shape: 'list',
  name: 'email_subscriptions',
  label: 'e-mail subscription',
  key: ['recipients'],
  secondaryKey: ['description'],
  readRoute: 'email_subscriptions.list',
  defaults: { digest: 'none', description: null, enabled: true },
  async load({ db, orgId }) {
    const rows = await selectSubscriptions(db, [orgId]);
    return (
      rows
        .filter(({ id }) => isMailSubscription(id))
        .map((row) => ({ id: row.id, view: viewEmailSubscription(row) }))
        // All recipients may have unsubscribed. A file cannot state that, so such a subscription is left out.
        .filter(({ view }) => view.recipients.length > 0)
        .map(({ id, view }) => ({
          id,
          fields: pick({ ...view, recipients: view.recipients.toSorted() }, [
            'recipients',
            'events',
            'digest',
            'description',
            'enabled',
          ]),
        }))
    );
  },
  complete: ({ events, ...item }) => ({
    digest: 'none',
    description: null,
    enabled: true,
    ...item,
    events: Array.isArray(events) ? withoutWildcard(events) : (events ?? alertEvents),
    recipients: normalizedRecipients(item.recipients),
  }),
  // People who have unsubscribed are left out: another subscription would send every alert twice to the others.
  findWithOtherKey: (wanted, resources) =>
    resources
      .filter(
        ({ fields }) =>
          fields.description === wanted.description &&
          recipientsOf(fields).every((recipient) => recipientsOf(wanted).includes(recipient)),
      )
      .toSorted((a, b) => recipientsOf(b.fields).length - recipientsOf(a.fields).length)[0],
  create: (body) => ({ route: 'email_subscriptions.create', body }),
  change: ({ id }, body) => ({
    route: 'email_subscriptions.change',
    params: { email_subscription_id: id },
    body,
  }),
  remove: ({ id }) => ({ route: 'email_subscriptions.delete', params: { email_subscription_id: id } }),
};

function recipientsOf({ recipients }: FileFields): readonly string[] {
  return recipients as readonly string[];
}

/** Stored in lower case; their order does not matter. */
function normalizedRecipients(recipients: unknown): unknown {
  return Array.isArray(recipients)
    ? recipients.map((recipient) => String(recipient).toLowerCase()).toSorted()
    : recipients;
}
