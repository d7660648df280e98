import { afterEach, expect, test, vi } from 'vitest';
import type { BodySink, BodySource } from '../forward/response-body.ts';
import type { RelayFilter } from './relay-filter.ts';
import { relayStream } from './relay-stream.ts';

afterEach(() => void vi.restoreAllMocks());

test('a provider that does not stop sending cannot postpone the end of a stream whose hold is used up', async () => {
  let nowMs = 0;
  // Every look at the clock is a millisecond later.
  vi.spyOn(performance, 'now').mockImplementation(() => nowMs++);
  let isDestroyed = false;
  let chunks = 0;
  const source = {
    isPaused: false,
    pause: () => undefined,
    resume: () => undefined,
    read(sink: BodySink) {
      const send = () => {
        if (!isDestroyed) {
          chunks += 1;
          sink.data(Buffer.from('data: {}\n\n'));
          setImmediate(send);
        }
      };
      setImmediate(send);
    },
    destroy: () => {
      isDestroyed = true;
    },
  } as unknown as BodySource;
  const nothing = () => Buffer.alloc(0);
  const filter = { push: nothing, end: nothing, stopPassing: () => undefined } as unknown as RelayFilter;
  const ended = vi.fn(async () => undefined);
  const relay = relayStream({
    source,
    filter,
    totalMs: 600_000,
    drainMs: 0,
    mayDrain: () => false,
    catchUpMsMax: 20,
    endingOf: () => Buffer.alloc(0),
    onEnd: ended,
  });
  relay.body.resume();
  relay.truncate();
  await vi.waitFor(() => expect(ended).toHaveBeenCalledWith('truncated', true));
  expect(isDestroyed).toBe(true);
  expect(chunks).toBeLessThan(100);
});
