/**
 * Compares the fast HTTP path with Node's own server on the same handler: for any bytes, in any pieces, the responses must be
 * the same.
 */
import { hash } from 'node:crypto';
import { EventEmitter, once } from 'node:events';
import type { Server } from 'node:http';
import type { AddressInfo, Socket } from 'node:net';
import { Readable } from 'node:stream';
import { setImmediate as turn } from 'node:timers/promises';
import fc from 'fast-check';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { useOrg, useWorld } from '../../../../test/harness.ts';
import { refusalIn } from '../../../../test/support/edge-world.ts';
import { eventually } from '../../../../test/support/eventually.ts';
import {
  exchange,
  type RawAnswer,
  RawClient,
  type RawOptions,
  rawRequest,
} from '../../../../test/support/raw-socket.ts';
import { rounds } from '../../../../test/support/rounds.ts';
import { seedsOf } from '../../../../test/support/seeds.ts';
import { createLog } from '../../log.ts';
import { bodyMemoryOf } from '../message/body-memory.ts';
import { type HttpRequest, requestFromNode } from '../message/http-request.ts';
import { sendStream } from '../message/send.ts';
import { drainable } from '../server/drain.ts';
import { createHttpServer } from '../server/server.ts';
import { type FastPath, openFastPath } from './fast-path.ts';

const { forAll } = seedsOf('fast-path');
const streams = rounds(75, 1_500);

const world = useWorld({ SVC_AUTH_BACKOFF_ATTEMPTS: '1000000' });
const rich = useOrg(world);
const broke = useOrg(world);
const servers: Server[] = [];

interface Listening {
  readonly server: Server;
  readonly port: number;
  readonly fastPath: FastPath | undefined;
}

async function listen({ withFastPath }: { withFastPath: boolean }): Promise<Listening> {
  const server = createHttpServer(world.app.handler, createLog('silent'));
  const fastPath = withFastPath ? openFastPath(server, world.app.fastPath) : undefined;
  servers.push(server);
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  return { server, port: (server.address() as AddressInfo).port, fastPath };
}

beforeAll(async () => {
  for (const [org, cap_usd] of [
    [rich, '1000000'],
    [broke, '0'],
  ] as const) {
    const body = { cap_usd };
    await world.request('PUT', `/v1/orgs/${org.id}/spend-cap`, { key: org.ownerKey, body });
  }
});
afterAll(() => {
  for (const server of servers) {
    server.close();
    server.closeAllConnections();
  }
});

const verdict = JSON.stringify({ model: 'm', estimated_cost_usd: '0.01' });

function ask(key: string, { headers = [], body = verdict }: { headers?: string[]; body?: string } = {}) {
  const lines = [`Authorization: Bearer ${key}`, 'Content-Type: application/json', ...headers];
  return rawRequest(
    'POST',
    '/v1/edge/decision',
    [...lines, `Content-Length: ${Buffer.byteLength(body)}`],
    body,
  );
}

/** Returns what a client sees of a response, without the values that differ between any two responses. */
function seen({ status, headers, text }: RawAnswer, index: number, { length: count }: RawAnswer[]): unknown {
  const { date, 'x-svc-trace-id': traceId, 'content-length': length, ...more } = headers;
  // Both servers belong to one service, so a key that one of them was given is used for the other.
  const { connection, 'keep-alive': keepAlive, 'idempotent-replayed': replayed, ...others } = more;
  // On the last response Node sends either value, depending on whether it has already received the end of the stream.
  const staysOpen = index < count - 1 ? { connection, keepAlive } : undefined;
  const json = text === '' ? undefined : JSON.parse(text);
  const { decision_id, expires_at, limits, ...answered } = json ?? {};
  const { id, started_at, finished_at, charged_at, created_at, ...rest } = answered;
  const trace = json?.error?.trace_id;
  const ofRun = [id, started_at, finished_at, charged_at, created_at];
  const told = [date, traceId, length, decision_id, expires_at, ...ofRun].map((value) => typeof value);
  return {
    status,
    others,
    staysOpen,
    told,
    limits: limits?.map((limit: object) => Object.keys(limit)),
    sameTrace: trace === undefined || trace === traceId,
    body: trace === undefined ? rest : { ...json, error: { ...json.error, trace_id: '' } },
  };
}

async function conversation(port: number, parts: readonly Buffer[]): Promise<unknown> {
  const client = await RawClient.open(port);
  for (const part of parts) {
    await client.send(part);
    await turn();
    await turn();
  }
  const answers = await client.halfClose().answersUntilClosed();
  return answers.map(seen);
}

/** Generates requests as text, one character per byte. Most of them are plain. */
function requests(): fc.Arbitrary<string> {
  const key = fc.constantFrom(rich.ownerKey, rich.ownerKey, broke.ownerKey, 'nobody', world.operatorKey);
  const bodies = fc.constantFrom(
    verdict,
    verdict,
    '{"model":"m","estimated_cost_usd":"0.01","customer_id":"\\u00e9","workflow":"w"}',
    `{"model":"${Buffer.from('é☃').toString('latin1')}","estimated_cost_usd":"1"}`,
    '{"model":"m","estimated_cost_usd":"-1"}',
    '{"model":"m"}',
    '{"model":"m","nonsense":1}',
    '{"model":"\xff"}',
    '[]',
    '{',
    '',
    `{"model":"m","estimated_cost_usd":"1","workflow":"${'w'.repeat(20_000)}"}`,
    `{"model":"m","estimated_cost_usd":"1","workflow":"${'w'.repeat(100_000)}"}`,
  );
  const bodyOf = (target: string, lines: readonly string[], body: string) =>
    `POST ${target} HTTP/1.1\r\n${lines.join('\r\n')}\r\nContent-Length: ${body.length}\r\n\r\n${body}`;
  const decision = fc
    .tuple(key, bodies)
    .map(([token, body]) =>
      bodyOf(
        '/v1/edge/decision',
        ['Host: x', `Authorization: Bearer ${token}`, 'Content-Type: application/json'],
        body,
      ),
    );
  const run = fc
    .tuple(
      key,
      fc.constantFrom(
        '{"model":"gpt-4o","input_tokens":1200,"output_tokens":310,"customer_id":"c","metadata":{"a":[1]}}',
        `{"model":"${Buffer.from('é☃').toString('latin1')}","cost_usd":"0.01","tags":{"a":"\\u00e9"}}`,
        '{"model":"m","cost_usd":"0.01","status":"running","chain_id":"x","estimated_cost_usd":"0.02"}',
        '{"model":"m","cost_usd":"0.01","external_id":"known"}',
        '{"model":"m","cost_usd":"0.01","decision_id":"dec_unknown"}',
        '{"model":"m","cost_usd":"0.01","parent_run_id":"run_unknown"}',
        '{"model":"nobody has a price for this"}',
        '{"model":"m","cost_usd":"0.01","nonsense":1}',
        '{"model":"m","metadata":{"__proto__":1}}',
        '[]',
        '{',
        '',
      ),
      fc.constantFrom('/v1/runs', '/v1/runs', '/v1/runs?', '/v1/runs?a=b', '/v1/runs/run_unknown/complete'),
      fc.constantFrom(
        'application/json',
        'application/json',
        'text/plain',
        'application/json; charset=utf-8',
      ),
    )
    .map(([token, body, target, type]) =>
      bodyOf(target, ['Host: x', `Authorization: Bearer ${token}`, `Content-Type: ${type}`], body),
    );
  // Not `Expect`: whether Node closes the connection after rejecting it depends on whether the body has arrived by then. The
  // framing tests in test/contract cover it on the fast path.
  const oddLines = fc.constantFrom(
    'Connection: close',
    'Connection: Keep-Alive',
    'connection: keep-alive, close',
    'Upgrade: h2c',
    'Transfer-Encoding: chunked',
    'Transfer-Encoding: identity',
    'Content-Length: 3',
    'content-length: 0',
    'Content-Length: +5',
    'Content-Length: 05',
    'Content-Length: 1, 1',
    'Content-Length : 5',
    'Host: y',
    'Host:',
    'Idempotency-Key: a',
    'Idempotency-Key: a\r\nIdempotency-Key: b',
    'Origin: https://example.com',
    'Content-Encoding: gzip',
    'Content-Encoding: identity',
    'Content-Type: text/plain',
    'Authorization: Bearer other',
    'Cookie: a=b\r\nCookie: c=d',
    'Set-Cookie: a=b',
    'X-Empty:',
    'X-Tab:\tvalue',
    'X-Close:value',
    'X-Trailing: value \t',
    'X-Folded: a\r\n b',
    'X-High: caf\xe9',
    'X-Control: a\x01b',
    'X-Nul: a\0b',
    'X A: b',
    'X-Bare: a\nX-Other: b',
    'X-Return: a\rb',
    'nonsense',
    ': nameless',
    '__proto__: x',
    'constructor: x',
    'X_Y: z',
    'TE: trailers',
    'Trailer: X-T',
    'Keep-Alive: timeout=5',
    'Proxy-Connection: close',
    `X-Long: ${'a'.repeat(9_000)}`,
    `X-Longer: ${'a'.repeat(17_000)}`,
  );
  const odd = fc.tuple(decision, oddLines, fc.boolean()).map(([text, line, first]) => {
    const at = text.indexOf('\r\n', first ? 0 : text.indexOf('\r\n') + 2) + 2;
    return `${text.slice(0, at)}${line}\r\n${text.slice(at)}`;
  });
  const misshapen = fc
    .tuple(
      decision,
      fc.constantFrom(
        ['POST ', 'post '],
        ['POST ', 'PUT '],
        ['POST ', 'POST  '],
        ['POST ', '\r\nPOST '],
        ['POST ', ' POST '],
        ['POST /', 'POST http://x/'],
        ['/decision ', '/decision?a=b '],
        ['/decision ', '/decision# '],
        ['/decision ', '/decisi\xf6n '],
        ['/decision ', '/%65dge '],
        ['HTTP/1.1', 'HTTP/1.0'],
        ['HTTP/1.1', 'HTTP/2.0'],
        ['HTTP/1.1', 'HTTP/1.1 '],
        ['HTTP/1.1', 'http/1.1'],
        ['Host: x\r\n', ''],
        ['Host: x', 'hOsT: x'],
        ['Bearer ', 'bearer '],
        ['Bearer ', 'Bearer  '],
        ['Bearer ', 'Basic '],
        ['\r\nContent-Type', '\nContent-Type'],
        ['\r\n\r\n', '\n\n'],
        ['\r\n\r\n', '\r\n\n'],
        ['Content-Length: ', 'Content-Length: 1'],
        ['Content-Length: ', 'Content-Length: -'],
        ['Content-Length: ', 'Content-Length: 0x'],
        ['Content-Length: ', 'X-Length: '],
        ['application/json', 'Application/JSON; charset=utf-8'],
      ),
    )
    .map(([text, [from = '', to = '']]) => text.replace(from, to));
  const chunked = fc
    .constantFrom('5\r\n{"a":\r\n2\r\n1}\r\n0\r\n\r\n', 'zz\r\n', '0\r\nX: y\r\n\r\n')
    .map(
      (chunks) =>
        `POST /v1/edge/decision HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer ${rich.ownerKey}\r\n` +
        `Content-Type: application/json\r\nTransfer-Encoding: chunked\r\n\r\n${chunks}`,
    );
  const others = fc.constantFrom(
    rawRequest('GET', '/v1/nothing'),
    rawRequest('GET', '/v1/orgs/x', [`Authorization: Bearer ${rich.ownerKey}`]),
    rawRequest('GET', `/v1/orgs/${rich.id}`, [`Authorization: Bearer ${rich.ownerKey}`]),
    rawRequest('GET', '/v1/runs?model=none', [`Authorization: Bearer ${rich.ownerKey}`]),
    rawRequest('GET', '/v1/runs?limit=0', [`Authorization: Bearer ${rich.ownerKey}`]),
    rawRequest('GET', '/v1/runs?model=none', ['Cookie: a=b', 'Origin: https://x']),
    rawRequest('GET', `/v1/orgs/${rich.id}?a=1&a=2`, [`Authorization: Bearer ${rich.ownerKey}`]),
    rawRequest('GET', '/v1/orgs/x', ['Content-Length: 2'], '{}'),
    rawRequest('POST', '/v1/runs', [`Authorization: Bearer ${rich.ownerKey}`, 'Content-Length: 2'], '{}'),
    rawRequest('DELETE', '/v1/orgs/x', [`Authorization: Bearer ${rich.ownerKey}`]),
    '\r\n',
    '\r\n\r\n',
    'garbage',
    '\x16\x03\x01',
  );
  const damaged = fc
    .tuple(decision, fc.nat(), fc.integer({ min: 0, max: 255 }), fc.constantFrom('set', 'insert', 'cut'))
    .map(([text, at, byte, how]) => {
      const index = at % text.length;
      const character = how === 'cut' ? '' : String.fromCharCode(byte);
      return text.slice(0, index) + character + text.slice(index + (how === 'insert' ? 0 : 1));
    });
  return fc.oneof(
    { weight: 6, arbitrary: decision },
    { weight: 6, arbitrary: run },
    { weight: 4, arbitrary: odd },
    { weight: 3, arbitrary: misshapen },
    { weight: 1, arbitrary: chunked },
    { weight: 2, arbitrary: others },
    { weight: 3, arbitrary: damaged },
  );
}

describe('the fast HTTP path responds exactly like Node', () => {
  it('the fast HTTP path responds exactly like Node to random streams of bytes', async () => {
    const [node, fast] = await Promise.all([listen({ withFastPath: false }), listen({ withFastPath: true })]);
    const stream = fc.record({
      text: fc.array(requests(), { minLength: 1, maxLength: 4 }).map((all) => all.join('')),
      cuts: fc.array(fc.nat(), { maxLength: 4 }),
      /** Number of bytes at the end that are never sent. */
      lost: fc.oneof({ weight: 4, arbitrary: fc.constant(0) }, { weight: 1, arbitrary: fc.nat(300) }),
    });
    await forAll(
      fc.asyncProperty(stream, async ({ text, cuts, lost }) => {
        const bytes = Buffer.from(text, 'latin1').subarray(0, Math.max(1, text.length - lost));
        const places = [...cuts.map((cut) => cut % bytes.length), bytes.length].sort((a, b) => a - b);
        const parts = places.map((place, index) => bytes.subarray(places[index - 1] ?? 0, place));
        const sent = parts.filter(({ length }) => length > 0);
        const [expected, found] = await Promise.all([node, fast].map(({ port }) => conversation(port, sent)));
        expect(found).toEqual(expected);
      }),
      { numRuns: streams },
    );
  });

  it('the fast HTTP path responds exactly like Node to a decision that is split at any byte', async () => {
    const { port } = await listen({ withFastPath: true });
    const bytes = Buffer.from(ask(rich.ownerKey) + ask(broke.ownerKey));
    const cuts = Array.from({ length: bytes.length - 1 }, (_, index) => index + 1);
    for (let from = 0; from < cuts.length; from += 20) {
      const found = await Promise.all(
        cuts.slice(from, from + 20).map(async (cut) => {
          const client = await RawClient.open(port);
          await client.send(bytes.subarray(0, cut));
          await turn();
          await client.send(bytes.subarray(cut));
          return (await client.halfClose().answersUntilClosed()).map(({ status }) => status);
        }),
      );
      expect(found).toEqual(found.map(() => [200, 402]));
    }
  });
});

interface Connected {
  readonly client: RawClient;
  /** The server's side. */
  readonly socket: Socket;
}

async function connected({ server, port }: Listening, options: RawOptions = {}): Promise<Connected> {
  const accepted = once(server, 'connection') as Promise<[Socket]>;
  const client = await RawClient.open(port, options);
  const [socket] = await accepted;
  return { client, socket };
}

/** Starts a server whose fast path answers every request by this function, however late the rest of a body is. */
async function serving(
  serve: (request: HttpRequest) => unknown,
  options: { readonly arrivingBytesMax?: number; readonly stalledMs?: number } = {},
): Promise<Listening> {
  const server = createHttpServer(
    (request, response) => void serve(requestFromNode(request, response)),
    createLog('silent'),
  );
  const fastPath = openFastPath(server, {
    ...options,
    bodyWithinMs: Number.POSITIVE_INFINITY,
    serve: (request) => void serve(request),
  });
  servers.push(server);
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  return { server, port: (server.address() as AddressInfo).port, fastPath };
}

async function answerWithDigest(request: HttpRequest): Promise<void> {
  try {
    const memory = bodyMemoryOf(undefined, '127.0.0.1');
    const body = await request.readBytes({ limitBytes: 10_000_000, memory });
    request.send({ status: 200, headers: {}, body: digestOf(body) }, {});
  } catch {
    request.send({ status: 422, headers: {}, body: 'incomplete' }, {});
  }
}

function headOf(bodyBytes: number): string {
  return rawRequest('POST', '/', [`Content-Length: ${bodyBytes}`]);
}

function digestOf(body: Buffer): string {
  return hash('sha256', body);
}

/** Node's server attaches a parser to each of its connections. */
const isOnFastPath = (socket: Socket) => !('parser' in socket) || socket.parser == null;

describe('a connection', () => {
  let listening: Listening;
  beforeAll(async () => {
    listening = await listen({ withFastPath: true });
  });

  it('a connection stays on the fast path after errors and other routes, and leaves it with the first request that is not plain', async () => {
    const { client, socket } = await connected(listening);
    const statuses = [];
    for (const request of [
      ask(rich.ownerKey),
      ask(broke.ownerKey),
      ask('nobody'),
      ask(rich.ownerKey, { headers: ['Idempotency-Key: once'] }),
      rawRequest('GET', '/v1/nothing'),
      ask(rich.ownerKey, { body: '{"model":"é","estimated_cost_usd":"0.1"}' }),
    ]) {
      await client.send(request);
      statuses.push((await client.answer()).status);
      expect(isOnFastPath(socket)).toBe(true);
    }
    expect(statuses).toEqual([200, 402, 401, 200, 404, 200]);
    await client.send(ask(rich.ownerKey, { headers: ['X-Empty:'] }), ask(rich.ownerKey));
    expect([(await client.answer()).status, (await client.answer()).status]).toEqual([200, 200]);
    expect(isOnFastPath(socket)).toBe(false);
    client.destroy();
  });

  it('a connection whose request body does not arrive is answered by Node', async () => {
    const { client, socket } = await connected(listening);
    const [head = ''] = ask('nobody').split('{');
    await client.send(head);
    expect(refusalIn(await client.answer())).toBe('401 unauthorized');
    expect(isOnFastPath(socket)).toBe(false);
    client.destroy();
  });

  it('a connection may send the body after the head', async () => {
    const { client, socket } = await connected(listening);
    const request = ask(rich.ownerKey);
    const bodyAt = request.indexOf('{');
    await client.send(request.slice(0, bodyAt));
    await turn();
    await client.send(request.slice(bodyAt));
    expect((await client.answer()).status).toBe(200);
    expect(isOnFastPath(socket)).toBe(true);
    client.destroy();
  });

  it('a connection is not read while its client does not read, and gets every response once it does', async () => {
    const { server, port } = listening;
    const accepted = once(server, 'connection') as Promise<[Socket]>;
    const client = await RawClient.open(port, { readLate: true });
    const [socket] = await accepted;
    const request = ask(rich.ownerKey);
    const count = 8_000;
    void client.send(request.repeat(count)).then(() => client.halfClose());
    await once(socket, 'pause');
    let read = -1;
    while (read !== socket.bytesRead) {
      read = socket.bytesRead;
      for (let i = 0; i < 200; i += 1) {
        await turn();
      }
    }
    expect(read).toBeLessThan(count * request.length);
    expect(socket.writableLength).toBeLessThan(1_000_000);
    const answers = await client.answersUntilClosed();
    expect(answers.length).toBe(count);
    expect(new Set(answers.map(({ status }) => status))).toEqual(new Set([200]));
  });

  it('a connection stays on the fast path for requests of up to a megabyte, and leaves it with a larger one', async () => {
    const served = await serving(answerWithDigest);
    const { client, socket } = await connected(served);
    const bodies = [200_000, 65_537, 1_000_000, 10].map((size, index) =>
      Buffer.alloc(size, `${index} abcdefg`),
    );
    const bytes = Buffer.concat(bodies.flatMap((body) => [Buffer.from(headOf(body.length)), body]));
    // The server reads them in pieces that are not those of the requests.
    void client.send(bytes);
    for (const body of bodies) {
      expect((await client.answer()).text).toBe(digestOf(body));
    }
    expect(isOnFastPath(socket)).toBe(true);
    const larger = Buffer.alloc(1_048_576, 'x');
    await client.send(headOf(larger.length), larger);
    expect((await client.answer()).text).toBe(digestOf(larger));
    expect(isOnFastPath(socket)).toBe(false);
    client.destroy();
  });

  it('leaves an incomplete request to Node if it needs more memory than is left for all of them', async () => {
    const served = await serving(answerWithDigest, { arrivingBytesMax: 2_000 });
    const staysOnFastPath = async ({ client, socket }: Connected, bodyBytes: number) => {
      const body = Buffer.alloc(bodyBytes, 'x');
      const headReceived = once(socket, 'data');
      await client.send(headOf(bodyBytes));
      await headReceived;
      await client.send(body);
      expect((await client.answer()).text).toBe(digestOf(body));
      return isOnFastPath(socket);
    };
    const first = await connected(served);
    // Twice, because the memory of a complete request is free again.
    expect([await staysOnFastPath(first, 1_500), await staysOnFastPath(first, 1_500)]).toEqual([true, true]);
    // So is that of a request whose client leaves.
    const headReceived = once(first.socket, 'data');
    await first.client.send(headOf(1_500));
    await headReceived;
    const closed = once(first.socket, 'close');
    first.client.destroy();
    await closed;
    const second = await connected(served);
    expect([await staysOnFastPath(second, 1_500), await staysOnFastPath(second, 2_000)]).toEqual([
      true,
      false,
    ]);
    second.client.destroy();
  });

  it('gets a streamed response, even if it reads slowly', async () => {
    const chunk = Buffer.alloc(100_000, 'x');
    const count = 60;
    const server = createHttpServer(async (request, response) => {
      const headers = { 'content-length': String(chunk.length * count) };
      sendStream(request, response, {
        status: 200,
        headers,
        body: Readable.from(Array.from({ length: count }, () => chunk)),
      });
    }, createLog('silent'));
    openFastPath(server);
    servers.push(server);
    server.listen(0, '127.0.0.1');
    await once(server, 'listening');
    const { port } = server.address() as AddressInfo;
    const accepted = once(server, 'connection') as Promise<[Socket]>;
    const client = await RawClient.open(port, { readLate: true });
    const [socket] = await accepted;
    await client.send(rawRequest('GET', '/'), rawRequest('GET', '/'));
    while (!socket.writableNeedDrain) {
      await turn();
    }
    const sizes = (await client.halfClose().answersUntilClosed()).map(({ text }) => text.length);
    expect(sizes).toEqual([chunk.length * count, chunk.length * count]);
    expect(isOnFastPath(socket)).toBe(true);
  });

  it('a connection is closed by the timeout of a response that its client does not read', async () => {
    const server = createHttpServer(async (_request, response) => {
      response.setTimeout(50, () => response.destroy());
      response.writeHead(200);
      response.write('the beginning');
    }, createLog('silent'));
    openFastPath(server);
    servers.push(server);
    server.listen(0, '127.0.0.1');
    await once(server, 'listening');
    const accepted = once(server, 'connection') as Promise<[Socket]>;
    const client = await RawClient.open((server.address() as AddressInfo).port, { readLate: true });
    const [socket] = await accepted;
    await client.send(rawRequest('GET', '/'));
    await once(socket, 'close');
    client.destroy();
  });

  /** More than the kernel buffers. */
  const large = 'x'.repeat(33_554_432);
  /** Less than a socket takes before it asks to wait for `drain`. */
  const small = 'x'.repeat(10_000);
  const sendLarge = (request: HttpRequest) => request.send({ status: 200, headers: {}, body: large }, {});

  it('a connection is closed if its client does not read a whole response', async () => {
    const served = await serving(sendLarge, { stalledMs: 50 });
    const { client, socket } = await connected(served, { readLate: true });
    const closed = once(socket, 'close');
    await client.send(rawRequest('GET', '/'));
    await closed;
    client.destroy();
  });

  it('a connection is closed if its client does not read many small responses', async () => {
    const served = await serving((request) => request.send({ status: 200, headers: {}, body: small }, {}), {
      stalledMs: 50,
    });
    const { client, socket } = await connected(served, { readLate: true });
    const closed = once(socket, 'close');
    void client.send(rawRequest('GET', '/').repeat(5_000));
    await closed;
    client.destroy();
  });

  it('a connection has no timeout for unread responses once they are read', async () => {
    const stalledMs = 3_600_000;
    const served = await serving(sendLarge, { stalledMs });
    const { client, socket } = await connected(served, { readLate: true });
    await client.send(rawRequest('GET', '/'));
    await eventually(() => expect(socket.timeout).toBe(stalledMs));
    expect((await client.answer()).text.length).toBe(large.length);
    await eventually(() => expect(socket.timeout).toBe(0));
    expect(isOnFastPath(socket)).toBe(true);
    client.destroy();
  });

  it('a connection is not read while a response is unread, so that bytes of its client do not postpone the timeout', async () => {
    const stalledMs = 3_600_000;
    const served = await serving((request) => request.send({ status: 200, headers: {}, body: small }, {}), {
      stalledMs,
    });
    const { client, socket } = await connected(served, { readLate: true });
    let requests = 0;
    while (socket.writableLength === 0) {
      const [before, timeout] = [socket.bytesWritten, socket.timeout];
      await client.send(rawRequest('GET', '/'));
      await eventually(() => expect([socket.bytesWritten, socket.timeout]).not.toEqual([before, timeout]));
      requests += 1;
    }
    expect([socket.timeout, socket.writableNeedDrain]).toEqual([stalledMs, false]);
    const last = rawRequest('GET', '/');
    await client.send(last.slice(0, 1));
    await eventually(() => expect(socket.isPaused()).toBe(true));
    await client.send(last.slice(1));
    for (let answered = 0; answered <= requests; answered += 1) {
      expect((await client.answer()).status).toBe(200);
    }
    client.destroy();
  });

  it('a connection is not read by Node either after bytes that are not a request, until its responses are read', async () => {
    const server = createHttpServer(
      (request, response) => void sendLarge(requestFromNode(request, response)),
      createLog('silent'),
    );
    servers.push(server);
    server.listen(0, '127.0.0.1');
    await once(server, 'listening');
    const accepted = once(server, 'connection') as Promise<[Socket]>;
    const client = await RawClient.open((server.address() as AddressInfo).port, { readLate: true });
    const [socket] = await accepted;
    await client.send(`${rawRequest('GET', '/')}\0`);
    await eventually(() => expect([socket.writableLength > 0, socket.isPaused()]).toEqual([true, true]));
    expect((await client.answersUntilClosed()).map(({ status }) => status)).toEqual([200, 400]);
  });

  it('a connection is closed by a timeout if it never sends a byte, or nothing after a response', async () => {
    const impatient = await listen({ withFastPath: true });
    impatient.server.headersTimeout = 100;
    const { client: silent } = await connected(impatient);
    expect((await silent.answersUntilClosed()).map(refusalIn)).toEqual(['400 bad_request']);
    const tidy = await listen({ withFastPath: true });
    tidy.server.keepAliveTimeout = 1_000;
    const { client: idle } = await connected(tidy);
    await idle.send(ask(rich.ownerKey));
    const [answer, ...more] = await idle.answersUntilClosed();
    expect([answer?.status, answer?.headers['keep-alive'], more]).toEqual([200, 'timeout=1', []]);
  });

  it('a connection is closed by a drain: at once if idle, else after its response', async () => {
    const draining = await listen({ withFastPath: true });
    const { drain } = drainable(draining.server, draining.fastPath as FastPath);
    const { client: idle } = await connected(draining);
    await idle.send(ask(rich.ownerKey));
    await idle.answer();
    const { client: busy } = await connected(draining);
    const handler = new EventEmitter();
    const reached = once(handler, 'reached');
    world.fault = async () => {
      handler.emit('reached');
      await once(handler, 'go on');
    };
    await busy.send(rawRequest('GET', `/v1/orgs/${rich.id}`, [`Authorization: Bearer ${rich.ownerKey}`]));
    await reached;
    world.fault = undefined;
    const drained = drain(20_000);
    expect(await idle.answersUntilClosed()).toEqual([]);
    handler.emit('go on');
    const answers = await busy.answersUntilClosed();
    expect(answers.map(({ status, headers }) => [status, headers.connection])).toEqual([[200, 'close']]);
    await drained;
  });

  it('destroys the source of a streamed response if it closes before', async () => {
    const server = createHttpServer(world.app.handler, createLog('silent'));
    const body = new Readable({
      read() {
        this.push(Buffer.alloc(65_536));
      },
    });
    openFastPath(server, {
      serve: (request) => {
        const { socket } = request.request;
        socket.once('close', () => request.send({ status: 200, headers: {}, body }, {}));
        // Closes the connection as a reset by the client would.
        socket.destroy();
      },
    });
    servers.push(server);
    server.listen(0, '127.0.0.1');
    await once(server, 'listening');
    const client = await RawClient.open((server.address() as AddressInfo).port);
    const ended = once(body, 'close');
    await client.send(rawRequest('GET', '/'));
    await ended;
    client.destroy();
  });

  it('keeps only its address after a reset by the client', async () => {
    const { client, socket } = await connected(listening);
    const closed = new Promise((resolve) => socket.once('close', resolve));
    await client.send(ask(rich.ownerKey), ask(broke.ownerKey), ask(rich.ownerKey).slice(0, 50));
    client.destroy();
    await closed;
    expect(socket.remoteAddress).toBe('127.0.0.1');
    expect((await exchange(listening.port, ask(rich.ownerKey))).map(({ status }) => status)).toEqual([200]);
  });
});
