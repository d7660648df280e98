import { once } from 'node:events';
import { expect, test, vi } from 'vitest';
import { DatabaseUnavailable } from '../../db/database.ts';
import { createLog } from '../../log.ts';
import { OverCapacity, ServiceUnavailable } from '../../service-unavailable.ts';
import { createLogError, errorReply, quietAfterMs, streamReply } from './reply.ts';

test.each([
  new ServiceUnavailable('disk full'),
  new DatabaseUnavailable('away'),
  new OverCapacity('too many callers are waiting'),
])('answers 503 service_unavailable for %s, without its message', (error) => {
  const reply = errorReply(createLogError(createLog('silent'))(error, 'trace'));
  expect(reply).toMatchObject({ status: 503, code: 'service_unavailable' });
  expect(reply.body).not.toContain(error.message);
});

test('logs an outage once, however many requests fail, and when they have stopped failing', async () => {
  vi.useFakeTimers();
  try {
    const lines: Record<string, unknown>[] = [];
    const logError = createLogError(
      createLog('info', { write: (line: string) => void lines.push(JSON.parse(line)) }),
    );
    for (let n = 0; n < 1_000; n += 1) {
      logError(new DatabaseUnavailable('connect ECONNREFUSED'), `trace ${n}`);
    }
    await vi.advanceTimersByTimeAsync(quietAfterMs);
    expect(lines).toMatchObject([
      { traceId: 'trace 0', msg: 'dependency unavailable', err: { message: 'connect ECONNREFUSED' } },
      { failures: 1_000, msg: 'dependency available again: no request fails any more' },
    ]);
  } finally {
    vi.useRealTimers();
  }
});

/** A source of three chunks, and its state. */
function source() {
  const state = { made: 0, isEnded: false };
  async function* chunks(): AsyncGenerator<string> {
    try {
      for (; state.made < 3; ) {
        state.made += 1;
        yield `chunk ${state.made}\n`;
      }
    } finally {
      state.isEnded = true;
    }
  }
  return { state, answer: { contentType: 'text/plain', chunks: chunks() } };
}

test('a stream is sent completely, and then its source is closed', async () => {
  const { state, answer } = source();
  const { body } = await streamReply(200, answer);
  expect(state.made).toBe(1);
  let text = '';
  for await (const chunk of body) {
    text += chunk;
  }
  expect([text, state.isEnded]).toEqual(['chunk 1\nchunk 2\nchunk 3\n', true]);
});

test('the source of a stream that is never read is closed too', async () => {
  const { state, answer } = source();
  const { body } = await streamReply(200, answer);
  const closed = once(body, 'close');
  body.destroy();
  await closed;
  expect(state).toEqual({ made: 1, isEnded: true });
});
