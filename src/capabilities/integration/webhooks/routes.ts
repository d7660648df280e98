import { apiError, found } from '../../../contract/api-error.ts';
import type { Database } from '../../../platform/db/database.ts';
import { viewPage } from '../../../platform/http/routes/list.ts';
import { changed, changeOf, created, removed } from '../../../platform/http/routes/outcomes.ts';
import { type Route, read, write } from '../../../platform/http/routes/route.ts';
import { page } from '../../../platform/http/routes/schemas.ts';
import type { Ids } from '../../../platform/ids.ts';
import type { Secrets } from '../../../platform/secrets/secrets.ts';
import { admin, mayChange, operatorOrAdmin, reader, viewFor } from './access.ts';
import {
  readDeliveries,
  readDelivery,
  readPayload,
  redeliver,
  redeliverRange,
  sendTest,
  viewDelivery,
} from './deliveries.ts';
import type { DeliveryRow } from './delivery-queries.ts';
import { findSubscription, listSubscriptions, type SubscriptionRow } from './queries.ts';
import {
  CreatedSubscription,
  CreateSubscription,
  DeliveryFilters,
  DeliveryView,
  EventPayload,
  OrgSecretView,
  PatchSubscription,
  RedeliveredRange,
  RedeliverRange,
  RotatedSigning,
  RotateSigning,
  SigningView,
  SubscriptionFilters,
  SubscriptionView,
} from './schema.ts';
import { readOrgSecret, rotateOrgSecret, rotateSigning, viewSigning } from './signing.ts';
import {
  createSubscription,
  deleteSubscription,
  isMailSubscription,
  patchSubscription,
  pauseSubscription,
  type ReceiverRules,
  resumeSubscription,
  type SubscriptionChange,
  type SubscriptionName,
  viewForReaders,
  viewSubscription,
} from './subscriptions.ts';

export interface WebhookDependencies extends ReceiverRules {
  readonly db: Database;
  readonly ids: Ids;
  readonly secrets: Secrets;
}

export function webhookRoutes(deps: WebhookDependencies): Route[] {
  return [
    ...subscriptionRoutes(deps),
    ...signingRoutes(deps),
    ...deliveryRoutes(deps),
    ...orgSecretRoutes(deps),
  ];
}

function subscriptionRoutes({ db, ids, secrets, ...rules }: WebhookDependencies): Route[] {
  return [
    write({
      id: 'webhooks.create',
      method: 'POST',
      path: '/v1/orgs/{id}/webhooks',
      summary: 'Create a webhook subscription',
      description:
        'Events from then on are posted to `url`. Set `create_secret`, or create a secret for the subscription next, ' +
        "with `signing/rotate`: until then the organization's secret signs, which is deprecated.",
      access: admin,
      body: CreateSubscription,
      success: 201,
      response: CreatedSubscription,
      errors: ['conflict'],
      async handler({ params, body, now }, tx) {
        const row = await createSubscription(tx, ids, rules, now, params.id, body);
        const signed =
          body.create_secret === true
            ? await rotateSigning(tx, secrets, { orgId: params.id, id: row.id }, now, false)
            : undefined;
        const stored = signed?.row ?? row;
        const secret = signed && { secret: signed.answer.secret };
        return {
          body: { ...viewSubscription(stored), ...secret },
          changes: [changeOf('webhook', row, { after: viewForReaders(stored) })],
        };
      },
    }),
    read({
      id: 'webhooks.list',
      path: '/v1/orgs/{id}/webhooks',
      summary: 'List webhook subscriptions',
      access: reader,
      query: SubscriptionFilters,
      response: page(SubscriptionView),
      handler: ({ params, query, caller }) =>
        viewPage(
          listSubscriptions(db, params.id, query, { searchChatUrls: mayChange(caller) }),
          viewFor(caller),
        ),
    }),
    read({
      id: 'webhooks.read',
      path: '/v1/orgs/{id}/webhooks/{sub_id}',
      summary: 'Get a webhook subscription',
      access: reader,
      response: SubscriptionView,
      handler: async ({ params, caller }) => viewFor(caller)(await requireSubscription(db, params)),
    }),
    write({
      id: 'webhooks.change',
      method: 'PATCH',
      path: '/v1/orgs/{id}/webhooks/{sub_id}',
      summary: 'Update a webhook subscription',
      description: 'Waiting deliveries are sent to the new URL.',
      access: admin,
      body: PatchSubscription,
      response: SubscriptionView,
      handler: async ({ params, body, now }, tx) =>
        outcome(await patchSubscription(tx, rules, subscriptionName(params), now, body)),
    }),
    write({
      id: 'webhooks.delete',
      method: 'DELETE',
      path: '/v1/orgs/{id}/webhooks/{sub_id}',
      summary: 'Delete a webhook subscription',
      description: 'Waiting deliveries are not sent.',
      access: admin,
      async handler({ params, now }, tx) {
        const { before } = await deleteSubscription(tx, subscriptionName(params), now);
        return removed('webhook', before, viewForReaders, now);
      },
    }),
    write({
      id: 'webhooks.pause',
      method: 'POST',
      path: '/v1/orgs/{id}/webhooks/{sub_id}/pause',
      summary: 'Pause a webhook subscription',
      description: 'Deliveries wait until it is resumed: up to 50,000 of them, for at most 29 days.',
      access: admin,
      response: SubscriptionView,
      errors: ['conflict'],
      handler: async ({ params, now }, tx) =>
        outcome(await pauseSubscription(tx, subscriptionName(params), now)),
    }),
    write({
      id: 'webhooks.resume',
      method: 'POST',
      path: '/v1/orgs/{id}/webhooks/{sub_id}/resume',
      summary: 'Resume a paused or disabled webhook subscription',
      description:
        'Deliveries that waited while it was paused are sent. Events from while it was disabled are not: use ' +
        '`redeliver`.',
      access: admin,
      response: SubscriptionView,
      errors: ['conflict'],
      handler: async ({ params, now }, tx) =>
        outcome(await resumeSubscription(tx, subscriptionName(params), now)),
    }),
  ];
}

function signingRoutes({ db, secrets }: WebhookDependencies): Route[] {
  return [
    read({
      id: 'webhooks.signing.read',
      path: '/v1/orgs/{id}/webhooks/{sub_id}/signing',
      summary: 'Get the signing settings of a subscription',
      description: 'Returns the fingerprint and age of the secret, never the secret itself.',
      access: reader,
      response: SigningView,
      handler: async ({ params, now }) => viewSigning(secrets, await requireSubscription(db, params), now),
    }),
    write({
      id: 'webhooks.signing.rotate',
      method: 'POST',
      path: '/v1/orgs/{id}/webhooks/{sub_id}/signing/rotate',
      summary: 'Create or rotate the secret of a subscription',
      description:
        'Returns the new secret, once. If there was a previous one, both sign for 24 hours; another rotation ' +
        'within that time returns `conflict` unless `force` is set.',
      access: admin,
      body: RotateSigning,
      bodyOptional: true,
      response: RotatedSigning,
      errors: ['conflict'],
      async handler({ params, body, now }, tx) {
        const rotated = await rotateSigning(tx, secrets, subscriptionName(params), now, body.force === true);
        return { body: rotated.answer, changes: [changeOf('webhook_signing', rotated.row, rotated)] };
      },
    }),
  ];
}

function deliveryRoutes({ db, ids }: WebhookDependencies): Route[] {
  return [
    write({
      id: 'webhooks.test',
      method: 'POST',
      path: '/v1/orgs/{id}/webhooks/{sub_id}/test',
      summary: 'Send a test event',
      description:
        'Sends an event of type `webhook.test` to this subscription, whatever its patterns. Returns the queued ' +
        'delivery; get it again to see its outcome.',
      access: admin,
      response: DeliveryView,
      errors: ['conflict'],
      async handler({ params, now }, tx) {
        const [sent] = await sendTest(tx, ids, subscriptionName(params), now);
        return created('webhook_delivery', sent as DeliveryRow, viewDelivery);
      },
    }),
    read({
      id: 'webhooks.deliveries.list',
      path: '/v1/orgs/{id}/webhooks/{sub_id}/deliveries',
      summary: 'List the deliveries of a subscription',
      description: 'Newest first, with their attempts. Kept for 30 days.',
      access: reader,
      query: DeliveryFilters,
      response: page(DeliveryView),
      handler: ({ params, query }) => readDeliveries(db, subscriptionName(params), query),
    }),
    read({
      id: 'webhooks.deliveries.read',
      path: '/v1/orgs/{id}/webhooks/{sub_id}/deliveries/{delivery_id}',
      summary: 'Get a delivery',
      access: reader,
      response: DeliveryView,
      handler: ({ params }) => readDelivery(db, subscriptionName(params), params.delivery_id),
    }),
    read({
      id: 'webhooks.deliveries.payload',
      path: '/v1/orgs/{id}/webhooks/{sub_id}/deliveries/{delivery_id}/payload',
      summary: 'Get the payload of a delivery',
      description:
        'The event, as it is posted to the receiver in the format `json`. Requires the access that creating a subscription requires, ' +
        'because an event may contain anything about the organization.',
      access: admin,
      response: EventPayload,
      handler: ({ params }) => readPayload(db, subscriptionName(params), params.delivery_id),
    }),
    write({
      id: 'webhooks.deliveries.redeliver',
      method: 'POST',
      path: '/v1/orgs/{id}/webhooks/{sub_id}/deliveries/{delivery_id}/redeliver',
      summary: 'Redeliver an event',
      description: 'Sends the same event with the same id, from the start of the retry schedule.',
      access: admin,
      response: DeliveryView,
      errors: ['conflict'],
      async handler({ params, now }, tx) {
        const sent = await redeliver(tx, subscriptionName(params), params.delivery_id, now);
        return changed('webhook_delivery', sent, viewDelivery);
      },
    }),
    write({
      id: 'webhooks.redeliver',
      method: 'POST',
      path: '/v1/orgs/{id}/webhooks/{sub_id}/redeliver',
      summary: 'Redeliver the events of a time range',
      description:
        'Redelivers failed or successful deliveries, oldest first, at most 5,000 per request. If `more` is true, ' +
        'repeat with `cursor` set to the `next_cursor` of the response.',
      access: admin,
      body: RedeliverRange,
      response: RedeliveredRange,
      errors: ['conflict'],
      async handler({ params, body, now }, tx) {
        const after = await redeliverRange(tx, subscriptionName(params), body, now);
        const webhook = { org_id: params.id, id: params.sub_id };
        const change = changeOf('webhook', webhook, { after: { ...body, ...after } });
        return { body: after, changes: after.redelivering > 0 ? [change] : [] };
      },
    }),
  ];
}

function orgSecretRoutes({ db, secrets }: WebhookDependencies): Route[] {
  return [
    read({
      id: 'webhooks.org_secret.read',
      path: '/v1/admin/orgs/{org_id}/webhook-secret',
      summary: "Get the organization's webhook secret",
      description: 'It signs for subscriptions without their own secret.',
      access: operatorOrAdmin,
      response: OrgSecretView,
      handler: ({ params, now }) => readOrgSecret(db, secrets, params.org_id, now),
    }),
    write({
      id: 'webhooks.org_secret.rotate',
      method: 'POST',
      path: '/v1/admin/orgs/{org_id}/webhook-secret/rotate',
      summary: "Rotate the organization's webhook secret",
      description:
        'The new secret signs immediately. Has no effect once every subscription of the organization has its own ' +
        'secret.',
      access: operatorOrAdmin,
      response: OrgSecretView,
      async handler({ params, now }, tx) {
        const { changed, before, after } = await rotateOrgSecret(tx, secrets, params.org_id, now);
        const views = { before: withoutSecret(before), after: withoutSecret(after) };
        const change = changeOf('webhook_org_secret', params.org_id, views);
        return { body: after, changes: changed ? [change] : [] };
      },
    }),
  ];
}

function withoutSecret({ secret: _, ...rest }: OrgSecretView): object {
  return rest;
}

interface SubscriptionParams {
  readonly id: string;
  readonly sub_id: string;
}

/** A subscription by e-mail is not a webhook: its id is not found here. */
function subscriptionName({ id, sub_id }: SubscriptionParams): SubscriptionName {
  if (isMailSubscription(sub_id)) {
    throw apiError('not_found');
  }
  return { orgId: id, id: sub_id };
}

async function requireSubscription(db: Database, params: SubscriptionParams): Promise<SubscriptionRow> {
  const name = subscriptionName(params);
  return found(await findSubscription(db, name.orgId, name.id));
}

function outcome(change: SubscriptionChange) {
  return { ...changed('webhook', change, viewForReaders), body: viewSubscription(change.after) };
}
