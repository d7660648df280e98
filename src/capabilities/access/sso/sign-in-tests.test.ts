/** Tests of single sign-on, with a real OpenID provider and a real SAML identity provider. */
import { afterAll, afterEach, beforeAll, describe, expect, test } from 'vitest';
import { useOrg, useWorld } from '../../../../test/harness.ts';
import { Browser } from '../../../../test/support/cookie-browser.ts';
import {
  type Account,
  type OidcIdp,
  startOidcProvider,
  strangerKey,
} from '../../../../test/support/oidc-provider.ts';
import { type SamlIdp, sha1, startSamlIdp } from '../../../../test/support/saml-idp.ts';

const world = useWorld({ SVC_WEBHOOK_ALLOW_PRIVATE_NETWORKS: 'true', SVC_AUTH_BACKOFF_ATTEMPTS: '1000' });
const org = useOrg(world);
let slug: string;
let url: string;
let oidc: OidcIdp;
let saml: SamlIdp;

beforeAll(async () => {
  ({ url } = await world.listen());
  world.baseUrl = url;
  slug = (await owner('GET', '')).json.slug;
  oidc = await startOidcProvider(`${url}/sso/callback`, `${url}/sso/${slug}/callback`);
  saml = await startSamlIdp(async () => (await fetch(`${url}/saml/${slug}/metadata`)).text());
});
afterAll(async () => {
  await oidc.close();
  await saml.close();
});
afterEach(async () => {
  oidc.forge = undefined;
  oidc.namesItself = true;
  Object.assign(saml, { says: {}, rewrite: undefined, tamper: undefined, signs: true, isStranger: false });
  saml.signatureAlgorithm = 'http://www.w3.org/2001/04/xmldsig-more#rsa-sha256';
  // Lets the cached metadata of providers expire.
  world.clock.advanceSeconds(61);
  await owner('DELETE', '/sso');
  await world.db.query('DELETE FROM sso_tests');
});

function owner(method: string, path: string, body?: object) {
  return world.request(method, `/v1/orgs/${org.id}${path}`, {
    key: org.ownerKey,
    ...(body !== undefined && { body }),
  });
}

const oidcSettings = (more: object = {}) => ({
  issuer: oidc.issuer,
  client_id: oidc.clientId,
  client_secret: oidc.clientSecret,
  just_in_time: true,
  ...more,
});
const samlSettings = (more: object = {}) => ({
  idp_entity_id: saml.entityId,
  idp_sso_url: saml.ssoUrl,
  idp_certificate: saml.certificate,
  ...more,
});

async function start(settings?: object) {
  const answer = await owner('POST', '/sso/tests', settings && { settings });
  expect(answer.status, answer.text).toBe(201);
  return answer.json as { id: string; start_url: string; status: string };
}
const found = async (id: string) => (await owner('GET', `/sso/tests/${id}`)).json;
const resultOf = async (id: string) => (await found(id)).result;

async function testOidc(account: Account, settings: object | undefined, browser = new Browser()) {
  oidc.account = account;
  const { id, start_url } = await start(settings);
  const answer = await browser.follow(start_url, `${url}/console`);
  expect(answer.headers.get('location'), answer.text).toBe(`/console/settings/sso?test=${id}`);
  expect(browser.cookies(url)).not.toContain('purser_session');
  return resultOf(id);
}

async function testSaml(settings: object | undefined, browser = new Browser()) {
  const { id, start_url } = await start(settings);
  const page = await browser.follow(start_url);
  const form = { SAMLResponse: /value="([^"]+)"/.exec(page.text)?.[1] ?? '' };
  const answer = await browser.request(`${url}/saml/${slug}/acs`, { form, withCookies: false });
  expect(answer.headers.get('location'), answer.text).toBe(`/console/settings/sso?test=${id}`);
  return resultOf(id);
}

/** Everything that a sign-in would change. */
async function stateOfOrg() {
  const members = await world.db.query('SELECT members::text AS row FROM members ORDER BY id');
  const sessions = await world.db.query('SELECT id FROM sessions ORDER BY id');
  const settings = await world.db.query('SELECT sso_connections::text AS row FROM sso_connections');
  const audited = await world.db.query(
    `SELECT seq FROM audit_log WHERE tenant_id = $1 AND action <> 'sso.tests.create'`,
    [org.id],
  );
  const events = await world.db.query(`SELECT id FROM outbox WHERE tenant_id = $1`, [org.id]);
  return { members, sessions, settings, audited, events };
}

const ada = { sub: 'ada', email: 'ada@example.com', email_verified: true, name: 'Ada', groups: ['finance'] };

describe('a test with OIDC', () => {
  test('shows claims, groups and the resulting role, and changes nothing', async () => {
    await owner('PUT', '/sso', oidcSettings());
    const before = await stateOfOrg();
    const settings = oidcSettings({ role_mapping: [{ group: 'finance', role: 'admin' }] });
    const result = await testOidc(ada, settings);
    expect(result).toMatchObject({
      outcome: 'allowed',
      reason: null,
      detail: null,
      subject: 'ada',
      email: 'ada@example.com',
      name: 'Ada',
      groups: ['finance'],
      role: 'admin',
      member: 'new',
    });
    expect(result.claims).toMatchObject({ sub: 'ada', iss: oidc.issuer, groups: ['finance'] });
    expect(await stateOfOrg()).toEqual(before);
  });

  test('tests the settings in force, with their stored secret, if it is given none', async () => {
    expect((await owner('POST', '/sso/tests')).json.error.code).toBe('not_found');
    await owner('PUT', '/sso', oidcSettings());
    expect(await testOidc(ada, undefined)).toMatchObject({ outcome: 'allowed', role: 'viewer' });
  });

  test('recognizes an existing member, with the role that the sign-in would give', async () => {
    await owner('PUT', '/sso', oidcSettings());
    const invited = (await owner('POST', '/members', { email: 'eve@example.com', role: 'admin' })).json;
    const eve = { sub: 'eve', email: 'eve@example.com', email_verified: true };
    expect(await testOidc(eve, undefined)).toMatchObject({
      outcome: 'allowed',
      member: 'existing',
      role: 'admin',
    });
    expect((await owner('GET', `/members/${invited.id}`)).json.status).toBe('invited');
  });

  test.each<[string, Account, object, string]>([
    [
      'without a group',
      ada,
      { role_mapping: [{ group: 'board', role: 'owner' }], default_role: null },
      'None of your groups',
    ],
    [
      'of another domain',
      ada,
      { allowed_email_domains: ['example.org'] },
      'Your e-mail address is not allowed',
    ],
    [
      'with an unverified address',
      { ...ada, email_verified: false },
      { allowed_email_domains: ['example.com'] },
      'Your e-mail address is not allowed',
    ],
    ['who was not invited', { sub: 'nobody' }, { just_in_time: false }, 'You are not a member'],
  ])(
    'says why a person %s would be refused, and what was said about them',
    async (_, account, more, reason) => {
      const before = await stateOfOrg();
      const result = await testOidc(account, oidcSettings(more));
      expect(result).toMatchObject({ outcome: 'refused', subject: account.sub, role: null, member: null });
      expect(result.reason).toContain(reason);
      expect(result.claims.sub).toBe(account.sub);
      expect(await stateOfOrg()).toEqual(before);
    },
  );

  test('says what is wrong with the settings or the provider', async () => {
    const wrongSecret = await testOidc(ada, oidcSettings({ client_secret: 'wrong' }));
    expect(wrongSecret).toMatchObject({ outcome: 'failed', subject: null, claims: {} });
    expect(wrongSecret.detail).toContain('invalid_client');
    oidc.forge = { key: strangerKey };
    expect((await testOidc(ada, oidcSettings())).outcome).toBe('failed');
    oidc.forge = undefined;
    const away = await testOidc(ada, oidcSettings({ issuer: `${oidc.issuer}/elsewhere` }));
    expect(away).toMatchObject({ outcome: 'failed', detail: expect.stringMatching(/\S/) });
    expect(JSON.stringify([wrongSecret, away])).not.toContain(oidc.clientSecret);
  });

  test('a test with OIDC works with an issuer that does not identify itself, by the URL of the org', async () => {
    oidc.namesItself = false;
    expect((await testOidc(ada, oidcSettings())).outcome).toBe('allowed');
  });

  test('leaves the session of the visitor as it is', async () => {
    await owner('PUT', '/sso', oidcSettings());
    const browser = new Browser();
    oidc.account = { sub: 'signed in' };
    await browser.follow(`${url}/sso/${slug}/login`, `${url}/console`);
    const session = /purser_session=[^;]+/.exec(browser.cookies(url))?.[0];
    oidc.account = ada;
    const { start_url } = await start();
    await browser.follow(start_url, `${url}/console`);
    expect(browser.cookies(url)).toContain(session);
  });
});

describe('a test with SAML', () => {
  test('shows attributes, groups and the resulting role, and changes nothing', async () => {
    const before = await stateOfOrg();
    saml.says = { nameId: 'grace', email: 'Grace@Example.com', groups: ['board'] };
    const result = await testSaml(samlSettings({ role_mapping: [{ group: 'board', role: 'owner' }] }));
    expect(result).toMatchObject({
      outcome: 'allowed',
      subject: 'grace',
      email: 'grace@example.com',
      groups: ['board'],
      role: 'owner',
      member: 'new',
    });
    expect(result.claims).toMatchObject({ groups: ['board'], email: ['Grace@Example.com'] });
    expect(await stateOfOrg()).toEqual(before);
  });

  test('says why a person would be refused', async () => {
    saml.says = { nameId: 'grace', groups: ['staff'] };
    const settings = samlSettings({ role_mapping: [{ group: 'board', role: 'owner' }], default_role: null });
    expect(await testSaml(settings)).toMatchObject({
      outcome: 'refused',
      reason: 'None of your groups has a role in this organization.',
      groups: ['staff'],
    });
  });

  test('says what is wrong with an assertion', async () => {
    saml.signatureAlgorithm = sha1;
    expect(await testSaml(samlSettings())).toMatchObject({
      outcome: 'failed',
      reason: expect.stringContaining('SHA-1'),
    });
    saml.signatureAlgorithm = 'http://www.w3.org/2001/04/xmldsig-more#rsa-sha256';
    saml.isStranger = true;
    expect(await testSaml(samlSettings())).toMatchObject({ outcome: 'failed', subject: null });
    saml.isStranger = false;
    saml.says = { audience: 'https://another.example' };
    expect((await testSaml(samlSettings())).outcome).toBe('failed');
  });
});

describe('the URL of a test', () => {
  test('the URL of a test works once, in one browser, for ten minutes', async () => {
    const { start_url } = await start(oidcSettings());
    const browser = new Browser();
    const begun = await browser.request(start_url);
    expect(begun.status).toBe(303);
    expect((await browser.request(start_url)).status).toBe(404);
    expect((await browser.request(`${url}/sso/tests/nonsense/start`)).status).toBe(404);

    oidc.account = ada;
    const back = await browser.follow(begun.headers.get('location') ?? '', `${url}/sso/callback`);
    const callback = back.headers.get('location') ?? '';
    const thief = await new Browser().request(callback);
    expect([thief.status, thief.text.includes('started in another browser')]).toEqual([403, true]);
    expect((await browser.request(callback)).headers.get('location')).toContain(
      '/console/settings/sso?test=',
    );
    expect((await browser.request(callback)).status).toBe(404);

    const late = await start(oidcSettings());
    world.clock.advanceSeconds(601);
    expect((await browser.request(late.start_url)).status).toBe(404);
    expect((await owner('GET', `/sso/tests/${late.id}`)).status).toBe(404);
  });

  test('never completes a sign-in, and a sign-in never completes a test', async () => {
    await owner('PUT', '/sso', oidcSettings());
    oidc.account = ada;
    const browser = new Browser();
    const { start_url, id } = await start();
    const toProvider = (await browser.request(start_url)).headers.get('location') ?? '';
    const state = new URL(toProvider).searchParams.get('state') ?? '';
    expect(state).toMatch(/^test_/);
    const back = await browser.follow(toProvider, `${url}/sso/callback`);
    const asSignIn = (back.headers.get('location') ?? '').replace('state=test_', 'state=');
    expect((await browser.request(asSignIn)).status).toBe(403);
    expect((await found(id)).status).toBe('started');

    const login = await browser.request(`${url}/sso/${slug}/login`);
    const answered = await browser.follow(login.headers.get('location') ?? '', `${url}/sso/callback`);
    const asTest = (answered.headers.get('location') ?? '').replace('state=', 'state=test_');
    expect((await browser.request(asTest)).status).toBe(404);
    expect(browser.cookies(url)).not.toContain('purser_session');
  });

  test('the URL of a test is of one org: its answer does not arrive at the URL of another', async () => {
    const other = await world.createOrg();
    const otherSlug = (await world.request('GET', `/v1/orgs/${other.id}`, { key: other.ownerKey })).json.slug;
    oidc.namesItself = false;
    oidc.account = ada;
    const browser = new Browser();
    const { start_url } = await start(oidcSettings());
    const toProvider = (await browser.request(start_url)).headers.get('location') ?? '';
    const back = await browser.follow(toProvider, `${url}/sso/${slug}/callback`);
    const elsewhere = (back.headers.get('location') ?? '').replace(`/sso/${slug}/`, `/sso/${otherSlug}/`);
    expect((await browser.request(elsewhere)).status).toBe(404);
  });
});

describe('creating a test', () => {
  test('requires an owner with every scope, and settings that could be saved', async () => {
    const admin = await world.mintKey(org, 'admin', ['org:read', 'org:write']);
    const narrow = await world.mintKey(org, 'owner', ['org:read', 'org:write']);
    const path = `/v1/orgs/${org.id}/sso/tests`;
    for (const { secret } of [admin, narrow]) {
      const { json } = await world.request('POST', path, { key: secret, body: { settings: oidcSettings() } });
      expect(json.error.code).toBe('forbidden');
    }
    const fields = async (body: object) =>
      (await owner('POST', '/sso/tests', body)).json.error.details.fields.map(
        ({ field, code }: { field: string; code: string }) => `${field} ${code}`,
      );
    expect(await fields({ settings: {} })).toEqual([
      'settings.issuer required',
      'settings.client_id required',
    ]);
    expect(await fields({ settings: { issuer: 'ftp://a.example', client_id: 'a' } })).toEqual([
      'settings.issuer invalid_value',
    ]);
    expect(await fields({ settings: 'oidc' })).toEqual(['settings invalid_type']);
    expect(await fields({ settigns: {} })).toEqual(['settigns unknown_field']);
  });

  test('creating a sign-in test is limited to 20 at a time, stores nothing in plain text, and is audited without secrets', async () => {
    for (let i = 0; i < 20; i += 1) {
      await start(oidcSettings());
    }
    expect((await owner('POST', '/sso/tests', { settings: oidcSettings() })).json.error.code).toBe(
      'conflict',
    );
    const rows = await world.db.query<{ text: string }>('SELECT sso_tests::text AS text FROM sso_tests');
    const plain = [oidc.clientSecret, Buffer.from(oidc.clientSecret).toString('hex'), oidc.issuer];
    expect(rows.filter(({ text }) => plain.some((secret) => text.includes(secret)))).toEqual([]);
    const entries = await world.db.query<{ after: object }>(
      `SELECT after FROM audit_log WHERE tenant_id = $1 AND action = 'sso.tests.create'`,
      [org.id],
    );
    expect(entries.length).toBeGreaterThanOrEqual(20);
    expect(JSON.stringify(entries)).not.toContain(oidc.clientSecret);
  });

  test('a sign-in test is deleted an hour after its result', async () => {
    const result = await testOidc(ada, oidcSettings());
    expect(result.outcome).toBe('allowed');
    world.clock.advanceSeconds(3_601);
    await world.runJob('delete-old-sign-ins');
    expect(await world.db.query('SELECT id FROM sso_tests')).toEqual([]);
  });

  test('a sign-in test is visible to its own org only', async () => {
    const { id } = await start(oidcSettings());
    const other = await world.createOrg();
    const path = `/v1/orgs/${other.id}/sso/tests/${id}`;
    expect((await world.request('GET', path, { key: other.ownerKey })).status).toBe(404);
  });
});

test('the URLs for an identity provider are known before anything is set up', async () => {
  expect((await owner('GET', '/sso')).status).toBe(404);
  expect((await owner('GET', '/sso/endpoints')).json).toEqual({
    oidc: {
      login_url: `${url}/sso/${slug}/login`,
      redirect_url: `${url}/sso/callback`,
      org_redirect_url: `${url}/sso/${slug}/callback`,
    },
    saml: {
      login_url: `${url}/saml/${slug}/login`,
      sp_entity_id: `${url}/saml/${slug}/metadata`,
      acs_url: `${url}/saml/${slug}/acs`,
    },
  });
});
