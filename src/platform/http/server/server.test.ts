/** Nothing follows a response with `Connection: close`, whatever arrives after its request, and whenever it arrives. */
import { once } from 'node:events';
import type { IncomingMessage, Server, ServerResponse } from 'node:http';
import { type AddressInfo, createConnection } from 'node:net';
import { Readable } from 'node:stream';
import { text } from 'node:stream/consumers';
import { afterEach, describe, expect, it } from 'vitest';
import { RawClient, rawRequest } from '../../../../test/support/raw-socket.ts';
import { createLog } from '../../log.ts';
import { openFastPath } from '../fast/fast-path.ts';
import { sendReply, sendStream } from '../message/send.ts';
import type { RequestHandler } from '../pipeline/pipeline.ts';
import { createHttpServer } from './server.ts';

const servers: Server[] = [];

afterEach(() => {
  for (const server of servers.splice(0)) {
    server.close();
    server.closeAllConnections();
  }
});

async function listen(handler: RequestHandler, { withFastPath = false } = {}): Promise<Server> {
  const server = createHttpServer(handler, createLog('silent'));
  if (withFastPath) {
    openFastPath(server);
  }
  servers.push(server);
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  return server;
}

const portOf = (server: Server) => (server.address() as AddressInfo).port;

/** A handler that does not answer: the test does, with the messages from `begun`. */
function held() {
  const begun: ((messages: { request: IncomingMessage; response: ServerResponse }) => void)[] = [];
  return {
    handler: (request: IncomingMessage, response: ServerResponse) => begun.shift()?.({ request, response }),
    next: () =>
      new Promise<{ request: IncomingMessage; response: ServerResponse }>((resolve) => begun.push(resolve)),
  };
}

const plain = { status: 200, headers: {}, body: 'the answer' };
const broken = 'garbage\r\n\r\n';
const connect = rawRequest('CONNECT', 'x:1');

/** Returns the status and the `Connection` header of every response. */
async function answers(client: RawClient): Promise<unknown[]> {
  return (await client.answersUntilClosed()).map(({ status, headers }) => [status, headers.connection]);
}

/** Resolves once the server has detected that the bytes are not readable. */
const unreadable = (server: Server) => once(server, 'clientError');

describe.each([{ withFastPath: false }, { withFastPath: true }])(
  'with the fast HTTP path: $withFastPath',
  ({ withFastPath }) => {
    // Node continues to parse after this request, because it has no `Connection: upgrade` header.
    const offer = rawRequest('GET', '/', ['Upgrade: h2c']);

    it('malformed bytes after an upgrade header get no response if they arrive before its response', async () => {
      const { handler, next } = held();
      const server = await listen(handler, { withFastPath });
      const client = await RawClient.open(portOf(server));
      const request = next();
      await client.send(offer);
      const offered = await request;
      const seen = unreadable(server);
      await client.send(broken);
      await seen;
      sendReply(offered.request, offered.response, plain);
      expect(await answers(client)).toEqual([[200, 'close']]);
    });

    it('malformed bytes after an upgrade header get no response if they arrive after its response', async () => {
      const { handler, next } = held();
      const server = await listen(handler, { withFastPath });
      const client = await RawClient.open(portOf(server));
      const request = next();
      await client.send(offer);
      const offered = await request;
      sendReply(offered.request, offered.response, plain);
      expect((await client.answer()).headers.connection).toBe('close');
      await client.send(broken);
      expect(await answers(client)).toEqual([]);
    });

    it('malformed bytes after an upgrade header that waits for an earlier response get no response', async () => {
      const { handler, next } = held();
      const server = await listen(handler, { withFastPath });
      const client = await RawClient.open(portOf(server));
      const first = next();
      // With a header that is not plain, so that Node's parser reads both requests at once.
      await client.send(rawRequest('GET', '/', ['X-Empty:']), offer);
      const before = await first;
      const [second, seen] = [next(), unreadable(server)];
      await client.send(broken);
      sendReply(before.request, before.response, plain);
      const offered = await second;
      await seen;
      sendReply(offered.request, offered.response, plain);
      expect(await answers(client)).toEqual([
        [200, 'keep-alive'],
        [200, 'close'],
      ]);
    });

    it.each([
      ['broken bytes', broken],
      ['a CONNECT', connect],
      ['another request', rawRequest('GET', '/')],
    ])('while the server drains, %s after the last request gets no response', async (what, behind) => {
      const { handler, next } = held();
      const server = await listen(handler, { withFastPath });
      const client = await RawClient.open(portOf(server));
      // A first request, so that the connection is not closed as idle when the drain starts.
      const first = next();
      await client.send(rawRequest('GET', '/', ['X-Empty:']));
      const before = await first;
      server.close();
      const read = what === 'a CONNECT' ? once(server, 'connect') : unreadable(server);
      await client.send(rawRequest('GET', '/', ['X-Empty:']), behind);
      if (what !== 'another request') {
        await read;
      }
      const second = next();
      sendReply(before.request, before.response, plain);
      const last = await second;
      sendReply(last.request, last.response, plain);
      expect(await answers(client)).toEqual([
        [200, 'keep-alive'],
        [200, 'close'],
      ]);
    });
  },
);

describe.each([{ withFastPath: false }, { withFastPath: true }])(
  'a client that does not read, with the fast HTTP path: $withFastPath',
  ({ withFastPath }) => {
    // More than the kernel buffers.
    const large = { status: 200, headers: {}, body: 'x'.repeat(33_554_432) };
    const request = rawRequest('GET', '/');

    it('a client that does not read is disconnected', async () => {
      const { handler, next } = held();
      const server = await listen(handler, { withFastPath });
      const client = await RawClient.open(portOf(server), { readLate: true });
      const begun = next();
      await client.send(request);
      const { request: received, response } = await begun;
      const closed = once(received.socket, 'close');
      sendReply(received, response, large, { silentMsMax: 50 });
      await closed;
      client.destroy();
    });

    it('a client that does not read is disconnected while it still sends', async () => {
      const { handler, next } = held();
      const server = await listen(handler, { withFastPath });
      const client = await RawClient.open(portOf(server), { readLate: true });
      const begun = next();
      // The expectation makes this the last response of the connection.
      await client.send(rawRequest('POST', '/', ['Content-Length: 5', 'Expect: 100-continue']));
      const { request: received, response } = await begun;
      const closed = once(received.socket, 'close');
      sendReply(received, response, large, { silentMsMax: 50 });
      await closed;
      client.destroy();
    });

    it('a client that was slow to read has as much time as before for its next request, once it has read', async () => {
      const { handler, next } = held();
      const server = await listen(handler, { withFastPath });
      const client = await RawClient.open(portOf(server), { readLate: true });
      const [first, second] = [next(), next()];
      await client.send(request, request);
      const { request: received, response } = await first;
      const { socket } = received;
      sendReply(received, response, large, { silentMsMax: 3_600_000 });
      expect(socket.timeout).toBe(3_600_000);
      expect((await client.answer()).text.length).toBe(large.body.length);
      const later = await second;
      expect(socket.timeout).toBe(0);
      sendReply(later.request, later.response, plain);
      expect((await client.answer()).text).toBe(plain.body);
      // Node's timeout of idle connections; the fast path has its own.
      expect(socket.timeout ?? 0).toBeGreaterThanOrEqual(withFastPath ? 0 : server.keepAliveTimeout);
      client.destroy();
    });
  },
);

describe('responses that end with the connection', () => {
  it('a stream to an HTTP/1.0 client', async () => {
    const { handler, next } = held();
    const server = await listen(handler);
    const [request, seen] = [next(), unreadable(server)];
    // Not with `RawClient`, which rejects responses without a length.
    const client = createConnection(portOf(server), '127.0.0.1');
    client.write(`GET / HTTP/1.0\r\nConnection: keep-alive\r\n\r\n${broken}`);
    await seen;
    const received = await request;
    sendStream(received.request, received.response, {
      status: 200,
      headers: {},
      body: Readable.from(['all of it']),
    });
    const [head, ...rest] = (await text(client)).split('\r\n\r\n');
    expect(head?.split('\r\n')).toContain('Connection: close');
    expect(rest).toEqual(['all of it']);
  });

  it('a response without a body to an HTTP/1.0 client', async () => {
    const { handler, next } = held();
    const server = await listen(handler);
    const client = await RawClient.open(portOf(server));
    const [request, seen] = [next(), unreadable(server)];
    await client.send('GET / HTTP/1.0\r\nConnection: keep-alive\r\n\r\n', broken);
    await seen;
    const received = await request;
    sendReply(received.request, received.response, { status: 204, headers: {}, body: '' });
    expect(await answers(client)).toEqual([[204, 'close']]);
  });
});
