import { expect, test } from 'vitest';
import { FakeClock } from '../../../../test/harness.ts';
import { answerBytesMax } from '../../../platform/outbound/fetch.ts';
import { createDiscovery, type Discovery } from './discovery.ts';

/**
 * Returns a discovery whose issuers serve metadata with these additional fields; `asked` lists the requested issuers.
 */
function discoveryWith(more: object = {}): { discovery: Discovery; asked: string[]; clock: FakeClock } {
  const asked: string[] = [];
  const clock = new FakeClock();
  const discovery = createDiscovery({
    clock,
    allowPrivateNetworks: false,
    async fetch(url) {
      const issuer = new URL(url).origin;
      asked.push(issuer);
      return Response.json({
        issuer,
        authorization_endpoint: `${issuer}/authorize`,
        token_endpoint: `${issuer}/token`,
        jwks_uri: `${issuer}/keys`,
        ...more,
      });
    },
  });
  return { discovery, asked, clock };
}
const issuer = (n: number) => `https://idp-${n}.example`;

test('keeps the fields that are used and nothing else', async () => {
  const { discovery } = discoveryWith({
    claims_supported: Array.from({ length: 3_000 }, (_, n) => `claim ${n}`),
    other: 'a'.repeat(10_000),
  });
  const metadata = await discovery.metadataOf(issuer(1));
  expect(Object.keys(metadata)).toEqual(['issuer', 'authorization_endpoint', 'token_endpoint', 'jwks_uri']);
});

test('refuses metadata whose used fields are larger than any honest ones', async () => {
  const { discovery } = discoveryWith({ token_endpoint: `https://a.example/${'a'.repeat(8_192)}` });
  await expect(discovery.metadataOf(issuer(1))).rejects.toThrow('more than 8192 bytes');
  expect(discovery.entries).toBe(0);
});

test.each([
  ['objects', JSON.stringify({ a: Array.from({ length: 4_000 }, () => ({})) })],
  ['members', JSON.stringify(Object.fromEntries(Array.from({ length: 4_001 }, (_, n) => [n, 0])))],
  ['depth', '['.repeat(4_001) + ']'.repeat(4_001)],
])('refuses a document of very many values before it is parsed: %s', async (_, text) => {
  expect(text.length).toBeLessThan(answerBytesMax);
  const fetch = async () => new Response(text, { headers: { 'content-type': 'application/json' } });
  const discovery = createDiscovery({ clock: new FakeClock(), allowPrivateNetworks: false, fetch });
  await expect(discovery.metadataOf(issuer(1))).rejects.toMatchObject({
    cause: { message: 'the provider answered more than 4000 values' },
  });
});

test('counts commas and brackets inside strings as text', async () => {
  const { discovery } = discoveryWith({ text: `${',[{'.repeat(2_000)}\\",` });
  expect((await discovery.metadataOf(issuer(1))).issuer).toBe(issuer(1));
});

test('asks each issuer once a minute, however many sign in', async () => {
  const { discovery, asked, clock } = discoveryWith();
  await Promise.all(Array.from({ length: 50 }, () => discovery.metadataOf(issuer(1))));
  clock.advanceSeconds(59);
  await discovery.metadataOf(issuer(1));
  expect(asked).toHaveLength(1);
  clock.advanceSeconds(1);
  await discovery.metadataOf(issuer(1));
  expect(asked).toHaveLength(2);
});

test('keeps the 1,000 issuers that were used last, and drops those that have expired', async () => {
  const { discovery, asked, clock } = discoveryWith();
  for (let n = 0; n < 1_000; n += 1) {
    await discovery.metadataOf(issuer(n));
  }
  await discovery.metadataOf(issuer(0));
  expect([discovery.entries, asked.length]).toEqual([1_000, 1_000]);
  await discovery.metadataOf(issuer(1_000));
  expect(discovery.entries).toBe(1_000);
  await discovery.metadataOf(issuer(0));
  expect(asked.length, 'used last').toBe(1_001);
  await discovery.metadataOf(issuer(1));
  expect(asked.length, 'the least recently used').toBe(1_002);
  clock.advanceSeconds(60);
  await discovery.metadataOf(issuer(2));
  expect(discovery.entries).toBe(1);
});
