/** Misbehaving peers on real sockets, with timeouts short enough for tests. */
import { EventEmitter, once } from 'node:events';
import {
  type ClientRequest,
  createServer,
  request as httpRequest,
  type IncomingMessage,
  type RequestListener,
  type ServerResponse,
} from 'node:http';
import { createServer as createHttpsServer } from 'node:https';
import { type AddressInfo, createServer as createNetServer, type Server } from 'node:net';
import { Registry } from 'prom-client';
import { afterEach, describe, expect, test } from 'vitest';
import { newPair } from '../../../../test/support/certificates.ts';
import type { ApiError } from '../../../contract/api-error.ts';
import { errorReply } from '../../../platform/http/message/reply.ts';
import { sendReply, sendStream } from '../../../platform/http/message/send.ts';
import { createLog } from '../../../platform/log.ts';
import { systemClock } from '../../../platform/time/clock.ts';
import { createForwarding } from './forwarding.ts';
import { type SendingBounds, usualBounds } from './sending.ts';

const hour = 3_600_000;
const short: SendingBounds = { inFlightMax: 2, connectWithinMs: 250, silenceMs: 250 };
/** For peers that respond first and stop later: on a busy machine a slow start must not count as silence. */
const longer: SendingBounds = { inFlightMax: 2, connectWithinMs: hour, silenceMs: 2_000 };
const ok = { 'x-svc-trace-id': 'a', 'content-type': 'text/plain' };

/** Metrics of the server that `front` created last. */
let metrics: Registry;
const countedAs = async (outcome: string) =>
  Number(new RegExp(`outcome="${outcome}"} (\\d+)`).exec(await metrics.metrics())?.[1] ?? 0);

const servers: Server[] = [];
const connections = new Set<{ destroy(): void }>();
afterEach(async () => {
  for (const connection of connections) {
    connection.destroy();
  }
  await Promise.all(servers.splice(0).map((server) => new Promise((done) => server.close(done))));
});

async function listen(server: Server): Promise<number> {
  servers.push(server);
  server.on('connection', (socket) => {
    connections.add(socket);
    socket.once('close', () => connections.delete(socket));
    socket.on('error', () => undefined);
  });
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  return (server.address() as AddressInfo).port;
}

/** Starts a server that forwards every request to `us`, as the pipeline does. */
async function front(
  origin: string,
  bounds: SendingBounds,
  before: (request: IncomingMessage, response: ServerResponse) => Promise<unknown> = async () => undefined,
): Promise<number> {
  const forwarding = createForwarding({
    region: 'eu',
    peers: new Map([['us', origin]]),
    secrets: { signing: 'a secret', accepted: undefined },
    clock: systemClock,
    log: createLog('silent'),
    bounds,
    nonces: { claim: async () => true },
  });
  metrics = new Registry();
  forwarding.register(metrics);
  return listen(
    createServer(async (request, response) => {
      await before(request, response);
      const toSend = { request, response, address: '127.0.0.1', traceId: 'a' };
      forwarding.forward('us', toSend).then(
        (reply) => sendStream(request, response, reply),
        (error: ApiError) => sendReply(request, response, errorReply(error)),
      );
    }),
  );
}

const peer = async (listener: RequestListener) => `http://127.0.0.1:${await listen(createServer(listener))}`;
const open = (port: number, method = 'GET', headers = {}): ClientRequest =>
  httpRequest({ port, host: '127.0.0.1', method, headers, agent: false });

async function answerOf(sent: ClientRequest) {
  const [response] = (await once(sent, 'response')) as [IncomingMessage];
  let text = '';
  for await (const chunk of response.setEncoding('utf8')) {
    text += chunk;
  }
  const code = text.startsWith('{') ? JSON.parse(text).error.code : undefined;
  return { status: response.statusCode, code, text };
}
const ask = (port: number) => answerOf(open(port).end());
const away = { status: 503, code: 'service_unavailable' };

test('a peer that accepts and never responds is treated as unreachable, and its connection is closed', async () => {
  const silent = createNetServer((socket) => socket.resume());
  const gone: Promise<unknown>[] = [];
  silent.on('connection', (socket) => gone.push(once(socket, 'close')));
  const port = await front(`http://127.0.0.1:${await listen(silent)}`, short);
  // Twice the maximum in flight: the slots of the first round must have been released.
  for (let round = 0; round < 2; round += 1) {
    const answers = await Promise.all([ask(port), ask(port)]);
    expect(answers).toMatchObject([away, away]);
    expect(answers[0]?.text).toContain('cannot be reached');
  }
  await Promise.all(gone);
  expect(gone).toHaveLength(4);
});

test('a peer that stops reading the body is treated as unreachable, while the client is still sending', async () => {
  const port = await front(
    `http://127.0.0.1:${await listen(createNetServer({ pauseOnConnect: true }))}`,
    short,
  );
  const sent = open(port, 'POST');
  // More than the buffers in between can hold.
  for (let megabytes = 0; megabytes < 32; megabytes += 1) {
    sent.write(Buffer.alloc(1_048_576));
  }
  expect(await answerOf(sent)).toMatchObject(away);
  sent.destroy();
});

test('does not forward headers about a single connection, in either direction', async () => {
  const origin = await peer(({ headers }, response) => {
    const answer = { ...ok, connection: 'X-Of-Peer, keep-alive', 'x-of-peer': 'a', 'x-of-answer': 'a' };
    response.writeHead(200, answer).end(JSON.stringify(Object.keys(headers).sort()));
  });
  const port = await front(origin, usualBounds);
  const said = { connection: 'close, x-of-client', 'X-Of-Client': 'a', 'x-of-request': 'a' };
  const [response] = (await once(open(port, 'GET', said).end(), 'response')) as [IncomingMessage];
  const [received] = (await once(response, 'data')) as [Buffer];
  expect(JSON.parse(String(received))).toEqual([
    'connection',
    'host',
    'x-of-request',
    'x-svc-region-forward',
  ]);
  expect(Object.keys(response.headers)).toContain('x-of-answer');
  expect(Object.keys(response.headers)).not.toContain('x-of-peer');
});

test('does not pass on an interrupted response as a complete one', async () => {
  const port = await front(
    await peer((_, response) => response.writeHead(200, ok).write('the first half')),
    longer,
  );
  const [response] = (await once(open(port).end(), 'response')) as [IncomingMessage];
  let text = '';
  const ending = once(response, 'error');
  response.setEncoding('utf8').on('data', (chunk) => {
    text += chunk;
  });
  expect(((await ending)[0] as NodeJS.ErrnoException).code).toBe('ECONNRESET');
  expect([response.statusCode, text, response.complete]).toEqual([200, 'the first half', false]);
});

test('does not blame the peer for a client that sends slowly', async () => {
  const port = await front(
    await peer(async (request, response) => {
      let text = '';
      for await (const chunk of request.setEncoding('utf8')) {
        text += chunk;
      }
      response.writeHead(200, ok).end(text);
    }),
    longer,
  );
  const sent = open(port, 'POST');
  sent.write('one ');
  // Once a later request has timed out, this peer has been silent for the maximum time as well.
  const silent = createNetServer((socket) => socket.resume());
  const other = await front(`http://127.0.0.1:${await listen(silent)}`, longer);
  expect(await ask(other)).toMatchObject(away);
  sent.end('two');
  const { status, text } = await answerOf(sent);
  // The body is followed by its signature.
  expect([status, text.slice(0, 7)]).toEqual([200, 'one two']);
});

test('does not blame the peer for a client that reads slowly', async () => {
  // More than the buffers in between can hold.
  const bytes = 32 * 1_048_576;
  const port = await front(
    await peer((_, response) => response.writeHead(200, ok).end(Buffer.alloc(bytes))),
    longer,
  );
  const [response] = (await once(open(port).end(), 'response')) as [IncomingMessage];
  // Once a second request has timed out, the full buffers have kept the peer silent for the maximum time.
  const silent = createNetServer((socket) => socket.resume());
  const other = await front(`http://127.0.0.1:${await listen(silent)}`, longer);
  expect(await ask(other)).toMatchObject(away);
  expect(await ask(other)).toMatchObject(away);
  let received = 0;
  for await (const chunk of response) {
    received += chunk.length;
  }
  expect(received).toBe(bytes);
});

test('rejects requests beyond the maximum in flight until one has ended', async () => {
  const waiting: (() => void)[] = [];
  const arrived = createQueue();
  const port = await front(
    await peer((_, response) => {
      waiting.push(() => response.writeHead(200, ok).end('done'));
      arrived.add();
    }),
    { inFlightMax: 2, connectWithinMs: hour, silenceMs: hour },
  );
  const both = [ask(port), ask(port)];
  await arrived.reached(2);
  const third = await ask(port);
  expect(third).toMatchObject(away);
  expect(third.text).toContain('Too many requests are being forwarded');
  waiting.shift()?.();
  await Promise.race(both);
  const next = ask(port);
  await arrived.reached(3);
  for (const goOn of waiting) {
    goOn();
  }
  expect(await Promise.all([...both, next])).toMatchObject(Array(3).fill({ status: 200, text: 'done' }));
});

test('aborts the request of a client that disconnects, and frees its slot', async () => {
  const requests = new EventEmitter();
  const origin = await peer((request, response) => requests.emit('one', request, response));
  const port = await front(origin, { inFlightMax: 1, connectWithinMs: hour, silenceMs: hour });
  const leaving = open(port).on('error', () => undefined);
  leaving.end();
  const [, response] = (await once(requests, 'one')) as [IncomingMessage, ServerResponse];
  const ending = once(response, 'close');
  leaving.destroy();
  await ending;
  requests.once('one', (_, answer: ServerResponse) => answer.writeHead(200, ok).end());
  expect(await ask(port)).toMatchObject({ status: 200 });
});

test('a client that disconnects before its request is forwarded uses no slot', async () => {
  const origin = await peer((request, response) => {
    request.resume().once('end', () => response.writeHead(200, ok).end('done'));
  });
  const left = new EventEmitter();
  const port = await front(
    origin,
    { inFlightMax: 1, connectWithinMs: hour, silenceMs: hour },
    (request, response) =>
      request.method === 'POST'
        ? once(response, 'close').finally(() => setImmediate(() => left.emit('one')))
        : Promise.resolve(),
  );
  const leaving = open(port, 'POST', { 'content-length': 10 }).on('error', () => undefined);
  leaving.write('half', () => leaving.destroy());
  await once(left, 'one');
  expect(await ask(port)).toMatchObject({ status: 200, text: 'done' });
  // A disconnected client does not count as a failure of the peer.
  expect([await countedAs('answered'), await countedAs('refused')]).toEqual([1, 0]);
});

test('forwards the maximum number in flight without waiting for connections', async () => {
  const all = 300;
  const arrived = createQueue();
  const waiting: (() => void)[] = [];
  const port = await front(
    await peer((_, response) => {
      waiting.push(() => response.writeHead(200, ok).end());
      arrived.add();
    }),
    { ...usualBounds, silenceMs: hour },
  );
  const answers = Array.from({ length: all }, () => ask(port));
  await arrived.reached(all);
  for (const goOn of waiting) {
    goOn();
  }
  expect((await Promise.all(answers)).every(({ status }) => status === 200)).toBe(true);
});

test('rejects an untrusted certificate over https', async () => {
  const { key, certificate: cert } = newPair();
  let asked = 0;
  const server = createHttpsServer({ key, cert }, (_, response) => {
    asked += 1;
    response.writeHead(200, ok).end();
  });
  const port = await front(`https://localhost:${await listen(server)}`, usualBounds);
  expect(await ask(port)).toMatchObject(away);
  expect(asked).toBe(0);
});

test('includes the TLS handshake in the connect timeout', async () => {
  const silent = createNetServer((socket) => socket.resume());
  const origin = `https://localhost:${await listen(silent)}`;
  expect(await ask(await front(origin, { ...short, silenceMs: hour }))).toMatchObject(away);
});

/** Counts events, and resolves promises that wait for a count. */
function createQueue() {
  let count = 0;
  let tell: (() => void)[] = [];
  return {
    add() {
      count += 1;
      for (const told of tell.splice(0)) {
        told();
      }
    },
    async reached(number: number): Promise<void> {
      while (count < number) {
        await new Promise<void>((resolve) => {
          tell = [...tell, resolve];
        });
      }
    },
  };
}

describe('treats an invalid response as an unreachable peer', () => {
  const trace = 'x-svc-trace-id: a\r\n';
  const answers: [string, string][] = [
    ['nothing', ''],
    ['no HTTP', 'SSH-2.0-OpenSSH_9.2\r\n'],
    ['half of a head', `HTTP/1.1 200 OK\r\n${trace}`],
    [
      'another protocol',
      `HTTP/1.1 101 Switching Protocols\r\nupgrade: h2c\r\nconnection: upgrade\r\n${trace}\r\n`,
    ],
    ['a head without end', `HTTP/1.1 200 OK\r\n${trace}x: ${'y'.repeat(100_000)}\r\n\r\n`],
    ['two lengths', `HTTP/1.1 200 OK\r\n${trace}content-length: 1\r\ntransfer-encoding: chunked\r\n\r\n`],
    ['a proxy', 'HTTP/1.1 502 Bad Gateway\r\ncontent-length: 3\r\n\r\nbad'],
    [
      'a redirection by a proxy',
      'HTTP/1.1 302 Found\r\nlocation: http://elsewhere\r\ncontent-length: 0\r\n\r\n',
    ],
  ];
  test.each(answers)('%s', async (_, bytes) => {
    const server = createNetServer((socket) => socket.once('data', () => socket.end(bytes)));
    const port = await front(`http://127.0.0.1:${await listen(server)}`, {
      inFlightMax: 1,
      connectWithinMs: hour,
      silenceMs: hour,
    });
    // Two requests in a row: the slot of the first must have been released.
    expect([await ask(port), await ask(port)]).toMatchObject([away, away]);
  });
});
