import { afterAll, beforeAll, expect, test } from 'vitest';
import {
  type HostileServer,
  hostileAnswers,
  startHostileServer,
  type UncaughtErrors,
  watchUncaughtErrors,
} from '../../../../test/support/hostile-answers.ts';
import { createSender, type Sender } from './sender.ts';

let server: HostileServer;
let sender: Sender;
let uncaught: UncaughtErrors;
beforeAll(async () => {
  server = await startHostileServer();
  sender = createSender({ allowPrivateNetworks: true, timeoutMs: 300 });
  uncaught = watchUncaughtErrors();
});
afterAll(async () => {
  uncaught.stop();
  sender.close();
  await server.close();
});

test.each(hostileAnswers)('$name is an attempt with a status or an error', async (answer) => {
  server.answer = answer;
  const { status, error } = await sender.send({ url: server.url, headers: {}, body: Buffer.from('{}') });
  expect(status === null).toBe(error !== null);
  expect(await uncaught.take()).toEqual([]);
  server.cut();
});
