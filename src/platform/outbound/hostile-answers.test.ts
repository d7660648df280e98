import { afterAll, beforeAll, expect, test } from 'vitest';
import {
  type HostileServer,
  hostileAnswers,
  startHostileServer,
  type UncaughtErrors,
  watchUncaughtErrors,
} from '../../../test/support/hostile-answers.ts';
import { createOutboundFetch } from './fetch.ts';

let server: HostileServer;
let uncaught: UncaughtErrors;
beforeAll(async () => {
  server = await startHostileServer();
  uncaught = watchUncaughtErrors();
});
afterAll(async () => {
  uncaught.stop();
  await server.close();
});

const outbound = createOutboundFetch({ allowPrivateNetworks: true, timeoutMs: 300 });

test.each(hostileAnswers)('$name: resolves or rejects, without an uncaught error', async (answer) => {
  server.answer = answer;
  const end = await outbound(server.url, {}).then(
    async (response) => {
      await response.text();
      return response;
    },
    (error: unknown) => error,
  );
  expect(end instanceof Response || end instanceof Error, String(end)).toBe(true);
  expect(await uncaught.take()).toEqual([]);
});

test.each(['101', '199', '600', '999'])('status %s is an error', async (status) => {
  server.answer = { name: status, bytes: `HTTP/1.1 ${status} Odd\r\ncontent-length: 0\r\n\r\n` };
  await expect(outbound(server.url, {})).rejects.toThrow();
});

test('status 205 has no body', async () => {
  server.answer = { name: '205', bytes: 'HTTP/1.1 205 Reset Content\r\ncontent-length: 2\r\n\r\n{}' };
  const response = await createOutboundFetch({ allowPrivateNetworks: true })(server.url, {});
  expect([response.status, response.body]).toEqual([205, null]);
});
