import { once } from 'node:events';
import { createServer, type IncomingHttpHeaders } from 'node:http';
import type { AddressInfo } from 'node:net';
import { afterEach, expect, test } from 'vitest';
import { createApi } from './running-service.ts';

const requests: IncomingHttpHeaders[] = [];
let statuses: number[] = [];
const server = createServer((request, response) => {
  requests.push(request.headers);
  const status = statuses.shift() ?? 200;
  response.writeHead(status, { 'content-type': 'application/json', 'retry-after': '0' });
  response.end(JSON.stringify(status === 200 ? { ok: true } : { error: { message: 'Busy.', details: {} } }));
});
afterEach(() => {
  requests.length = 0;
  server.close();
});

async function api() {
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  return createApi(`http://127.0.0.1:${(server.address() as AddressInfo).port}`);
}

test('repeats a request that the service is too busy for, with the same idempotency key', async () => {
  statuses = [503, 429];
  expect(await (await api())('key', 'POST', '/v1/runs', { model: 'm' })).toEqual({ ok: true });
  const keys = requests.map((headers) => headers['idempotency-key']);
  expect(keys).toEqual([expect.stringMatching(/^[0-9a-f-]{36}$/), keys[0], keys[0]]);
});

test('reports the last response of a service that stays busy, and every other error at once', async () => {
  const call = await api();
  statuses = Array.from({ length: 10 }, () => 503);
  await expect(call('key', 'GET', '/v1/orgs')).rejects.toThrow('returned 503: Busy.');
  expect(requests).toHaveLength(6);
  statuses = [422];
  await expect(call('key', 'POST', '/v1/orgs', {})).rejects.toThrow('returned 422: Busy.');
  expect(requests).toHaveLength(7);
});
