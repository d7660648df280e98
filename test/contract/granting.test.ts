/**
 * Every operation that grants access to a key or a person: a caller can grant at most its own role and scopes. A member
 * has every scope when signed in, so a key with few scopes can create no members, no links and no way to sign in. Neither can
 * a key with locked attribution, because it is not locked for members.
 */

import { beforeAll, describe, expect, test } from 'vitest';
import { type KeyScope, scopes } from '../../src/contract/scopes.ts';
import { useOrg, useWorld } from '../harness.ts';
import { declaredRoutes } from '../support/declared-routes.ts';
import { cookieOf, postForm, signIn } from '../support/sign-in.ts';

const world = useWorld();
const org = useOrg(world);
/** A key with the scopes of the routes below, and no others. */
let narrowKey: string;
let memberId: string;
let widerKeyId: string;

beforeAll(async () => {
  narrowKey = (await world.mintKey(org, 'owner', ['org:read', 'org:write', 'keys:read', 'keys:write']))
    .secret;
  memberId = (await asOwner('POST', 'members', { email: 'ada@example.com', role: 'owner' })).json.id;
  widerKeyId = (await world.mintKey(org, 'viewer', ['runs:read'])).id;
});

type Headers = { readonly key: string } | { readonly headers: Record<string, string> };
const send = (method: string, path: string, body: object | undefined, as: Headers) =>
  world.request(method, `/v1/orgs/${org.id}/${path}`, { ...as, ...(body !== undefined && { body }) });
const asOwner = (method: string, path: string, body?: object) =>
  send(method, path, body, { key: org.ownerKey });

const oidc = { issuer: 'https://login.example.com', client_id: 'a' };

interface Attempt {
  readonly id: string;
  readonly method: string;
  path(): string;
  readonly body?: object;
}

/** Requests that grant more than the narrow key has. */
const attempts: readonly Attempt[] = [
  ...(['viewer', 'owner'] as const).map((role) => ({
    id: 'members.invite',
    method: 'POST',
    path: () => 'members',
    body: { email: 'mallory@example.com', role },
  })),
  { id: 'members.sign_in_link', method: 'POST', path: () => `members/${memberId}/sign-in-link` },
  ...(['viewer', 'admin'] as const).map((role) => ({
    id: 'members.change',
    method: 'PATCH',
    path: () => `members/${memberId}`,
    body: { role },
  })),
  ...[
    oidc,
    { ...oidc, default_role: null },
    { ...oidc, just_in_time: true, default_role: 'owner' },
    { ...oidc, role_mapping: [{ group: 'a', role: 'owner' }] },
  ].map((body) => ({ id: 'sso.put', method: 'PUT', path: () => 'sso', body })),
  { id: 'sso.remove', method: 'DELETE', path: () => 'sso' },
  { id: 'sso.tests.create', method: 'POST', path: () => 'sso/tests', body: {} },
  {
    id: 'keys.mint',
    method: 'POST',
    path: () => 'keys',
    body: { name: 'a', role: 'viewer', scopes: ['runs:read'] },
  },
  ...[
    { members: [{ email: 'mallory@example.com', role: 'viewer' }] },
    { members: [{ email: 'ada@example.com', role: 'admin' }] },
    { sso: { ...oidc, default_role: 'owner' } },
    { keys: [{ name: 'b', role: 'viewer', scopes: ['runs:read'] }] },
  ].map((body) => ({ id: 'configuration.apply', method: 'POST', path: () => 'configuration', body })),
  { id: 'keys.rotate', method: 'POST', path: () => `keys/${widerKeyId}/rotate`, body: {} },
];

/** Operations with the same scopes that grant no access, each with the reason. */
const givesNothing: Readonly<Record<string, string>> = {
  'org.change': 'names the org',
  'org.ip_allow_list.put': 'only addresses of callers that have a key already',
  'retention_policy.put': 'keeps or deletes data',
  'members.remove': 'takes access away',
  'keys.change': 'changes neither role nor scopes; locked values are covered by attribution.test.ts of keys',
  'keys.revoke': 'takes access away',
  'sessions.revoke': 'takes access away',
  'tool_sign_ins.revoke': 'takes access away',
  'key_rules.put': 'only ends keys earlier',
  'support_access.settings.put': 'consents to what operators grant themselves, within `grantableScopes`',
  'support_access.grants.approve': 'consents to what an operator granted, within `grantableScopes`',
  'support_access.grants.deny': 'takes access away',
  'support_access.grants.revoke': 'takes access away',
};

test('every operation with the scopes for keys and members is covered here', () => {
  const delegating: readonly KeyScope[] = ['org:write', 'keys:write'];
  const declared = declaredRoutes().flatMap(({ id, access }) =>
    access.kind === 'org' && delegating.includes(access.scope) ? [id] : [],
  );
  const covered = [...attempts.map(({ id }) => id), ...Object.keys(givesNothing)];
  expect(declared.sort()).toEqual([...new Set(covered)].sort());
});

describe('an owner key without all scopes cannot grant more than it has', () => {
  test.each(
    attempts.map((attempt) => [`${attempt.id} ${JSON.stringify(attempt.body ?? {})}`, attempt] as const),
  )('%s', async (_, { method, path, body }) => {
    await asOwner('PUT', 'sso', oidc);
    const before = await Promise.all([stateOf('members'), stateOf('sso'), stateOf('keys')]);
    const { status, json } = await send(method, path(), body, { key: narrowKey });
    expect([status, json?.error?.code, json?.error?.details]).toEqual([403, 'forbidden', {}]);
    expect(await Promise.all([stateOf('members'), stateOf('sso'), stateOf('keys')])).toEqual(before);
    await asOwner('DELETE', 'sso');
  });

  test('the console session of an owner key without all scopes cannot grant more than the key', async () => {
    const { cookie } = await signIn(world, narrowKey, org.id);
    const { status } = await send('POST', `members/${memberId}/sign-in-link`, undefined, {
      headers: { cookie, 'sec-fetch-site': 'same-origin' },
    });
    expect(status).toBe(403);
  });

  test('an owner key without all scopes can rename and remove a member', async () => {
    const invited = await asOwner('POST', 'members', { email: 'eve@example.com', role: 'viewer' });
    const path = `members/${invited.json.id}`;
    const renamed = await send('PATCH', path, { name: 'Eve', role: 'viewer' }, { key: narrowKey });
    expect([renamed.status, renamed.json.name]).toEqual([200, 'Eve']);
    expect((await send('DELETE', path, undefined, { key: narrowKey })).status).toBe(204);
  });
});

describe('an owner key with locked attribution cannot grant access to members', () => {
  const isForMembers = ({ id, body = {} }: Attempt) => !id.startsWith('keys.') && !('keys' in body);
  let locked: { readonly id: string; readonly secret: string };
  beforeAll(async () => {
    locked = await world.mintKey(org, 'owner', scopes, {
      attribution: { department: 'a' },
      attribution_locked: ['department'],
    });
  });

  test.each(
    attempts
      .filter(isForMembers)
      .map((attempt) => [`${attempt.id} ${JSON.stringify(attempt.body ?? {})}`, attempt] as const),
  )('%s', async (_, { method, path, body }) => {
    await asOwner('PUT', 'sso', oidc);
    const before = await Promise.all([stateOf('members'), stateOf('sso')]);
    const { status, json } = await send(method, path(), body, { key: locked.secret });
    expect([status, json?.error?.code, json?.error?.details]).toEqual([
      403,
      'forbidden',
      { field: 'department' },
    ]);
    expect(await Promise.all([stateOf('members'), stateOf('sso')])).toEqual(before);
    await asOwner('DELETE', 'sso');
  });

  test('the console session of an owner key with locked attribution cannot grant access to members', async () => {
    const { cookie } = await signIn(world, locked.secret, org.id);
    const { status } = await send('POST', `members/${memberId}/sign-in-link`, undefined, {
      headers: { cookie, 'sec-fetch-site': 'same-origin' },
    });
    expect(status).toBe(403);
  });

  test('a key whose attribution is not locked can', async () => {
    const key = await world.mintKey(org, 'owner', scopes, { attribution: { department: 'a' } });
    const path = `members/${memberId}/sign-in-link`;
    expect((await send('POST', path, undefined, { key: key.secret })).status).toBe(200);
  });
});

describe('a support session with every grantable scope cannot grant access', () => {
  test.each(
    attempts.map((attempt) => [`${attempt.id} ${JSON.stringify(attempt.body ?? {})}`, attempt] as const),
  )('%s', async (_, { method, path, body }) => {
    const { status, json } = await send(method, path(), body, { key: await supportToken() });
    expect([status, json.error.code]).toEqual([403, 'support_scope_denied']);
  });
});

test('a member with the role owner, and an operator signed in as owner, can do all of it', async () => {
  const invited = await asOwner('POST', 'members', { email: 'grace@example.com', role: 'owner' });
  const joined = await postForm(world, new URL(invited.json.sign_in_url).pathname, {});
  const link = await world.request('POST', '/v1/admin/console-links', {
    key: world.operatorKey,
    body: { org_id: org.id },
  });
  const entered = await postForm(world, new URL(link.json.url).pathname, {});
  for (const [n, answer] of [joined, entered].entries()) {
    const as = { headers: { cookie: cookieOf(answer), 'sec-fetch-site': 'same-origin' } };
    const email = `person${n}@example.com`;
    const person = await send('POST', 'members', { email, role: 'viewer' }, as);
    expect(person.status).toBe(201);
    const path = `members/${person.json.id}`;
    expect((await send('POST', `${path}/sign-in-link`, undefined, as)).status).toBe(200);
    expect((await send('PATCH', path, { role: 'owner' }, as)).status).toBe(200);
    expect((await send('PUT', 'sso', { ...oidc, default_role: 'owner' }, as)).status).toBe(200);
    expect((await send('DELETE', 'sso', undefined, as)).status).toBe(204);
    expect((await send('POST', 'keys', { name: 'a', role: 'owner', scopes }, as)).status).toBe(201);
  }
});

async function stateOf(path: string): Promise<unknown> {
  const { json } = await asOwner('GET', path);
  return { ...json, updated_at: undefined };
}

let token: Promise<string> | undefined;
function supportToken(): Promise<string> {
  token ??= (async () => {
    const never = ['keys:write', 'org:write', 'webhooks:write', 'connections:write', 'gateway:call'];
    const scope = scopes.filter((name) => !never.includes(name));
    const expires_at = new Date(world.clock.now().getTime() + 3_600_000).toISOString();
    const grant = await world.request('POST', '/v1/admin/support/grants', {
      key: world.operatorKey,
      body: { org_id: org.id, scope, reason: 'a', expires_at },
    });
    const path = `/v1/admin/support/grants/${grant.json.id}/sessions`;
    return (await world.request('POST', path, { key: world.operatorKey })).json.token;
  })();
  return token;
}
