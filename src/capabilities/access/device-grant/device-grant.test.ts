import { beforeAll, describe, expect, test } from 'vitest';
import { Browser } from '../../../../test/support/cookie-browser.ts';
import {
  type DeviceAuthorization,
  decideIn,
  deviceGrant,
  hiddenFields,
  joinWithLink,
  type Tool,
  toolAt,
} from '../../../../test/support/device-sign-in.ts';
import { useGatewayWorld } from '../../../../test/support/gateway-world.ts';
import { signIn } from '../../../../test/support/sign-in.ts';

const gateway = useGatewayWorld({ SVC_AUTH_BACKOFF_ATTEMPTS: '1000' });
let base: string;
let tool: Tool;
let people = 0;

const slugOf = async (org: { id: string; ownerKey: string }) =>
  (await gateway.world.request('GET', `/v1/orgs/${org.id}`, { key: org.ownerKey })).json.slug as string;

beforeAll(async () => {
  gateway.world.baseUrl = gateway.url;
  base = `${gateway.url}/code/${await slugOf(gateway.org)}`;
  tool = toolAt(base);
});

const owner = (method: string, path: string, body?: object) =>
  gateway.world.request(method, `/v1/orgs/${gateway.org.id}${path}`, {
    key: gateway.org.ownerKey,
    ...(body !== undefined && { body }),
  });

async function newMember(role = 'member') {
  people += 1;
  const browser = new Browser();
  const id = await joinWithLink(gateway.world, gateway.org, browser, {
    email: `person-${people}@example.com`,
    role,
  });
  return { id, browser };
}

/** A member who has signed in from a tool. */
async function signedIn() {
  const member = await newMember();
  const device = await tool.authorize();
  expect((await decideIn(member.browser, device, 'approve')).text).toContain('Tool connected');
  const { status, json } = await tool.poll(device);
  expect(status, JSON.stringify(json)).toBe(200);
  return { ...member, access: json.access_token as string, refresh: json.refresh_token as string, json };
}

const message = {
  method: 'POST',
  headers: { 'content-type': 'application/json', 'anthropic-version': '2023-06-01' },
  body: JSON.stringify({
    model: 'claude-test',
    max_tokens: 20,
    messages: [{ role: 'user', content: 'Hello' }],
  }),
};
const call = (token: string, at = tool) => at.call('/v1/messages', token, message);
const statusOf = async (token: string) => (await call(token)).status;
const signInsOf = async (memberId: string) =>
  (await owner('GET', `/tool-sign-ins?member_id=${memberId}`)).json.data;

describe('the protocol', () => {
  test('discovery names endpoints below the base address of the organization', async () => {
    const { status, json } = await tool.call('/.well-known/oauth-authorization-server', '');
    expect(status).toBe(200);
    expect(json).toMatchObject({
      issuer: base,
      device_authorization_endpoint: `${base}/oauth/device_authorization`,
      token_endpoint: `${base}/oauth/token`,
      grant_types_supported: [deviceGrant, 'refresh_token'],
    });
    expect(json).not.toHaveProperty('authorization_endpoint');
  });

  test('a member who approves the code gives the tool a token for models, attributed to the member', async () => {
    const { id, access, json } = await signedIn();
    expect(json).toMatchObject({ token_type: 'Bearer', expires_in: 3_600, member_id: id });
    expect(await statusOf(access)).toBe(200);
    const [run] = await gateway.runs();
    expect(run).toMatchObject({ member_id: id, model: 'claude-test', status: 'succeeded' });
  });

  test('a code has 256 random bits, and its user code 8 letters of 20', async () => {
    const device = await tool.authorize();
    expect(Buffer.from(device.device_code, 'base64url')).toHaveLength(32);
    expect(device.user_code).toMatch(/^[BCDFGHJKLMNPQRSTVWXZ]{4}-[BCDFGHJKLMNPQRSTVWXZ]{4}$/);
    expect(device).toMatchObject({ expires_in: 600, interval: 5 });
    expect(device.verification_uri_complete).toBe(`${device.verification_uri}?user_code=${device.user_code}`);
  });

  test('a tool waits until the person has decided, and is slowed down if it polls too often', async () => {
    const device = await tool.authorize();
    expect((await tool.poll(device)).json).toMatchObject({ error: 'authorization_pending' });
    const early = await tool.poll(device);
    expect([early.status, early.json.error]).toEqual([400, 'slow_down']);
    gateway.world.clock.advanceSeconds(6);
    expect((await tool.poll(device)).json.error).toBe('slow_down');
    gateway.world.clock.advanceSeconds(15);
    expect((await tool.poll(device)).json.error).toBe('authorization_pending');
  });

  test('a tool learns that the person has rejected it, and that its code has expired', async () => {
    const { browser } = await newMember();
    const rejected = await tool.authorize();
    expect((await decideIn(browser, rejected, 'deny')).text).toContain('Sign-in rejected');
    expect((await tool.poll(rejected)).json.error).toBe('access_denied');
    const late = await tool.authorize();
    gateway.world.clock.advanceSeconds(601);
    expect((await tool.poll(late)).json.error).toBe('expired_token');
  });

  test('a tool that states no client id, like Claude Code, signs in', async () => {
    const post = async (path: string, form: Record<string, string>) =>
      (await fetch(`${base}${path}`, { method: 'POST', body: new URLSearchParams(form) })).json();
    const device = await post('/oauth/device_authorization', {});
    const { browser } = await newMember();
    await decideIn(browser, device, 'approve');
    const first = await post('/oauth/token', { grant_type: deviceGrant, device_code: device.device_code });
    const next = await post('/oauth/token', {
      grant_type: 'refresh_token',
      refresh_token: first.refresh_token,
    });
    expect(await statusOf(next.access_token)).toBe(200);
  });

  test('malformed requests get errors in the format of OAuth', async () => {
    const { json, status } = await tool.poll({ device_code: 'x' }, { grant_type: 'password' });
    expect([status, json.error]).toEqual([400, 'unsupported_grant_type']);
    const wrongType = await fetch(`${base}/oauth/token`, {
      method: 'POST',
      headers: { 'content-type': 'application/json' },
      body: '{}',
    });
    expect([wrongType.status, (await wrongType.json()).error]).toEqual([400, 'invalid_request']);
    const nowhere = await toolAt(`${gateway.url}/code/nowhere`).poll({ device_code: 'x' });
    expect([nowhere.status, nowhere.json.error]).toEqual([404, 'invalid_request']);
  });

  test('an invalid token gets 401 in the format of Anthropic, also at paths that are not served', async () => {
    for (const path of ['/v1/messages', '/v1/models', '/v1/anything', '/managed/settings']) {
      const { status, json } = await tool.call(path, 'svc_tool_invented');
      expect([path, status, json.type, json.error?.type]).toEqual([
        path,
        401,
        'error',
        'authentication_error',
      ]);
    }
  });

  test('the token lists models and counts tokens', async () => {
    const { access } = await signedIn();
    const models = await tool.call('/v1/models', access);
    expect(models.json.data).toContainEqual(
      expect.objectContaining({ id: 'claude-test', display_name: 'claude-test' }),
    );
    const counted = await tool.call('/v1/messages/count_tokens', access, message);
    expect(counted.status).toBe(200);
  });

  test('the token works as a bearer token below the other paths of the gateway', async () => {
    const { id, access } = await signedIn();
    const response = await fetch(`${gateway.url}/openai/v1/chat/completions`, {
      method: 'POST',
      headers: { authorization: `Bearer ${access}`, 'content-type': 'application/json' },
      body: JSON.stringify({ model: 'gpt-test', max_tokens: 5, messages: [{ role: 'user', content: 'Hi' }] }),
    });
    expect(response.status).toBe(200);
    const run = (await gateway.runs()).find(({ member_id }) => member_id === id);
    expect(run).toMatchObject({ model: 'gpt-test' });
  });

  test('the token reads the usage of its member, and no other', async () => {
    const [ada, bob] = [await signedIn(), await signedIn()];
    await call(ada.access);
    const path = `/v1/orgs/${gateway.org.id}/usage/own`;
    const runsOf = async (key: string) => {
      await gateway.runs();
      return (await gateway.world.request('GET', path, { key })).json.total.runs;
    };
    expect([await runsOf(ada.access), await runsOf(bob.access)]).toEqual([1, 0]);
    expect((await gateway.world.request('GET', path, { key: gateway.key })).json.error.code).toBe(
      'forbidden',
    );
    const foreign = await gateway.world.request('GET', `${path}?member_id=${bob.id}`, { key: ada.access });
    expect(foreign.status).toBe(422);
  });

  test('the token can neither read nor change what is of others', async () => {
    const { access } = await signedIn();
    for (const path of [
      '/v1/runs',
      `/v1/orgs/${gateway.org.id}/members`,
      `/v1/orgs/${gateway.org.id}/keys`,
    ]) {
      const { status, json } = await gateway.world.request('GET', path, { key: access });
      expect([path, status, json.error.code]).toEqual([path, 403, 'missing_scope']);
    }
  });

  test('a policy that blocks a model is reported as an invalid request', async () => {
    const { id, access } = await signedIn();
    const policy = await owner('POST', '/policies', {
      priority: 1,
      effect: 'block',
      reason: 'not allowed',
      expression: `member_id == "${id}"`,
    });
    expect(policy.status, policy.text).toBe(201);
    const { status, json } = await call(access);
    expect([status, json.error.type, json.error.code]).toEqual([
      400,
      'invalid_request_error',
      'policy_blocked',
    ]);
    expect((await tool.call('/v1/models', access)).json.data).toEqual([]);
    const { access: another } = await signedIn();
    expect((await tool.call('/v1/models', another)).json.data).not.toEqual([]);
    await owner('DELETE', `/policies/${policy.json.id}`);
  });

  test('telemetry of every signal is accepted', async () => {
    const { access } = await signedIn();
    for (const signal of ['traces', 'logs', 'metrics']) {
      const { status } = await tool.call(`/v1/${signal}`, access, {
        method: 'POST',
        headers: { 'content-type': 'application/json' },
        body: '{}',
      });
      expect([signal, status]).toEqual([signal, 200]);
    }
  });
});

describe('renewal', () => {
  test('a refresh token gives the next tokens once, and again only to a tool that lost the response', async () => {
    const { refresh, access } = await signedIn();
    const next = await tool.refresh(refresh);
    expect(next.status).toBe(200);
    expect(next.json.access_token).not.toBe(access);
    expect(next.json.refresh_token).not.toBe(refresh);
    gateway.world.clock.advanceSeconds(10);
    const again = await tool.refresh(refresh);
    expect(again.json.access_token).toBe(next.json.access_token);
    expect(again.json.refresh_token).toBe(next.json.refresh_token);
    expect(await statusOf(next.json.access_token)).toBe(200);
  });

  test('an access token ends after its hour, and renewal continues the sign-in', async () => {
    const { refresh, access } = await signedIn();
    gateway.world.clock.advanceSeconds(3_601);
    const { status, json } = await call(access);
    expect([status, json.error.type, json.error.code]).toEqual([401, 'authentication_error', 'key_expired']);
    const next = await tool.refresh(refresh);
    expect(await statusOf(next.json.access_token)).toBe(200);
  });

  test('a refresh token that is used again later revokes all tokens of the sign-in', async () => {
    const { id, refresh } = await signedIn();
    const { json } = await tool.refresh(refresh);
    gateway.world.clock.advanceSeconds(31);
    const reused = await tool.refresh(refresh);
    expect([reused.status, reused.json.error]).toEqual([401, 'invalid_grant']);
    expect(await statusOf(json.access_token)).toBe(401);
    expect((await tool.refresh(json.refresh_token)).json.error).toBe('invalid_grant');
    expect(await signInsOf(id)).toMatchObject([{ status: 'ended', end_reason: 'refresh_token_reused' }]);
  });

  test('a refresh token whose successor was used revokes all tokens, also shortly after', async () => {
    const { refresh } = await signedIn();
    const second = await tool.refresh(refresh);
    const third = await tool.refresh(second.json.refresh_token);
    expect(third.status).toBe(200);
    expect((await tool.refresh(refresh)).json.error).toBe('invalid_grant');
    expect(await statusOf(third.json.access_token)).toBe(401);
  });

  test('a sign-in ends after its longest time', async () => {
    const { refresh } = await signedIn();
    gateway.world.clock.advanceSeconds(30 * 24 * 3_600 + 1);
    expect((await tool.refresh(refresh)).json.error).toBe('invalid_grant');
  });

  test('membership, role and organization are checked at each renewal and each call', async () => {
    const demoted = await signedIn();
    await owner('PATCH', `/members/${demoted.id}`, { role: 'viewer' });
    const denied = await call(demoted.access);
    expect([denied.status, denied.json.error.type]).toEqual([403, 'permission_error']);
    expect((await tool.refresh(demoted.refresh)).json.error).toBe('invalid_grant');
    await owner('PATCH', `/members/${demoted.id}`, { role: 'member' });
    expect(await statusOf(demoted.access)).toBe(200);

    const removed = await signedIn();
    await owner('DELETE', `/members/${removed.id}`);
    expect(await statusOf(removed.access)).toBe(401);
    expect((await tool.refresh(removed.refresh)).json.error).toBe('invalid_grant');
    expect(await signInsOf(removed.id)).toMatchObject([{ status: 'ended', end_reason: 'member_removed' }]);
  });

  test('a suspended organization neither renews nor serves, and continues when it is reinstated', async () => {
    const { access, refresh } = await signedIn();
    const status = (action: string, body?: object) =>
      gateway.world.request('POST', `/v1/admin/orgs/${gateway.org.id}/${action}`, {
        key: gateway.world.operatorKey,
        ...(body !== undefined && { body }),
      });
    await status('suspend', { reason: 'billing' });
    expect(await statusOf(access)).toBe(403);
    expect((await tool.refresh(refresh)).status).toBe(401);
    await status('reinstate');
    expect(await statusOf(access)).toBe(200);
    expect((await tool.refresh(refresh)).status).toBe(200);
  });
});

describe('revocation', () => {
  test('a revoked token gets 410 below the paths of the gateway and the API, and 401 below the address of tools', async () => {
    const { id, access, refresh } = await signedIn();
    expect(await statusOf(access)).toBe(200);
    const [{ id: signInId }] = await signInsOf(id);
    expect((await owner('DELETE', `/tool-sign-ins/${signInId}`)).status).toBe(204);
    expect(await statusOf(access)).toBe(401);
    const direct = await fetch(`${gateway.url}/anthropic/v1/messages`, {
      ...message,
      headers: { ...message.headers, authorization: `Bearer ${access}` },
    });
    expect([direct.status, (await direct.json()).error.code]).toEqual([410, 'gone']);
    const api = await gateway.world.request('GET', '/v1/runs', { key: access });
    expect([api.status, api.json.error.code]).toEqual([410, 'gone']);
    expect((await tool.refresh(refresh)).json.error).toBe('invalid_grant');
  });

  test('a sign-in ends with the console session that approved it, unless the person only signs out', async () => {
    const revoked = await signedIn();
    const [signIn1] = await signInsOf(revoked.id);
    await owner('DELETE', `/sessions/${signIn1.session_id}`);
    expect(await statusOf(revoked.access)).toBe(401);
    const left = await signedIn();
    await left.browser.request(`${gateway.url}/console/logout`, { form: {}, origin: gateway.url });
    expect(await statusOf(left.access)).toBe(200);
  });

  test('a tool that signs out ends its sign-in', async () => {
    const { id, access, refresh } = await signedIn();
    const { status } = await tool.call('/oauth/revoke', '', {
      method: 'POST',
      body: new URLSearchParams({ token: refresh }),
    });
    expect(status).toBe(200);
    expect(await statusOf(access)).toBe(401);
    expect(await signInsOf(id)).toMatchObject([{ end_reason: 'signed_out' }]);
  });

  test('members see and end their own sign-ins, and not those of others', async () => {
    const [ada, bob] = [await signedIn(), await signedIn()];
    const asAda = (method: string, path: string) =>
      gateway.world.request(method, `/v1/orgs/${gateway.org.id}/tool-sign-ins${path}`, {
        headers: { cookie: ada.browser.cookies(gateway.url) },
      });
    const { data } = (await asAda('GET', '')).json;
    expect(data.map(({ member_id }: { member_id: string }) => member_id)).toEqual([ada.id]);
    const [{ id: foreign }] = await signInsOf(bob.id);
    expect((await asAda('DELETE', `/${foreign}`)).status).toBe(404);
    expect((await asAda('DELETE', `/${data[0].id}`)).status).toBe(204);
    expect(await statusOf(ada.access)).toBe(401);
    expect(await statusOf(bob.access)).toBe(200);
  });

  test('approvals and ends are in the audit log and sent as events', async () => {
    const { id } = await signedIn();
    const [{ id: signInId }] = await signInsOf(id);
    await owner('DELETE', `/tool-sign-ins/${signInId}`);
    const { json } = await owner('GET', `/audit-log?target=${signInId}`);
    expect(json.data.map(({ action }: { action: string }) => action).sort()).toEqual([
      'tool_sign_ins.approve',
      'tool_sign_ins.revoke',
    ]);
    const events = await gateway.world.db.query<{ type: string }>(
      `SELECT type FROM outbox WHERE tenant_id = $1 AND data::text LIKE $2 ORDER BY type`,
      [gateway.org.id, `%${signInId}%`],
    );
    expect(events.map(({ type }) => type)).toEqual(['tool_sign_in.created', 'tool_sign_in.ended']);
  });

  test('neither codes nor tokens are stored', async () => {
    const device = await tool.authorize();
    const { access, refresh } = await signedIn();
    for (const table of ['device_codes', 'tool_tokens', 'tool_sign_ins']) {
      const rows = await gateway.world.db.query<{ text: string }>(
        `SELECT ${table}::text AS text FROM ${table}`,
      );
      const text = rows.map((row) => row.text).join('\n');
      for (const secret of [device.device_code, device.user_code, access, refresh]) {
        expect(text).not.toContain(secret);
      }
    }
    expect(gateway.world.logLines.join('\n')).not.toContain(refresh);
  });
});

describe('attacks', () => {
  const approved = async (device: DeviceAuthorization) =>
    (await tool.poll(device)).json.access_token !== undefined;

  test('opening the link approves nothing, and the page names the code, the tool and its address', async () => {
    const { browser } = await newMember();
    const device = await tool.authorize();
    const { status, text, headers } = await browser.request(device.verification_uri_complete);
    expect(status).toBe(200);
    for (const shown of [
      device.user_code,
      'claude-code',
      '127.0.0.1',
      'if you started this sign-in yourself',
    ]) {
      expect(text).toContain(shown);
    }
    expect(headers.get('content-security-policy')).toContain("frame-ancestors 'none'");
    expect(text).not.toContain('<script');
    expect(await approved(device)).toBe(false);
  });

  test('a form of another site, and a form without the proof of the page, approve nothing', async () => {
    const { browser } = await newMember();
    const device = await tool.authorize();
    const fields = hiddenFields(await browser.request(device.verification_uri_complete));
    const post = (form: Record<string, string>, origin: string) =>
      browser.request(device.verification_uri, { form: { ...form, decision: 'approve' }, origin });
    expect((await post(fields, 'http://evil.example')).status).toBe(403);
    expect((await post({ user_code: device.user_code }, gateway.url)).status).toBe(403);
    const other = await tool.authorize();
    expect((await post({ ...fields, user_code: other.user_code }, gateway.url)).status).toBe(403);
    expect(await approved(device)).toBe(false);
    expect(await approved(other)).toBe(false);
  });

  test('the proof of a page that was shown to another person is not accepted', async () => {
    const [ada, eve] = [await newMember(), await newMember()];
    const device = await tool.authorize();
    const fields = hiddenFields(await eve.browser.request(device.verification_uri_complete));
    const answer = await ada.browser.request(device.verification_uri, {
      form: { ...fields, decision: 'approve' },
      origin: gateway.url,
    });
    expect(answer.status).toBe(403);
    expect(await approved(device)).toBe(false);
  });

  test('guessed codes are limited by address and person', async () => {
    const { browser } = await newMember();
    const device = await tool.authorize();
    const guess = async (code: string) =>
      (await browser.request(`${device.verification_uri}?user_code=${code}`)).status;
    for (let attempt = 0; attempt < 10; attempt += 1) {
      expect(await guess('BBBB-BBBB')).toBe(422);
    }
    expect(await guess('BBBB-BBBB')).toBe(429);
    expect(await guess(device.user_code)).toBe(429);
    gateway.world.clock.advanceSeconds(61);
    expect(await guess(device.user_code)).toBe(200);
  });

  test('a code works in its organization only, and so does a token', async () => {
    const other = await gateway.world.createOrg();
    const foreignTool = toolAt(`${gateway.url}/code/${await slugOf(other)}`);
    const { browser, access, refresh } = await signedIn();
    const device = await foreignTool.authorize();
    const path = new URL((await tool.authorize()).verification_uri).pathname;
    const guessed = await browser.request(`${gateway.url}${path}?user_code=${device.user_code}`);
    expect(guessed.status).toBe(422);
    const page = await browser.request(device.verification_uri_complete);
    expect(page.status).toBe(403);
    expect(page.text).not.toContain(device.user_code);
    expect((await tool.poll(device)).json.error).toBe('invalid_grant');
    expect((await foreignTool.refresh(refresh)).json.error).toBe('invalid_grant');
    expect((await call(access, foreignTool)).status).toBe(401);
    expect((await tool.refresh(refresh)).status).toBe(200);
  });

  test('sessions of keys, of viewers and of other organizations approve nothing', async () => {
    const viewer = await newMember('viewer');
    const device = await tool.authorize();
    expect((await viewer.browser.request(device.verification_uri_complete)).status).toBe(403);
    const { cookie } = await signIn(gateway.world, gateway.org.ownerKey, gateway.org.id);
    const ofKey = await fetch(device.verification_uri_complete, { headers: { cookie } });
    expect(ofKey.status).toBe(403);
    expect(await ofKey.text()).not.toContain('decision');
    const nobody = await new Browser().request(device.verification_uri_complete);
    expect(nobody.text).toContain('Sign in first');
    expect(nobody.text).not.toContain('decision');
    expect(await approved(device)).toBe(false);
  });

  test('a session that ended after the page was shown approves nothing', async () => {
    const { id, browser } = await newMember();
    const device = await tool.authorize();
    const fields = hiddenFields(await browser.request(device.verification_uri_complete));
    await owner('DELETE', `/members/${id}`);
    const answer = await browser.request(device.verification_uri, {
      form: { ...fields, decision: 'approve' },
      origin: gateway.url,
    });
    expect(answer.text).not.toContain('Tool connected');
    expect(await approved(device)).toBe(false);
  });

  test('a code is approved once and redeemed once', async () => {
    const [ada, bob] = [await newMember(), await newMember()];
    const device = await tool.authorize();
    const forms = await Promise.all(
      [ada, bob].map(async ({ browser }) =>
        hiddenFields(await browser.request(device.verification_uri_complete)),
      ),
    );
    const answers = await Promise.all(
      [ada, bob].map(({ browser }, index) =>
        browser.request(device.verification_uri, {
          form: { ...forms[index], decision: 'approve' },
          origin: gateway.url,
        }),
      ),
    );
    expect(answers.filter(({ text }) => text.includes('Tool connected'))).toHaveLength(1);
    expect([...(await signInsOf(ada.id)), ...(await signInsOf(bob.id))]).toHaveLength(1);
    const polls = await Promise.all([tool.poll(device), tool.poll(device)]);
    expect(polls.map(({ status }) => status).sort()).toEqual([200, 400]);
  });

  test('a member who is removed between approval and redemption gets no token', async () => {
    const { id, browser } = await newMember();
    const device = await tool.authorize();
    await decideIn(browser, device, 'approve');
    await owner('DELETE', `/members/${id}`);
    expect((await tool.poll(device)).json.error).toBe('access_denied');
  });

  test('a tool of another client id gets no token', async () => {
    const { browser } = await newMember();
    const device = await tool.authorize();
    await decideIn(browser, device, 'approve');
    expect((await tool.poll(device, { client_id: 'other' })).json.error).toBe('invalid_grant');
    const { json } = await tool.poll(device);
    expect((await tool.refresh(json.refresh_token, { client_id: 'other' })).json.error).toBe('invalid_grant');
    expect((await tool.refresh(json.refresh_token)).status).toBe(200);
  });

  test('the page leads nowhere else', async () => {
    const device = await tool.authorize();
    const { text } = await new Browser().request(
      `${device.verification_uri}?user_code=${encodeURIComponent('//evil.example')}&return_to=//evil.example`,
    );
    expect(text).not.toContain('evil.example');
  });
});
