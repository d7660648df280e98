/** A way to deliver events. The dispatcher decides when; a transport builds the message, sends it and returns the outcome. */
import type { Answer } from './answer.ts';
import type { DueDelivery } from './delivery-queries.ts';
import type { Event } from './message.ts';
import type { Channel } from './queries.ts';
import type { Receiver } from './receivers.ts';
import type { SubscriptionQueue } from './subscription-queues.ts';

export interface DeliveryAttempt {
  readonly receiver: Receiver;
  readonly event: Event;
  readonly delivery: Pick<DueDelivery, 'id' | 'recipient'> & Pick<SubscriptionQueue, 'subscription_id'>;
  readonly at: Date;
}

export interface Transport {
  readonly channel: Channel;
  /** Maximum number of concurrent attempts, and of those to slow receivers. */
  readonly attempts: { readonly overall: number; readonly slow: number };
  send(attempt: DeliveryAttempt): Promise<Answer>;
  /** Aborts attempts in flight, if that is possible; new ones fail. */
  close(): void;
}
