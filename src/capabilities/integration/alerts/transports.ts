/** Connects messages with the delivery queues: bodies for chats, and the transport by e-mail. */
import { domainOf } from '../../../platform/mail/addresses.ts';
import type { Mailer } from '../../../platform/mail/mailer.ts';
import type { RateLimiter } from '../../../platform/rates/rate-limiter.ts';
import type { Clock } from '../../../platform/time/clock.ts';
import type { ChatMessages, Transport } from '../webhooks/index.ts';
import { alertMail } from './mail.ts';
import type { BuildMessage } from './messages.ts';
import { slackBody } from './slack.ts';
import { teamsBody } from './teams.ts';
import type { Unsubscribing } from './unsubscribing.ts';

export function createChatMessages(build: BuildMessage): ChatMessages {
  return {
    body: async (format, event) =>
      format === 'slack' ? slackBody(await build(event)) : teamsBody(await build(event)),
  };
}

/** Mail servers limit the connections of a client. */
const attempts = { overall: 5, slow: 5 };

export interface MailTransportDependencies {
  readonly build: BuildMessage;
  readonly mailer: Mailer;
  readonly unsubscribing: Pick<Unsubscribing, 'urlFor'>;
  readonly rates: Pick<RateLimiter, 'take'>;
  readonly clock: Clock;
  /** Returns true if the recipient wants no alerts of the organization. */
  hasUnsubscribed(address: { readonly orgId: string; readonly recipient: string }): Promise<boolean>;
}

/** Messages of an organization, of all subscriptions, whether alerts, tests or redeliveries. More of them are sent later. */
const messagesPerHourMax = 1_000n;

export function createMailTransport(deps: MailTransportDependencies): Transport {
  const { build, mailer, unsubscribing, rates, clock } = deps;

  /** Returns the seconds to wait if the organization has sent its messages of this hour. */
  async function secondsToWait(orgId: string): Promise<number | undefined> {
    const debit = {
      key: `${orgId}:mail`,
      limit: messagesPerHourMax,
      burst: messagesPerHourMax,
      windowSeconds: 3_600,
      amount: 1n,
      rolling: true,
    };
    const verdict = await rates.take([debit], clock.now().getTime());
    return verdict.allowed ? undefined : verdict.retryAfterSeconds;
  }

  return {
    channel: 'mail',
    attempts,
    async send({ receiver, event, delivery }) {
      const { recipient, subscription_id: subscriptionId } = delivery;
      const to = recipient === null ? receiver.recipients : [recipient];
      if (to.length === 0 || !to.every((address) => receiver.recipients.includes(address))) {
        // The recipient has left since the event.
        return { ...noReply, latencyMs: 0, isRejected: true, response: 'No longer a recipient.' };
      }
      if (recipient !== null && (await deps.hasUnsubscribed({ orgId: event.orgId, recipient }))) {
        return { ...noReply, latencyMs: 0, isRejected: true, response: 'The recipient has unsubscribed.' };
      }
      if (mailer.from === undefined) {
        return { ...noReply, ...(await mailer.verify()) };
      }
      const waitSeconds = await secondsToWait(event.orgId);
      if (waitSeconds !== undefined) {
        const response = 'Postponed: the organization has sent too many messages within an hour.';
        return { ...noReply, latencyMs: 0, response, retryAfter: String(waitSeconds) };
      }
      const mail = alertMail(await build(event), {
        subscriptionId,
        to,
        domain: domainOf(mailer.from),
        unsubscribeUrl: unsubscribing.urlFor({ orgId: event.orgId, subscriptionId, recipient: to[0] ?? '' }),
      });
      return { ...noReply, ...(await mailer.send(mail)) };
    },
    // A connection that is open ends by its timeouts; its outcome is not recorded, so the message is sent again.
    close: () => undefined,
  };
}

const noReply = { status: null, error: null, response: null, retryAfter: undefined } as const;
