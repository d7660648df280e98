import { once } from 'node:events';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { createServer, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { readSource } from './read-source.ts';

let server: Server;
let url: string;
let folder: string;
beforeAll(async () => {
  folder = mkdtempSync(join(tmpdir(), 'read-source-'));
  server = createServer((request, response) => {
    if (request.url === '/list.json') {
      response.end('{"a": "ä"}');
    } else if (request.url === '/moved') {
      response.writeHead(302, { location: '/list.json' }).end();
    } else {
      response.writeHead(404).end();
    }
  });
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  url = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
});
afterAll(() => {
  server.closeAllConnections();
  server.close();
  rmSync(folder, { recursive: true });
});

test('reads a file', async () => {
  const file = join(folder, 'list.json');
  writeFileSync(file, '{"a": "ä"}');
  expect(await readSource(file, false)).toBe('{"a": "ä"}');
  await expect(readSource(`${file}.missing`, false)).rejects.toThrow('ENOENT');
  writeFileSync(file, Buffer.from([0x7b, 0xff, 0x7d]));
  await expect(readSource(file, false)).rejects.toThrow('not UTF-8');
});

test('reads a URL, and says why if it cannot', async () => {
  expect(await readSource(`${url}/list.json`, true)).toBe('{"a": "ä"}');
  await expect(readSource(`${url}/none.json`, true)).rejects.toThrow('none.json returned 404');
  await expect(readSource(`${url}/moved`, true)).rejects.toThrow('returned 302; redirects are not followed');
});

test.each([
  ['http://prices.example/list.json', 'must start with https://'],
  ['https://user:secret@prices.example/list.json', 'must not contain credentials'],
  ['https://127.0.0.1/list.json', 'could not be downloaded: 127.0.0.1 is not allowed'],
  ['https://[::1]/list.json', 'is not allowed'],
  ['https://', 'is not a URL'],
])('does not fetch %s', async (source, message) => {
  await expect(readSource(source, false)).rejects.toThrow(message);
});
