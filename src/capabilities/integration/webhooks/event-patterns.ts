/** Which kinds of events a subscription listens to: `*`, a group such as `budget.*`, or single kinds. */

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

/** A test is sent to whom it was asked for, and to nobody else. */
export const testEvent: EventType = 'webhook.test';

/** Refuses what no event will ever match: most likely a typing error. */
export function checkPatterns(patterns: readonly string[]): void {
  const faults = patterns.flatMap((pattern, index) =>
    eventTypes.some((type) => wantsEvent([pattern], type))
      ? []
      : [
          {
            field: `events[${index}]`,
            code: 'invalid_value',
            message: 'There is no such kind of event.',
          } as const,
        ],
  );
  if (faults.length > 0) {
    throw invalidFields(faults);
  }
}
