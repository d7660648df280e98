/** Life cycle of a subscription: created, changed, paused and resumed, disabled by the service, deleted. */
import { alertEvents } from '../../../contract/alert-events.ts';
import { apiError, found, invalidField } from '../../../contract/api-error.ts';
import type { Transaction } from '../../../platform/db/database.ts';
import type { Ids } from '../../../platform/ids.ts';
import { lockOrg } from '../../access/orgs/index.ts';
import { checkPatterns } from './event-patterns.ts';
import {
  insertSubscription,
  lockSubscription,
  type MessageFormat,
  type SubscriptionRow,
  selectSubscriptions,
  updateSubscription,
  webhooksChanged,
} from './queries.ts';
import { checkReceiverUrl } from './receiver-url.ts';
import type { CreateSubscription, PatchSubscription, SubscriptionView, WebhookFormat } from './schema.ts';
import { forgetReceiver, restartQueue } from './subscription-queues.ts';

export const subscriptionsPerOrgMax = 100;
/** Number of last characters of a URL that are shown, as for keys. */
const shownCharacters = 4;

export interface ReceiverRules {
  readonly allowPrivateNetworks: boolean;
}

export interface SubscriptionName {
  readonly orgId: string;
  readonly id: string;
}

/** Ids of webhooks start with `whk_`, those of subscriptions by e-mail with `eml_`. */
export function isMailSubscription(id: string): boolean {
  return id.startsWith('eml_');
}

export function viewSubscription(row: SubscriptionRow): SubscriptionView {
  return {
    id: row.id,
    url: row.url,
    format: row.format as WebhookFormat,
    events: [...row.events],
    description: row.description,
    status: row.status,
    disabled_reason: row.disabled_reason,
    disabled_at: row.disabled_at?.toISOString() ?? null,
    event_version: row.secret === null ? 1 : 2,
    created_at: row.created_at.toISOString(),
    updated_at: row.updated_at.toISOString(),
  };
}

/** The view for callers who may not change the subscription, for events and for the audit log. */
export function viewForReaders(row: SubscriptionRow): SubscriptionView {
  const view = viewSubscription(row);
  return { ...view, url: urlForReaders(view.format, view.url) };
}

/** The URL of a chat lets its holder post to it. Shows only its host and its last characters. */
export function urlForReaders(format: MessageFormat, url: string): string {
  return format === 'json' ? url : `${new URL(url).origin}/…${url.slice(-shownCharacters)}`;
}

export async function createSubscription(
  tx: Transaction,
  ids: Ids,
  { allowPrivateNetworks }: ReceiverRules,
  now: Date,
  orgId: string,
  { url, format = 'json', events = defaultEvents(format), description }: CreateSubscription,
): Promise<SubscriptionRow> {
  checkPatterns(events, format);
  const row: SubscriptionRow = {
    org_id: orgId,
    id: ids.next('whk'),
    url: checkReceiverUrl(url, allowPrivateNetworks),
    events,
    description: description ?? null,
    status: 'active',
    disabled_reason: null,
    disabled_at: null,
    secret: null,
    secret_created_at: null,
    previous_secret: null,
    previous_until: null,
    created_at: now,
    updated_at: now,
    deleted_at: null,
    format,
    recipients: null,
  };
  await addSubscription(tx, row, subscriptionsPerOrgMax);
  return row;
}

/** Programs choose their events; people get all alerts unless they choose. */
function defaultEvents(format: MessageFormat): string[] {
  if (format === 'json') {
    throw invalidField('events', 'required', 'This field is required.');
  }
  return [...alertEvents];
}

/** Inserts a webhook or a subscription by e-mail, of which an org has at most `max` each. */
export async function addSubscription(tx: Transaction, row: SubscriptionRow, max: number): Promise<void> {
  const isMail = row.format === 'email';
  // Serializes creations, so that concurrent requests cannot exceed the maximum.
  await lockOrg(tx, row.org_id);
  const others = await selectSubscriptions(tx, [row.org_id]);
  if (others.filter(({ format }) => (format === 'email') === isMail).length >= max) {
    throw apiError('conflict', `The limit of ${max} subscriptions is reached. Delete a subscription first.`);
  }
  await insertSubscription(tx, row);
  await webhooksChanged.notify(tx, row.org_id);
}

export interface SubscriptionChange {
  readonly before: SubscriptionRow;
  readonly after: SubscriptionRow;
}

/** Reads, decides and writes under the row's lock, and notifies every process. */
export async function changeSubscription(
  tx: Transaction,
  { orgId, id }: SubscriptionName,
  now: Date,
  decide: (row: SubscriptionRow) => Partial<SubscriptionRow>,
): Promise<SubscriptionChange> {
  const before = found(await lockSubscription(tx, orgId, id));
  const after: SubscriptionRow = { ...before, ...decide(before), updated_at: now };
  await updateSubscription(tx, after);
  if (after.status !== before.status || after.deleted_at !== null) {
    // Waiting deliveries are due again, must be failed, or must wait: the dispatcher checks the queue.
    await restartQueue(tx, orgId, id, now);
  }
  if (after.url !== before.url) {
    await forgetReceiver(tx, orgId, id);
  }
  await webhooksChanged.notify(tx, orgId);
  return { before, after };
}

export function patchSubscription(
  tx: Transaction,
  { allowPrivateNetworks }: ReceiverRules,
  name: SubscriptionName,
  now: Date,
  { url, format, events, description }: PatchSubscription,
): Promise<SubscriptionChange> {
  const changed = {
    ...(url !== undefined && { url: checkReceiverUrl(url, allowPrivateNetworks) }),
    ...(format !== undefined && { format }),
    ...(events !== undefined && { events }),
    ...(description !== undefined && { description }),
  };
  return changeSubscription(tx, name, now, (row) => {
    const after = { ...row, ...changed };
    // The events of an existing subscription are checked only if they or the format change.
    if (events !== undefined || after.format !== row.format) {
      checkPatterns(after.events, after.format);
    }
    return changed;
  });
}

export function pauseSubscription(
  tx: Transaction,
  name: SubscriptionName,
  now: Date,
): Promise<SubscriptionChange> {
  return changeSubscription(tx, name, now, ({ status }) => {
    if (status !== 'active') {
      throw apiError('conflict', `The subscription is already ${status}.`);
    }
    return { status: 'paused' };
  });
}

/** Resumes a paused subscription, or a disabled one whose owner has fixed the receiver. */
export function resumeSubscription(
  tx: Transaction,
  name: SubscriptionName,
  now: Date,
): Promise<SubscriptionChange> {
  return changeSubscription(tx, name, now, ({ status }) => {
    if (status === 'active') {
      throw apiError('conflict', 'The subscription is already active.');
    }
    return { status: 'active', disabled_reason: null, disabled_at: null };
  });
}

export function deleteSubscription(
  tx: Transaction,
  name: SubscriptionName,
  now: Date,
): Promise<SubscriptionChange> {
  // The secrets of a deleted subscription are no longer needed.
  return changeSubscription(tx, name, now, () => ({
    deleted_at: now,
    secret: null,
    previous_secret: null,
    previous_until: null,
  }));
}
