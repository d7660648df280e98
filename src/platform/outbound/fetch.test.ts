import { once } from 'node:events';
import { createServer, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { createOutboundFetch } from './fetch.ts';

let server: Server;
let url: string;
beforeAll(async () => {
  server = createServer((request, response) => {
    if (request.url === '/large') {
      response.end(Buffer.alloc(2_000_000));
    } else if (request.url === '/redirect') {
      response.writeHead(302, { location: `${url}/` }).end();
    } else {
      request.pipe(response.writeHead(200, { 'content-type': 'text/plain' }));
    }
  });
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  url = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
});
afterAll(() => {
  server.closeAllConnections();
  server.close();
});

const inside = createOutboundFetch({ allowPrivateNetworks: true });

test('sends the request and returns the response', async () => {
  const answer = await inside(`${url}/`, { method: 'POST', body: new URLSearchParams({ a: 'b' }) });
  expect([answer.status, answer.headers.get('content-type'), await answer.text()]).toEqual([
    200,
    'text/plain',
    'a=b',
  ]);
});

test('does not follow redirects, and rejects responses that are too large', async () => {
  expect((await inside(`${url}/redirect`, {})).status).toBe(302);
  await expect(inside(`${url}/large`, {})).rejects.toThrow('more than');
  const patient = createOutboundFetch({ allowPrivateNetworks: true, bytesMax: 2_000_000 });
  expect((await (await patient(`${url}/large`, {})).arrayBuffer()).byteLength).toBe(2_000_000);
});

test('does not connect to private networks, by address or by name', async () => {
  const resolve = async () => [{ address: '127.0.0.1', family: 4 }];
  const outside = createOutboundFetch({ allowPrivateNetworks: false, resolve });
  for (const target of [url, 'http://[::1]/', 'http://169.254.169.254/', 'https://rebinding.example/']) {
    await expect(outside(target, {}), target).rejects.toThrow(/allowed/);
  }
});

test('a name of a metadata service is not connected to, also where private networks are allowed', async () => {
  const resolve = async () => [{ address: '169.254.169.254', family: 4 }];
  const within = createOutboundFetch({ allowPrivateNetworks: true, resolve });
  await expect(within('http://metadata.example/', {})).rejects.toThrow(/not allowed/);
});
