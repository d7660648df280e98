/** Decides what happens to a delivery after an attempt: delivered, retried later, or failed. */

import type { Answer } from './answer.ts';
import type { DeliveryOutcome, DueDelivery } from './delivery-queries.ts';
import { nextAttemptAt } from './retries.ts';
import type { SubscriptionQueue } from './subscription-queues.ts';

export function outcomeOf(
  queue: SubscriptionQueue,
  delivery: DueDelivery,
  at: Date,
  answer: Answer,
  random: () => number,
): DeliveryOutcome {
  const { status, error, latencyMs, response, retryAfter, isRejected = false } = answer;
  const arrived = status !== null && status >= 200 && status < 300;
  const attempts = delivery.attempt_count + 1;
  const failure = isRejected ? 'rejected' : status === 410 ? 'gone' : 'attempts_exhausted';
  const isFinal = arrived || failure !== 'attempts_exhausted';
  const next = isFinal ? undefined : nextAttemptAt({ attempts, at, retryAfter }, random);
  return {
    ...queue,
    delivery,
    state: arrived ? 'delivered' : next === undefined ? 'failed' : 'waiting',
    failure: arrived || next !== undefined ? null : failure,
    due_at: next ?? null,
    attempt: { at: at.toISOString(), status, latency_ms: latencyMs, error, response },
    at,
  };
}

/** Outcome of a delivery whose event was deleted, or whose org was removed. */
export function eventGone(queue: SubscriptionQueue, delivery: DueDelivery, at: Date): DeliveryOutcome {
  return { ...queue, delivery, state: 'failed', failure: 'event_gone', due_at: null, attempt: null, at };
}
