import { once } from 'node:events';
import { expect, test } from 'vitest';
import { ReceivedBody } from '../forward/response-body.ts';
import { relayStream } from './relay-stream.ts';

test('a stream whose call cannot be settled breaks off', async () => {
  const source = new ReceivedBody({ pause() {}, resume() {}, abort() {} });
  const { body, cut } = relayStream({
    source,
    filter: { stopPassing() {}, push: (chunk) => chunk, end: () => Buffer.alloc(0) },
    totalMs: 60_000,
    drainMs: 60_000,
    mayDrain: () => false,
    endingOf: () => Buffer.alloc(0),
    onEnd: () => Promise.reject(new Error('not settled')),
  });
  const broken = once(body, 'error');
  body.resume();
  source.end();
  expect(await broken).toMatchObject([{ message: 'not settled' }]);
  await cut();
});
