import { describe, expect, test } from 'vitest';
import { useOrg, useWorld } from '../../../../test/harness.ts';
import { cookieOf, postForm } from '../../../../test/support/sign-in.ts';

const world = useWorld();
const org = useOrg(world);

const outcome = ({ status, json }: { status: number; json: { error?: { code: string } } }) => [
  status,
  json?.error?.code,
];
const as = (key: string, method: string, path: string, body?: object, at = org) =>
  world.request(method, `/v1/orgs/${at.id}/members${path}`, { key, ...(body !== undefined && { body }) });
const byOwner = (method: string, path: string, body?: object, at = org) =>
  as(at.ownerKey, method, path, body, at);
const pathOf = (url: string) => new URL(url).pathname;

let people = 0;
async function invite(role: string, at = org) {
  people += 1;
  const { json } = await byOwner('POST', '', { email: `Person${people}@Example.com`, role }, at);
  return json;
}

async function join(role: string, at = org): Promise<{ id: string; cookie: string }> {
  const { id, sign_in_url } = await invite(role, at);
  const answer = await postForm(world, pathOf(sign_in_url), {});
  expect([answer.status, answer.headers.location]).toEqual([303, '/console']);
  return { id, cookie: cookieOf(answer) };
}

const readOrg = (cookie: string) => world.request('GET', `/v1/orgs/${org.id}`, { headers: { cookie } });

describe('an invitation', () => {
  test('returns a link to the caller, and creates a member who has not joined', async () => {
    const { status, json } = await byOwner('POST', '', {
      email: 'Ada@Example.com',
      name: 'Ada',
      role: 'admin',
    });
    expect(status).toBe(201);
    expect(json).toMatchObject({
      name: 'Ada',
      email: 'ada@example.com',
      role: 'admin',
      status: 'invited',
      issuer: null,
      joined_at: null,
      link_expires_at: '2026-11-18T12:00:00.000Z',
    });
    expect(json.sign_in_url).toMatch(/^http:\/\/localhost\/console\/invitations\/[\w-]{54}$/);
    expect(outcome(await byOwner('POST', '', { email: 'ADA@example.com', role: 'viewer' }))).toEqual([
      409,
      'conflict',
    ]);
    const { json: read } = await byOwner('GET', `/${json.id}`);
    expect(read).not.toHaveProperty('sign_in_url');
  });

  test('requires a click, and can be used once', async () => {
    const { id, sign_in_url } = await invite('viewer');
    const path = pathOf(sign_in_url);
    for (let n = 0; n < 2; n += 1) {
      const page = await world.request('GET', path);
      expect([page.status, page.headers['content-type']]).toEqual([200, 'text/html; charset=utf-8']);
      // The link is not sent to other sites as a referrer, and the form on the page is same-site.
      expect(page.headers['referrer-policy']).toBe('same-origin');
    }
    const both = await Promise.all([postForm(world, path, {}), postForm(world, path, {})]);
    expect(both.map(({ status }) => status).sort()).toEqual([303, 410]);
    expect((await world.request('GET', path)).status).toBe(410);
    expect((await byOwner('GET', `/${id}`)).json).toMatchObject({ status: 'active', link_expires_at: null });
  });

  test('an invitation ends after 72 hours, when a new one is created, and when it is cancelled', async () => {
    const first = await invite('viewer');
    world.clock.advanceSeconds(72 * 3_600);
    expect((await postForm(world, pathOf(first.sign_in_url), {})).status).toBe(410);
    const second = await byOwner('POST', `/${first.id}/sign-in-link`);
    expect(second.status).toBe(200);
    const third = await byOwner('POST', `/${first.id}/sign-in-link`);
    expect((await postForm(world, pathOf(second.json.sign_in_url), {})).status).toBe(410);
    expect((await byOwner('DELETE', `/${first.id}`)).status).toBe(204);
    expect((await postForm(world, pathOf(third.json.sign_in_url), {})).status).toBe(410);
    expect(outcome(await byOwner('POST', `/${first.id}/sign-in-link`))).toEqual([404, 'not_found']);
  });

  test('an invitation is rejected from another site, and if it is forged', async () => {
    const { sign_in_url } = await invite('viewer');
    const foreign = { 'sec-fetch-site': 'cross-site' };
    expect((await postForm(world, pathOf(sign_in_url), {}, foreign)).status).toBe(403);
    expect((await postForm(world, `/console/invitations/${'A'.repeat(54)}`, {})).status).toBe(410);
    expect((await postForm(world, pathOf(sign_in_url), {})).status).toBe(303);
  });

  test('only an owner can invite; an admin can list the members', async () => {
    const admin = await world.mintKey(org, 'admin', ['org:read', 'org:write']);
    const body = { email: 'x@example.com', role: 'viewer' };
    expect(outcome(await as(admin.secret, 'POST', '', body))).toEqual([403, 'forbidden']);
    expect((await as(admin.secret, 'GET', '')).status).toBe(200);
  });
});

describe('a signed-in member', () => {
  test('a signed-in member has the current role on each request, and is the actor in the audit log', async () => {
    const { id, cookie } = await join('admin');
    const mint = () =>
      world.request('POST', `/v1/orgs/${org.id}/keys`, {
        headers: { cookie, 'sec-fetch-site': 'same-origin' },
        body: { name: 'a', role: 'viewer', scopes: ['runs:read'] },
      });
    expect((await mint()).status).toBe(201);
    const [entry] = await world.db.query(
      `SELECT actor_kind, actor_id FROM audit_log WHERE tenant_id = $1 AND action = 'keys.mint' ORDER BY seq DESC LIMIT 1`,
      [org.id],
    );
    expect(entry).toEqual({ actor_kind: 'member', actor_id: id });
    await byOwner('PATCH', `/${id}`, { role: 'viewer' });
    expect(outcome(await mint())).toEqual([403, 'forbidden']);
    expect((await readOrg(cookie)).status).toBe(200);
  });

  test('loses access immediately when removed', async () => {
    const { id, cookie } = await join('viewer');
    expect((await readOrg(cookie)).status).toBe(200);
    await byOwner('DELETE', `/${id}`);
    expect(outcome(await readOrg(cookie))).toEqual([401, 'session_revoked']);
    expect(outcome(await byOwner('DELETE', `/${id}`))).toEqual([404, 'not_found']);
    const { json } = await byOwner('GET', '?status=removed&limit=200');
    expect(json.data.map((member: { id: string }) => member.id)).toContain(id);
  });

  test('who was removed and invited again has the new role, and nothing of the old access', async () => {
    const email = 'returns@example.com';
    const invited = (await byOwner('POST', '', { email, role: 'admin' })).json;
    const before = cookieOf(await postForm(world, pathOf(invited.sign_in_url), {}));
    const oldLink = (await byOwner('POST', `/${invited.id}/sign-in-link`)).json.sign_in_url;
    await byOwner('DELETE', `/${invited.id}`);
    const again = (await byOwner('POST', '', { email, role: 'viewer' })).json;
    expect(outcome(await byOwner('POST', '', { email, role: 'owner' })), 'invited twice').toEqual([
      409,
      'conflict',
    ]);
    expect((await postForm(world, pathOf(oldLink), {})).status).toBe(410);
    const after = cookieOf(await postForm(world, pathOf(again.sign_in_url), {}));
    expect(outcome(await readOrg(before))).toEqual([401, 'session_revoked']);
    expect((await readOrg(after)).status).toBe(200);
    const mint = await world.request('POST', `/v1/orgs/${org.id}/keys`, {
      headers: { cookie: after, 'sec-fetch-site': 'same-origin' },
      body: { name: 'a', role: 'viewer', scopes: ['runs:read'] },
    });
    expect(outcome(mint)).toEqual([403, 'forbidden']);
    expect((await byOwner('GET', `/${invited.id}`)).json).toMatchObject({ status: 'removed', role: 'admin' });
    expect((await byOwner('GET', `/${again.id}`)).json).toMatchObject({ status: 'active', role: 'viewer' });
  });

  test('a signed-in member can approve a request of a key, but not a request of their own', async () => {
    const asker = await join('member');
    const approver = await join('admin');
    const send = (cookie: string, method: string, path: string, body: object) =>
      world.request(method, path, { headers: { cookie, 'sec-fetch-site': 'same-origin' }, body });
    await send(approver.cookie, 'POST', `/v1/orgs/${org.id}/policies`, {
      effect: 'require_approval',
      models: ['dear'],
      priority: 1,
      reason: 'a',
    });
    const ask = async (cookie: string) =>
      (await send(cookie, 'POST', '/v1/runs', { model: 'dear', cost_usd: '0.1' })).json.error.details
        .approval_id;
    const approve = async (id: string) =>
      (await send(approver.cookie, 'POST', `/v1/orgs/${org.id}/approvals/${id}/approve`, {})).status;
    expect(await approve(await ask(approver.cookie))).toBe(403);
    expect(await approve(await ask(asker.cookie))).toBe(200);
  });
});

describe('the last owner', () => {
  test('the last owner can be neither removed nor demoted, also with pending invitations', async () => {
    const other = await world.createOrg();
    const { id } = await join('owner', other);
    await invite('owner', other);
    const act = (method: string, body?: object) => byOwner(method, `/${id}`, body, other);
    expect(outcome(await act('DELETE'))).toEqual([409, 'conflict']);
    expect(outcome(await act('PATCH', { role: 'admin' }))).toEqual([409, 'conflict']);
    expect((await act('PATCH', { name: 'Still here', role: 'owner' })).status).toBe(200);
    await join('owner', other);
    expect((await act('PATCH', { role: 'admin' })).status).toBe(200);
  });

  test('remains under concurrent removals or demotions', async () => {
    for (const [method, body] of [
      ['DELETE', undefined],
      ['PATCH', { role: 'viewer' }],
    ] as const) {
      const other = await world.createOrg();
      const owners = [await join('owner', other), await join('owner', other)];
      const answers = await Promise.all(owners.map(({ id }) => byOwner(method, `/${id}`, body, other)));
      expect(answers.map(({ status }) => status).sort()).toEqual([method === 'DELETE' ? 204 : 200, 409]);
    }
  });
});

test('a one-time link signs an operator in, to the platform or to an org', async () => {
  const make = (body: object) =>
    world.request('POST', '/v1/admin/console-links', { key: world.operatorKey, body });
  expect(outcome(await make({ org_id: 'org_0' }))).toEqual([404, 'not_found']);
  const { json } = await make({ org_id: org.id, role: 'viewer' });
  const path = pathOf(json.url);
  expect((await world.request('GET', path)).status).toBe(200);
  const both = await Promise.all([postForm(world, path, {}), postForm(world, path, {})]);
  expect(both.map(({ status }) => status).sort()).toEqual([303, 410]);
  const cookie = cookieOf(both.find(({ status }) => status === 303) ?? { headers: {} });
  expect((await readOrg(cookie)).json.id).toBe(org.id);
  const change = await world.request('PATCH', `/v1/orgs/${org.id}`, {
    headers: { cookie },
    body: { name: 'a' },
  });
  expect(outcome(change), 'the role of the link').toEqual([403, 'forbidden']);
  const { json: list } = await world.request('GET', `/v1/orgs/${org.id}/sessions?method=link`, {
    key: org.ownerKey,
  });
  expect(list.data).toMatchObject([{ method: 'link', role: 'viewer' }]);

  const platform = await make({});
  const late = await make({});
  const opened = await postForm(world, pathOf(platform.json.url), {});
  const admin = await world.request('GET', '/v1/admin/orgs', { headers: { cookie: cookieOf(opened) } });
  expect(admin.status).toBe(200);
  world.clock.advanceSeconds(600);
  expect((await postForm(world, pathOf(late.json.url), {})).status).toBe(410);
});

test('a link does not enter an org that forbids support access or requires approval', async () => {
  const other = await world.createOrg();
  const make = () =>
    world.request('POST', '/v1/admin/console-links', { key: world.operatorKey, body: { org_id: other.id } });
  const say = async (body: object) => {
    const path = `/v1/orgs/${other.id}/support-access/settings`;
    expect((await world.request('PUT', path, { key: other.ownerKey, body })).status).toBe(200);
  };
  const early = await make();
  expect(early.status).toBe(201);
  await say({ allowed: false, approval_required: false });
  expect(outcome(await make())).toEqual([409, 'conflict']);
  const entered = await postForm(world, pathOf(early.json.url), {});
  expect([entered.status, entered.headers['set-cookie']]).toEqual([409, undefined]);
  await say({ allowed: true, approval_required: true });
  expect(outcome(await make())).toEqual([409, 'conflict']);
  await say({ allowed: true, approval_required: false });
  expect((await postForm(world, pathOf(early.json.url), {})).status, 'what was refused was not used up').toBe(
    303,
  );
});
