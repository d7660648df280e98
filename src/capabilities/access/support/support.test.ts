import { describe, expect, test } from 'vitest';
import { useOrg, useWorld } from '../../../../test/harness.ts';
import { type KeyScope, scopes } from '../../../contract/scopes.ts';
import { generateKey } from '../../../platform/http/routes/key-format.ts';
import { createTokenLookups } from '../keys/index.ts';
import { createImpersonation, type ImpersonationDependencies } from './impersonation.ts';

const world = useWorld();
const org = useOrg(world);

const inHours = (hours: number) => new Date(world.clock.now().getTime() + hours * 3_600_000).toISOString();
const admin = (method: string, path: string, body?: object) =>
  world.request(method, `/v1/admin/support/grants${path}`, { key: world.operatorKey, ...(body && { body }) });
const own = (method: string, path: string, body?: object, of = org) =>
  world.request(method, `/v1/orgs/${of.id}/support-access${path}`, {
    key: of.ownerKey,
    ...(body && { body }),
  });

const grantBody = (scope: readonly KeyScope[], of = org) => ({
  org_id: of.id,
  scope,
  reason: 'Ticket 4711',
  expires_at: inHours(1),
});

async function grant(scope: readonly KeyScope[], of = org) {
  const { status, json } = await admin('POST', '', grantBody(scope, of));
  expect(status).toBe(201);
  return json;
}

async function session(
  scope: readonly KeyScope[],
  of = org,
): Promise<{ grantId: string; id: string; token: string }> {
  const { id: grantId } = await grant(scope, of);
  const { status, json } = await admin('POST', `/${grantId}/sessions`);
  expect(status).toBe(201);
  return { grantId, id: json.id, token: json.token };
}

const get = (key: string, path: string) => world.request('GET', path, { key });
const codeOf = ({ json }: { json: { error?: { code: string } } }) => json.error?.code;
const fieldsOf = ({
  json,
}: {
  json: { error: { details: { fields: { field: string; code: string }[] } } };
}) => json.error.details.fields.map(({ field, code }) => `${field} ${code}`);

describe('a grant', () => {
  test('a grant has an org, scopes, a reason and an end, and opens a session with these scopes', async () => {
    const made = await grant(['budgets:read']);
    expect(made).toMatchObject({
      org_id: org.id,
      scope: ['budgets:read'],
      reason: 'Ticket 4711',
      status: 'active',
      needs_approval: false,
      revoked_at: null,
    });
    expect((await admin('GET', `/${made.id}`)).json).toEqual(made);
    expect((await admin('GET', `?org_id=${org.id}&status=active`)).json.data).toContainEqual(made);
    const opened = await admin('POST', `/${made.id}/sessions`);
    expect(opened.json).toMatchObject({ grant_id: made.id, org_id: org.id, expires_at: made.expires_at });
    expect((await get(opened.json.token, `/v1/orgs/${org.id}/budgets`)).status).toBe(200);
  });

  test("a grant must be narrower than the org's own access, short, and for an existing org", async () => {
    const refused = async (more: object) =>
      fieldsOf(await admin('POST', '', { ...grantBody(['runs:read']), ...more }));
    expect(await refused({ scope: scopes })).toEqual(
      expect.arrayContaining([expect.stringMatching(/^scope/)]),
    );
    expect(await refused({ scope: ['keys:write'] })).toEqual(['scope[0] invalid_value']);
    expect(await refused({ scope: ['runs:read', 'org:write'] })).toEqual(['scope[1] invalid_value']);
    expect(await refused({ scope: ['webhooks:write'] })).toEqual(['scope[0] invalid_value']);
    expect(await refused({ scope: ['everything'] })).toEqual(['scope[0] invalid_value']);
    expect(await refused({ scope: [] })).toEqual(['scope empty']);
    expect(await refused({ expires_at: inHours(8.001) })).toEqual(['expires_at out_of_range']);
    expect(await refused({ expires_at: inHours(0) })).toEqual(['expires_at out_of_range']);
    expect(await refused({ org_id: 'org_none' })).toEqual(['org_id invalid_value']);
    expect((await admin('POST', '', { ...grantBody(['runs:read']), expires_at: inHours(8) })).status).toBe(
      201,
    );
  });

  test('a grant cannot be changed', async () => {
    const { id } = await grant(['runs:read']);
    for (const method of ['PUT', 'PATCH', 'POST']) {
      expect((await admin(method, `/${id}`, { scope: ['runs:write'] })).status).toBe(404);
    }
  });

  test('a grant ends on time, and opens no session afterwards', async () => {
    const { token, grantId } = await session(['org:read']);
    world.clock.advanceSeconds(3_600);
    expect(codeOf(await get(token, `/v1/orgs/${org.id}`))).toBe('key_expired');
    expect((await admin('GET', `/${grantId}`)).json.status).toBe('expired');
    expect(codeOf(await admin('POST', `/${grantId}/sessions`))).toBe('conflict');
  });

  test("a grant ends its sessions when it, the org's permission or the opening key is revoked", async () => {
    const first = await session(['org:read']);
    expect((await get(first.token, `/v1/orgs/${org.id}`)).status).toBe(200);
    expect((await admin('DELETE', `/${first.grantId}`)).status).toBe(204);
    expect((await admin('DELETE', `/${first.grantId}`)).status).toBe(204);
    expect(codeOf(await get(first.token, `/v1/orgs/${org.id}`))).toBe('gone');

    const second = await session(['org:read']);
    expect((await own('DELETE', `/grants/${second.grantId}`)).status).toBe(204);
    expect(codeOf(await get(second.token, `/v1/orgs/${org.id}`))).toBe('gone');

    const minted = await world.request('POST', '/v1/admin/keys', {
      key: world.operatorKey,
      body: { name: 'o' },
    });
    const { id } = await grant(['org:read']);
    const opened = await world.request('POST', `/v1/admin/support/grants/${id}/sessions`, {
      key: minted.json.secret,
    });
    expect((await get(opened.json.token, `/v1/orgs/${org.id}`)).status).toBe(200);
    await world.request('DELETE', `/v1/admin/keys/${minted.json.id}`, { key: world.operatorKey });
    expect(codeOf(await get(opened.json.token, `/v1/orgs/${org.id}`))).toBe('gone');
  });

  test('a grant of another org is not found', async () => {
    const other = await world.createOrg();
    const { id } = await grant(['org:read'], other);
    for (const verb of ['/approve', '/deny']) {
      expect((await own('POST', `/grants/${id}${verb}`)).status).toBe(404);
    }
    expect((await own('DELETE', `/grants/${id}`)).status).toBe(404);
    expect((await own('GET', '/grants')).json.data.map((one: { id: string }) => one.id)).not.toContain(id);
  });
});

describe('rejects requests outside the grant', () => {
  const denied = (reason: string, scope: readonly string[], method: string) => [
    403,
    'support_scope_denied',
    { reason, scope, method },
  ];
  const refusal = async (token: string, method: string, path: string) => {
    const { status, json } = await world.request(method, path, { key: token });
    return [status, json.error.code, json.error.details];
  };

  test('rejects requests outside the grant for scopes that were not granted, with the grant, the method and the reason', async () => {
    const { token } = await session(['runs:read', 'org:read']);
    const scope = ['runs:read', 'org:read'];
    expect((await get(token, '/v1/runs')).status).toBe(200);
    expect(await refusal(token, 'POST', '/v1/runs')).toEqual(denied('scope_not_granted', scope, 'POST'));
    expect(await refusal(token, 'GET', `/v1/orgs/${org.id}/budgets`)).toEqual(
      denied('scope_not_granted', scope, 'GET'),
    );
    const { token: writer } = await session(['runs:write']);
    expect(await refusal(writer, 'POST', '/v1/runs/bulk?enforcement=record')).toEqual(
      denied('scope_not_granted', ['runs:write'], 'POST'),
    );
    expect(await refusal(token, 'POST', '/v1/edge/decision')).toEqual(
      denied('scope_not_granted', scope, 'POST'),
    );
  });

  test('rejects requests outside the grant for keys, settings, grants and operator routes, whatever was granted', async () => {
    const never = ['keys:write', 'org:write', 'webhooks:write', 'connections:write', 'gateway:call'];
    const all = scopes.filter((scope) => !never.includes(scope));
    const { token, grantId } = await session(all);
    for (const [method, path, reason] of [
      ['POST', `/v1/orgs/${org.id}/keys`, 'scope_not_granted'],
      ['PATCH', `/v1/orgs/${org.id}`, 'scope_not_granted'],
      ['POST', `/v1/orgs/${org.id}/webhooks`, 'scope_not_granted'],
      ['POST', `/v1/orgs/${org.id}/connections`, 'scope_not_granted'],
      ['POST', `/v1/orgs/${org.id}/support-access/grants/${grantId}/approve`, 'scope_not_granted'],
      ['GET', '/v1/admin/orgs', 'operator_only'],
      ['POST', '/v1/admin/support/grants', 'operator_only'],
      ['POST', `/v1/admin/support/grants/${grantId}/sessions`, 'operator_only'],
      ['GET', `/v1/admin/orgs/${org.id}/webhook-secret`, 'operator_only'],
    ] as const) {
      expect(await refusal(token, method, path), path).toEqual(denied(reason, all, method));
    }
  });

  test("rejects requests outside the grant for other orgs, and for the console's sign-in", async () => {
    const { token } = await session(['org:read']);
    expect(await refusal(token, 'GET', `/v1/orgs/${(await world.createOrg()).id}`)).toEqual([
      404,
      'not_found',
      {},
    ]);
    const login = await world.request('POST', '/console/login', {
      raw: new URLSearchParams({ key: token }).toString(),
      headers: { 'content-type': 'application/x-www-form-urlencoded' },
    });
    expect(login.headers['set-cookie']).toBeUndefined();
  });

  test('permits granted writes, and the audit log names the operator', async () => {
    const { token } = await session(['runs:write', 'budgets:write']);
    const run = await world.request('POST', '/v1/runs', {
      key: token,
      body: { model: 'm', cost_usd: '0.1' },
    });
    expect(run.status).toBe(201);
    const budget = await world.request('POST', `/v1/orgs/${org.id}/budgets`, {
      key: token,
      body: { name: 'a', scope_kind: 'org', period: 'day', limit_usd: '100' },
    });
    expect(budget.status).toBe(201);
    const [entry] = await world.db.query(
      `SELECT actor_kind, actor_id FROM audit_log WHERE tenant_id = $1 AND target_id = $2`,
      [org.id, budget.json.id],
    );
    const [{ id: operatorKeyId } = { id: '' }] = await world.db.query<{ id: string }>(
      'SELECT id FROM keys WHERE org_id IS NULL ORDER BY created_at, id LIMIT 1',
      [],
    );
    expect(entry).toEqual({ actor_kind: 'support', actor_id: operatorKeyId });
  });
});

describe('what the org sees', () => {
  test('grants, sessions and requests, allowed and denied, each in the audit log too', async () => {
    const watched = await world.createOrg();
    const { token, grantId, id } = await session(['org:read'], watched);
    const allowed = await get(token, `/v1/orgs/${watched.id}?x=1`);
    const denied = await get(token, `/v1/orgs/${watched.id}/budgets`);
    await admin('DELETE', `/${grantId}`);
    const gone = await get(token, `/v1/orgs/${watched.id}`);

    const { data } = (await own('GET', '?sort=at', undefined, watched)).json;
    expect(data.map(({ kind, outcome, code }: Record<string, string>) => [kind, outcome, code])).toEqual(
      [
        ['grant_created', null, null],
        ['session_opened', null, null],
        ['request', 'allowed', null],
        ['request', 'denied', 'support_scope_denied'],
        ['grant_revoked', null, null],
        ['request', 'denied', 'gone'],
      ].sort(byPlaceIn(data)),
    );
    const requests = (await own('GET', `?kind=request&session_id=${id}&outcome=denied`, undefined, watched))
      .json.data;
    expect(requests.map((one: { trace_id: string }) => one.trace_id).sort()).toEqual(
      [denied, gone].map(({ headers }) => headers['x-svc-trace-id']).sort(),
    );
    expect(requests[0]).toMatchObject({ grant_id: grantId, method: 'GET', address: '127.0.0.1' });

    const entries = await world.db.query(
      `SELECT actor_kind, detail->>'org_id' AS org_id, outcome FROM audit_log
        WHERE tenant_id = $1 AND trace_id = ANY($2)`,
      [watched.id, [allowed, denied, gone].map(({ headers }) => headers['x-svc-trace-id'])],
    );
    expect(entries).toHaveLength(3);
    expect(entries).toContainEqual({ actor_kind: 'support', org_id: watched.id, outcome: 'success' });
    // The log of another org stays unchanged.
    expect((await own('GET', `?grant_id=${grantId}`)).json.data).toEqual([]);
  });

  test('requests to public and unknown routes and with HEAD, as they were sent', async () => {
    const watched = await world.createOrg();
    const { token, id } = await session(['org:read'], watched);
    const asked: [
      method: string,
      path: string,
      status: number,
      operation: string | null,
      code: string | null,
    ][] = [
      ['GET', '/v1/meta/errors', 200, 'meta.errors', null],
      ['HEAD', '/v1/meta/deprecations', 200, 'meta.deprecations', null],
      ['HEAD', `/v1/orgs/${watched.id}`, 200, 'org.read', null],
      ['HEAD', `/v1/orgs/${watched.id}/budgets`, 403, 'budgets.list', 'support_scope_denied'],
      ['GET', '/v1/nothing', 404, null, 'not_found'],
      ['PUT', '/v1/meta/errors', 404, null, 'not_found'],
      ['GET', '/v1/orgs/%zz/budgets', 400, 'budgets.list', 'bad_request'],
    ];
    for (const [method, path, status] of asked) {
      expect((await world.request(method, path, { key: token })).status, path).toBe(status);
    }
    const { data } = (await own('GET', `?kind=request&session_id=${id}`, undefined, watched)).json;
    expect(
      data
        .map(({ method, path, operation, code }: Record<string, string>) =>
          [method, path, operation, code].join(' '),
        )
        .sort(),
    ).toEqual(
      asked.map(([method, path, , operation, code]) => [method, path, operation, code].join(' ')).sort(),
    );
    const entries = await world.db.query(
      `SELECT action, target_id, outcome FROM audit_log WHERE tenant_id = $1 AND detail->>'session_id' = $2`,
      [watched.id, id],
    );
    expect(entries).toHaveLength(asked.length);
    expect(entries).toContainEqual({
      action: 'support.unmatched_route',
      target_id: 'GET unmatched',
      outcome: 'denied',
    });
    expect(entries).toContainEqual({
      action: 'org.read',
      target_id: 'HEAD /v1/orgs/{id}',
      outcome: 'success',
    });

    const before = (await own('GET', '?kind=request', undefined, watched)).json.data.length;
    await get(watched.ownerKey, '/v1/meta/errors');
    await get('nonsense', '/v1/nothing');
    expect((await own('GET', '?kind=request', undefined, watched)).json.data).toHaveLength(before);
  });

  test('calls of the gateway and OpenTelemetry requests, which are answered in their formats', async () => {
    const watched = await world.createOrg();
    const { token, grantId, id } = await session(['runs:write'], watched);
    const report = (path: string) => world.request('POST', path, { key: token, body: { resourceSpans: [] } });
    const openai = await world.request('POST', '/openai/v1/chat/completions', { key: token, body: {} });
    expect([openai.status, openai.json.error.code]).toEqual([403, 'support_scope_denied']);
    const anthropic = await world.request('POST', '/anthropic/v1/messages', {
      headers: { 'x-api-key': token },
      body: {},
    });
    expect([anthropic.status, anthropic.json.error.type]).toEqual([403, 'permission_error']);
    expect((await report('/otlp/v1/traces')).status).toBe(200);
    expect((await report('/otlp/v1/unknown')).status).toBe(404);
    await admin('DELETE', `/${grantId}`);
    const gone = await report('/otlp/v1/traces');
    expect([gone.status, gone.json.code]).toEqual([410, 16]);

    const { data } = (await own('GET', `?kind=request&session_id=${id}`, undefined, watched)).json;
    const recorded = data.map(({ method, path, operation, code }: Record<string, string>) =>
      [method, path, operation, code].join(' '),
    );
    expect(recorded.sort()).toEqual([
      'POST /anthropic/v1/messages gateway.call support_scope_denied',
      'POST /openai/v1/chat/completions gateway.call support_scope_denied',
      'POST /otlp/v1/traces telemetry.record ',
      'POST /otlp/v1/traces telemetry.record gone',
      'POST /otlp/v1/unknown telemetry.record ',
    ]);
    const entries = await world.db.query(
      `SELECT action, target_id FROM audit_log WHERE tenant_id = $1 AND detail->>'session_id' = $2 AND outcome = 'success'`,
      [watched.id, id],
    );
    expect(entries).toEqual(Array(2).fill({ action: 'telemetry.record', target_id: 'POST /otlp' }));
  });

  test('whole segments of a very long path, so that a name in it can be erased', async () => {
    const { token, id } = await session(['org:read']);
    const start = `/v1/orgs/${org.id}/customers/`;
    const longest = `${'%C3%AB'.repeat(70)}${'e'.repeat(500 - start.length - 420)}`;
    for (const name of [longest, `${longest}e`]) {
      await world.request('DELETE', `${start}${name}`, { key: token });
    }
    const { data } = (await own('GET', `?kind=request&session_id=${id}`)).json;
    const recorded = data.map(({ path }: { path: string }) => path);
    expect(new Set(recorded)).toEqual(new Set([`${start}${longest}`, start]));
  });

  test('serves nothing that could not be recorded', async () => {
    const { token } = await session(['runs:write', 'runs:read']);
    world.fault = (point) => {
      if (point === 'support.before_commit') {
        throw new Error('the disk is full');
      }
    };
    const write = await world.request('POST', '/v1/runs', {
      key: token,
      body: { model: 'm', cost_usd: '0.1', external_id: 'unrecorded' },
    });
    const read = await get(token, '/v1/runs');
    const denied = await get(token, `/v1/orgs/${org.id}`);
    const open = await get(token, '/v1/meta/errors');
    const unmatched = await world.request('GET', '/v1/nothing', { key: token });
    world.fault = undefined;
    expect([write, read, denied, open, unmatched].map(codeOf)).toEqual(Array(5).fill('service_unavailable'));
    const runs = await world.db.query(
      `SELECT 1 AS one FROM runs WHERE org_id = $1 AND external_id = 'unrecorded'`,
      [org.id],
    );
    expect(runs).toEqual([]);
    expect((await get(token, '/v1/runs')).status).toBe(200);
  });
});

/** Sorts entries like `data`, because the order of entries of the same instant is undefined. */
function byPlaceIn(data: readonly Record<string, unknown>[]) {
  const place = ([kind, outcome, code]: readonly (string | null)[]) =>
    data.findIndex((one) => one.kind === kind && one.outcome === outcome && one.code === code);
  return (one: (string | null)[], other: (string | null)[]) => place(one) - place(other);
}

describe('what the org decides', () => {
  test('with approval required, a grant waits for an admin of the org, once', async () => {
    const careful = await world.createOrg();
    const settings = { allowed: true, approval_required: true };
    expect((await own('GET', '/settings', undefined, careful)).json).toEqual({
      allowed: true,
      approval_required: false,
    });
    expect((await own('PUT', '/settings', settings, careful)).json).toEqual(settings);
    const { id, status } = await grant(['org:read'], careful);
    expect(status).toBe('pending');
    expect(codeOf(await admin('POST', `/${id}/sessions`))).toBe('conflict');
    const approved = await own('POST', `/grants/${id}/approve`, undefined, careful);
    expect(approved.json).toMatchObject({ status: 'active', decided_by: expect.stringMatching(/^key_/) });
    expect((await admin('POST', `/${id}/sessions`)).status).toBe(201);
    expect(codeOf(await own('POST', `/grants/${id}/deny`, undefined, careful))).toBe('conflict');

    const denied = await grant(['org:read'], careful);
    expect((await own('POST', `/grants/${denied.id}/deny`, undefined, careful)).json.status).toBe('denied');
    expect(codeOf(await admin('POST', `/${denied.id}/sessions`))).toBe('conflict');
    expect((await own('GET', '/grants?status=denied', undefined, careful)).json.data).toHaveLength(1);
    expect((await own('GET', '/grants?status=active', undefined, careful)).json.data).toHaveLength(1);
    expect((await own('GET', '/grants?status=pending', undefined, careful)).json.data).toEqual([]);
  });

  test('of two concurrent decisions one counts', async () => {
    const careful = await world.createOrg();
    await own('PUT', '/settings', { allowed: true, approval_required: true }, careful);
    const { id } = await grant(['org:read'], careful);
    const answers = await Promise.all(
      ['approve', 'deny', 'approve'].map((verb) => own('POST', `/grants/${id}/${verb}`, undefined, careful)),
    );
    expect(answers.map(({ status }) => status).sort()).toEqual([200, 409, 409]);
  });

  test('in any order, a revoked or forbidden grant stays so', async () => {
    const careful = await world.createOrg();
    const put = (allowed: boolean, approval_required: boolean) =>
      own('PUT', '/settings', { allowed, approval_required }, careful);
    await put(true, true);
    const asked = await grant(['org:read'], careful);
    await Promise.all([
      own('POST', `/grants/${asked.id}/approve`, undefined, careful),
      admin('DELETE', `/${asked.id}`),
    ]);
    expect((await admin('GET', `/${asked.id}`)).json.status).toBe('revoked');
    expect(codeOf(await admin('POST', `/${asked.id}/sessions`))).toBe('conflict');

    await put(true, false);
    const { id } = await grant(['org:read'], careful);
    const [opened, late, forbidden] = await Promise.all([
      admin('POST', `/${id}/sessions`),
      admin('POST', '', grantBody(['org:read'], careful)),
      put(false, false),
    ]);
    expect(forbidden.status).toBe(200);
    if (opened.status === 201) {
      expect(codeOf(await get(opened.json.token, `/v1/orgs/${careful.id}`))).toBe('gone');
    }
    const grants = [id, ...(late.status === 201 ? [late.json.id] : [])];
    for (const one of grants) {
      expect((await admin('GET', `/${one}`)).json.status).toBe('revoked');
    }
  });

  test('forbidding ends all grants immediately, and prevents new ones', async () => {
    const closed = await world.createOrg();
    const { token, grantId } = await session(['org:read'], closed);
    const { status } = await own('PUT', '/settings', { allowed: false, approval_required: false }, closed);
    expect(status).toBe(200);
    expect(codeOf(await get(token, `/v1/orgs/${closed.id}`))).toBe('gone');
    expect((await admin('GET', `/${grantId}`)).json.status).toBe('revoked');
    expect(codeOf(await admin('POST', '', grantBody(['org:read'], closed)))).toBe('conflict');
  });

  test('only an owner changes settings, only an admin decides', async () => {
    const { secret } = await world.mintKey(org, 'admin', ['org:write']);
    const put = await world.request('PUT', `/v1/orgs/${org.id}/support-access/settings`, {
      key: secret,
      body: { allowed: false, approval_required: false },
    });
    expect(codeOf(put)).toBe('forbidden');
  });
});

test('the allow-list and status of the org apply to support too', async () => {
  const strict = await world.createOrg();
  const { token } = await session(['org:read'], strict);
  await world.request('PUT', `/v1/orgs/${strict.id}/ip-allow-list`, {
    key: strict.ownerKey,
    body: { cidrs: ['192.0.2.1'], force: true },
  });
  expect(codeOf(await get(token, `/v1/orgs/${strict.id}`))).toBe('ip_not_allowed');
  await world.request('DELETE', `/v1/admin/orgs/${strict.id}/ip-allow-list`, { key: world.operatorKey });
  await world.request('POST', `/v1/admin/orgs/${strict.id}/suspend`, { key: world.operatorKey });
  expect(codeOf(await get(token, `/v1/orgs/${strict.id}`))).toBe('org_suspended');
});

test('unknown tokens of one address do not fill the queue of the database', async () => {
  const waiting: ((rows: never[]) => void)[] = [];
  const deps: Partial<ImpersonationDependencies> = {
    db: { ...world.db, query: () => new Promise<never[]>((resolve) => waiting.push(resolve)) },
    clock: world.clock,
    lookups: createTokenLookups(),
  };
  const { find } = createImpersonation(deps as ImpersonationDependencies);
  const guesses = Array.from({ length: 200 }, () => find(generateKey('support'), '192.0.2.1'));
  const queries = waiting.length;
  expect(queries).toBeLessThan(100);
  const other = find(generateKey('support'), '198.51.100.1');
  expect(waiting).toHaveLength(queries + 1);
  const all = Promise.all([...guesses, other]);
  for (let resolve = waiting.shift(); resolve !== undefined; resolve = waiting.shift()) {
    resolve([]);
    await new Promise(setImmediate);
  }
  expect(new Set(await all)).toEqual(new Set([undefined]));
});
