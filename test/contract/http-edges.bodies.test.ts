/** Bodies that are too large, damaged, malformed or of the wrong type. */
import { brotliCompressSync, deflateSync, gzipSync } from 'node:zlib';
import { afterEach, beforeAll, describe, expect, it } from 'vitest';
import type { TestOrg } from '../harness.ts';
import { refusalIn, useEdgeWorld } from '../support/edge-world.ts';
import { exchange, type RawAnswer, RawClient, rawRequest } from '../support/raw-socket.ts';

const limitBytes = 4_096;
/** Larger than the kernel's buffers on both sides, so that the server must read. */
const hugeBytes = 8_000_000;
const edge = useEdgeWorld({ SVC_BODY_LIMIT_BYTES: String(limitBytes) });
let org: TestOrg;

beforeAll(async () => {
  org = await edge.world.createOrg();
});
afterEach(() => edge.checkHealthy());

async function post(
  body: string | Uint8Array,
  headers: readonly string[] = ['Content-Type: application/json'],
  target = '/v1/admin/orgs',
): Promise<RawAnswer | undefined> {
  const bytes = Buffer.from(body as Uint8Array);
  const head = [
    `Authorization: Bearer ${edge.world.operatorKey}`,
    ...headers,
    `Content-Length: ${bytes.length}`,
  ];
  const [answer, ...more] = await exchange(edge.port, rawRequest('POST', target, head), bytes);
  expect(more).toEqual([]);
  return answer;
}

const named = (name: string) => JSON.stringify({ name });

describe('content types', () => {
  it.each([
    [[], 'a missing one'],
    [['Content-Type: text/plain'], 'text'],
    [['Content-Type: application/x-www-form-urlencoded'], 'a form'],
    [['Content-Type: application/json; charset=iso-8859-1'], 'another charset'],
    [['Content-Type: application/json; charset=utf-16'], 'UTF-16'],
    [['Content-Type: application/jsonx'], 'a name that begins alike'],
    [['Content-Type: application/json, text/plain'], 'two at once'],
    [['Content-Type:'], 'an empty one'],
    [['Content-Type: application/json', 'Content-Encoding: zstd'], 'an unknown encoding'],
    [['Content-Type: application/json', 'Content-Encoding: gzip, gzip'], 'an encoding twice'],
    [['Content-Type: application/json', 'Content-Encoding: __proto__'], 'an encoding named like an internal'],
    [['Content-Type: application/json', 'Content-Encoding: constructor'], 'another of those'],
  ])('%j is rejected: %s', async (headers) => {
    expect(refusalIn(await post(named('x'), headers))).toBe(
      '422 validation_failed body:invalid_content_type',
    );
  });

  it.each([
    'application/json',
    'APPLICATION/JSON',
    'application/json; charset=utf-8',
    'application/json;charset="UTF-8"',
  ])('%s is accepted', async (type) => {
    expect((await post(named('x'), [`Content-Type: ${type}`]))?.status).toBe(201);
  });

  it('an optional body that is absent needs no content type', async () => {
    const suspend = `/v1/admin/orgs/${org.id}/suspend`;
    expect((await post('', [], suspend))?.status).toBe(200);
    expect((await post('', ['Content-Type: application/json'], suspend))?.status).toBe(409);
  });
});

describe('the content of the JSON', () => {
  const nested = (depth: number) => `{"name":${'['.repeat(depth)}${']'.repeat(depth)}}`;
  it.each([
    ['', 'body:invalid_json'],
    ['   ', 'body:invalid_json'],
    ['{"name":"x"', 'body:invalid_json'],
    ['{"name":"x"}}', 'body:invalid_json'],
    ["{'name':'x'}", 'body:invalid_json'],
    ['{"name":"x",}', 'body:invalid_json'],
    ['\ufeff{"name":"x"}', 'body:invalid_json'],
    ['{"name":"a\u0000b"}', 'body:invalid_json'],
    ['{"name":NaN}', 'body:invalid_json'],
    ['undefined', 'body:invalid_json'],
    ['[]', 'body:invalid_type'],
    ['[{"name":"x"}]', 'body:invalid_type'],
    ['null', 'body:invalid_type'],
    ['1', 'body:invalid_type'],
    ['"{}"', 'body:invalid_type'],
    ['true', 'body:invalid_type'],
    [nested(64), 'body:invalid_body'],
    [nested(2_000), 'body:invalid_body'],
    ['['.repeat(4_000), 'body:invalid_body'],
    ['{"a":'.repeat(800), 'body:invalid_body'],
    ['{"name":"a\\u0000b"}', 'name:invalid_value'],
    ['{"name":"\\ud800"}', 'name:invalid_value'],
    ['{"name":"\\udc00\\ud800"}', 'name:invalid_value'],
    ['{"name":"x","__proto__":{"slug":"y"}}', '__proto__:unknown_field'],
    ['{"name":"x","\\u005f_proto__":1}', '__proto__:unknown_field'],
    ['{"name":"x","constructor":1}', 'constructor:unknown_field'],
    ['{"name":"x","a\\u0000":1}', 'body:invalid_value'],
    ['{"name":1e999}', 'name:out_of_range'],
    ['{"name":"x","slug":12345678901234567890}', 'slug:out_of_range'],
    ['{"name":"x","name":"x"}', 'body:invalid_json'],
    ['{"name":"x","n\\u0061me":"y"}', 'body:invalid_json'],
    ['{"name":"x","slug":{"a":[{"b":1,"b":2}]}}', 'body:invalid_json, slug:invalid_type'],
    ['{"name":""}', 'name:empty'],
    ['{}', 'name:required'],
  ])('%j', async (text, found) => {
    expect(refusalIn(await post(text))).toBe(`422 validation_failed ${found}`);
  });

  it('63 levels of nesting below the body are accepted', async () => {
    expect(refusalIn(await post(nested(63)))).toBe('422 validation_failed name:invalid_type');
  });

  it.each([
    ['Latin-1', Buffer.from('{"name":"\xe9"}', 'latin1')],
    ['UTF-16', Buffer.from('{"name":"x"}', 'utf16le').subarray(0, 21)],
    ['an overlong form', Buffer.from('{"name":"\xc0\xaf"}', 'latin1')],
    ['an encoded surrogate', Buffer.from('{"name":"\xed\xa0\x80"}', 'latin1')],
  ])('%s is rejected as invalid UTF-8', async (what, bytes) => {
    const found = what === 'UTF-16' ? 'body:invalid_json' : 'body:invalid_body';
    expect(refusalIn(await post(bytes))).toBe(`422 validation_failed ${found}`);
  });

  it('escaped surrogate pairs and characters of every plane are accepted', async () => {
    const answer = await post('{"name":"\\ud83d\\ude00 \u{1f600} \u00e9"}');
    expect(JSON.parse(answer?.text ?? '').name).toBe('\u{1f600} \u{1f600} \u00e9');
  });

  it.each([
    ['2030-12-31T23:59:60Z', 'a leap second'],
    ['2030-12-31T23:59:59+01', 'an offset without minutes'],
    ['2030-12-31 23:59:59Z', 'a blank for the T'],
    ['2030-02-30T00:00:00Z', 'a day that is not'],
    ['2030-12-31T23:59:59', 'no offset'],
  ])('the time %s is rejected: %s', async (expires_at) => {
    const answer = await post(
      JSON.stringify({ name: 'x', expires_at }),
      ['Content-Type: application/json'],
      '/v1/admin/keys',
    );
    expect(refusalIn(answer)).toBe('422 validation_failed expires_at:invalid_format');
  });
});

describe('the declared length', () => {
  it('a truncated body is an error, which only an authenticated caller gets', async () => {
    const start = (headers: readonly string[]) =>
      rawRequest('POST', '/v1/admin/orgs', [...headers, 'Content-Length: 100'], '{"name":"x"}');
    expect((await exchange(edge.port, start(edge.operator))).map(refusalIn)).toEqual([
      '422 validation_failed body:invalid_body',
    ]);
    expect((await exchange(edge.port, start([]))).map(refusalIn)).toEqual(['401 unauthorized']);
  });

  it('nothing is created from a truncated body', async () => {
    const body = '{"name":"Cut","slug":"cut-short"}';
    const head = [...edge.operator, `Content-Length: ${body.length + 1}`];
    await exchange(edge.port, rawRequest('POST', '/v1/admin/orgs', head, body));
    const { json } = await edge.world.request('GET', '/v1/admin/orgs?slug=cut-short', {
      key: edge.world.operatorKey,
    });
    expect(json.data).toEqual([]);
  });

  it('a body of exactly the limit is accepted, one byte more is not', async () => {
    const padded = (bytes: number) => named('x').padEnd(bytes, ' ');
    expect((await post(padded(limitBytes)))?.status).toBe(201);
    expect(refusalIn(await post(padded(limitBytes + 1)))).toBe('413 payload_too_large');
  });
});

describe('a body over the limit: the client gets the 413, never a reset', () => {
  const huge = Buffer.alloc(hugeBytes, ' ');
  const framings = {
    declared: [[`Content-Length: ${hugeBytes}`], [huge]],
    chunked: [['Transfer-Encoding: chunked'], [`${hugeBytes.toString(16)}\r\n`, huge, '\r\n0\r\n\r\n']],
  } as const;
  const cases = Object.keys(framings).flatMap((framing) =>
    [true, false].flatMap((known) =>
      [true, false].flatMap((closing) =>
        [true, false].map((readLate) => ({
          framing: framing as keyof typeof framings,
          known,
          closing,
          readLate,
        })),
      ),
    ),
  );

  it.each(cases)(
    '$framing, known caller: $known, Connection: close: $closing, reads late: $readLate',
    async (c) => {
      const [headers, parts] = framings[c.framing];
      const head = rawRequest('POST', '/v1/admin/orgs', [
        ...(c.known ? edge.operator : ['Content-Type: application/json']),
        ...headers,
        ...(c.closing ? ['Connection: close'] : []),
      ]);
      const client = await RawClient.open(edge.port, { readLate: c.readLate });
      const sent = client.send(head, ...parts);
      if (c.readLate) {
        await sent;
      }
      expect(refusalIn(await client.answer())).toBe(c.known ? '413 payload_too_large' : '401 unauthorized');
      await sent;
      if (c.closing) {
        expect(await client.answersUntilClosed()).toEqual([]);
        return;
      }
      await client.send(edge.createOrg('Next on the same connection'));
      expect((await client.answer()).status).toBe(201);
      client.destroy();
    },
  );

  it('the error is sent before the end of the body', async () => {
    const client = await RawClient.open(edge.port);
    await client.send(rawRequest('POST', '/v1/admin/orgs', [...edge.operator, 'Content-Length: 1000000000']));
    expect(refusalIn(await client.answer())).toBe('413 payload_too_large');
    client.destroy();
  });

  it('a request pipelined after the rejected body is answered', async () => {
    const client = await RawClient.open(edge.port);
    const head = rawRequest('POST', '/v1/admin/orgs', [...edge.operator, `Content-Length: ${hugeBytes}`]);
    void client.send(head, huge, rawRequest('GET', '/healthz'));
    expect(refusalIn(await client.answer())).toBe('413 payload_too_large');
    expect((await client.answer()).status).toBe(200);
    client.destroy();
  });
});

describe('compressed bodies', () => {
  const codings = { gzip: gzipSync, 'x-gzip': gzipSync, deflate: deflateSync, br: brotliCompressSync };
  const names = Object.keys(codings) as (keyof typeof codings)[];
  const coded = (name: string, bytes: Uint8Array) =>
    post(bytes, ['Content-Type: application/json', `Content-Encoding: ${name}`]);

  it.each(names)('%s is decompressed', async (name) => {
    expect((await coded(name, codings[name](named('Packed'))))?.status).toBe(201);
    expect((await coded(name.toUpperCase(), codings[name](named('Packed'))))?.status).toBe(201);
  });

  it.each(names)(
    '%s that exceeds the limit after decompression is 413, and the connection stays open',
    async (name) => {
      const bomb = codings[name](Buffer.alloc(hugeBytes, ' '));
      const client = await RawClient.open(edge.port);
      const coding = [...edge.operator, `Content-Encoding: ${name}`, 'Transfer-Encoding: chunked'];
      await client.send(
        rawRequest('POST', '/v1/admin/orgs', coding),
        `${bomb.length.toString(16)}\r\n`,
        bomb,
      );
      expect(refusalIn(await client.answer())).toBe('413 payload_too_large');
      await client.send('\r\n0\r\n\r\n', edge.createOrg('Next'));
      expect((await client.answer()).status).toBe(201);
      client.destroy();
    },
  );

  it.each(names)('%s that is truncated, damaged, empty or not compressed is invalid_body', async (name) => {
    const whole = codings[name](named('a name that is long enough to be cut'));
    const damaged = Buffer.from(whole);
    damaged.fill(0xff, 4, 20);
    for (const bytes of [whole.subarray(0, -9), damaged, Buffer.alloc(0), Buffer.from(named('plain'))]) {
      expect(refusalIn(await coded(name, bytes))).toBe('422 validation_failed body:invalid_body');
    }
  });
});

describe('Idempotency-Key', () => {
  it.each([
    ['', 'empty'],
    ['a'.repeat(256), '256 characters'],
    ['caf\xe9', 'not ASCII'],
    ['a\tb', 'a tab'],
  ])('%j is rejected: %s', async (key) => {
    const request = rawRequest(
      'POST',
      '/v1/admin/orgs',
      [...edge.operator, `Idempotency-Key: ${key}`, 'Content-Length: 12'],
      named('x'),
    );
    const answers = await exchange(edge.port, Buffer.from(request, 'latin1'));
    expect(answers.map(refusalIn)).toEqual(['422 validation_failed Idempotency-Key:invalid_format']);
  });

  it('255 printable characters are accepted', async () => {
    const headers = ['Content-Type: application/json', `Idempotency-Key: ${'~'.repeat(255)}`];
    const first = await post(named('Once'), headers);
    expect(first?.status).toBe(201);
    expect((await post(named('Once'), headers))?.text).toBe(first?.text);
  });
});
