import { describe, expect, test, vi } from 'vitest';
import { createWorld, useOrg, useWorld } from '../../../../test/harness.ts';
import { cookieOf, formType, postForm, signIn } from '../../../../test/support/sign-in.ts';
import { scopes } from '../../../contract/scopes.ts';
import { DatabaseUnavailable } from '../../../platform/db/database.ts';
import { AuthBackoff } from '../../../platform/http/pipeline/auth-backoff.ts';
import type { Visit } from '../../../platform/http/routes/page.ts';
import { type SignInDependencies, signInPages } from './pages.ts';

const world = useWorld({ SVC_SESSION_IDLE_SECONDS: '3600', SVC_SESSION_MAX_SECONDS: '36000' });
const org = useOrg(world);

const sessionsPath = () => `/v1/orgs/${org.id}/sessions`;
const readOrg = (cookie: string, more: Record<string, string> = {}) =>
  world.request('GET', `/v1/orgs/${org.id}`, { headers: { cookie, ...more } });
const outcome = ({ status, json }: { status: number; json: { error?: { code: string } } }) => [
  status,
  json?.error?.code,
];
const cleared = 'purser_session=; Path=/; HttpOnly; SameSite=Lax; Max-Age=0';

describe('signing in with a key', () => {
  test('opens a session with an HttpOnly cookie', async () => {
    const answer = await postForm(world, '/console/login', { key: org.ownerKey });
    expect([answer.status, answer.headers.location]).toEqual([303, '/console']);
    expect(answer.headers['set-cookie']).toMatch(
      /^purser_session=[\w-]{54}; Path=\/; HttpOnly; SameSite=Lax; Max-Age=36000$/,
    );
    const read = await readOrg(cookieOf(answer));
    expect([read.status, read.json.id]).toEqual([200, org.id]);
  });

  test('returns a readable page, not JSON, for an unknown key', async () => {
    for (const key of ['nonsense', '']) {
      const answer = await postForm(world, '/console/login', { key });
      expect(answer.status).toBe(401);
      expect(answer.headers['content-type']).toBe('text/html; charset=utf-8');
      expect(answer.headers['content-security-policy']).toContain("default-src 'none'");
      expect(answer.headers['set-cookie']).toBeUndefined();
      expect(answer.text).toContain('Unknown key. Check the key and try again.');
    }
  });

  test('rejects a revoked key and a key from another address', async () => {
    const other = await world.createOrg();
    const { id, secret } = await world.mintKey(other, 'owner', scopes);
    await world.request('DELETE', `/v1/orgs/${other.id}/keys/${id}`, { key: other.ownerKey });
    expect((await postForm(world, '/console/login', { key: secret })).status).toBe(401);
    await world.request('PUT', `/v1/orgs/${other.id}/ip-allow-list`, {
      key: other.ownerKey,
      body: { cidrs: ['192.0.2.0/24'], force: true },
    });
    expect((await postForm(world, '/console/login', { key: other.ownerKey })).status).toBe(403);
    await world.app.finish();
    const denied = await world.db.query(
      `SELECT actor_kind, code FROM audit_log WHERE tenant_id = $1 AND action = 'sessions.open' ORDER BY seq`,
      [other.id],
    );
    expect(denied).toEqual([
      { actor_kind: 'key', code: 'gone' },
      { actor_kind: 'key', code: 'ip_not_allowed' },
    ]);
  });

  test('links to single sign-on', async () => {
    const form = await world.request('GET', '/console/login?return_to=/console/runs');
    expect(form.text).toContain('action="/console/sso"');
    const page = await world.request('GET', '/console/sso?org=Acme%22&return_to=/console/runs');
    expect([page.status, page.headers.refresh]).toEqual([
      200,
      '0; url=/sso/acme%22/login?return_to=%2Fconsole%2Fruns',
    ]);
  });

  test('signing in with a key throttles guessing', async () => {
    const guess = () =>
      world.request('POST', '/console/login', {
        raw: 'key=guess',
        headers: { 'content-type': formType },
        address: '198.51.100.7',
      });
    for (let n = 0; n < 20; n += 1) {
      expect((await guess()).status).toBe(401);
    }
    const answer = await guess();
    expect([answer.status, answer.headers['retry-after']]).toEqual([429, '60']);
  });

  test('looks keys up under the address of the visitor, so that addresses take turns', async () => {
    const addresses: string[] = [];
    const deps: Partial<SignInDependencies> = {
      async findCredential(_, address) {
        addresses.push(address);
        return undefined;
      },
      backoff: new AuthBackoff(10, world.clock),
      attempts: { note() {} },
    };
    const login = signInPages(deps as SignInDependencies).find(
      ({ method, path }) => method === 'POST' && path === '/console/login',
    );
    const visit: Partial<Visit> = {
      address: '192.0.2.7',
      headers: {},
      now: world.clock.now(),
      form: async () => new URLSearchParams({ key: 'guess' }),
    };
    expect((await login?.handler(visit as Visit))?.status).toBe(401);
    expect(addresses).toEqual(['192.0.2.7']);
  });

  test('returns only to pages of the console', async () => {
    const goal = async (return_to: string) =>
      (await postForm(world, '/console/login', { key: org.ownerKey, return_to })).headers.location;
    expect(await goal('/console/runs?model=m')).toBe('/console/runs?model=m');
    for (const elsewhere of [
      'https://evil.example/console',
      '//evil.example/console',
      '/\\evil.example/console',
      '/console/../v1/meta/errors',
      '/consolevil',
      'javascript:alert(1)',
      'https:/console',
      '\t//evil.example',
    ]) {
      expect(await goal(elsewhere), elsewhere).toBe('/console');
    }
  });

  test('rejects a form of another site, and one that is malformed or too large', async () => {
    const post = (headers: Record<string, string>) =>
      postForm(world, '/console/login', { key: org.ownerKey }, headers);
    for (const headers of [
      { 'sec-fetch-site': 'cross-site' },
      { 'sec-fetch-site': 'same-site' },
      { origin: 'https://evil.example' },
      { origin: 'null' },
    ]) {
      const answer = await post(headers);
      expect([answer.status, answer.headers['set-cookie']]).toEqual([403, undefined]);
      expect(answer.headers['content-type']).toBe('text/html; charset=utf-8');
    }
    expect((await post({ 'sec-fetch-site': 'same-origin' })).status).toBe(303);
    expect((await post({ origin: 'http://localhost' })).status).toBe(303);
    expect((await post({ 'content-type': 'application/json' })).status).toBe(422);
    expect((await postForm(world, '/console/login', { key: 'a'.repeat(1_100_000) })).status).toBe(413);
    expect((await postForm(world, '/console/login', { key: '\u0000' })).status).toBe(422);
  });
});

describe('the cookie on /v1', () => {
  test('returns unauthorized without a cookie or for one that was never issued, and clears nothing', async () => {
    const forged = `purser_session=${'A'.repeat(54)}`;
    for (const cookie of ['', 'other=1', 'purser_session=', 'purser_session=abc', forged]) {
      const answer = await readOrg(cookie);
      expect(outcome(answer), cookie).toEqual([401, 'unauthorized']);
      expect(answer.headers['set-cookie']).toBeUndefined();
    }
  });

  test('an ended session is recognized permanently, and its cookie is cleared', async () => {
    const { cookie, id } = await signIn(world, org.ownerKey, org.id);
    expect((await world.request('DELETE', `${sessionsPath()}/${id}`, { key: org.ownerKey })).status).toBe(
      204,
    );
    const answer = await readOrg(cookie);
    expect(outcome(answer)).toEqual([401, 'session_revoked']);
    expect(answer.json.error.details).toEqual({});
    expect(answer.headers['set-cookie']).toBe(cleared);
    await world.db.query('DELETE FROM sessions WHERE id = $1', [id]);
    expect(outcome(await readOrg(cookie)), 'long after').toEqual([401, 'session_revoked']);
  });

  test('a bearer token takes precedence over a cookie, valid or not', async () => {
    const { cookie, id } = await signIn(world, org.ownerKey, org.id);
    const both = (key: string) => world.request('GET', `/v1/orgs/${org.id}`, { key, headers: { cookie } });
    expect(outcome(await both('nonsense'))).toEqual([401, 'unauthorized']);
    await world.request('DELETE', `${sessionsPath()}/${id}`, { key: org.ownerKey });
    expect((await both(org.ownerKey)).status).toBe(200);
  });

  test('changes must come from our own pages', async () => {
    const { cookie } = await signIn(world, org.ownerKey, org.id);
    const change = (headers: Record<string, string>) =>
      world.request('PATCH', `/v1/orgs/${org.id}`, {
        body: { name: 'Changed' },
        headers: { cookie, ...headers },
      });
    expect(outcome(await change({ 'sec-fetch-site': 'cross-site' }))).toEqual([403, 'forbidden']);
    expect(outcome(await change({ 'sec-fetch-site': 'same-site' }))).toEqual([403, 'forbidden']);
    expect(outcome(await change({ origin: 'https://evil.example' }))).toEqual([403, 'forbidden']);
    expect((await change({ 'sec-fetch-site': 'same-origin', origin: 'http://localhost' })).status).toBe(200);
    expect((await readOrg(cookie, { 'sec-fetch-site': 'cross-site' })).status, 'a read').toBe(200);
    const withKey = await world.request('PATCH', `/v1/orgs/${org.id}`, {
      key: org.ownerKey,
      body: { name: 'Changed' },
      headers: { 'sec-fetch-site': 'cross-site' },
    });
    expect(withKey.status, 'a bearer is never added by a browser').toBe(200);
  });

  test('the cookie on /v1 has the role and scopes of the key', async () => {
    const viewer = await world.mintKey(org, 'viewer', ['org:read', 'keys:write']);
    const { cookie } = await signIn(world, viewer.secret, org.id);
    expect((await readOrg(cookie)).status).toBe(200);
    const ask = (method: string, path: string) => world.request(method, path, { headers: { cookie } });
    expect(outcome(await ask('GET', `/v1/orgs/${org.id}/keys`))).toEqual([403, 'missing_scope']);
    expect(outcome(await ask('DELETE', `/v1/orgs/${org.id}/keys/key_0`))).toEqual([403, 'forbidden']);
    const foreign = await world.createOrg();
    expect(outcome(await ask('GET', `/v1/orgs/${foreign.id}`))).toEqual([404, 'not_found']);
    expect(outcome(await ask('GET', '/v1/admin/orgs'))).toEqual([403, 'forbidden']);
  });

  test('an operator is signed in to the platform, and to no org', async () => {
    const { cookie, id } = await signIn(world, world.operatorKey);
    const ask = (path: string) => world.request('GET', path, { headers: { cookie } });
    expect((await ask('/v1/admin/orgs')).status).toBe(200);
    expect(outcome(await ask(`/v1/orgs/${org.id}`))).toEqual([404, 'not_found']);
    await world.request('DELETE', `/v1/admin/sessions/${id}`, { key: world.operatorKey });
    expect(outcome(await ask('/v1/admin/orgs'))).toEqual([401, 'session_revoked']);
  });

  test('a revoked or expired key ends its sessions', async () => {
    const key = await world.mintKey(org, 'admin', scopes);
    const { cookie } = await signIn(world, key.secret, org.id);
    await world.request('DELETE', `/v1/orgs/${org.id}/keys/${key.id}`, { key: org.ownerKey });
    expect(outcome(await readOrg(cookie))).toEqual([401, 'session_revoked']);

    const soon = new Date(world.clock.now().getTime() + 5_000).toISOString();
    const short = await world.mintKey(org, 'admin', scopes, { expires_at: soon });
    const other = await signIn(world, short.secret, org.id);
    world.clock.advanceSeconds(5);
    expect(outcome(await readOrg(other.cookie))).toEqual([401, 'session_revoked']);
  });

  test('rejects a suspended org and an address that is not allowed, as for keys', async () => {
    const other = await world.createOrg();
    const { cookie } = await signIn(world, other.ownerKey, other.id);
    const ask = () => world.request('GET', `/v1/orgs/${other.id}`, { headers: { cookie } });
    await world.request('POST', `/v1/admin/orgs/${other.id}/suspend`, { key: world.operatorKey });
    expect(outcome(await ask())).toEqual([403, 'org_suspended']);
    await world.request('POST', `/v1/admin/orgs/${other.id}/reinstate`, { key: world.operatorKey });
    expect((await ask()).status).toBe(200);
    await world.request('PUT', `/v1/orgs/${other.id}/ip-allow-list`, {
      key: other.ownerKey,
      body: { cidrs: ['192.0.2.0/24'], force: true },
    });
    expect(outcome(await ask())).toEqual([403, 'ip_not_allowed']);
  });

  test('authorizes decisions at the edge like a key', async () => {
    const { cookie } = await signIn(world, org.ownerKey, org.id);
    const decide = () =>
      world.request('POST', '/v1/edge/decision', {
        body: { model: 'm', estimated_cost_usd: '0.1' },
        headers: { cookie },
      });
    expect((await decide()).json.decision).toBe('allow');
    await postForm(world, '/console/logout', {}, { cookie });
    expect(outcome(await decide())).toEqual([401, 'session_revoked']);
  });
});

describe('its lifetime', () => {
  test('a session ends after an hour without a request, and is extended by requests', async () => {
    const { cookie } = await signIn(world, org.ownerKey, org.id);
    for (let n = 0; n < 3; n += 1) {
      world.clock.advanceSeconds(3_500);
      expect((await readOrg(cookie)).status).toBe(200);
    }
    world.clock.advanceSeconds(3_600);
    expect(outcome(await readOrg(cookie))).toEqual([401, 'session_revoked']);
  });

  test('reads work while its last use cannot be stored, because the database is read-only', async () => {
    const { cookie } = await signIn(world, org.ownerKey, org.id);
    const query = world.db.query.bind(world.db);
    const spy = vi.spyOn(world.db, 'query').mockImplementation(async (sql, ...params) => {
      if (sql.startsWith('UPDATE sessions')) {
        throw new DatabaseUnavailable('read-only');
      }
      return query(sql, ...params) as never;
    });
    world.clock.advanceSeconds(3_500);
    expect((await readOrg(cookie)).status).toBe(200);
    expect(spy.mock.calls.some(([sql]) => sql.startsWith('UPDATE sessions'))).toBe(true);
    spy.mockRestore();
    // The last use was not stored, so the session ends an hour after the one before.
    world.clock.advanceSeconds(100);
    expect(outcome(await readOrg(cookie))).toEqual([401, 'session_revoked']);
  });

  test('a session ends at its maximum, however busy it is', async () => {
    const { cookie } = await signIn(world, org.ownerKey, org.id);
    for (let n = 0; n < 10; n += 1) {
      expect((await readOrg(cookie)).status).toBe(200);
      world.clock.advanceSeconds(3_599);
    }
    world.clock.advanceSeconds(10);
    expect(outcome(await readOrg(cookie))).toEqual([401, 'session_revoked']);
  });
});

describe('listing and ending', () => {
  test('an admin sees and ends all sessions, other roles their own', async () => {
    const admin = await world.mintKey(org, 'admin', scopes);
    const viewer = await world.mintKey(org, 'viewer', ['org:read', 'org:write']);
    const mine = await signIn(world, viewer.secret, org.id);
    const theirs = await signIn(world, admin.secret, org.id);
    const list = async (cookie: string, query = '') =>
      (await world.request('GET', `${sessionsPath()}?limit=200${query}`, { headers: { cookie } })).json.data;
    expect((await list(mine.cookie)).map(({ id }: { id: string }) => id)).toEqual([mine.id]);
    const all = await list(theirs.cookie, '&status=active');
    expect(all.map(({ id }: { id: string }) => id)).toEqual(expect.arrayContaining([mine.id, theirs.id]));
    expect(all.find(({ id }: { id: string }) => id === mine.id)).toMatchObject({
      method: 'key',
      key_id: viewer.id,
      member_id: null,
      role: 'viewer',
      address: '127.0.0.1',
      status: 'active',
      current: false,
      ended_at: null,
    });
    const end = (cookie: string, id: string) =>
      world.request('DELETE', `${sessionsPath()}/${id}`, { headers: { cookie } });
    expect(outcome(await end(mine.cookie, theirs.id))).toEqual([404, 'not_found']);
    expect((await end(mine.cookie, mine.id)).status, 'my own').toBe(204);
    expect(outcome(await readOrg(mine.cookie))).toEqual([401, 'session_revoked']);
    expect((await end(theirs.cookie, mine.id)).status, 'again').toBe(204);
    expect(await list(theirs.cookie, `&status=revoked&key_id=${viewer.id}`)).toMatchObject([
      { id: mine.id, status: 'revoked' },
    ]);
    world.clock.advanceSeconds(3_600);
    const { data: expired } = (
      await world.request('GET', `${sessionsPath()}?status=expired&key_id=${admin.id}`, { key: org.ownerKey })
    ).json;
    expect(expired).toMatchObject([{ id: theirs.id, status: 'expired' }]);
  });

  test('signing out ends the session and clears the cookie, and can be repeated', async () => {
    const { cookie } = await signIn(world, org.ownerKey, org.id);
    for (let n = 0; n < 2; n += 1) {
      const answer = await postForm(world, '/console/logout', {}, { cookie });
      expect([answer.status, answer.headers.location]).toEqual([303, '/console/login']);
      expect(answer.headers['set-cookie']).toBe(cleared);
    }
    expect(outcome(await readOrg(cookie))).toEqual([401, 'session_revoked']);
    const page = await world.request('GET', '/console/login', { headers: { cookie } });
    expect(page.text).toContain('Your session has ended');
  });

  test('rejects a sign-out form of another site', async () => {
    const { cookie } = await signIn(world, org.ownerKey, org.id);
    const answer = await postForm(world, '/console/logout', {}, { cookie, 'sec-fetch-site': 'cross-site' });
    expect(answer.status).toBe(403);
    expect((await readOrg(cookie)).status).toBe(200);
  });

  test('records signing in and out in the audit log', async () => {
    const fresh = await world.createOrg();
    const { cookie, id } = await signIn(world, fresh.ownerKey, fresh.id);
    await postForm(world, '/console/logout', {}, { cookie });
    const entries = await world.db.query(
      `SELECT action, actor_kind, target_id FROM audit_log WHERE tenant_id = $1 AND target_kind = 'session' ORDER BY seq`,
      [fresh.id],
    );
    expect(entries).toEqual([
      { action: 'sessions.open', actor_kind: 'key', target_id: id },
      { action: 'sessions.close', actor_kind: 'key', target_id: id },
    ]);
  });
});

test.each(['/console/link/invented', '/console/invitations/invented'])(
  'a link that was never issued takes no transaction: %s',
  async (path) => {
    const transaction = vi.spyOn(world.db, 'transaction');
    expect((await postForm(world, path, {})).status).toBe(410);
    expect(transaction).not.toHaveBeenCalled();
    transaction.mockRestore();
  },
);

test('over HTTPS the cookie is bound to the host', async () => {
  const secure = await createWorld({}, { baseUrl: 'https://purser.example' });
  try {
    const { ownerKey, id } = await secure.createOrg();
    const answer = await postForm(secure, '/console/login', { key: ownerKey });
    expect(answer.headers['set-cookie']).toMatch(
      /^__Host-purser_session=[\w-]{54}; Path=\/; HttpOnly; SameSite=Lax; Secure; Max-Age=604800$/,
    );
    const cookie = cookieOf(answer);
    const ask = (sent: string) => secure.request('GET', `/v1/orgs/${id}`, { headers: { cookie: sent } });
    expect((await ask(cookie)).status).toBe(200);
    expect(outcome(await ask(cookie.replace('__Host-', '')))).toEqual([401, 'unauthorized']);
  } finally {
    await secure.close();
  }
});

describe('a sign-in in a browser that is signed in', () => {
  const memberLink = async (email: string) => {
    const { json } = await world.request('POST', `/v1/orgs/${org.id}/members`, {
      key: org.ownerKey,
      body: { email, role: 'viewer' },
    });
    return new URL(json.sign_in_url).pathname;
  };
  const consoleLink = async () => {
    const { json } = await world.request('POST', '/v1/admin/console-links', {
      key: world.operatorKey,
      body: { org_id: org.id },
    });
    return new URL(json.url).pathname;
  };
  const closed = (tenantId: string) =>
    world.db.query<{ actor_kind: string; target_id: string }>(
      `SELECT actor_kind, target_id FROM audit_log WHERE tenant_id = $1 AND action = 'sessions.close' ORDER BY seq`,
      [tenantId],
    );

  test.each<[string, () => Promise<[path: string, fields: Record<string, string>]>]>([
    ['a key', async () => ['/console/login', { key: org.ownerKey }]],
    ['an invitation', async () => [await memberLink('ada@example.com'), {}]],
    ['a link of an operator', async () => [await consoleLink(), {}]],
  ])(
    'a sign-in by %s in a browser that is signed in ends the previous session, with an entry in the log of its org',
    async (_, make) => {
      const other = await world.createOrg();
      const { cookie, id } = await signIn(world, other.ownerKey, other.id);
      const [path, fields] = await make();
      const answer = await postForm(world, path, fields, { cookie });
      expect(answer.status).toBe(303);
      expect((await readOrg(cookieOf(answer))).status).toBe(200);
      const before = await world.request('GET', `/v1/orgs/${other.id}`, { headers: { cookie } });
      expect(outcome(before)).toEqual([401, 'session_revoked']);
      expect(await closed(other.id)).toEqual([{ actor_kind: 'key', target_id: id }]);
    },
  );

  test('leaves it open if it fails', async () => {
    const { cookie } = await signIn(world, org.ownerKey, org.id);
    expect((await postForm(world, '/console/login', { key: 'nonsense' }, { cookie })).status).toBe(401);
    const used = await memberLink('bob@example.com');
    await postForm(world, used, {});
    expect((await postForm(world, used, {}, { cookie })).status).toBe(410);
    expect((await readOrg(cookie)).status).toBe(200);
  });

  test('a sign-in in a browser that is signed in ends the previous session once, also under concurrent sign-ins', async () => {
    const { cookie, id } = await signIn(world, org.ownerKey, org.id);
    const answers = await Promise.all(
      [1, 2, 3].map(() => postForm(world, '/console/login', { key: org.ownerKey }, { cookie })),
    );
    expect(answers.map(({ status }) => status)).toEqual([303, 303, 303]);
    const ends = (await closed(org.id)).filter(({ target_id }) => target_id === id);
    expect(ends).toHaveLength(1);
  });
});
