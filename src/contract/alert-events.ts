/**
 * The events that people are alerted to, by e-mail and in chat. All other events are for programs, because most are too frequent or
 * need no action by a person.
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
  'raise.requested',
  'webhook.disabled',
  'org.suspended',
] as const satisfies readonly EventType[];
export type AlertEvent = (typeof alertEvents)[number];

export const digestEvent = 'digest.weekly' satisfies EventType;

/** The events with a message for people. `webhook.test` is only sent on request. */
export const messageEvents = [...alertEvents, digestEvent] as const satisfies readonly EventType[];
export type MessageEvent = (typeof messageEvents)[number] | 'webhook.test';

export function isMessageEvent(type: string): type is MessageEvent {
  return type === 'webhook.test' || (messageEvents as readonly string[]).includes(type);
}
