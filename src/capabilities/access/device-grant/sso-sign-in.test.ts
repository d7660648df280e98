import { afterAll, beforeAll, expect, test } from 'vitest';
import { Browser } from '../../../../test/support/cookie-browser.ts';
import { clientId, hiddenFields, type Tool, toolAt } from '../../../../test/support/device-sign-in.ts';
import { useGatewayWorld } from '../../../../test/support/gateway-world.ts';
import { type OidcIdp, startOidcProvider } from '../../../../test/support/oidc-provider.ts';

const gateway = useGatewayWorld({
  SVC_WEBHOOK_ALLOW_PRIVATE_NETWORKS: 'true',
  SVC_AUTH_BACKOFF_ATTEMPTS: '1000',
});
let tool: Tool;
let idp: OidcIdp;

const owner = (method: string, path: string, body?: object) =>
  gateway.world.request(method, `/v1/orgs/${gateway.org.id}${path}`, {
    key: gateway.org.ownerKey,
    ...(body !== undefined && { body }),
  });
const connect = (more: object = {}) =>
  owner('PUT', '/sso', {
    issuer: idp.issuer,
    client_id: idp.clientId,
    client_secret: idp.clientSecret,
    just_in_time: true,
    default_role: 'member',
    ...more,
  });

beforeAll(async () => {
  gateway.world.baseUrl = gateway.url;
  const { slug } = (await owner('GET', '')).json;
  idp = await startOidcProvider(`${gateway.url}/sso/callback`, `${gateway.url}/sso/${slug}/callback`);
  tool = toolAt(`${gateway.url}/code/${slug}`);
});
afterAll(() => idp.close());

/** Signs in from a tool as a person does who has no session: from the link to the provider, back to the page, and to its button. */
async function signInAs(sub: string, browser = new Browser()) {
  idp.account = { sub, email: `${sub}@example.com`, email_verified: true, name: sub };
  const device = await tool.authorize();
  const first = await browser.request(device.verification_uri_complete);
  const link = /href="(\/sso\/[^"]+)"/.exec(first.text)?.[1]?.replaceAll('&amp;', '&');
  const page = link === undefined ? first : await browser.follow(`${gateway.url}${link}`);
  expect(page.url).toBe(device.verification_uri_complete);
  const answer = await browser.request(device.verification_uri, {
    form: { ...hiddenFields(page), decision: 'approve' },
    origin: gateway.url,
  });
  expect(answer.text).toContain('Tool connected');
  const { json } = await tool.poll(device);
  return {
    access: json.access_token as string,
    refresh: json.refresh_token as string,
    id: json.member_id,
    browser,
  };
}
const statusOf = async (token: string) => (await tool.call('/v1/models', token)).status;
const endOf = async (memberId: string) =>
  (await owner('GET', `/tool-sign-ins?member_id=${memberId}`)).json.data[0].end_reason;

test('a person who signs in with the provider of the organization comes back to the code, and gets a token', async () => {
  await connect();
  const { access, refresh, id } = await signInAs('ada');
  expect(await statusOf(access)).toBe(200);
  expect((await owner('GET', `/members/${id}`)).json).toMatchObject({ name: 'ada', role: 'member' });
  gateway.world.clock.advanceSeconds(3_601);
  expect(await statusOf(access)).toBe(401);
  const next = await tool.refresh(refresh);
  expect(await statusOf(next.json.access_token)).toBe(200);
  await owner('DELETE', `/members/${id}`);
  expect(await statusOf(next.json.access_token)).toBe(401);
  expect((await tool.refresh(next.json.refresh_token)).json.error).toBe('invalid_grant');
});

test('a person with a session is not sent to the provider, and a second tool has tokens of its own', async () => {
  await connect();
  const first = await signInAs('bob');
  const second = await signInAs('bob', first.browser);
  expect(second.id).toBe(first.id);
  expect(second.access).not.toBe(first.access);
  expect([await statusOf(first.access), await statusOf(second.access)]).toEqual([200, 200]);
});

test('a person whom the rules of single sign-on reject loses the sign-ins from tools', async () => {
  await connect();
  const { access, id } = await signInAs('eve');
  await connect({ allowed_email_domains: ['other.example'] });
  idp.account = { sub: 'eve', email: 'eve@example.com', email_verified: true, name: 'eve' };
  gateway.world.clock.advanceSeconds(61);
  const { slug } = (await owner('GET', '')).json;
  const rejected = await new Browser().follow(`${gateway.url}/sso/${slug}/login`, `${gateway.url}/console`);
  expect(rejected.status).toBe(403);
  expect(await statusOf(access)).toBe(401);
  expect(await endOf(id)).toBe('session_ended');
});

test('replacing or removing the provider ends the sign-ins that were approved through it', async () => {
  await connect();
  const before = await signInAs('grace');
  expect((await connect({ required: true })).status).toBe(200);
  expect(await statusOf(before.access)).toBe(200);
  expect((await owner('DELETE', '/sso')).status).toBe(204);
  expect(await statusOf(before.access)).toBe(401);
  expect(await endOf(before.id)).toBe('sso_changed');
});

test('the client that is stored is the one that the tool stated', async () => {
  await connect();
  const { id } = await signInAs('hal');
  expect((await owner('GET', `/tool-sign-ins?member_id=${id}`)).json.data[0]).toMatchObject({
    client_id: clientId,
    status: 'active',
  });
});
