/** Requests that Node's parser rejects, requests that arrive in pieces, and the order of responses on a connection. */
import { EventEmitter, once } from 'node:events';
import type { Server } from 'node:http';
import type { AddressInfo, Socket } from 'node:net';
import { afterEach, describe, expect, it } from 'vitest';
import { createHttpServer } from '../../src/platform/http/server/server.ts';
import { createLog } from '../../src/platform/log.ts';
import { refusalIn, useEdgeWorld } from '../support/edge-world.ts';
import { exchange, RawClient, rawRequest } from '../support/raw-socket.ts';

const edge = useEdgeWorld();

afterEach(async () => {
  edge.world.fault = undefined;
  await edge.checkHealthy();
});

/** Latin-1, so that a test can write any byte. */
const bytes = (text: string) => Buffer.from(text, 'latin1');
const chunked = (...headers: string[]) =>
  rawRequest('POST', '/v1/admin/orgs', [...headers, 'Transfer-Encoding: chunked']);

describe('malformed HTTP gets 400, and no further response', () => {
  const malformed: Record<string, string> = {
    'a garbage request line': 'asdf asdf asdf\r\n\r\n',
    'random bytes': '\x00\x01\xfe\xff\x16\x03\x01',
    'a TLS hello': '\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03',
    'an HTTP/2 preface': 'PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n',
    'a version from the future': 'GET /v1/meta/errors HTTP/3.0\r\nHost: x\r\n\r\n',
    'an unknown method': rawRequest('FROBNICATE', '/v1/meta/errors'),
    'a raw byte above ASCII in the target': rawRequest('GET', '/v1/orgs/\xff'),
    'a control character in the target': rawRequest('GET', '/v1/orgs/\x01'),
    'a missing Host': 'GET /v1/meta/errors HTTP/1.1\r\n\r\n',
    'two Hosts': 'GET /v1/meta/errors HTTP/1.1\r\nHost: x\r\nHost: y\r\n\r\n',
    'NUL in a header': rawRequest('GET', '/v1/meta/errors', ['X-A: a\0b']),
    'a control character in a header': rawRequest('GET', '/v1/meta/errors', ['X-A: a\x01b']),
    'a blank in a header name': rawRequest('GET', '/v1/meta/errors', ['X A: b']),
    'a header without colon': rawRequest('GET', '/v1/meta/errors', ['nonsense']),
    'a head that ends early': 'GET /v1/meta/errors HTTP/1.1\r\nHost: x',
    'headers of 20 KB': rawRequest('GET', '/v1/meta/errors', [`X-A: ${'a'.repeat(20_000)}`]),
    'a target of 20 KB': rawRequest('GET', `/v1/${'a'.repeat(20_000)}`),
    'a length that is no number': rawRequest('POST', '/v1/admin/orgs', ['Content-Length: x']),
    'a negative length': rawRequest('POST', '/v1/admin/orgs', ['Content-Length: -1']),
    'a length beyond all numbers': rawRequest('POST', '/v1/admin/orgs', [
      'Content-Length: 99999999999999999999',
    ]),
    'two lengths': rawRequest('POST', '/v1/admin/orgs', ['Content-Length: 1', 'Content-Length: 2'], '{}'),
    'a length and chunks': `${chunked('Content-Length: 5')}0\r\n\r\n`,
    'chunks and a length': rawRequest(
      'POST',
      '/v1/admin/orgs',
      ['Transfer-Encoding: chunked', 'Content-Length: 5'],
      '0\r\n\r\n',
    ),
    'chunks that are not the last coding': rawRequest('POST', '/v1/admin/orgs', [
      'Transfer-Encoding: chunked, gzip',
    ]),
    'a coding before chunks': `${rawRequest('POST', '/v1/admin/orgs', ['Transfer-Encoding: gzip, chunked'])}0\r\n\r\n`,
    'chunks twice': `${rawRequest('POST', '/v1/admin/orgs', ['Transfer-Encoding: chunked, chunked'])}0\r\n\r\n`,
    'a coding before chunks in lines of their own': `${rawRequest('POST', '/v1/admin/orgs', [
      'Transfer-Encoding: identity',
      'Transfer-Encoding: chunked',
    ])}0\r\n\r\n`,
    'no coding at all': rawRequest('POST', '/v1/admin/orgs', ['Transfer-Encoding: identity']),
    'two keys': rawRequest('GET', '/v1/runs', ['Authorization: Bearer a', 'Authorization: Bearer b']),
    'the same key twice': rawRequest('GET', '/v1/runs', [
      'Authorization: Bearer a',
      'Authorization: Bearer a',
    ]),
    'an unknown Expect': rawRequest('GET', '/v1/meta/errors', ['Expect: tea']),
  };
  it.each(Object.entries(malformed))('%s', async (_, request) => {
    const answers = await exchange(edge.port, bytes(request));
    expect(answers.map(refusalIn)).toEqual(['400 bad_request']);
  });

  it.each(['zz\r\n', '-1\r\n', '5\r\nabc', '3\r\nabcdef\r\n', '3\nabc\n'])(
    'chunks that break with %j: 400 or a truncated body for an authenticated caller, else 401',
    async (chunks) => {
      const [known, ...more] = await exchange(edge.port, chunked(...edge.operator), chunks);
      const cutShort = chunks === '5\r\nabc';
      expect(refusalIn(known)).toBe(cutShort ? '422 validation_failed body:invalid_body' : '400 bad_request');
      expect(more).toEqual([]);
      const answers = await exchange(edge.port, chunked(), chunks);
      expect(answers.map(refusalIn)).toEqual(['401 unauthorized']);
    },
  );

  it.each(['gzip, chunked', 'chunked, chunked', 'identity, chunked'])(
    'a request with the transfer coding %s is rejected before its caller is identified, and closes the connection',
    async (coding) => {
      const client = await RawClient.open(edge.port);
      const head = rawRequest('POST', '/v1/admin/orgs', [...edge.operator, `Transfer-Encoding: ${coding}`]);
      await client.send(head, '2\r\n{}\r\n0\r\n\r\n', edge.createOrg('Smuggled'));
      const answers = await client.answersUntilClosed();
      expect(answers.map(refusalIn)).toEqual(['400 bad_request']);
      expect(answers[0]?.headers.connection).toBe('close');
    },
  );

  it('the transfer coding is case-insensitive', async () => {
    const head = rawRequest('POST', '/v1/admin/orgs', [...edge.operator, 'Transfer-Encoding: CHUNKED']);
    const [answer] = await exchange(edge.port, head, 'c\r\n{"name":"x"}\r\n0\r\n\r\n');
    expect(answer?.status).toBe(201);
  });

  it('endless chunk extensions are rejected', async () => {
    const answers = await exchange(edge.port, chunked(...edge.operator), `1;${'a'.repeat(40_000)}\r\n`);
    expect(answers.map(refusalIn)).toEqual(['413 payload_too_large']);
  });

  it('a client that sends megabytes of headers before it reads gets the response, not a reset', async () => {
    const client = await RawClient.open(edge.port, { readLate: true });
    await client.send('GET /v1/meta/errors HTTP/1.1\r\nX-A: ', Buffer.alloc(8_000_000, 'a'));
    expect((await client.answersUntilClosed()).map(refusalIn)).toEqual(['400 bad_request']);
  });

  it('blank lines alone get no response', async () => {
    expect(await exchange(edge.port, '\r\n\r\n')).toEqual([]);
    expect((await exchange(edge.port, '\r\n', rawRequest('GET', '/healthz')))[0]?.status).toBe(200);
  });

  it('HTTP/1.0 needs no Host header, and its connection closes', async () => {
    const client = await RawClient.open(edge.port);
    await client.send('GET /v1/nothing HTTP/1.0\r\n\r\n');
    expect((await client.answersUntilClosed()).map(refusalIn)).toEqual(['404 not_found']);
  });
});

describe('Expect: 100-continue', () => {
  const body = JSON.stringify({ name: 'Patient' });
  const patient = (headers: readonly string[], length = body.length) =>
    rawRequest('POST', '/v1/admin/orgs', [...headers, 'Expect: 100-continue', `Content-Length: ${length}`]);

  it('100 Continue is sent once the caller is identified', async () => {
    const client = await RawClient.open(edge.port);
    await client.send(patient(edge.operator));
    expect(await client.answer()).toMatchObject({ status: 100, text: '' });
    await client.send(body);
    expect((await client.answer()).status).toBe(201);
    await client.send(edge.createOrg('On the same connection'));
    expect((await client.answer()).status).toBe(201);
    client.destroy();
  });

  it.each([
    ['no token', [], '401 unauthorized'],
    ['a bad token', ['Authorization: Bearer nonsense'], '401 unauthorized'],
  ])(
    'with %s the error is sent instead of 100 Continue, and the connection closes',
    async (_, headers, refusal) => {
      const client = await RawClient.open(edge.port);
      await client.send(patient(headers));
      const answers = await client.answersUntilClosed();
      expect(answers.map(refusalIn)).toEqual([refusal]);
      // After this response the client may or may not send its body, so only a new connection is unambiguous.
      expect(answers[0]?.headers.connection).toBe('close');
    },
  );

  it('a body declared too large is rejected without 100 Continue', async () => {
    const client = await RawClient.open(edge.port);
    await client.send(patient(edge.operator, 1_000_000_000));
    expect((await client.answersUntilClosed()).map(refusalIn)).toEqual(['413 payload_too_large']);
  });

  it('a client that does not wait for 100 Continue and is rejected while it sends gets the error', async () => {
    const client = await RawClient.open(edge.port, { readLate: true });
    await client.send(patient([], 8_000_000), Buffer.alloc(8_000_000, ' '));
    expect((await client.answersUntilClosed()).map(refusalIn)).toEqual(['401 unauthorized']);
  });

  it('HTTP/1.0 clients get no interim response', async () => {
    const request = patient(edge.operator).replace('HTTP/1.1', 'HTTP/1.0');
    expect((await exchange(edge.port, request, body)).map(({ status }) => status)).toEqual([201]);
  });
});

describe('several requests on one connection', () => {
  it('several requests on one connection are answered in their order, even if the first is slow', async () => {
    const client = await RawClient.open(edge.port);
    await client.send(
      edge.createOrg('First'),
      rawRequest('GET', '/v1/nothing'),
      edge.createOrg('Third'),
      rawRequest('GET', '/healthz'),
    );
    const statuses = [];
    for (let i = 0; i < 4; i += 1) {
      statuses.push((await client.answer()).status);
    }
    expect(statuses).toEqual([201, 404, 201, 200]);
    client.destroy();
  });

  const unreadable: Record<string, [string, string]> = {
    garbage: ['garbage\r\n\r\n', '400 bad_request'],
    'a broken chunk': ['(chunk)', '400 bad_request'],
    CONNECT: [rawRequest('CONNECT', 'x:1'), '404 not_found'],
    'half a head': ['GET /v1', '400 bad_request'],
  };
  it.each(Object.entries(unreadable))(
    'a valid request is answered if %s follows',
    async (_, [bad, refusal]) => {
      const text = bad === '(chunk)' ? `${chunked(...edge.operator)}zz\r\n` : bad;
      const [good, ...rest] = await exchange(edge.port, edge.createOrg('Good'), text);
      expect(good?.status).toBe(201);
      expect(JSON.parse(good?.text ?? '').name).toBe('Good');
      expect(rest.map(refusalIn)).toEqual([refusal]);
    },
  );

  it.each(['garbage\r\n\r\n', rawRequest('CONNECT', 'x:1')])(
    'a valid request in progress is answered if %j follows',
    async (bad) => {
      const signals = new EventEmitter();
      const begun = once(signals, 'begun');
      const released = once(signals, 'released');
      edge.world.fault = async (point) => {
        if (point === 'handler') {
          signals.emit('begun');
          await released;
        }
      };
      const client = await RawClient.open(edge.port);
      await client.send(edge.createOrg('Held'));
      await begun;
      await client.send(bad);
      // A complete exchange on another connection: by then the server has read what this client sent before.
      expect((await exchange(edge.port, rawRequest('GET', '/healthz')))[0]?.status).toBe(200);
      expect(client.unread).toBe('');
      signals.emit('released');
      const [good, ...rest] = await client.answersUntilClosed();
      expect(good?.status).toBe(201);
      expect(rest.map(refusalIn)).toEqual([bad.startsWith('CONNECT') ? '404 not_found' : '400 bad_request']);
    },
  );

  it('a request that was rejected early gets no second response if its body then breaks', async () => {
    const client = await RawClient.open(edge.port);
    await client.send(chunked(), '3\r\nabc\r\n');
    expect(refusalIn(await client.answer())).toBe('401 unauthorized');
    await client.send('zz\r\n');
    expect(await client.answersUntilClosed()).toEqual([]);
  });

  it('a broken body does not cost the earlier request its response', async () => {
    // The second request is rejected at once, and truncated while the first is in progress.
    const cut = rawRequest('POST', '/v1/admin/orgs', ['Content-Length: 5'], 'a');
    const [good, ...rest] = await exchange(edge.port, edge.createOrg('Good'), cut);
    expect(good?.status).toBe(201);
    expect(rest.map(refusalIn)).toEqual(['401 unauthorized']);
  });

  it('bytes after a request with Connection: close are ignored', async () => {
    const last = rawRequest('GET', '/v1/nothing', ['Connection: close']);
    for (const more of ['garbage\r\n\r\n', edge.createOrg('Too late')]) {
      expect((await exchange(edge.port, last, more)).map(refusalIn)).toEqual(['404 not_found']);
    }
  });

  it('bytes after an upgrade header are ignored, since the next request cannot be found', async () => {
    const inner = edge.createOrg('Smuggled');
    const client = await RawClient.open(edge.port);
    const offer = rawRequest('GET', '/healthz', ['Connection: Upgrade', 'Upgrade: h2c']);
    const head = rawRequest('POST', '/v1/runs', [`Content-Length: ${inner.length}`]);
    await client.send(offer, head);
    await client.send(inner);
    const answers = await client.answersUntilClosed();
    expect(answers.map(({ status, headers }) => [status, headers.connection])).toEqual([[200, 'close']]);
  });

  it('several requests on one connection are processed one at a time: a client that reads no responses costs the memory of one', async () => {
    let begun = 0;
    const body = 'x'.repeat(2_000_000);
    const server = createHttpServer((_request, response) => {
      begun += 1;
      response.end(body);
    }, createLog('silent'));
    server.listen(0, '127.0.0.1');
    await once(server, 'listening');
    const client = await RawClient.open((server.address() as AddressInfo).port, { readLate: true });
    const count = 60;
    await client.send(rawRequest('GET', '/').repeat(count));
    // Complete exchanges on other connections: by then the server has read what this client sent before.
    for (let i = 0; i < 5; i += 1) {
      await exchange(edge.port, rawRequest('GET', '/healthz'));
    }
    expect(begun).toBeLessThan(10);
    const sizes = (await client.halfClose().answersUntilClosed()).map(({ text }) => text.length);
    expect(sizes).toEqual(Array.from({ length: count }, () => body.length));
    server.close();
  });

  it('a client that half-closes after its request still gets the response', async () => {
    expect((await exchange(edge.port, edge.createOrg('Half'))).map(({ status }) => status)).toEqual([201]);
  });

  it('a request that arrives byte by byte is answered', async () => {
    const client = await RawClient.open(edge.port);
    for (const byte of bytes(edge.createOrg('Slow'))) {
      await client.send(Uint8Array.of(byte));
    }
    expect((await client.answer()).status).toBe(201);
    client.destroy();
  });
});

describe('connections do not outlive their clients', () => {
  async function withServer(test: (server: Server, port: number) => Promise<void>): Promise<void> {
    const server = createHttpServer(edge.world.app.handler, createLog('silent'));
    server.listen(0, '127.0.0.1');
    await once(server, 'listening');
    try {
      await test(server, (server.address() as AddressInfo).port);
    } finally {
      server.closeAllConnections();
      server.close();
    }
  }

  it.each([
    ['garbage', 'garbage\r\n\r\n'],
    ['CONNECT', rawRequest('CONNECT', 'x:1')],
    [
      'a rejected expectation',
      rawRequest('POST', '/v1/admin/orgs', ['Expect: 100-continue', 'Content-Length: 5']),
    ],
    ['a body cut short', rawRequest('POST', '/v1/admin/orgs', ['Content-Length: 5'], 'a')],
  ])('connections do not outlive their clients after %s', async (_, request) => {
    await withServer(async (server, port) => {
      const accepted = once(server, 'connection') as Promise<[Socket]>;
      const answering = exchange(port, request);
      const [socket] = await accepted;
      const closed = once(socket, 'close');
      expect(await answering).toHaveLength(1);
      await closed;
    });
  });

  it.each([
    ['in its head', 'GET /v1/meta', '400 bad_request'],
    ['in its body', '(body)', '400 bad_request'],
    [
      'in the body of a rejected request',
      rawRequest('POST', '/v1/admin/orgs', ['Content-Length: 5']),
      '401 unauthorized',
    ],
  ])('a request that stalls %s times out', async (_, start, refusal) => {
    await withServer(async (server, port) => {
      const accepted = once(server, 'connection') as Promise<[Socket]>;
      const client = await RawClient.open(port);
      const [socket] = await accepted;
      await client.send(
        start === '(body)'
          ? rawRequest('POST', '/v1/admin/orgs', [...edge.operator, 'Content-Length: 5'], 'a')
          : start,
      );
      await exchange(port, rawRequest('GET', '/healthz'));
      // Emits what Node's timer emits when a request is too old. Waiting for the timer would take 20 seconds.
      server.emit(
        'clientError',
        Object.assign(new Error('late'), { code: 'ERR_HTTP_REQUEST_TIMEOUT' }),
        socket,
      );
      expect((await client.answersUntilClosed()).map(refusalIn)).toEqual([refusal]);
    });
  });
});
