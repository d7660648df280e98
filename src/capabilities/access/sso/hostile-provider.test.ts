/** Identity providers that respond with bytes that no real provider sends, at each URL that a sign-in requests. */
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { useWorld } from '../../../../test/harness.ts';
import { Browser } from '../../../../test/support/cookie-browser.ts';
import {
  hostileAnswers,
  type UncaughtErrors,
  watchUncaughtErrors,
} from '../../../../test/support/hostile-answers.ts';
import { type OidcIdp, startOidcProvider } from '../../../../test/support/oidc-provider.ts';

const world = useWorld({ SVC_WEBHOOK_ALLOW_PRIVATE_NETWORKS: 'true', SVC_AUTH_BACKOFF_ATTEMPTS: '1000' });
let url: string;
let loginUrl: string;
let idp: OidcIdp;
let uncaught: UncaughtErrors;
beforeAll(async () => {
  ({ url } = await world.listen());
  world.baseUrl = url;
  const org = await world.createOrg();
  const { json } = await world.request('GET', `/v1/orgs/${org.id}`, { key: org.ownerKey });
  loginUrl = `${url}/sso/${json.slug}/login`;
  idp = await startOidcProvider(`${url}/sso/callback`);
  const { issuer, clientId: client_id, clientSecret: client_secret } = idp;
  const put = await world.request('PUT', `/v1/orgs/${org.id}/sso`, {
    key: org.ownerKey,
    body: { issuer, client_id, client_secret, just_in_time: true },
  });
  expect(put.status, put.text).toBe(200);
  uncaught = watchUncaughtErrors();
});
afterAll(async () => {
  uncaught.stop();
  await idp.close();
});

const discovery = '/.well-known/openid-configuration';

/**
 * Signs in while one path of the provider responds with these bytes. Checks that the sign-in fails cleanly; returns its
 * status.
 */
async function attempt(path: string, bytes: string | Buffer) {
  // The cached metadata of the provider expires, and the sign-ins of the last minute no longer count.
  world.clock.advanceSeconds(61);
  const browser = new Browser();
  idp.hijack = { path, bytes };
  const answer = await browser.follow(loginUrl, `${url}/console`);
  idp.hijack = undefined;
  expect(answer.headers.get('content-type')).toBe('text/html; charset=utf-8');
  expect(browser.cookies(url)).not.toContain('purser_session');
  expect(await uncaught.take()).toEqual([]);
  return answer.status;
}

const worst =
  /^status (101|205|304|500|600|999) with a body|protocol$|JSON|UTF-8|odd bytes in values|many bytes|trailers$|two lengths|interim answers without an end$|^nothing$/;
const answers = hostileAnswers.filter(({ name }) => worst.test(name));

describe.each([discovery, '/token', '/jwks', '/me'])('%s', (path) => {
  test.each(answers)('$name is a sign-in that failed', async ({ bytes }) => {
    expect(await attempt(path, bytes)).toBe(path === discovery ? 503 : 403);
  });

  test.each([
    ['more than 64 KiB', JSON.stringify({ a: 'a'.repeat(65_536) })],
    ['very many objects', JSON.stringify({ a: Array.from({ length: 20_000 }, () => ({})) })],
  ])('%s are refused', async (_, body) => {
    const head = `HTTP/1.1 200 OK\r\ncontent-type: application/json\r\ncontent-length: ${body.length}\r\n\r\n`;
    expect(await attempt(path, head + body)).toBe(path === discovery ? 503 : 403);
    expect(world.logLines.findLast((line) => line.includes('reason'))).toMatch(
      /more than (65536 bytes|4000 values)/,
    );
  });
});

test('an honest sign-in succeeds afterwards, so that the rest means something', async () => {
  world.clock.advanceSeconds(61);
  idp.account = { sub: 'ada' };
  expect((await new Browser().follow(loginUrl, `${url}/console`)).status).toBe(303);
});

test('an ID token of very many claims is refused', async () => {
  world.clock.advanceSeconds(61);
  idp.forge = { claims: Object.fromEntries(Array.from({ length: 4_000 }, (_, n) => [`c${n}`, 0])) };
  const answer = await new Browser().follow(loginUrl, `${url}/console`);
  idp.forge = undefined;
  expect(answer.status).toBe(403);
  expect(world.logLines.join()).toContain('more than 4000 values');
});
