/** Statements about subscriptions and secrets. Those about deliveries and queues are in separate files. */
import { changeChannel } from '../../../platform/db/change-channel.ts';
import type { Queryable } from '../../../platform/db/database.ts';
import { tableOf } from '../../../platform/db/table.ts';
import { type PageOf, searchCondition, selectPage } from '../../../platform/http/routes/list.ts';
import {
  type SubscriptionFilters,
  type SubscriptionStatus,
  subscriptionSorts,
  type WebhookFormat,
} from './schema.ts';

/** Subscriptions, their secrets and new deliveries. */
export const webhooksChanged = changeChannel('webhooks');

export type MessageFormat = WebhookFormat | 'email';

export interface SubscriptionRow {
  readonly org_id: string;
  readonly id: string;
  readonly url: string;
  readonly events: readonly string[];
  readonly description: string | null;
  readonly status: SubscriptionStatus;
  readonly disabled_reason: 'gone' | 'failing' | null;
  readonly disabled_at: Date | null;
  readonly secret: Uint8Array | null;
  readonly secret_created_at: Date | null;
  readonly previous_secret: Uint8Array | null;
  readonly previous_until: Date | null;
  readonly created_at: Date;
  readonly updated_at: Date;
  readonly deleted_at: Date | null;
  readonly format: MessageFormat;
  /** Null unless the format is `email`. */
  readonly recipients: readonly string[] | null;
}

const columns = `org_id, id, url, events, description, status, disabled_reason, disabled_at, secret, secret_created_at,
  previous_secret, previous_until, created_at, updated_at, deleted_at, format, recipients`;

const subscriptions = tableOf<SubscriptionRow>()('webhook_subscriptions', {
  columns,
  key: ['org_id', 'id'],
  where: 'deleted_at IS NULL',
});
export const { update: updateSubscription, find: findSubscription, lock: lockSubscription } = subscriptions;

/** Deliveries by e-mail have queues of their own, so that a slow mail server does not delay webhooks. */
export type Channel = 'http' | 'mail';

function channelOf(format: MessageFormat): Channel {
  return format === 'email' ? 'mail' : 'http';
}

/** Inserts the subscription and its empty queue. */
export async function insertSubscription(tx: Queryable, row: SubscriptionRow): Promise<void> {
  await subscriptions.insert(tx, row);
  await tx.query('INSERT INTO webhook_lanes (org_id, subscription_id, channel) VALUES ($1, $2, $3)', [
    row.org_id,
    row.id,
    channelOf(row.format),
  ]);
}

/** Returns the subscriptions of these orgs, also by e-mail, without deleted ones. */
export async function selectSubscriptions(
  db: Queryable,
  orgIds: readonly string[],
): Promise<SubscriptionRow[]> {
  return db.query<SubscriptionRow>(
    `SELECT ${columns} FROM webhook_subscriptions WHERE org_id = ANY($1) AND deleted_at IS NULL ORDER BY org_id, id`,
    [orgIds],
  );
}

export interface Listener {
  readonly org_id: string;
  readonly created_at: Date;
  readonly events: readonly string[];
}

/** Returns the event patterns of the subscriptions of these orgs, or of all orgs if `orgIds` is omitted. */
export async function selectListeners(db: Queryable, orgIds?: readonly string[]): Promise<Listener[]> {
  return db.query<Listener>(
    `SELECT org_id, events, created_at FROM webhook_subscriptions
      WHERE deleted_at IS NULL AND status <> 'disabled' AND ($1::text[] IS NULL OR org_id = ANY($1))`,
    [orgIds ?? null],
  );
}

/** Searched in place of the URL of a chat, of which readers see little more (`urlForReaders`). */
const originForReaders = `CASE WHEN format = 'json' THEN url ELSE substring(url from '^[^/]*//[^/]*') END`;

interface SubscriptionListing {
  readonly channel?: Channel;
  /** False if the caller may not see the URLs of chats. */
  readonly searchChatUrls?: boolean;
}

/** Lists webhooks, or subscriptions by e-mail. */
export async function listSubscriptions(
  db: Queryable,
  orgId: string,
  query: SubscriptionFilters,
  { channel = 'http', searchChatUrls = false }: SubscriptionListing,
): Promise<PageOf<SubscriptionRow>> {
  return selectPage<SubscriptionRow>(db, {
    select: `SELECT ${columns} FROM webhook_subscriptions`,
    where: [
      ['org_id = ? AND deleted_at IS NULL', orgId],
      [`(format = 'email') = ?`, channel === 'mail'],
      ['status = ?', query.status],
      searchCondition(
        channel === 'mail'
          ? [`array_to_string(recipients, ' ')`, 'description', 'id']
          : [searchChatUrls ? 'url' : originForReaders, 'id'],
        query.search,
      ),
    ],
    sorts: subscriptionSorts,
    defaultSort: '-created_at',
    query,
  });
}

export interface OrgSecretRow {
  readonly secret: Uint8Array;
  readonly created_at: Date;
}

export async function findOrgSecret(db: Queryable, orgId: string): Promise<OrgSecretRow | undefined> {
  const [row] = await db.query<OrgSecretRow>(
    'SELECT secret, created_at FROM webhook_org_secrets WHERE org_id = $1',
    [orgId],
  );
  return row;
}

/** Keeps an existing secret: of concurrent inserts the first wins, and the other callers read its value. */
export async function insertOrgSecret(db: Queryable, orgId: string, row: OrgSecretRow): Promise<void> {
  await db.query(
    'INSERT INTO webhook_org_secrets (org_id, secret, created_at) VALUES ($1, $2, $3) ON CONFLICT DO NOTHING',
    [orgId, row.secret, row.created_at],
  );
}

export async function replaceOrgSecret(tx: Queryable, orgId: string, row: OrgSecretRow): Promise<void> {
  await tx.query('UPDATE webhook_org_secrets SET secret = $2, created_at = $3 WHERE org_id = $1', [
    orgId,
    row.secret,
    row.created_at,
  ]);
}
