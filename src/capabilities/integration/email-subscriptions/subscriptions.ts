/**
 * Subscriptions by e-mail. They are stored and queued like webhooks: a row with recipients instead of a receiver, whose event for
 * the digest is one of its events.
 */
import { alertEvents, digestEvent } from '../../../contract/alert-events.ts';
import { apiError, invalidField } from '../../../contract/api-error.ts';
import type { Transaction } from '../../../platform/db/database.ts';
import type { Ids } from '../../../platform/ids.ts';
import { isMailAddress } from '../../../platform/mail/addresses.ts';
import {
  addSubscription,
  changeSubscription,
  checkPatterns,
  isMailSubscription,
  type SubscriptionRow,
} from '../webhooks/index.ts';
import type { CreateEmailSubscription, EmailSubscriptionView, PatchEmailSubscription } from './schema.ts';

export const subscriptionsPerOrgMax = 50;

/** Processes of earlier versions post to the URL of every subscription. This name is never resolved. */
const noUrl = 'https://mail.invalid/';

export function viewSubscription(row: SubscriptionRow): EmailSubscriptionView {
  return {
    id: row.id,
    recipients: [...(row.recipients ?? [])],
    events: row.events.filter((event) => event !== digestEvent),
    digest: row.events.includes(digestEvent) ? 'weekly' : 'none',
    description: row.description,
    enabled: row.status === 'active',
    created_at: row.created_at.toISOString(),
    updated_at: row.updated_at.toISOString(),
  };
}

export async function createSubscription(
  tx: Transaction,
  ids: Ids,
  now: Date,
  orgId: string,
  body: CreateEmailSubscription,
): Promise<SubscriptionRow> {
  const { recipients, events = [...alertEvents], digest = 'none', description = null, enabled = true } = body;
  const row: SubscriptionRow = {
    org_id: orgId,
    id: ids.next('eml'),
    url: noUrl,
    events: eventsOf(events, digest),
    description,
    // A disabled subscription gets no deliveries, unlike a paused one, whose deliveries wait.
    status: enabled ? 'active' : 'disabled',
    disabled_reason: null,
    disabled_at: null,
    secret: null,
    secret_created_at: null,
    previous_secret: null,
    previous_until: null,
    created_at: now,
    updated_at: now,
    deleted_at: null,
    format: 'email',
    recipients: checkRecipients(recipients),
  };
  await addSubscription(tx, row, subscriptionsPerOrgMax);
  return row;
}

export function patchSubscription(
  tx: Transaction,
  name: { readonly orgId: string; readonly id: string },
  now: Date,
  { recipients, events, digest, description, enabled }: PatchEmailSubscription,
) {
  return changeSubscription(tx, name, now, (row) => {
    const before = viewSubscription(row);
    return {
      ...(recipients !== undefined && { recipients: checkRecipients(recipients) }),
      ...((events !== undefined || digest !== undefined) && {
        events: eventsOf(events ?? before.events, digest ?? before.digest),
      }),
      ...(description !== undefined && { description }),
      ...(enabled !== undefined && { status: enabled ? ('active' as const) : ('disabled' as const) }),
    };
  });
}

/** Removes a recipient who does not want the messages any more. The last one leaves a subscription that is turned off. */
export function removeRecipient(
  tx: Transaction,
  name: { readonly orgId: string; readonly id: string },
  now: Date,
  recipient: string,
) {
  return changeSubscription(tx, name, now, ({ recipients, status }) => {
    const others = (recipients ?? []).filter((address) => address !== recipient);
    return { recipients: others, status: others.length === 0 ? 'disabled' : status };
  });
}

/** Replaces `*` by the alerts that it stands for. The digest is none of them. */
export function withoutWildcard(events: readonly string[]): readonly string[] {
  return [...new Set(events.flatMap((event) => (event === '*' ? alertEvents : event)))];
}

function eventsOf(stated: readonly string[], digest: EmailSubscriptionView['digest']): string[] {
  const events = withoutWildcard(stated);
  if (events.length === 0 && digest === 'none') {
    throw invalidField('events', 'required', 'Choose at least one alert, or the weekly digest.');
  }
  if (events.includes(digestEvent)) {
    throw invalidField('events', 'invalid_value', 'Set digest to weekly instead.');
  }
  checkPatterns(events, 'email');
  return digest === 'weekly' ? [...events, digestEvent] : [...events];
}

/** The domain of an address is case-insensitive, and in fact all of it is. */
function checkRecipients(recipients: readonly string[]): string[] {
  const lower = recipients.map((address) => address.toLowerCase());
  for (const [index, address] of lower.entries()) {
    if (!isMailAddress(address)) {
      throw invalidField(`recipients[${index}]`, 'invalid_format', 'Must be an e-mail address.');
    }
    if (lower.indexOf(address) !== index) {
      throw invalidField(`recipients[${index}]`, 'invalid_value', 'This address is already in the list.');
    }
  }
  return lower;
}

export function subscriptionName(params: { readonly id: string; readonly email_subscription_id: string }) {
  const { id: orgId, email_subscription_id: id } = params;
  if (!isMailSubscription(id)) {
    throw apiError('not_found');
  }
  return { orgId, id };
}
