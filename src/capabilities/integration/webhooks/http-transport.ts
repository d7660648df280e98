/** Delivers events by HTTP: as JSON, or as a message for people in the format of their chat. */

import type { Event } from './message.ts';
import { messageOf, payloadOf } from './message.ts';
import type { Sender } from './sender.ts';
import type { DeliveryAttempt, Transport } from './transport.ts';

/** Builds the request bodies for chats, whose messages are read by people. */
export interface ChatMessages {
  body(format: 'slack' | 'teams', event: Event): Promise<object>;
}

export interface HttpTransportDependencies {
  readonly sender: Sender;
  readonly chat: ChatMessages;
  readonly userAgent: string;
  docsUrl(): string;
}

const attempts = { overall: 192, slow: 64 };

export function createHttpTransport({
  sender,
  chat,
  userAgent,
  docsUrl,
}: HttpTransportDependencies): Transport {
  return {
    channel: 'http',
    attempts,
    async send({ receiver, event, at }: DeliveryAttempt) {
      const { format } = receiver;
      const body =
        format === 'slack' || format === 'teams' ? await chat.body(format, event) : payloadOf(event);
      const bytes = Buffer.from(JSON.stringify(body));
      return sender.send(messageOf(receiver, event, bytes, at, { docsUrl: docsUrl(), userAgent }));
    },
    close: () => sender.close(),
  };
}
