/** Event patterns of subscriptions: `*`, a group such as `budget.*`, or a single type. */

import { isMessageEvent, messageEvents } from '../../../contract/alert-events.ts';
import { invalidFields } from '../../../contract/api-error.ts';
import { type EventType, eventTypes } from '../../../contract/events.ts';
import type { MessageFormat } from './queries.ts';

export function wantsEvent(patterns: readonly string[], type: string): boolean {
  return patterns.some(
    (pattern) =>
      pattern === '*' ||
      pattern === type ||
      (pattern.endsWith('.*') && type.startsWith(pattern.slice(0, -1))),
  );
}

/** A test event is sent only to the subscription it was requested for. */
export const testEvent: EventType = 'webhook.test';

/**
 * Rejects patterns that match no event type, most likely a typing error, and in formats for people those that match others than
 * alerts.
 */
export function checkPatterns(patterns: readonly string[], format: MessageFormat): void {
  const faults = patterns.flatMap((pattern, index) => {
    const message = problemOf(pattern, format);
    return message === undefined
      ? []
      : [{ field: `events[${index}]`, code: 'invalid_value', message } as const];
  });
  if (faults.length > 0) {
    throw invalidFields(faults);
  }
}

function problemOf(pattern: string, format: MessageFormat): string | undefined {
  const matched = eventTypes.filter((type) => wantsEvent([pattern], type));
  if (matched.length === 0) {
    return 'Unknown event type.';
  }
  if (format === 'json' || matched.every((type) => isMessageEvent(type) && type !== testEvent)) {
    return undefined;
  }
  return `Not an alert. The format ${format} is for alerts only: ${messageEvents.join(', ')}.`;
}
