import { beforeEach, expect, test } from 'vitest';
import type { Credential } from './credential.ts';
import { CredentialUnavailable, type IssuedCredential } from './credential-source.ts';
import { createTokenCache, type TokenCache } from './token-cache.ts';

const minute = 60_000;
const lifetime = 60 * minute;
let nowMs: number;
let cache: TokenCache;
let requests: number;

beforeEach(() => {
  nowMs = 1_000_000;
  requests = 0;
  cache = createTokenCache({ nowMs: () => nowMs });
});

const token = (text: string): Credential => ({ type: 'bearer', token: text });

/** Issues `token-1`, `token-2` and so on, each for an hour. */
async function issue(): Promise<IssuedCredential> {
  requests += 1;
  return { credential: token(`token-${requests}`), expiresAtMs: nowMs + lifetime };
}

async function refuse(): Promise<IssuedCredential> {
  requests += 1;
  throw new CredentialUnavailable('AWS STS answered 403 AccessDenied');
}

/** Lets a renewal that no call waits for come to its end. */
const settled = () => new Promise((resolve) => setImmediate(resolve));

test('returns a cached credential without a promise', async () => {
  expect(await cache.find('a', '1', issue)).toEqual(token('token-1'));
  expect(cache.find('a', '1', issue)).toEqual(token('token-1'));
  expect(requests).toBe(1);
});

test('two callers at once share one request', async () => {
  const [one, other] = [cache.find('a', '1', issue), cache.find('a', '1', issue)];
  expect(await Promise.all([one, other])).toEqual([token('token-1'), token('token-1')]);
  expect(requests).toBe(1);
});

test('two callers of different credentials do not share one', async () => {
  expect(await Promise.all([cache.find('a', '1', issue), cache.find('b', '1', issue)])).toEqual([
    token('token-1'),
    token('token-2'),
  ]);
});

test('renews a credential before it expires, and no call waits for it', async () => {
  await cache.find('a', '1', issue);
  nowMs += lifetime - 5 * minute - 1;
  expect(cache.find('a', '1', issue)).toEqual(token('token-1'));
  expect(requests).toBe(1);
  nowMs += 1;
  expect(cache.find('a', '1', issue)).toEqual(token('token-1'));
  expect(cache.find('a', '1', issue)).toEqual(token('token-1'));
  await settled();
  expect(cache.find('a', '1', issue)).toEqual(token('token-2'));
  expect(requests).toBe(2);
});

test('a renewal that fails leaves the old credential in use until it expires, and is recorded and repeated', async () => {
  await cache.find('a', '1', issue);
  const renewedAtMs = nowMs;
  nowMs += lifetime - minute;
  expect(cache.find('a', '1', refuse)).toEqual(token('token-1'));
  await settled();
  const failure = { atMs: nowMs, reason: 'AWS STS answered 403 AccessDenied' };
  expect(cache.state('a', '1')).toEqual({
    isFailing: true,
    renewedAtMs,
    expiresAtMs: renewedAtMs + lifetime,
    lastFailure: failure,
  });
  expect([cache.counts(), cache.totals()]).toEqual([
    { failing: 1, cached: 1 },
    { succeeded: 1, failed: 1 },
  ]);
  expect(cache.find('a', '1', refuse)).toEqual(token('token-1'));
  await settled();
  expect(requests, 'pauses between two renewals').toBe(2);
  nowMs += 15_000;
  expect(cache.find('a', '1', issue)).toEqual(token('token-1'));
  await settled();
  expect(cache.find('a', '1', issue)).toEqual(token('token-3'));
  expect(cache.state('a', '1'), 'the failure stays visible').toMatchObject({
    isFailing: false,
    lastFailure: failure,
  });
});

test('an expired credential is not used, also if no new one can be had', async () => {
  await cache.find('a', '1', issue);
  nowMs += lifetime;
  await expect(cache.find('a', '1', refuse)).rejects.toThrow('AccessDenied');
});

test('calls that follow a failure within a second fail at once, without another request', async () => {
  await expect(cache.find('a', '1', refuse)).rejects.toThrow(CredentialUnavailable);
  expect(() => cache.find('a', '1', refuse)).toThrow(CredentialUnavailable);
  expect(requests).toBe(1);
  nowMs += 1_000;
  expect(await cache.find('a', '1', issue)).toEqual(token('token-2'));
});

test('a service that keeps returning a credential which expires soon is not called each time', async () => {
  const soon = async () => ({ ...(await issue()), expiresAtMs: nowMs + 2 * 15_000 });
  await cache.find('a', '1', soon);
  nowMs += 15_000 - 1;
  cache.find('a', '1', soon);
  await settled();
  expect(requests).toBe(1);
  nowMs += 1;
  cache.find('a', '1', soon);
  await settled();
  expect(requests).toBe(2);
});

test('an unexpected error is recorded without its text', async () => {
  const secret = 'canary-9d1f';
  await expect(
    cache.find('a', '1', async () => {
      throw new Error(secret);
    }),
  ).rejects.toThrow(CredentialUnavailable);
  expect(JSON.stringify(cache.state('a', '1'))).not.toContain(secret);
});

test('another version replaces the credential and its state', async () => {
  await cache.find('a', '1', issue);
  expect(cache.state('a', '2')).toBeUndefined();
  expect(await cache.find('a', '2', issue)).toEqual(token('token-2'));
  expect([cache.state('a', '1'), cache.counts().cached]).toEqual([undefined, 1]);
});

test('a credential that was rejected is renewed by the next call, at most every 15 seconds', async () => {
  await cache.find('a', '1', issue);
  cache.renewEarly('a');
  expect(cache.find('a', '1', issue)).toEqual(token('token-1'));
  await settled();
  expect(requests, 'a credential that was just issued').toBe(1);
  nowMs += 15_000;
  cache.renewEarly('a');
  expect(cache.find('a', '1', issue)).toEqual(token('token-1'));
  await settled();
  expect(cache.find('a', '1', issue)).toEqual(token('token-2'));
});

test('keys that do not expire are not acquired again', async () => {
  const keys = () => ({ credential: token('fixed'), expiresAtMs: undefined });
  expect(cache.find('a', '1', keys)).toEqual(token('fixed'));
  nowMs += 365 * 24 * lifetime;
  cache.renewEarly('a');
  expect(cache.find('a', '1', issue)).toEqual(token('fixed'));
  expect(requests).toBe(0);
});
