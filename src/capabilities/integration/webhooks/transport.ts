/** A way to deliver events. The dispatcher decides when; a transport builds the message, sends it and returns the outcome. */
import type { MailError } from '../../../platform/mail/mailer.ts';
import type { DueDelivery } from './delivery-queries.ts';
import type { Event } from './message.ts';
import type { Channel } from './queries.ts';
import type { Receiver } from './receivers.ts';
import type { AttemptError } from './schema.ts';
import type { SubscriptionQueue } from './subscription-queues.ts';

export interface Attempt {
  readonly receiver: Receiver;
  readonly event: Event;
  readonly delivery: Pick<DueDelivery, 'id' | 'recipient'> & Pick<SubscriptionQueue, 'subscription_id'>;
  readonly at: Date;
}

export interface Answer {
  /** Null if there was no response. */
  readonly status: number | null;
  readonly error: AttemptError | MailError | null;
  readonly latencyMs: number;
  /** First bytes of the body. */
  readonly response: string | null;
  readonly retryAfter: string | undefined;
  /** A retry is pointless: the mail server rejects the recipient or the message. */
  readonly isRejected?: boolean;
}

export interface Transport {
  readonly channel: Channel;
  /** Maximum number of concurrent attempts, and of those to slow receivers. */
  readonly attempts: { readonly overall: number; readonly slow: number };
  send(attempt: Attempt): Promise<Answer>;
  /** Aborts attempts in flight, if that is possible; new ones fail. */
  close(): void;
}
