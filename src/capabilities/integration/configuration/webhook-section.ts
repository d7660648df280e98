/** Webhook subscriptions. A new one gets its own secret. */
import { selectSubscriptions, viewSubscription } from '../webhooks/index.ts';
import { type ListSection, pick } from './section.ts';

export const webhooks: ListSection = {
  shape: 'list',
  name: 'webhooks',
  label: 'webhook',
  key: ['url'],
  secondaryKey: ['description'],
  readRoute: 'webhooks.list',
  defaults: { description: null },
  async load({ db, orgId }) {
    const rows = await selectSubscriptions(db, [orgId]);
    return rows.map((row) => ({
      id: row.id,
      fields: pick(viewSubscription(row), ['url', 'events', 'description']),
    }));
  },
  complete: (item) => ({ description: null, ...item, url: normalizedUrl(item.url) }),
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
