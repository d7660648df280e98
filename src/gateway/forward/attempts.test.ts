import { afterEach, beforeEach, expect, test, vi } from 'vitest';
import { connectionTo } from '../../../test/support/gateway-world.ts';
import { attemptCall } from './attempts.ts';
import { Cancellation } from './cancellation.ts';
import type { ProviderResponse } from './provider-client.ts';
import { ReceivedBody } from './response-body.ts';

beforeEach(() => void vi.useFakeTimers());
afterEach(() => void vi.useRealTimers());

/** Its body never ends. */
function failure(aborted: () => void): ProviderResponse {
  const body = new ReceivedBody({ pause: () => undefined, resume: () => undefined, abort: aborted });
  body.data(Buffer.from('{'));
  return { status: 500, headers: {}, body, isEncoded: false };
}

test('an error whose body does not end delays the next attempt by seconds, so that the hold does not expire before', async () => {
  let aborted = 0;
  const sent: ProviderResponse[] = [];
  const result = attemptCall(
    {
      client: {
        send: async () => {
          const response = failure(() => {
            aborted += 1;
          });
          sent.push(response);
          return response;
        },
        close: async () => undefined,
      },
      connections: { succeeded: () => undefined, failed: () => undefined },
      wait: async () => undefined,
      countAttempt: () => undefined,
    },
    [connectionTo('http://127.0.0.1')],
    { method: 'POST', pathFor: () => '/', headersFor: () => ({}), bodyFor: () => undefined },
    new Cancellation(),
  );
  await vi.advanceTimersByTimeAsync(20_000);
  // The body of the last one is passed on.
  expect([sent.length, aborted, (await result).kind]).toEqual([3, 2, 'response']);
});
