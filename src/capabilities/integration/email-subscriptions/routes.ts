import { apiError } from '../../../contract/api-error.ts';
import type { Database } from '../../../platform/db/database.ts';
import { viewPage } from '../../../platform/http/routes/list.ts';
import { changed, changeOf, created, removed } from '../../../platform/http/routes/outcomes.ts';
import { type Route, read, write } from '../../../platform/http/routes/route.ts';
import { page } from '../../../platform/http/routes/schemas.ts';
import type { Ids } from '../../../platform/ids.ts';
import type { Mailer } from '../../../platform/mail/mailer.ts';
import {
  changeSubscription,
  DeliveryFilters,
  listSubscriptions,
  redeliver,
  type SubscriptionRow,
  sendTest,
} from '../webhooks/index.ts';
import { readDeliveries, requireSubscription, viewDelivery } from './deliveries.ts';
import { checkRedelivery, checkTests } from './manual-sends.ts';
import {
  CreateEmailSubscription,
  EmailDeliveryView,
  EmailSubscriptionFilters,
  EmailSubscriptionView,
  PatchEmailSubscription,
  SentTest,
} from './schema.ts';
import {
  createSubscription,
  patchSubscription,
  subscriptionName,
  viewSubscription,
} from './subscriptions.ts';

export interface EmailSubscriptionDependencies {
  readonly db: Database;
  readonly ids: Ids;
  readonly mailer: Pick<Mailer, 'isConfigured'>;
}

const reader = { kind: 'org', scope: 'webhooks:read', role: 'viewer' } as const;
const admin = { kind: 'org', scope: 'webhooks:write', role: 'admin' } as const;
const listPath = '/v1/orgs/{id}/email-subscriptions';
const onePath = '/v1/orgs/{id}/email-subscriptions/{email_subscription_id}';

export function emailSubscriptionRoutes({ db, ids, mailer }: EmailSubscriptionDependencies): Route[] {
  const requireMail = () => {
    if (!mailer.isConfigured) {
      throw apiError('conflict', 'E-mail is not configured. Ask the operator to set SVC_SMTP_URL.');
    }
  };
  return [
    write({
      id: 'email_subscriptions.create',
      method: 'POST',
      path: listPath,
      summary: 'Create an e-mail subscription',
      description:
        'Alerts from then on are sent to the recipients, each alert once. Returns `conflict` if the deployment has no mail ' +
        'server.',
      access: admin,
      body: CreateEmailSubscription,
      success: 201,
      response: EmailSubscriptionView,
      errors: ['conflict'],
      async handler({ params, body, now }, tx) {
        requireMail();
        const row = await createSubscription(tx, ids, now, params.id, body);
        return created('email_subscription', row, viewSubscription);
      },
    }),
    read({
      id: 'email_subscriptions.list',
      path: listPath,
      summary: 'List e-mail subscriptions',
      access: reader,
      query: EmailSubscriptionFilters,
      response: page(EmailSubscriptionView),
      async handler({ params, query: { enabled, ...query } }) {
        const status =
          enabled === undefined ? {} : { status: enabled ? ('active' as const) : ('disabled' as const) };
        const page = listSubscriptions(db, params.id, { ...query, ...status }, { channel: 'mail' });
        return viewPage(page, viewSubscription);
      },
    }),
    read({
      id: 'email_subscriptions.read',
      path: onePath,
      summary: 'Get an e-mail subscription',
      access: reader,
      response: EmailSubscriptionView,
      handler: async ({ params }) =>
        viewSubscription(await requireSubscription(db, subscriptionName(params))),
    }),
    write({
      id: 'email_subscriptions.change',
      method: 'PATCH',
      path: onePath,
      summary: 'Update an e-mail subscription',
      description: 'Messages that wait for a removed recipient are not sent.',
      access: admin,
      body: PatchEmailSubscription,
      response: EmailSubscriptionView,
      async handler({ params, body, now }, tx) {
        const change = await patchSubscription(tx, subscriptionName(params), now, body);
        return changed('email_subscription', change, viewSubscription);
      },
    }),
    write({
      id: 'email_subscriptions.delete',
      method: 'DELETE',
      path: onePath,
      summary: 'Delete an e-mail subscription',
      description: 'Waiting messages are not sent.',
      access: admin,
      async handler({ params, now }, tx) {
        const { before } = await changeSubscription(tx, subscriptionName(params), now, () => ({
          deleted_at: now,
        }));
        return removed('email_subscription', before, viewSubscription, now);
      },
    }),
    ...deliveryRoutes(db, ids, requireMail),
  ];
}

function deliveryRoutes(db: Database, ids: Ids, requireMail: () => void): Route[] {
  return [
    write({
      id: 'email_subscriptions.test',
      method: 'POST',
      path: `${onePath}/test`,
      summary: 'Send a test e-mail',
      description:
        'Sends a test message to each recipient, whatever the events. Returns the queued deliveries; list the deliveries to see ' +
        'their outcome.',
      access: admin,
      response: SentTest,
      errors: ['conflict'],
      async handler({ params, now }, tx) {
        requireMail();
        const name = subscriptionName(params);
        const row = requireEnabled(await requireSubscription(tx, name));
        const recipients = row.recipients ?? [];
        await checkTests(tx, params.id, recipients, now);
        const sent = await sendTest(tx, ids, name, now, recipients);
        const data = sent.map(viewDelivery);
        const after = { tested: data.map(({ recipient }) => recipient) };
        return { body: { data }, changes: [changeOf('email_subscription', row, { after })] };
      },
    }),
    read({
      id: 'email_subscriptions.deliveries.list',
      path: `${onePath}/deliveries`,
      summary: 'List the deliveries of an e-mail subscription',
      description: 'Newest first, with their attempts. Kept for 30 days.',
      access: reader,
      query: DeliveryFilters,
      response: page(EmailDeliveryView),
      handler: ({ params, query }) => readDeliveries(db, subscriptionName(params), query),
    }),
    write({
      id: 'email_subscriptions.deliveries.redeliver',
      method: 'POST',
      path: `${onePath}/deliveries/{email_delivery_id}/redeliver`,
      summary: 'Send an e-mail again',
      description:
        'Sends the message again, with the same `Message-ID`, from the start of the retry schedule.',
      access: admin,
      response: EmailDeliveryView,
      errors: ['conflict'],
      async handler({ params, now }, tx) {
        requireMail();
        const name = subscriptionName(params);
        requireEnabled(await requireSubscription(tx, name));
        const sent = await redeliver(tx, name, params.email_delivery_id, now);
        checkRedelivery(sent.before, now);
        return changed('email_delivery', sent, viewDelivery);
      },
    }),
  ];
}

function requireEnabled(row: SubscriptionRow): SubscriptionRow {
  if (row.status === 'disabled') {
    throw apiError('conflict', 'The subscription is turned off. Set enabled to true first.');
  }
  return row;
}
