/**
 * Signing in to real processes: a session that one process ends is over in the other at once, a sign-in that one
 * process starts can be finished in the other, and `purser console-link` signs in.
 */
import { afterAll, beforeAll, expect, test } from 'vitest';
import { scopes } from '../../src/contract/scopes.ts';
import { endAllProcesses, runPurser } from '../support/child-process.ts';
import { Browser } from '../support/cookie-browser.ts';
import { freePort } from '../support/free-port.ts';
import { startOidcProvider } from '../support/oidc-provider.ts';
import { type ServiceProcess, settingsOf, startPurser } from '../support/service-process.ts';
import { engine, makePlace, type Place } from '../support/test-database.ts';

let place: Place;
let settings: Record<string, string>;
let one: ServiceProcess;
/** The embedded engine has one process. */
let other: ServiceProcess;
beforeAll(async () => {
  place = await makePlace({ migrated: true });
  const port = String(await freePort());
  settings = {
    ...settingsOf(place),
    SVC_PORT: port,
    SVC_BASE_URL: `http://127.0.0.1:${port}`,
    SVC_WEBHOOK_ALLOW_PRIVATE_NETWORKS: 'true',
  };
  one = await startPurser(settings);
  other = engine === 'postgres' ? await startPurser({ ...settings, SVC_PORT: '0' }) : one;
});
afterAll(async () => {
  await endAllProcesses();
  await place?.remove();
});

const cookieIn = (response: Response) => (response.headers.get('set-cookie') ?? '').split(';')[0] ?? '';
const get = (service: ServiceProcess, path: string, cookie: string) =>
  fetch(service.url + path, { headers: { cookie } });

async function newOrg(slug: string): Promise<{ id: string; key: string }> {
  const { json: org } = await one.request('POST', '/v1/admin/orgs', { body: { name: slug, slug } });
  const { json: key } = await one.request('POST', `/v1/admin/orgs/${org.id}/keys`, {
    body: { name: 'owner', role: 'owner', scopes },
  });
  return { id: org.id, key: key.secret };
}

test('a session that one process ends is over in the other at once, and its cookie is cleared', async () => {
  const { id, key } = await newOrg('ended');
  const login = await fetch(`${one.url}/console/login`, {
    method: 'POST',
    body: new URLSearchParams({ key }),
    redirect: 'manual',
  });
  expect(login.status).toBe(303);
  const cookie = cookieIn(login);
  for (let n = 0; n < 5; n += 1) {
    expect((await get(other, `/v1/orgs/${id}`, cookie)).status).toBe(200);
  }
  const { data } = (await (await get(other, `/v1/orgs/${id}/sessions`, cookie)).json()) as {
    data: { id: string }[];
  };
  const ended = await one.request('DELETE', `/v1/orgs/${id}/sessions/${data[0]?.id}`, { key });
  expect(ended.status).toBe(204);
  const refused = await get(other, `/v1/orgs/${id}`, cookie);
  expect(refused.status).toBe(401);
  expect(await refused.json()).toMatchObject({ error: { code: 'session_revoked', details: {} } });
  expect(refused.headers.get('set-cookie')).toBe(
    'purser_session=; Path=/; HttpOnly; SameSite=Lax; Max-Age=0',
  );
});

test('a sign-in that one process begins the other finishes, once', async () => {
  const { id, key } = await newOrg('shared');
  const idp = await startOidcProvider(`${one.url}/sso/callback`);
  try {
    const { issuer, clientId, clientSecret } = idp;
    const body = { issuer, client_id: clientId, client_secret: clientSecret, just_in_time: true };
    expect((await one.request('PUT', `/v1/orgs/${id}/sso`, { key, body })).status).toBe(200);
    const browser = new Browser();
    const last = await browser.follow(`${one.url}/sso/shared/login`, `${one.url}/sso/callback`);
    const back = new URL(last.headers.get('location') ?? '');
    const cookie = browser.cookies(one.url);
    const finish = (service: ServiceProcess) =>
      fetch(service.url + back.pathname + back.search, { headers: { cookie }, redirect: 'manual' });
    const finished = await finish(other);
    expect([finished.status, finished.headers.get('location')]).toEqual([303, '/console']);
    expect((await get(one, `/v1/orgs/${id}`, cookieIn(finished))).status).toBe(200);
    expect((await finish(one)).status).toBe(403);
  } finally {
    await idp.close();
  }
});

test('`purser console-link` prints a way into the running service', async () => {
  const { id } = await newOrg('linked');
  const { code, stdout, stderr } = await runPurser(
    ['console-link', '--org', id, '--role', 'viewer'],
    settings,
  );
  expect({ code, stderr }).toEqual({ code: 0, stderr: '' });
  const open = () => fetch(stdout.trim(), { method: 'POST', redirect: 'manual' });
  const opened = await open();
  expect(opened.status).toBe(303);
  expect((await get(other, `/v1/orgs/${id}`, cookieIn(opened))).status).toBe(200);
  expect((await open()).status, 'once').toBe(410);
  const missing = await runPurser(['console-link', '--org', 'org_0'], settings);
  expect([missing.code, missing.stderr]).toEqual([1, expect.stringContaining('404')]);
});
