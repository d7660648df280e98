/**
 * The events that people are alerted of, by e-mail and in chat. Other events are for programs: most of them are too frequent, or
 * need no action of a person.
 */
import type { EventType } from './events.ts';

export const alertEvents = [
  'limit.threshold_reached',
  'limit.exhausted',
  'limit.exhaustion_forecast',
  'price.missing',
  'model.unpriced',
  'run.unsettled',
  'statement.drift',
  'key.expiring',
  'approval.requested',
  'webhook.disabled',
  'org.suspended',
] as const satisfies readonly EventType[];
export type AlertEvent = (typeof alertEvents)[number];

export const digestEvent = 'digest.weekly' satisfies EventType;

/** The events that have a message for people; `webhook.test` is sent on request only. */
export const messageEvents = [...alertEvents, digestEvent] as const satisfies readonly EventType[];
export type MessageEvent = (typeof messageEvents)[number] | 'webhook.test';

export function isMessageEvent(type: string): type is MessageEvent {
  return type === 'webhook.test' || (messageEvents as readonly string[]).includes(type);
}
