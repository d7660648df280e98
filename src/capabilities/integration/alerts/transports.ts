/** Connects messages with the delivery queues: bodies for chats, and the transport by e-mail. */
import { domainOf } from '../../../platform/mail/addresses.ts';
import type { Mailer } from '../../../platform/mail/mailer.ts';
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
}

export function createMailTransport({ build, mailer, unsubscribing }: MailTransportDependencies): Transport {
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
      if (mailer.from === undefined) {
        return { ...noReply, ...(await mailer.verify()) };
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
