import { mkdtemp, rm, stat, writeFile } from 'node:fs/promises';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, beforeEach, expect, test } from 'vitest';
import { Browser } from '../../../test/support/cookie-browser.ts';
import { hiddenFields, joinWithLink } from '../../../test/support/device-sign-in.ts';
import { useGatewayWorld } from '../../../test/support/gateway-world.ts';
import { baseOf } from './oauth-client.ts';
import { freshToken, login, logout, type SignInContext } from './sign-in-commands.ts';

const gateway = useGatewayWorld();
let base: string;
let file: string;
let people = 0;
let directory: string;

beforeAll(async () => {
  directory = await mkdtemp(join(tmpdir(), 'purser-sign-in-'));
  gateway.world.baseUrl = gateway.url;
  const { json } = await gateway.world.request('GET', `/v1/orgs/${gateway.org.id}`, {
    key: gateway.org.ownerKey,
  });
  base = `${gateway.url}/code/${json.slug}`;
});
afterAll(() => rm(directory, { recursive: true }));
beforeEach(() => {
  people += 1;
  file = join(directory, 'nested', `sign-ins-${people}.json`);
});

/** A machine whose person decides while the command waits. */
function machine(decision: 'approve' | 'deny' = 'approve'): SignInContext & { readonly lines: string[] } {
  const lines: string[] = [];
  return {
    file,
    lines,
    say: (line) => void lines.push(line),
    clock: {
      nowMs: () => gateway.world.clock.now().getTime(),
      async pause(ms) {
        const url =
          lines.map((line) => /http\S+/.exec(line)?.[0]).findLast((found) => found !== undefined) ?? '';
        await decideAt(url, decision);
        gateway.world.clock.advanceSeconds(ms / 1_000);
      },
    },
  };
}

async function decideAt(url: string, decision: string): Promise<void> {
  const browser = new Browser();
  people += 1;
  await joinWithLink(gateway.world, gateway.org, browser, { email: `cli-${people}@example.com` });
  const page = await browser.request(url);
  await browser.request(url.replace(/\?.*/, ''), {
    form: { ...hiddenFields(page), decision },
    origin: gateway.url,
  });
}

const callWith = async (token: string) =>
  (await fetch(`${base}/v1/models`, { headers: { authorization: `Bearer ${token}` } })).status;

test('signs in, stores the tokens for the owner of the file only, and prints a token that works', async () => {
  const context = machine();
  await login(context, `${base}/`);
  expect((await stat(file)).mode & 0o777).toBe(0o600);
  const token = await freshToken(context, undefined);
  expect(await callWith(token)).toBe(200);
  expect(await freshToken(context, base)).toBe(token);
  expect(context.lines.join('\n')).not.toContain(token);
});

test('renews a token that expires soon, also in several processes at once', async () => {
  const context = machine();
  await login(context, base);
  const first = await freshToken(context, undefined);
  gateway.world.clock.advanceSeconds(3_500);
  const tokens = await Promise.all([1, 2, 3].map(() => freshToken(context, undefined)));
  expect(new Set(tokens).size).toBe(1);
  expect(tokens[0]).not.toBe(first);
  expect(await callWith(tokens[0] ?? '')).toBe(200);
});

test('says that the person must sign in again once the sign-in has ended, and after signing out', async () => {
  const context = machine();
  await login(context, base);
  const token = await freshToken(context, undefined);
  await logout(context, undefined);
  expect(await callWith(token)).toBe(401);
  await expect(freshToken(context, undefined)).rejects.toThrow('Not signed in.');
  await login(context, base);
  gateway.world.clock.advanceSeconds(31 * 24 * 3_600);
  await expect(freshToken(context, undefined)).rejects.toThrow('The sign-in has ended.');
});

test('reports a rejected sign-in and stores nothing', async () => {
  const context = machine('deny');
  await expect(login(context, base)).rejects.toThrow('The sign-in was rejected.');
  await expect(freshToken(context, undefined)).rejects.toThrow('Not signed in.');
});

test('sends tokens neither unencrypted over a network nor to another host than the address', async () => {
  expect(() => baseOf('http://purser.example/code/acme')).toThrow('https');
  expect(() => baseOf('https://a:b@purser.example/code/acme')).toThrow('credentials');
  expect(baseOf('https://purser.example/code/acme/')).toBe('https://purser.example/code/acme');
  const server = createServer((_, response) => {
    const elsewhere = 'https://evil.example';
    response.end(
      JSON.stringify({ device_authorization_endpoint: `${elsewhere}/d`, token_endpoint: `${elsewhere}/t` }),
    );
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  const { port } = server.address() as AddressInfo;
  await expect(login(machine(), `http://127.0.0.1:${port}`)).rejects.toThrow('another host');
  server.close();
});

test('reports a damaged file', async () => {
  const context = machine();
  await login(context, base);
  await writeFile(file, '{');
  await expect(freshToken(context, undefined)).rejects.toThrow('damaged');
});
