/** Forms are read before the visitor is identified: they are small, and never compressed. */
import { brotliCompressSync, deflateSync, gzipSync } from 'node:zlib';
import { describe, expect, it } from 'vitest';
import { refusalIn, useEdgeWorld } from '../support/edge-world.ts';
import { exchange, type RawAnswer, rawRequest } from '../support/raw-socket.ts';

const edge = useEdgeWorld();

async function post(target: string, body: Uint8Array, headers: readonly string[] = []): Promise<RawAnswer> {
  const head = [
    'Content-Type: application/x-www-form-urlencoded',
    `Content-Length: ${body.length}`,
    ...headers,
  ];
  const [answer, ...more] = await exchange(edge.port, rawRequest('POST', target, head), body);
  expect(more).toEqual([]);
  return answer as RawAnswer;
}

const pages = ['/console/login', '/console/theme', '/console/support', '/sso/callback'];

describe.each(pages)('%s', (target) => {
  it('rejects a compressed form', async () => {
    const many = Buffer.from('a&'.repeat(520_000));
    for (const [coding, packed] of [
      ['gzip', gzipSync(many)],
      ['deflate', deflateSync(many)],
      ['br', brotliCompressSync(many)],
    ] as const) {
      expect((await post(target, packed, [`Content-Encoding: ${coding}`])).status).toBe(422);
    }
    const small = gzipSync('theme=dark');
    expect((await post(target, small, ['Content-Encoding: gzip'])).status).toBe(422);
  });

  it('accepts at most 16 KiB', async () => {
    const form = (bytes: number) => Buffer.from('key=x&ticket=x&token='.padEnd(bytes, 'x'));
    expect((await post(target, form(16_384))).status).not.toBe(413);
    expect((await post(target, form(16_385))).status).toBe(413);
  });

  it('accepts at most 1000 fields', async () => {
    const form = (fields: number) => Buffer.from(Array(fields).fill('a').join('&'));
    expect((await post(target, form(1_000))).status).not.toBe(422);
    expect((await post(target, form(1_001))).status).toBe(422);
  });
});

describe('a query string with more than 100 parameters is rejected', () => {
  const query = (count: number) => Array(count).fill('a=1').join('&');

  it('a query string with more than 100 parameters is rejected by routes', async () => {
    const get = (count: number) => exchange(edge.port, rawRequest('GET', `/v1/meta/errors?${query(count)}`));
    expect((await get(100)).map(refusalIn)).toEqual(['422 validation_failed a:unknown_field']);
    expect((await get(101)).map(refusalIn)).toEqual(['400 bad_request']);
  });

  it('a query string with more than 100 parameters is rejected by pages', async () => {
    const get = async (count: number) =>
      (await exchange(edge.port, rawRequest('GET', `/console/login?${query(count)}`))).map(
        ({ status }) => status,
      );
    expect(await get(100)).toEqual([200]);
    expect(await get(101)).toEqual([400]);
  });
});
