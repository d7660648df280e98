import { createHash } from 'node:crypto';
import { afterAll, afterEach, beforeAll, describe, expect, test } from 'vitest';
import { useOrg, useWorld } from '../../../../test/harness.ts';
import { Browser } from '../../../../test/support/cookie-browser.ts';
import {
  type Account,
  type Forgery,
  type OidcIdp,
  startOidcProvider,
  strangerKey,
} from '../../../../test/support/oidc-provider.ts';
import { cookieOf, postForm, signIn } from '../../../../test/support/sign-in.ts';

const world = useWorld({ SVC_WEBHOOK_ALLOW_PRIVATE_NETWORKS: 'true', SVC_AUTH_BACKOFF_ATTEMPTS: '1000' });
const org = useOrg(world);
let slug: string;
let url: string;
let idp: OidcIdp;

beforeAll(async () => {
  ({ url } = await world.listen());
  world.baseUrl = url;
  slug = (await world.request('GET', `/v1/orgs/${org.id}`, { key: org.ownerKey })).json.slug;
  idp = await startOidcProvider(`${url}/sso/callback`, `${url}/sso/${slug}/callback`);
});
afterAll(() => idp.close());
afterEach(() => {
  idp.forge = undefined;
  idp.userinfo = undefined;
  idp.namesItself = true;
  forgetDiscovery();
});

/** Lets the cached metadata of providers expire, which is kept for a minute. */
const forgetDiscovery = () => world.clock.advanceSeconds(61);

const owner = (method: string, path: string, body?: object, at = org) =>
  world.request(method, `/v1/orgs/${at.id}${path}`, {
    key: at.ownerKey,
    ...(body !== undefined && { body }),
  });
const connect = async (more: object = {}) => {
  const { issuer, clientId, clientSecret } = idp;
  const body = {
    issuer,
    client_id: clientId,
    client_secret: clientSecret,
    just_in_time: true,
    ...more,
  };
  const answer = await owner('PUT', '/sso', body);
  expect(answer.status, answer.text).toBe(200);
  return answer.json;
};
const loginUrl = (query = '') => `${url}/sso/${slug}/login${query}`;

/** Signs in with this account, by default in a new browser. Returns the last response before the console. */
async function enter(account: Account, browser = new Browser(), query = '') {
  idp.account = account;
  const answer = await browser.follow(loginUrl(query), `${url}/console`);
  return { answer, browser, cookie: browser.cookies(url) };
}

async function whoIs(cookie: string) {
  const { status, json } = await world.request('GET', `/v1/orgs/${org.id}/sessions?limit=200`, {
    headers: { cookie },
  });
  return status === 200
    ? json.data.find(({ current }: { current: boolean }) => current)
    : [status, json.error.code];
}

const member = async (id: string) => (await owner('GET', `/members/${id}`)).json;

test('a sign-in ends the session that the browser had before', async () => {
  await connect();
  const account = { sub: 'twice', email: 'twice@example.com', email_verified: true };
  const { cookie, browser } = await enter(account);
  const first = await whoIs(cookie);
  const second = await whoIs((await enter(account, browser)).cookie);
  expect(second.id).not.toBe(first.id);
  expect(await whoIs(cookie)).toEqual([401, 'session_revoked']);
});

describe('what may be set', () => {
  const faults = async (body: object) => {
    const { status, json } = await owner('PUT', '/sso', body);
    return status === 422
      ? json.error.details.fields.map(
          ({ field, code }: { field: string; code: string }) => `${field} ${code}`,
        )
      : status;
  };

  test('each kind has its fields, and only those', async () => {
    expect(await faults({})).toEqual(['issuer required', 'client_id required']);
    expect(await faults({ kind: 'saml', issuer: 'https://a.example' })).toEqual([
      'idp_entity_id required',
      'idp_sso_url required',
      'idp_certificate required',
      'issuer invalid_value',
    ]);
    const saml = { idp_entity_id: 'a', idp_sso_url: 'https://a.example', idp_certificate: 'nonsense' };
    expect(await faults(saml)).toEqual(['idp_certificate invalid_format']);
    for (const issuer of ['nonsense', 'ftp://a.example', 'https://a:b@a.example', 'https://a.example/#x']) {
      expect((await faults({ issuer, client_id: 'a' }))[0], issuer).toMatch(/^issuer invalid_/);
    }
  });

  test('the secret is never answered, stays when it is left out, and goes with another client', async () => {
    const first = await connect();
    expect(first).toMatchObject({
      kind: 'oidc',
      client_secret_set: true,
      redirect_url: `${url}/sso/callback`,
      org_redirect_url: `${url}/sso/${slug}/callback`,
      login_url: loginUrl(),
      default_role: 'viewer',
      required: false,
    });
    expect(JSON.stringify(first)).not.toContain(idp.clientSecret);
    const { issuer, clientId } = idp;
    const kept = await owner('PUT', '/sso', { issuer, client_id: clientId });
    expect(kept.json.client_secret_set).toBe(true);
    const other = await owner('PUT', '/sso', { issuer, client_id: 'other' });
    expect(other.json.client_secret_set).toBe(false);
    const rows = await world.db.query('SELECT before, after FROM audit_log WHERE tenant_id = $1', [org.id]);
    expect(JSON.stringify(rows)).not.toContain(idp.clientSecret);
  });

  test('anybody with an account at the issuer joins only if that is asked for', async () => {
    const { issuer, clientId: client_id } = idp;
    const joins = async (more: object) =>
      (await owner('PUT', '/sso', { issuer, client_id, ...more })).json.just_in_time;
    const role_mapping = [{ group: 'finance', role: 'admin' }];
    expect(await joins({})).toBe(false);
    expect(await joins({ role_mapping })).toBe(false);
    expect(await joins({ role_mapping, default_role: null })).toBe(true);
    expect(await joins({ default_role: null })).toBe(false);
    expect(await joins({ allowed_email_domains: ['example.com'] })).toBe(true);
    expect(await joins({ just_in_time: true })).toBe(true);
  });

  test('the settings of SSO are for owners', async () => {
    const admin = await world.mintKey(org, 'admin', ['org:read', 'org:write']);
    for (const method of ['GET', 'PUT', 'DELETE']) {
      const { status } = await world.request(method, `/v1/orgs/${org.id}/sso`, { key: admin.secret });
      expect([method, status]).toEqual([method, 403]);
    }
  });
});

describe('signing in', () => {
  test('makes a member, leads to where one wanted to go, and is that member again the next time', async () => {
    await connect();
    const account = { sub: 'ada', email: 'Ada@Example.com', email_verified: true, name: 'Ada' };
    const first = await enter(account, new Browser(), '?return_to=/console/runs');
    expect(first.answer.headers.get('location')).toBe('/console/runs');
    const session = await whoIs(first.cookie);
    expect(session).toMatchObject({ method: 'oidc', name: 'Ada', role: 'viewer' });
    expect(await member(session.member_id)).toMatchObject({
      email: 'ada@example.com',
      issuer: idp.issuer,
      subject: 'ada',
      status: 'active',
    });
    const again = await enter({ ...account, email: 'other@example.com' });
    expect((await whoIs(again.cookie)).member_id).toBe(session.member_id);
  });

  test('never leads anywhere but to the console', async () => {
    for (const elsewhere of [
      'https://evil.example',
      '//evil.example',
      '/\\evil.example',
      '/v1/openapi.json',
    ]) {
      const browser = new Browser();
      idp.account = { sub: 'ada' };
      const answer = await browser.follow(
        loginUrl(`?return_to=${encodeURIComponent(elsewhere)}`),
        `${url}/console`,
      );
      expect(answer.headers.get('location'), elsewhere).toBe('/console');
    }
  });

  test('a verified e-mail address accepts an invitation', async () => {
    const { json: invited } = await owner('POST', '/members', { email: 'grace@example.com', role: 'admin' });
    const grace = { sub: 'grace', email: 'grace@example.com' };
    const unproven = await enter({ ...grace, sub: 'mallory', email_verified: false });
    expect((await whoIs(unproven.cookie)).member_id).not.toBe(invited.id);
    const proven = await enter({ ...grace, email_verified: true });
    expect(await whoIs(proven.cookie)).toMatchObject({ member_id: invited.id, role: 'admin' });
    const link = await postForm(world, new URL(invited.sign_in_url).pathname, {});
    expect(link.status, 'the link is used up by it').toBe(410);
    const thief = await enter({ sub: 'thief', email: 'grace@example.com', email_verified: true });
    expect(thief.answer.status, 'an address of somebody with another subject').toBe(403);
    expect(thief.answer.text).toContain('belongs to another member');
  });

  test('a removed member cannot sign in until invited again', async () => {
    const leaver = { sub: 'leaver', email: 'leaver@example.com', email_verified: true };
    const first = await enter(leaver);
    const { member_id } = await whoIs(first.cookie);
    await owner('DELETE', `/members/${member_id}`);
    expect(await whoIs(first.cookie)).toEqual([401, 'session_revoked']);
    expect((await enter(leaver)).answer.status).toBe(403);
    const { json } = await owner('POST', '/members', { email: leaver.email, role: 'viewer' });
    expect((await whoIs((await enter(leaver)).cookie)).member_id).toBe(json.id);
  });

  test('a removed member cannot sign in after the org has changed its provider', async () => {
    const leaver = { sub: 'mover', email: 'mover@example.com', email_verified: true };
    const { member_id } = await whoIs((await enter(leaver)).cookie);
    await owner('DELETE', `/members/${member_id}`);
    // The removed member had signed in through another issuer before.
    await world.db.query(`UPDATE members SET issuer = 'https://before.example' WHERE id = $1`, [member_id]);
    const { answer } = await enter(leaver);
    expect(answer.status).toBe(403);
    expect(answer.text).toContain('You were removed');
    await owner('POST', '/members', { email: leaver.email, role: 'viewer' });
    expect((await enter(leaver)).answer.status).toBe(303);
  });

  test('a removed member cannot sign in with an address that the provider has not verified', async () => {
    const leaver = { sub: 'left', email: 'left@example.com', email_verified: true };
    const { member_id } = await whoIs((await enter(leaver)).cookie);
    await owner('DELETE', `/members/${member_id}`);
    for (const [sub, unverified] of [
      ['says nothing', { email: leaver.email }],
      ['says no', { email: 'Left@Example.com', email_verified: false }],
    ] as const) {
      const { answer } = await enter({ sub, ...unverified });
      expect(answer.status, sub).toBe(403);
      expect(answer.text).toContain('You were removed');
    }
    idp.forge = { claims: { email: 'other@example.com', email_verified: true } };
    idp.userinfo = { email: leaver.email };
    expect((await enter({ sub: 'two addresses' })).answer.status).toBe(403);
    idp.forge = undefined;
    idp.userinfo = undefined;

    const { json: invited } = await owner('POST', '/members', { email: leaver.email, role: 'admin' });
    const stranger = await whoIs((await enter({ sub: 'says nothing', email: leaver.email })).cookie);
    expect(stranger.member_id, 'an address that is not verified accepts no invitation').not.toBe(invited.id);
    expect((await member(stranger.member_id)).email).toBeNull();
  });

  test('two tabs of a browser can sign in at the same time', async () => {
    idp.account = { sub: 'two tabs' };
    const browser = new Browser();
    const tabs = [await browser.request(loginUrl()), await browser.request(loginUrl())];
    for (const tab of tabs) {
      const toProvider = tab.headers.get('location') ?? '';
      const back = await browser.follow(toProvider, `${url}/sso/callback`);
      const callback = back.headers.get('location') ?? '';
      expect((await browser.request(callback)).status).toBe(303);
      expect((await browser.request(callback)).status, 'each of them once').toBe(403);
    }
    expect((await whoIs(browser.cookies(url))).method).toBe('oidc');
  });

  test('asks for confirmation before it replaces a session of another org', async () => {
    const other = await world.createOrg();
    const browser = new Browser();
    await browser.request(`${url}/console/login`, { form: { key: other.ownerKey } });
    const before = /purser_session=[^;]+/.exec(browser.cookies(url))?.[0];
    const { answer } = await enter({ sub: 'ada' }, browser);
    expect(answer.status).toBe(200);
    expect(answer.text).toContain('You are signing in to');
    expect(browser.cookies(url)).toContain(before);
    const ticket = /name="ticket" value="([^"]+)"/.exec(answer.text)?.[1] ?? '';
    const press = (by: Browser) => by.request(`${url}/sso/callback`, { form: { ticket } });
    expect((await press(browser)).status).toBe(303);
    expect(await whoIs(browser.cookies(url))).toMatchObject({ method: 'oidc', name: 'Ada' });
    expect((await press(browser)).status, 'twice').toBe(403);
    expect((await enter({ sub: 'ada' }, browser)).answer.status, 'in the same org').toBe(303);
  });

  test('a provider is asked about itself once, however many begin', async () => {
    forgetDiscovery();
    idp.asked.length = 0;
    const begun = await Promise.all(Array.from({ length: 20 }, () => new Browser().request(loginUrl())));
    expect(new Set(begun.map(({ status }) => status))).toEqual(new Set([303]));
    expect(idp.asked).toEqual(['GET /.well-known/openid-configuration']);
  });

  test('groups decide on the role at every sign-in, and never demote the last owner', async () => {
    await connect({
      role_mapping: [
        { group: 'finance', role: 'admin' },
        { group: 'board', role: 'owner' },
        { group: 'all', role: 'viewer' },
      ],
      default_role: null,
    });
    const linus = (...groups: string[]) => enter({ sub: 'linus', groups });
    expect((await whoIs((await linus('all', 'board', 'finance')).cookie)).role).toBe('owner');
    expect((await whoIs((await linus('all')).cookie)).role, 'the last owner').toBe('owner');
    expect((await enter({ sub: 'second', groups: ['board'] })).answer.status).toBe(303);
    expect((await whoIs((await linus('finance', 'all')).cookie)).role).toBe('admin');
    const none = await linus('strangers');
    expect(none.answer.status).toBe(403);
    expect(none.answer.text).toContain('None of your groups');
  });

  test('just in time can be off, and domains can be asked for', async () => {
    await connect({ just_in_time: false });
    expect((await enter({ sub: 'nobody' })).answer.status).toBe(403);
    expect((await enter({ sub: 'ada' })).answer.status).toBe(303);
    await connect({ allowed_email_domains: ['Example.com'] });
    const from = (email: string, email_verified = true) =>
      enter({ sub: `at ${email}`, email, email_verified }).then(({ answer }) => answer.status);
    expect(await from('a@evil.example')).toBe(403);
    expect(await from('b@example.com.evil.example')).toBe(403);
    expect(await from('c@example.com', false)).toBe(403);
    expect(await from('d@example.com')).toBe(303);
  });
});

describe('subjects, groups and addresses are compared exactly', () => {
  const subjectOf = async (cookie: string) => (await member((await whoIs(cookie)).member_id)).subject;

  test.each([' root', 'root ', 'root\n', '\u00a0root', 'Root'])('%j is not root', async (sub) => {
    await connect();
    const root = await whoIs((await enter({ sub: 'root' })).cookie);
    const { cookie } = await enter({ sub });
    expect((await whoIs(cookie)).member_id).not.toBe(root.member_id);
    expect(await subjectOf(cookie)).toBe(sub);
    expect((await whoIs((await enter({ sub })).cookie)).member_id, 'again').toBe(
      (await whoIs(cookie)).member_id,
    );
    expect((await whoIs((await enter({ sub: 'root' })).cookie)).member_id).toBe(root.member_id);
  });

  test('a subject of spaces is none', async () => {
    await connect();
    expect((await enter({ sub: ' ' })).answer.status).toBe(403);
  });

  test('a group gives its role to nobody in a group of another spelling', async () => {
    const mapping = (group: string) =>
      connect({ role_mapping: [{ group, role: 'owner' }], default_role: 'viewer' });
    const roleIn = async (...groups: string[]) =>
      (await whoIs((await enter({ sub: 'in groups', groups })).cookie)).role;
    await enter({ sub: 'another owner', groups: ['board'] });
    await mapping('board');
    expect((await whoIs((await enter({ sub: 'another owner', groups: ['board'] })).cookie)).role).toBe(
      'owner',
    );
    expect(await roleIn('board ', ' board', 'Board', 'board\t')).toBe('viewer');
    expect(await roleIn('board')).toBe('owner');
    expect((await mapping('board ')).role_mapping).toEqual([{ group: 'board ', role: 'owner' }]);
    expect(await roleIn('board ')).toBe('owner');
    await enter({ sub: 'another owner', groups: ['board '] });
    expect(await roleIn('board')).toBe('viewer');
  });

  test('an address is of an allowed domain only if it is an address', async () => {
    await connect({ allowed_email_domains: ['example.com'] });
    for (const email of [
      'example.com',
      '@example.com',
      'a@b@example.com',
      'a@example.com ',
      ' a@example.com',
      'a@\u212aexample.com',
    ]) {
      const { answer } = await enter({ sub: `with ${email.trim()}`, email, email_verified: true });
      expect(answer.status, email).toBe(403);
    }
  });
});

describe('an address and the word that it is verified', () => {
  const invite = async (email: string) => (await owner('POST', '/members', { email, role: 'admin' })).json.id;

  test('an address and the statement that it is verified come from one source', async () => {
    await connect();
    const invited = await invite('victim@example.com');
    const victim = 'victim@example.com';
    const own = 'own@example.com';
    for (const [idToken, userinfo] of [
      [{ email: victim }, { email: own, email_verified: true }],
      [{ email: own, email_verified: true }, { email: victim }],
      [{ email_verified: true }, { email: victim }],
      [{ email: victim }, { email: undefined, email_verified: true }],
      [
        { email: victim, email_verified: false },
        { email: victim, email_verified: true },
      ],
    ]) {
      idp.forge = { claims: { email: undefined, email_verified: undefined, ...idToken } };
      idp.userinfo = { email: undefined, email_verified: undefined, ...userinfo };
      const { cookie } = await enter({ sub: `mallory ${JSON.stringify([idToken, userinfo])}` });
      expect((await whoIs(cookie)).member_id).not.toBe(invited);
    }
    expect((await member(invited)).status).toBe('invited');
  });

  test.each(['the ID token', 'userinfo'])(
    'an address and the statement that it is verified count if %s has both',
    async (source) => {
      await connect();
      const email = `${source.replaceAll(' ', '.')}@example.com`;
      const invited = await invite(email);
      const [there, elsewhere] = [
        { email, email_verified: true },
        { email: undefined, email_verified: undefined },
      ];
      idp.forge = { claims: source === 'userinfo' ? elsewhere : there };
      idp.userinfo = source === 'userinfo' ? there : elsewhere;
      expect((await whoIs((await enter({ sub: `by ${source}` })).cookie)).member_id).toBe(invited);
    },
  );

  test.each([
    ['another subject', 'grace'],
    ['no subject', undefined],
    ['a longer subject', 'ada '],
  ])('userinfo of %s is refused', async (_, sub) => {
    await connect();
    idp.userinfo = { sub };
    expect((await enter({ sub: 'ada' })).answer.status).toBe(403);
  });
});

describe('open sessions', () => {
  const ended = async (cookies: readonly string[]) => Promise.all(cookies.map(whoIs));
  const over = [401, 'session_revoked'];
  const audited = (action: string) =>
    world.db.query(
      `SELECT actor_kind, actor_id, target_kind, after FROM audit_log
        WHERE tenant_id = $1 AND action = $2 AND outcome = 'success' ORDER BY seq DESC LIMIT 2`,
      [org.id, action],
    );

  test('an open session of a person who is in none of the groups any more ends at the sign-in that says so', async () => {
    const mapping = { role_mapping: [{ group: 'board', role: 'owner' }], default_role: null };
    await connect(mapping);
    const account = { sub: 'ousted', email: 'ousted@example.com', email_verified: true };
    const two = [];
    for (const groups of [['board'], ['board']]) {
      two.push((await enter({ ...account, groups })).cookie);
    }
    const other = (await enter({ sub: 'stays', groups: ['board'] })).cookie;
    expect((await enter({ ...account, groups: ['board '] })).answer.status).toBe(403);
    expect(await ended(two)).toEqual([over, over]);
    expect(await whoIs(other)).toMatchObject({ role: 'owner' });
    expect(await audited('sessions.revoke')).toMatchObject([
      { actor_kind: 'service', actor_id: 'sso', target_kind: 'session', after: { status: 'revoked' } },
      { actor_kind: 'service', actor_id: 'sso', target_kind: 'session', after: { status: 'revoked' } },
    ]);
    expect((await enter({ ...account, groups: ['board'] })).answer.status, 'back in the group').toBe(303);
  });

  test('an open session of a person whose address is not allowed any more ends too', async () => {
    await connect();
    const account = { sub: 'moved', email: 'moved@example.com', email_verified: true };
    const { cookie } = await enter(account);
    await connect({ allowed_email_domains: ['other.example'] });
    expect((await enter(account)).answer.status).toBe(403);
    expect(await whoIs(cookie)).toEqual(over);
  });

  test('an open session of a member who was removed and invited again ends too', async () => {
    await connect();
    const account = { sub: 'returned', email: 'returned@example.com', email_verified: true };
    const first = await whoIs((await enter(account)).cookie);
    expect((await owner('DELETE', `/members/${first.member_id}`)).status).toBe(204);
    const { json: again } = await owner('POST', '/members', { email: account.email, role: 'viewer' });
    const accepted = await postForm(world, new URL(again.sign_in_url).pathname, {});
    const cookie = cookieOf(accepted);
    expect(await whoIs(cookie)).toMatchObject({ member_id: again.id });
    await connect({ allowed_email_domains: ['other.example'] });
    expect((await enter(account)).answer.status).toBe(403);
    expect(await whoIs(cookie)).toEqual(over);
  });

  test('open sessions end when the identity provider is replaced, and stay when it is only changed', async () => {
    await connect();
    const { cookie } = await enter({ sub: 'ada' });
    const byKey = (await signIn(world, org.ownerKey, org.id)).cookie;
    await connect({ default_role: 'admin', client_id: 'another client' });
    expect(await whoIs(cookie)).toMatchObject({ method: 'oidc' });
    await connect({ issuer: 'https://other.example' });
    expect(await whoIs(cookie)).toEqual(over);
    expect(await whoIs(byKey)).toMatchObject({ method: 'key' });
    expect((await audited('sso.put'))[0]).toMatchObject({
      target_kind: 'tenant',
      after: { sessions_ended: expect.any(Number) },
    });
  });

  test('open sessions end when the identity provider is removed, except that of the owner who removes it', async () => {
    await connect({ default_role: 'owner' });
    const other = (await enter({ sub: 'other owner' })).cookie;
    const { json } = await owner('POST', '/members', { email: 'remover@example.com', role: 'owner' });
    const remover = await enter({ sub: 'remover', email: 'remover@example.com', email_verified: true });
    expect(await whoIs(remover.cookie)).toMatchObject({ member_id: json.id, role: 'owner' });
    const removed = await world.request('DELETE', `/v1/orgs/${org.id}/sso`, {
      headers: { cookie: remover.cookie, 'sec-fetch-site': 'same-origin' },
    });
    expect(removed.status, removed.text).toBe(204);
    expect(await whoIs(other)).toEqual(over);
    expect(await whoIs(remover.cookie)).toMatchObject({ role: 'owner' });
    // Connecting another provider in a second step is a replacement too.
    await connect({ issuer: 'https://other.example' });
    expect(await whoIs(remover.cookie)).toEqual(over);
  });
});

describe('rejects', () => {
  const refused = async (forge: Forgery) => {
    await connect();
    idp.forge = forge;
    const { answer, cookie } = await enter({ sub: 'ada' });
    expect(cookie).not.toContain('purser_session');
    expect(answer.headers.get('content-type')).toBe('text/html; charset=utf-8');
    expect(answer.text).not.toMatch(/JWT|OAUTH|node_modules/);
    return answer.status;
  };

  test('an honest token that was signed again gets in, so that the rest means something', async () => {
    await connect();
    idp.forge = {};
    expect((await enter({ sub: 'ada' })).answer.status).toBe(303);
  });

  test('a token that names us as its authorized party gets in', async () => {
    await connect();
    idp.forge = { claims: { azp: idp.clientId } };
    expect((await enter({ sub: 'ada' })).answer.status).toBe(303);
  });

  test.each<[string, Forgery]>([
    ['another audience', { claims: { aud: 'somebody else' } }],
    ['another issuer', { claims: { iss: 'https://evil.example' } }],
    ['another nonce', { claims: { nonce: 'another' } }],
    ['no nonce', { claims: { nonce: undefined } }],
    ['expired', { claims: { exp: Math.floor(Date.now() / 1_000) - 3_600 } }],
    ['another subject than userinfo', { claims: { sub: 'grace' } }],
    ["a stranger's signature", { key: strangerKey }],
    ['no signature', { alg: 'none' }],
    ['issued to another client', { claims: { azp: 'somebody else' } }],
    ['issued to another client, with several audiences', { claims: { aud: ['purser'], azp: 'another' } }],
    ['issued to no client that can be named', { claims: { azp: 1 } }],
    ['an end in the year 275760', { claims: { exp: 8_640_000_000_000 } }],
    ['an end that is no time', { claims: { exp: 1e300 } }],
    ['a beginning in the year 275760', { claims: { nbf: 8_640_000_000_000 } }],
    ['issued in the year 275760', { claims: { iat: 8_640_000_000_000 } }],
    ['authenticated in the year 275760', { claims: { auth_time: 8_640_000_000_000 } }],
  ])('%s', async (_, forge) => {
    expect(await refused(forge)).toBe(403);
  });

  test('an answer that is sent twice, in another browser, with another state, or too late', async () => {
    await connect();
    idp.account = { sub: 'ada' };
    const browser = new Browser();
    const back = (await browser.follow(loginUrl(), `${url}/sso/callback`)).headers.get('location') ?? '';
    expect((await new Browser().request(back)).status, 'another browser').toBe(403);
    expect((await browser.request(back)).status, 'and then it is used up').toBe(403);

    const second = (await browser.follow(loginUrl(), `${url}/sso/callback`)).headers.get('location') ?? '';
    const other = new URL(second);
    other.searchParams.set('state', 'A'.repeat(54));
    expect((await browser.request(other.href)).status).toBe(403);
    expect((await browser.request(second)).status).toBe(303);
    expect((await browser.request(second)).status, 'twice').toBe(403);

    const third = (await browser.follow(loginUrl(), `${url}/sso/callback`)).headers.get('location') ?? '';
    world.clock.advanceSeconds(600);
    expect((await browser.request(third)).status, 'too late').toBe(403);
  });

  test('an answer without a code, and with an error', async () => {
    await connect();
    for (const query of ['error=access_denied', '', 'code=nonsense']) {
      const browser = new Browser();
      const start = await browser.request(loginUrl());
      const state = new URL(start.headers.get('location') ?? '').searchParams.get('state');
      expect((await browser.request(`${url}/sso/callback?state=${state}&${query}`)).status, query).toBe(403);
    }
    expect((await new Browser().request(`${url}/sso/callback`)).status).toBe(403);
  });

  test('the request has what protects it', async () => {
    await connect();
    const start = await new Browser().request(loginUrl());
    const sent = new URL(start.headers.get('location') ?? '').searchParams;
    expect(Object.fromEntries(sent)).toMatchObject({
      response_type: 'code',
      code_challenge_method: 'S256',
      redirect_uri: `${url}/sso/callback`,
      scope: 'openid email profile',
    });
    expect(sent.get('code_challenge')).toMatch(/^[\w-]{43}$/);
    expect(start.headers.get('set-cookie')).toMatch(
      /^purser_sign_in=[\w-]{54}; Path=\/; HttpOnly; SameSite=Lax/,
    );
    const stored = await world.db.query('SELECT digest FROM sso_attempts WHERE org_id = $1', [org.id]);
    const digest = createHash('sha256')
      .update(sent.get('state') ?? '')
      .digest('hex');
    expect(stored).toContainEqual({ digest });
  });

  test('failures are in the audit log of the org', async () => {
    await world.app.finish();
    const rows = await world.db.query<{ code: string; detail: { reason: string } }>(
      `SELECT code, detail FROM audit_log WHERE tenant_id = $1 AND action = 'sessions.open' AND outcome = 'denied'`,
      [org.id],
    );
    expect(new Set(rows.map(({ code }) => code))).toEqual(new Set(['forbidden']));
    expect(rows.map(({ detail }) => detail.reason).join()).toContain('belongs to another member');
    expect(rows.length).toBeGreaterThan(2);
  });

  test('an org without SSO gets the same response as an unknown org', async () => {
    const other = await world.createOrg();
    const { json } = await owner('GET', '', undefined, other);
    const ask = async (name: string) => {
      const { status, text } = await new Browser().request(`${url}/sso/${name}/login`);
      return { status, text };
    };
    const none = await ask(json.slug);
    expect(none.status).toBe(404);
    expect(none).toEqual(await ask('no-such-org'));
  });

  test('a removed org gets the same response as an unknown org while it is being purged', async () => {
    const other = await world.createOrg();
    const { issuer, clientId: client_id } = idp;
    expect((await owner('PUT', '/sso', { issuer, client_id }, other)).status).toBe(200);
    for (const [method, path] of [
      ['POST', '/suspend'],
      ['DELETE', ''],
    ] as const) {
      const asked = `/v1/admin/orgs/${other.id}${path}`;
      expect((await world.request(method, asked, { key: world.operatorKey })).status).toBeLessThan(300);
    }
    const [row] = await world.db.query<{ slug: string }>('SELECT slug FROM orgs WHERE id = $1', [other.id]);
    const { status } = await new Browser().request(`${url}/sso/${row?.slug}/login`);
    expect(status).toBe(404);
  });
});

describe('an issuer that sends people on to another one', () => {
  let evil: OidcIdp;
  let evilSlug: string;

  beforeAll(async () => {
    evil = await startOidcProvider(`${url}/sso/callback`);
    const other = await world.createOrg();
    evilSlug = (await owner('GET', '', undefined, other)).json.slug;
    const { issuer, clientId: client_id, clientSecret: client_secret } = evil;
    const put = await owner('PUT', '/sso', { issuer, client_id, client_secret }, other);
    expect(put.status, put.text).toBe(200);
  });
  afterAll(() => evil.close());

  /**
   * Starts a sign-in at the evil issuer, which forwards it to the honest issuer with this redirect URI. Returns both
   * URLs: the request to the evil issuer, and the redirect from the honest issuer.
   */
  async function sentOn(redirectUri: string) {
    const browser = new Browser();
    const begun = await browser.request(`${url}/sso/${evilSlug}/login`);
    const asked = new URL(begun.headers.get('location') ?? '');
    const honest = new URL(`${idp.issuer}/auth?${asked.searchParams}`);
    honest.searchParams.set('redirect_uri', redirectUri);
    idp.account = { sub: 'ada' };
    const last = await browser.follow(honest.href, redirectUri);
    const back = new URL(last.headers.get('location') ?? '');
    expect(back.searchParams.get('code')).toMatch(/./);
    return { browser, asked, back };
  }

  test.each([true, false])(
    'an issuer that sends people on to another one is never asked to redeem its code (names itself: %s)',
    async (namesItself) => {
      await connect();
      evil.namesItself = namesItself;
      forgetDiscovery();
      for (const redirectUri of [`${url}/sso/callback`, `${url}/sso/${slug}/callback`]) {
        for (const honestNamesItself of [true, false]) {
          const { browser, asked, back } = await sentOn(redirectUri);
          const own = namesItself ? `${url}/sso/callback` : `${url}/sso/${evilSlug}/callback`;
          expect(asked.searchParams.get('redirect_uri')).toBe(own);
          if (!honestNamesItself) {
            back.searchParams.delete('iss');
          }
          expect((await browser.request(back.href)).status).toBe(403);
        }
      }
      expect(evil.asked).not.toContain('POST /token');
    },
  );

  test('gains nothing by what it announces between the two', async () => {
    evil.namesItself = true;
    forgetDiscovery();
    const { browser, back } = await sentOn(`${url}/sso/callback`);
    back.searchParams.delete('iss');
    evil.namesItself = false;
    forgetDiscovery();
    expect((await browser.request(back.href)).status).toBe(403);
    expect(evil.asked).not.toContain('POST /token');
  });

  test('one that does not name itself is come back from to an address of the org', async () => {
    await connect();
    idp.namesItself = false;
    forgetDiscovery();
    expect((await enter({ sub: 'ada' })).answer.status).toBe(303);
    const browser = new Browser();
    const back = await browser.follow(loginUrl(), `${url}/sso/${slug}/callback`);
    const elsewhere = (back.headers.get('location') ?? '').replace(`/sso/${slug}/`, `/sso/${evilSlug}/`);
    expect((await browser.request(elsewhere)).status, 'at the address of another org').toBe(403);
    expect((await browser.request(back.headers.get('location') ?? '')).status).toBe(303);
  });
});

test('an org may have a slug that is also the path of another page', async () => {
  const other = await world.createOrg();
  for (const taken of ['tests', 'callback']) {
    const named = await owner('PATCH', '', { slug: taken }, other);
    expect(named.status, named.text).toBe(200);
    const { issuer, clientId: client_id, clientSecret: client_secret } = idp;
    await owner('PUT', '/sso', { issuer, client_id, client_secret, just_in_time: true }, other);
    idp.account = { sub: `of ${taken}` };
    const answer = await new Browser().follow(`${url}/sso/${taken}/login`, `${url}/console`);
    expect([answer.status, answer.headers.get('location')], taken).toEqual([303, '/console']);
    const callback = await new Browser().request(`${url}/sso/${taken}/callback?state=unknown`);
    expect([callback.status, callback.text.includes('not started here')], taken).toEqual([403, true]);
  }
});

test('shows a readable error if the provider is unreachable', async () => {
  await owner('PUT', '/sso', { issuer: 'http://127.0.0.1:1', client_id: 'a' });
  const answer = await new Browser().request(loginUrl());
  expect(answer.status).toBe(503);
  expect(answer.text).toContain('identity provider');
});

describe('where SSO is required', () => {
  test('neither keys nor invitations open a session, and those that did are over', async () => {
    const { json: invited } = await owner('POST', '/members', { email: 'late@example.com', role: 'viewer' });
    const { cookie } = await signIn(world, org.ownerKey, org.id);
    await connect({ required: true });
    expect(await whoIs(cookie)).toEqual([401, 'session_revoked']);
    const login = await postForm(world, '/console/login', { key: org.ownerKey });
    expect([login.status, login.headers['set-cookie']]).toEqual([403, undefined]);
    expect(login.text).toContain('requires single sign-on');
    expect((await postForm(world, new URL(invited.sign_in_url).pathname, {})).status).toBe(410);
    const next = await owner('POST', '/members', { email: 'later@example.com', role: 'admin' });
    expect(next.json).toMatchObject({ status: 'invited', sign_in_url: null });
    expect((await owner('GET', '')).status, 'keys still call the API').toBe(200);

    const later = await enter({ sub: 'later', email: 'later@example.com', email_verified: true });
    expect(await whoIs(later.cookie)).toMatchObject({ member_id: next.json.id, role: 'admin' });
  });

  test('an operator still gets in by a link, and removing SSO opens the rest again', async () => {
    const link = await world.request('POST', '/v1/admin/console-links', {
      key: world.operatorKey,
      body: { org_id: org.id },
    });
    const opened = await postForm(world, new URL(link.json.url).pathname, {});
    expect(await whoIs(cookieOf(opened))).toMatchObject({ method: 'link', role: 'owner' });
    expect((await owner('DELETE', '/sso')).status).toBe(204);
    expect((await owner('GET', '/sso')).status).toBe(404);
    expect((await postForm(world, '/console/login', { key: org.ownerKey })).status).toBe(303);
  });
});
