/** Disables a subscription whose receiver is gone or keeps failing, with an audit entry and an event. */
import type { Database } from '../../../platform/db/database.ts';
import { changeOf } from '../../../platform/http/routes/outcomes.ts';
import { type Appending, recordChange } from '../../compliance/audit/index.ts';
import { lockSubscription } from './queries.ts';
import type { SubscriptionQueue } from './subscription-queues.ts';
import { changeSubscription, viewForReaders } from './subscriptions.ts';

export type DisablingCause =
  | { readonly reason: 'failing' }
  | {
      readonly reason: 'gone';
      /** The URL that is gone. The subscription may have another one by now. */
      readonly url: string;
    };

export async function disableSubscription(
  db: Database,
  appending: Appending,
  { org_id, subscription_id }: SubscriptionQueue,
  cause: DisablingCause,
  now: Date,
): Promise<void> {
  await db.transaction(async (tx) => {
    // Locked, because its owner may delete it at the same time.
    const there = await lockSubscription(tx, org_id, subscription_id);
    // If all e-mail fails, the mail server is at fault, not the subscription.
    if (there === undefined || there.status === 'disabled' || there.format === 'email') {
      return;
    }
    if (cause.reason === 'gone' && cause.url !== there.url) {
      return;
    }
    const name = { orgId: org_id, id: subscription_id };
    const { before, after } = await changeSubscription(tx, name, now, () => ({
      status: 'disabled',
      disabled_reason: cause.reason,
      disabled_at: now,
    }));
    const views = { before: viewForReaders(before), after: viewForReaders(after) };
    const change = changeOf('webhook', after, views, 'webhook.disabled');
    const actor = { kind: 'service', id: 'webhooks', at: now } as const;
    await recordChange(tx, appending, actor, 'webhooks.disable', change);
  });
}
