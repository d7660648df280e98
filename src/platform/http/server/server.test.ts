/** Nothing follows an answer that said `Connection: close`, whatever arrives behind its request and whenever it does. */
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

async function listen(handler: RequestHandler, { withLane = false } = {}): Promise<Server> {
  const server = createHttpServer(handler, createLog('silent'));
  if (withLane) {
    openFastPath(server);
  }
  servers.push(server);
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  return server;
}

const portOf = (server: Server) => (server.address() as AddressInfo).port;

/** A handler that answers nothing by itself: the test does, with what `begun` gives it. */
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

/** Every answer of the connection as its status and what it says of the connection. */
async function answers(client: RawClient): Promise<unknown[]> {
  return (await client.answersUntilClosed()).map(({ status, headers }) => [status, headers.connection]);
}

/** Resolves once the server has seen that it cannot read what the client sent. */
const unreadable = (server: Server) => once(server, 'clientError');

describe.each([{ withLane: false }, { withLane: true }])('with a lane: $withLane', ({ withLane }) => {
  // Without `Connection: upgrade` Node goes on parsing behind it.
  const offer = rawRequest('GET', '/', ['Upgrade: h2c']);

  it('broken bytes behind the offer of an upgrade are not answered when they come before its answer', async () => {
    const { handler, next } = held();
    const server = await listen(handler, { withLane });
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

  it('broken bytes behind the offer of an upgrade are not answered when they come after its answer', async () => {
    const { handler, next } = held();
    const server = await listen(handler, { withLane });
    const client = await RawClient.open(portOf(server));
    const request = next();
    await client.send(offer);
    const offered = await request;
    sendReply(offered.request, offered.response, plain);
    expect((await client.answer()).headers.connection).toBe('close');
    await client.send(broken);
    expect(await answers(client)).toEqual([]);
  });

  it('broken bytes behind an offer that waits for the answer before it are not answered', async () => {
    const { handler, next } = held();
    const server = await listen(handler, { withLane });
    const client = await RawClient.open(portOf(server));
    const first = next();
    // With a header that is not plain, so that both requests are read by Node's parser in one go.
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
  ])('while the server drains, %s behind the last request stays unanswered', async (what, behind) => {
    const { handler, next } = held();
    const server = await listen(handler, { withLane });
    const client = await RawClient.open(portOf(server));
    // A first request, so that the connection is known when the drain begins; it keeps it from being closed.
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
});

describe('answers that close by themselves', () => {
  it('a stream to an HTTP/1.0 client, which ends with the connection', async () => {
    const { handler, next } = held();
    const server = await listen(handler);
    const [request, seen] = [next(), unreadable(server)];
    // Not by `RawClient`, which refuses answers without a length.
    const client = createConnection(portOf(server), '127.0.0.1');
    client.write(`GET / HTTP/1.0\r\nConnection: keep-alive\r\n\r\n${broken}`);
    await seen;
    const asked = await request;
    sendStream(asked.request, asked.response, {
      status: 200,
      headers: {},
      body: Readable.from(['all of it']),
    });
    const [head, ...rest] = (await text(client)).split('\r\n\r\n');
    expect(head?.split('\r\n')).toContain('Connection: close');
    expect(rest).toEqual(['all of it']);
  });

  it('an answer without a body to such a client', async () => {
    const { handler, next } = held();
    const server = await listen(handler);
    const client = await RawClient.open(portOf(server));
    const [request, seen] = [next(), unreadable(server)];
    await client.send('GET / HTTP/1.0\r\nConnection: keep-alive\r\n\r\n', broken);
    await seen;
    const asked = await request;
    sendReply(asked.request, asked.response, { status: 204, headers: {}, body: '' });
    expect(await answers(client)).toEqual([[204, 'close']]);
  });
});
