/** Event patterns of subscriptions: `*`, a group such as `budget.*`, or a single type. */

import { invalidFields } from '../../../contract/api-error.ts';
import { type EventType, eventTypes } from '../../../contract/events.ts';

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

/** Rejects patterns that match no event type: most likely a typing error. */
export function checkPatterns(patterns: readonly string[]): void {
  const faults = patterns.flatMap((pattern, index) =>
    eventTypes.some((type) => wantsEvent([pattern], type))
      ? []
      : [
          {
            field: `events[${index}]`,
            code: 'invalid_value',
            message: 'Unknown event type.',
          } as const,
        ],
  );
  if (faults.length > 0) {
    throw invalidFields(faults);
  }
}
