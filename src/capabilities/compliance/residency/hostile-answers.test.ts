/** Peers that respond with unexpected bytes: to forwarded requests, and to directory requests. */
import { once } from 'node:events';
import { createServer, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { useWorld } from '../../../../test/harness.ts';
import {
  type HostileAnswer,
  type HostileServer,
  hostileAnswers,
  startHostileServer,
  type UncaughtErrors,
  watchUncaughtErrors,
} from '../../../../test/support/hostile-answers.ts';
import type { ApiError } from '../../../contract/api-error.ts';
import { errorReply } from '../../../platform/http/message/reply.ts';
import { sendReply, sendStream } from '../../../platform/http/message/send.ts';
import type { Job } from '../../../platform/jobs/jobs.ts';
import { createLog } from '../../../platform/log.ts';
import { systemClock } from '../../../platform/time/clock.ts';
import { createDirectorySync } from './directory-sync.ts';
import { createForwarding } from './forwarding.ts';

const log = createLog('silent');
const secrets = { signing: 'a secret', accepted: undefined };
let peer: HostileServer;
let uncaught: UncaughtErrors;
beforeAll(async () => {
  peer = await startHostileServer();
  uncaught = watchUncaughtErrors();
});
afterAll(async () => {
  uncaught.stop();
  await peer.close();
});

/** Returns the same response with a trace id, which only Purser sends. */
function traced({ name, bytes, ...rest }: HostileAnswer): HostileAnswer {
  const marked = bytes.toString('latin1').replaceAll(/(HTTP\/1.1 .*\r\n)/g, '$1x-svc-trace-id: a\r\n');
  return { ...rest, name: `${name}, with a trace id`, bytes: Buffer.from(marked, 'latin1') };
}

describe('a forwarded request', () => {
  let front: Server;
  let url: string;
  beforeAll(async () => {
    const forwarding = createForwarding({
      region: 'eu',
      peers: new Map([['us', peer.url]]),
      secrets,
      clock: systemClock,
      log,
      bounds: { inFlightMax: 2, connectWithinMs: 300, silenceMs: 300 },
      nonces: { claim: async () => true },
    });
    front = createServer((request, response) => {
      const toSend = { request, response, address: '127.0.0.1', traceId: 'a' };
      // Sends the reply like the pipeline.
      forwarding
        .forward('us', toSend)
        .then(
          (reply) => sendStream(request, response, reply),
          (error: ApiError) => sendReply(request, response, errorReply(error)),
        )
        .catch(() => request.socket.destroy());
    });
    front.listen(0, '127.0.0.1');
    await once(front, 'listening');
    url = `http://127.0.0.1:${(front.address() as AddressInfo).port}`;
  });
  afterAll(() => {
    front.closeAllConnections();
    front.close();
  });

  const answers = hostileAnswers.flatMap((answer) => [answer, traced(answer)]);
  test.each(answers)('$name is passed on, rejected or cut', async (answer) => {
    peer.answer = answer;
    for (const method of ['GET', 'POST', 'HEAD']) {
      const end = await fetch(url, {
        method,
        redirect: 'manual',
        ...(method === 'POST' && { body: 'a' }),
      }).then(
        async (response) => {
          await response.text().catch(() => undefined);
          return response;
        },
        (error: unknown) => error,
      );
      expect(end instanceof Response || end instanceof Error).toBe(true);
      expect(await uncaught.take(), method).toEqual([]);
    }
    peer.cut();
  });

  test.each(['099', '101', '600', '999'])('returns 503 for status %s', async (status) => {
    peer.answer = traced({ name: '', bytes: `HTTP/1.1 ${status} Odd\r\ncontent-length: 0\r\n\r\n` });
    const response = await fetch(url);
    expect([response.status, (await response.json()).error.code]).toEqual([503, 'service_unavailable']);
  });
});

describe('reading the directory', () => {
  const world = useWorld();
  let job: Job | undefined;
  beforeAll(() => {
    const { db, clock } = world;
    const peers = new Map([['us', peer.url]]);
    [job] = createDirectorySync({ db, clock, log, region: 'eu', peers, secrets, answerWithinMs: 300 }).jobs;
  });

  test.each(hostileAnswers)('$name fails this read only', async (answer) => {
    await world.db.query(`UPDATE directory_peers SET attempted_at = 'epoch'`, []);
    peer.answer = answer;
    expect(await job?.runOnce()).toBe(false);
    expect(await uncaught.take()).toEqual([]);
    expect(await world.db.query('SELECT through FROM directory_peers', [])).toEqual([{ through: null }]);
    peer.cut();
  });
});
