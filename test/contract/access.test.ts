/**
 * Every route rejects callers without access with exactly the documented error, in the documented order, before it
 * reads the body.
 */
import { beforeAll, describe, expect, test } from 'vitest';
import { grantableScopes } from '../../src/capabilities/access/support/schema.ts';
import { type KeyScope, orgRoles, scopes } from '../../src/contract/scopes.ts';
import { generateKey } from '../../src/platform/http/routes/key-format.ts';
import type { Route } from '../../src/platform/http/routes/route.ts';
import { type TestOrg, useOrg, useWorld } from '../harness.ts';
import { declaredRoutes } from '../support/declared-routes.ts';
import { storedToolSignIn } from '../support/device-sign-in.ts';
import { pendingPriceChange } from '../support/price-updates.ts';
import { signIn } from '../support/sign-in.ts';
import { statementBody } from '../support/statement-files.ts';

const routes = declaredRoutes();
const guarded = routes.filter(({ access }) => access.kind !== 'public');
const name = ({ method, path }: Route) => `${method} ${path}`;

// These tests send hundreds of invalid keys from one address.
const world = useWorld({
  SVC_AUTH_BACKOFF_ATTEMPTS: '1000000',
  SVC_SMTP_URL: 'smtp://localhost:9',
  SVC_SMTP_FROM: 'purser@example.com',
});
const home = useOrg(world);
const foreign = useOrg(world);
const suspended = useOrg(world);
/** Ids of real resources, for each path parameter that any route has. */
let own: Record<string, string>;
let theirs: Record<string, string>;
let revokedKey: string;
let expiredKey: string;
let futureKey: string;

beforeAll(async () => {
  own = await resourcesOf(home);
  theirs = await resourcesOf(foreign);
  await world.request('POST', `/v1/admin/orgs/${suspended.id}/suspend`, { key: world.operatorKey });
  const inSeconds = (seconds: number) =>
    new Date(world.clock.now().getTime() + seconds * 1_000).toISOString();
  const revoked = await world.mintKey(home, 'owner', scopes);
  await world.request('DELETE', `/v1/orgs/${home.id}/keys/${revoked.id}`, { key: home.ownerKey });
  revokedKey = revoked.secret;
  expiredKey = (await world.mintKey(home, 'owner', scopes, { expires_at: inSeconds(5) })).secret;
  futureKey = (await world.mintKey(home, 'owner', scopes, { not_before: inSeconds(1_000) })).secret;
  world.clock.advanceSeconds(10);
});

/** Returns the id of a resource for each path parameter. Throws if a path parameter of a route is missing here. */
async function resourcesOf(org: TestOrg): Promise<Record<string, string>> {
  const { id: keyId } = await world.mintKey(org, 'viewer', []);
  const made = async (path: string, body: object) => {
    const { json } = await world.request('POST', `/v1/orgs/${org.id}/${path}`, { key: org.ownerKey, body });
    return json.id;
  };
  const plan = await world.request('POST', '/v1/admin/plans', {
    key: world.operatorKey,
    body: { name: org.id, overage_policy: 'block' },
  });
  const run = await world.request('POST', '/v1/runs', {
    key: org.ownerKey,
    body: { model: 'm', status: 'running', estimated_cost_usd: '0.1' },
  });
  const budget_id = await made('budgets', limitBodies.budget);
  const limit_id = await made('customer-limits', limitBodies.customerLimit);
  await world.request('PUT', `/v1/orgs/${org.id}/spend-cap`, {
    key: org.ownerKey,
    body: { cap_usd: '1000' },
  });
  return {
    id: org.id,
    org_id: org.id,
    key_id: keyId,
    run_id: run.json.id,
    decision_id: run.json.decision_id,
    model: 'gpt-4o',
    budget_id,
    request_id: await raiseRequestOf(org, budget_id),
    raise_id: await made(`budgets/${budget_id}/raises`, raiseBody()),
    cap_raise_id: await made('spend-cap/raises', raiseBody()),
    limit_id,
    limit_raise_id: await made(`customer-limits/${limit_id}/raises`, raiseBody()),
    customer_id: await customerOf(org),
    pack_id: await made('credit-packs', limitBodies.creditPack),
    plan_id: plan.json.id,
    member_id: await made('members', { email: 'ada@example.com', role: 'viewer' }),
    session_id: (await signIn(world, org.ownerKey, org.id)).id,
    tool_sign_in_id: await storedToolSignIn(world, org),
    detector_id: await made('safety-detectors', detectorBody),
    eval_id: await made('evals', evalBody),
    cohort_id: (
      await world.request('POST', '/v1/benchmarks/cohorts', { key: org.ownerKey, body: cohortBody })
    ).json.id,
    scenario_id: await made('capacity-scenarios', scenarioBody),
    statement_id: await made('statements', statementBody()),
    connection_id: await made('connections', connectionBody),
    test_id: await made('sso/tests', {
      settings: { issuer: 'https://login.example.com', client_id: 'a' },
    }),
    grant_id: await supportGrantOf(org),
    change_id: await pendingPriceChange(world, `changing-${org.id}`),
    ...(await webhookOf(org)),
    ...(await emailSubscriptionOf(org)),
    ...(await policyOf(org)),
  };
}

async function supportGrantOf({ id }: TestOrg, scope: readonly KeyScope[] = ['runs:read']): Promise<string> {
  const expires_at = new Date(world.clock.now().getTime() + 3_600_000).toISOString();
  const { json } = await world.request('POST', '/v1/admin/support/grants', {
    key: world.operatorKey,
    body: { org_id: id, scope, reason: 'a', expires_at },
  });
  return json.id;
}

/** Requests a raise with another key than the one that decides. */
async function raiseRequestOf(org: TestOrg, limit_id: string): Promise<string> {
  const { secret } = await world.mintKey(org, 'member', ['budgets:read']);
  const body = { ...raiseBody(), limit_id };
  return (await world.request('POST', `/v1/orgs/${org.id}/raise-requests`, { key: secret, body })).json.id;
}

function raiseBody() {
  const until = new Date(world.clock.now().getTime() + 3_600_000).toISOString();
  return { amount_usd: '1', until, reason: 'a' };
}

/** Creates a customer with a name that is unique across orgs, so that it does not exist in the other org. */
async function customerOf(org: TestOrg): Promise<string> {
  const body = { ...limitBodies.customerLimit, customer_id: `customer_${org.id}` };
  await world.request('POST', `/v1/orgs/${org.id}/customer-limits`, { key: org.ownerKey, body });
  return body.customer_id;
}

async function webhookOf(org: TestOrg): Promise<{ sub_id: string; delivery_id: string }> {
  const path = `/v1/orgs/${org.id}/webhooks`;
  const created = await world.request('POST', path, { key: org.ownerKey, body: webhookBody });
  const test = await world.request('POST', `${path}/${created.json.id}/test`, { key: org.ownerKey });
  return { sub_id: created.json.id, delivery_id: test.json.id };
}

async function emailSubscriptionOf(
  org: TestOrg,
): Promise<{ email_subscription_id: string; email_delivery_id: string }> {
  const path = `/v1/orgs/${org.id}/email-subscriptions`;
  const created = await world.request('POST', path, { key: org.ownerKey, body: emailBody });
  const test = await world.request('POST', `${path}/${created.json.id}/test`, { key: org.ownerKey });
  return { email_subscription_id: created.json.id, email_delivery_id: test.json.data[0].id };
}

/** Creates a policy for a model that no other request here uses, and a request for its approval. */
async function policyOf(
  org: TestOrg,
): Promise<{ policy_id: string; approval_id: string; refusal_id: string }> {
  const policy = await world.request('POST', `/v1/orgs/${org.id}/policies`, {
    key: org.ownerKey,
    body: policyBody,
  });
  const asked = await world.request('POST', '/v1/runs', {
    key: org.ownerKey,
    body: { model: 'governed', cost_usd: '0.1' },
  });
  await world.runJob('record-refusals');
  const denied = await world.request('GET', `/v1/orgs/${org.id}/refusals`, { key: org.ownerKey });
  return {
    policy_id: policy.json.id,
    approval_id: asked.json.error.details.approval_id,
    refusal_id: denied.json.data[0].id,
  };
}

const policyBody = { effect: 'require_approval', models: ['governed'], priority: 1, reason: 'a' };
const emailBody = { recipients: ['a@example.com'] };
const webhookBody = { url: 'https://receiver.example/hook', events: ['*'] };
const connectionBody = { name: 'a', kind: 'openai', api_key: 'sk-a' };

const evalBody = { suite: 'a', model: 'a', score: 1, samples: 1 };
const routingBody = { candidates: ['a'], suite: 'a', min_score: 0, max_age_days: 1, objective: 'cost' };

const cohortBody = { name: 'a', criteria: {} };
const scenarioBody = { name: 'a', changes: {} };
const detectorBody = { name: 'a', kind: 'words', words: ['a'], action: 'flag' };

const limitBodies = {
  budget: { name: 'a', scope_kind: 'org', period: 'day', limit_usd: '1' },
  customerLimit: { customer_id: 'a', period: 'day', limit_usd: '1' },
  creditPack: { customer_id: 'a', amount_usd: '1' },
};

function pathFor(route: Route, ids: Record<string, string>): string {
  return route.path.replaceAll(/\{(\w+)\}/g, (_, parameter: string) => {
    const id = ids[parameter];
    if (id === undefined) {
      throw new Error(`teach resourcesOf how to make a {${parameter}}`);
    }
    return id;
  });
}

const errorOf = async (route: Route, key: string | undefined, ids = own) => {
  const { status, json } = await world.request(route.method, pathFor(route, ids), {
    ...(key !== undefined && { key }),
    // Not JSON. A request that is rejected before its body is read gets no error about the body.
    raw: '{',
    headers: { 'content-type': 'application/json' },
  });
  return [status, json.error.code, json.error.details];
};

describe.each(guarded.map((route) => [name(route), route] as const))('%s', (_, route) => {
  test('rejects a request without a key', async () => {
    expect(await errorOf(route, undefined)).toEqual([401, 'unauthorized', {}]);
  });
  test('rejects a malformed key', async () => {
    expect(await errorOf(route, 'nonsense')).toEqual([401, 'unauthorized', {}]);
  });
  test('rejects a well-formed key that was never minted', async () => {
    expect(await errorOf(route, generateKey('test'))).toEqual([401, 'unauthorized', {}]);
  });
  test('rejects a revoked key', async () => {
    expect(await errorOf(route, revokedKey)).toEqual([410, 'gone', {}]);
  });
  test('rejects an expired key and a key that is not valid yet', async () => {
    expect(await errorOf(route, expiredKey)).toEqual([401, 'key_expired', {}]);
    expect(await errorOf(route, futureKey)).toEqual([401, 'key_expired', {}]);
  });
  test('rejects a key of a suspended org', async () => {
    expect(await errorOf(route, suspended.ownerKey)).toEqual([403, 'org_suspended', {}]);
  });
});

const orgRoutes = guarded.flatMap((route) =>
  route.access.kind === 'org' ? [{ route, scope: route.access.scope, role: route.access.role }] : [],
);

describe.each(orgRoutes.map((entry) => [name(entry.route), entry] as const))(
  '%s',
  (_, { route, scope, role }) => {
    test('rejects a key with every scope except the required one', async () => {
      const others = scopes.filter((other): other is KeyScope => other !== scope);
      const { secret } = await world.mintKey(home, 'owner', others);
      expect(await errorOf(route, secret)).toEqual([403, 'missing_scope', { required: scope }]);
    });

    test('rejects every role below the required one', async () => {
      for (const lower of orgRoles.slice(0, orgRoles.indexOf(role))) {
        const { secret } = await world.mintKey(home, lower, [scope]);
        expect(await errorOf(route, secret)).toEqual([403, 'forbidden', {}]);
      }
    });

    test('rejects an operator', async () => {
      const [status, code] = await errorOf(route, world.operatorKey);
      expect([status, code]).toEqual(
        route.path.includes('{id}') || namesResourceOnly(route) ? [404, 'not_found'] : [403, 'missing_scope'],
      );
    });
  },
);

/** True if the path names a resource of an org, and not the org. Models belong to no org. */
function namesResourceOnly({ path }: Route): boolean {
  return path.includes('{') && !path.includes('{id}') && !path.includes('{model}');
}

describe('a support session with every grantable scope except the required one is rejected', () => {
  const sessions = new Map<string, Promise<string>>();
  async function sessionWith(scope: readonly KeyScope[]): Promise<string> {
    const path = `/v1/admin/support/grants/${await supportGrantOf(home, scope)}/sessions`;
    return (await world.request('POST', path, { key: world.operatorKey })).json.token;
  }
  function sessionWithout(needed: KeyScope | undefined): Promise<string> {
    const name = needed ?? 'nothing';
    const found = sessions.get(name) ?? sessionWith(grantableScopes.filter((scope) => scope !== needed));
    sessions.set(name, found);
    return found;
  }
  let denied = 0;

  test.each(guarded.map((route) => [name(route), route] as const))('%s', async (_, route) => {
    const { access, method } = route;
    const needed = access.kind === 'org' ? access.scope : undefined;
    const expectDenied = async (token: string, reason: string) => {
      const [status, code, details] = await errorOf(route, token);
      expect([status, code, details.reason, details.method]).toEqual([
        403,
        'support_scope_denied',
        reason,
        method,
      ]);
      denied += 1;
    };
    await expectDenied(
      await sessionWithout(needed),
      access.kind === 'org' ? 'scope_not_granted' : 'operator_only',
    );
    if (access.kind === 'org' && access.role === 'owner' && grantableScopes.includes(access.scope)) {
      await expectDenied(await sessionWithout(undefined), 'owner_only');
    }
  });

  test('every rejected request is recorded', async () => {
    expect(denied).toBeGreaterThanOrEqual(guarded.length);
    const [row] = await world.db.query<{ logged: bigint; audited: bigint }>(
      `SELECT (SELECT count(*) FROM support_access_log WHERE org_id = $1 AND code = 'support_scope_denied') AS logged,
              (SELECT count(*) FROM audit_log
                WHERE tenant_id = $1 AND actor_kind = 'support' AND code = 'support_scope_denied') AS audited`,
      [home.id],
    );
    expect([Number(row?.logged), Number(row?.audited)]).toEqual([denied, denied]);
  });
});

describe('a resource of another org is not found, also without the scope, the role or the grant that it requires', () => {
  const byId = orgRoutes.filter(({ route }) => namesResourceOnly(route));

  test.each(byId.map((entry) => [name(entry.route), entry] as const))(
    '%s',
    async (_, { route, scope, role }) => {
      const others = scopes.filter((other): other is KeyScope => other !== scope);
      const keys = [(await world.mintKey(home, 'owner', others)).secret];
      if (role !== 'viewer') {
        keys.push((await world.mintKey(home, 'viewer', [scope])).secret);
      }
      const grant = await supportGrantOf(
        home,
        grantableScopes.filter((other) => other !== scope),
      );
      const session = await world.request('POST', `/v1/admin/support/grants/${grant}/sessions`, {
        key: world.operatorKey,
      });
      keys.push(session.json.token);
      const missing = Object.fromEntries(
        Object.entries(theirs).map(([parameter, id]) => [parameter, id.slice(0, -4).concat('0000')]),
      );
      for (const key of keys) {
        expect((await errorOf(route, key))[0]).toBe(403);
        expect(await errorOf(route, key, theirs)).toEqual([404, 'not_found', {}]);
        expect(await errorOf(route, key, missing)).toEqual([404, 'not_found', {}]);
      }
    },
  );

  test('every such route is covered', () => {
    expect(byId.length).toBeGreaterThan(0);
    expect(byId.every(({ route }) => route.isOwn !== undefined)).toBe(true);
  });

  test('every such request of a support session is recorded', async () => {
    const [row] = await world.db.query<{ logged: bigint }>(
      `SELECT count(*) AS logged FROM support_access_log WHERE org_id = $1 AND code = 'not_found'`,
      [home.id],
    );
    expect(Number(row?.logged)).toBe(2 * byId.length);
  });
});

describe.each(
  guarded.filter(({ access }) => access.kind === 'operator').map((route) => [name(route), route] as const),
)('%s', (_, route) => {
  test('rejects an owner with every scope', async () => {
    expect(await errorOf(route, home.ownerKey)).toEqual([403, 'forbidden', {}]);
  });
});

describe.each(
  guarded.flatMap((route) =>
    route.access.kind === 'operator_or_admin' ? [[name(route), route, route.access.scope] as const] : [],
  ),
)('%s', (_, route, scope) => {
  const ask = async (key: string, orgId = home.id) => {
    const answer = await world.request(route.method, pathFor(route, { ...own, org_id: orgId }), { key });
    return [answer.status, answer.json.error?.code];
  };

  test('admits operators, and admins of the org with the scope', async () => {
    expect(await ask(world.operatorKey)).toEqual([200, undefined]);
    for (const role of ['admin', 'owner'] as const) {
      expect(await ask((await world.mintKey(home, role, [scope])).secret)).toEqual([200, undefined]);
    }
  });
  test('rejects a key of the org with every scope except that one', async () => {
    const others = scopes.filter((other) => other !== scope);
    for (const role of ['viewer', 'owner'] as const) {
      const { secret } = await world.mintKey(home, role, others);
      expect(await errorOf(route, secret)).toEqual([403, 'missing_scope', { required: scope }]);
    }
  });
  test('rejects lower roles with every scope', async () => {
    for (const role of ['viewer', 'member'] as const) {
      expect(await ask((await world.mintKey(home, role, scopes)).secret)).toEqual([403, 'forbidden']);
    }
  });
  test('rejects another org like one that does not exist', async () => {
    expect(await ask(home.ownerKey, foreign.id)).toEqual([403, 'forbidden']);
    expect(await ask(home.ownerKey, 'org_00000000000000000000000000')).toEqual([403, 'forbidden']);
    expect(await ask(world.operatorKey, 'org_00000000000000000000000000')).toEqual([404, 'not_found']);
  });
});

describe('the response for a resource of another tenant is identical to that for one that does not exist', () => {
  const withIds = guarded.filter(({ path, access }) => path.includes('{') && access.kind === 'org');
  test.each(withIds.map((route) => [name(route), route] as const))('%s', async (_, route) => {
    const parameters = [...route.path.matchAll(/\{(\w+)\}/g)].map(([, parameter]) => parameter as string);
    for (const parameter of parameters) {
      const ask = async (id: string | undefined) => {
        const { status, headers, text } = await world.request(
          route.method,
          pathFor(route, { ...own, [parameter]: id ?? '' }),
          { key: home.ownerKey, ...(route.body !== undefined && { body: validBody(route) }) },
        );
        const { 'x-svc-trace-id': _trace, date: _date, ...rest } = headers;
        return { status, text, headers: rest };
      };
      const missing = (theirs[parameter] ?? '').slice(0, -4).concat('0000');
      const answer = await ask(theirs[parameter]);
      expect(answer.status).toBe(404);
      expect(answer).toEqual(await ask(missing));
    }
  });
});

/** Returns a valid body for a route, so that the request gets as far as the resource. */
function validBody(route: Route): object {
  const bodies: Record<string, object> = {
    'org.change': { name: 'Taken over' },
    'configuration.plan': { budgets: [] },
    'configuration.apply': { budgets: [] },
    'org.ip_allow_list.put': { cidrs: [] },
    'support_access.settings.put': { allowed: true, approval_required: false },
    'retention_policy.put': {},
    'members.invite': { email: 'bob@example.com', role: 'viewer' },
    'members.change': { name: 'b' },
    'sso.put': { issuer: 'https://login.example.com', client_id: 'a' },
    'sso.tests.create': { settings: { issuer: 'https://login.example.com', client_id: 'a' } },
    'keys.mint': { name: 'a', role: 'viewer', scopes: [] },
    'keys.change': { name: 'b' },
    'keys.rotate': {},
    'key_rules.put': { lifetime_days_max: 30, unused_days_max: null },
    'runs.complete': { cost_usd: '0.1' },
    'runs.adjust': { amount_usd: '0.1', reason: 'a' },
    'holds.extend': { seconds: 60 },
    'holds.increase': { cost_usd: '0.1' },
    'decisions.extend': { seconds: 60 },
    'decisions.increase': { cost_usd: '0.1' },
    'connections.create': { ...connectionBody, name: 'b' },
    'connections.change': { weight: 2 },
    'connections.rotate': { api_key: 'sk-b' },
    'gateway.put': {},
    'webhooks.create': webhookBody,
    'webhooks.change': { description: 'b' },
    'email_subscriptions.create': emailBody,
    'email_subscriptions.change': { description: 'b' },
    'webhooks.signing.rotate': {},
    'webhooks.redeliver': { from: '2026-01-01T00:00:00Z' },
    'benchmark_participation.put': { enabled: false },
    'statements.create': statementBody(),
    'capacity_scenarios.create': scenarioBody,
    'capacity_scenarios.change': { name: 'b' },
    'safety_detectors.create': detectorBody,
    'safety_detectors.change': { enabled: false },
    'safety_detectors.test': { content: 'a' },
    'budgets.create': limitBodies.budget,
    'budgets.change': { name: 'b' },
    'spend_cap.put': { cap_usd: '1' },
    'budgets.raises.create': raiseBody(),
    'spend_cap.raises.create': raiseBody(),
    'raise_requests.create': { ...raiseBody(), limit_id: 'bud_none' },
    'raise_requests.approve': {},
    'raise_requests.deny': {},
    'customer_limits.raises.create': raiseBody(),
    'chain_budget.put': {},
    'unpriced_policy.put': { on_unpriced: 'record' },
    'customer_limits.create': limitBodies.customerLimit,
    'customer_limits.change': { limit_usd: '2' },
    'credit_packs.create': limitBodies.creditPack,
    'credit_packs.change': { name: 'b' },
    'policies.create': policyBody,
    'policies.change': { reason: 'b' },
    'policies.evaluate': { model: 'm' },
    'policies.simulate': { rules: [] },
    'approvals.approve': {},
    'approvals.deny': {},
    'evals.create': evalBody,
    'routing_policy.put': routingBody,
  };
  const body = bodies[route.id];
  if (body === undefined) {
    throw new Error(`teach validBody a body for ${route.id}`);
  }
  return body;
}

describe('every route with a body rejects invalid bodies', () => {
  const withBody = guarded.filter(({ body }) => body !== undefined);
  const keyFor = (route: Route) => (route.access.kind === 'org' ? home.ownerKey : world.operatorKey);
  const send = (route: Route, raw: string) =>
    world.request(route.method, pathFor(route, own), {
      key: keyFor(route),
      raw,
      headers: { 'content-type': 'application/json' },
    });

  interface TypedSchema {
    readonly type?: string | readonly string[];
    readonly anyOf?: readonly TypedSchema[];
  }
  const takesObjects = ({ type, anyOf = [] }: TypedSchema): boolean =>
    [type].flat().includes('object') || anyOf.some(takesObjects);

  test.each(withBody.map((route) => [name(route), route] as const))('%s', async (_, route) => {
    const fieldsOf = async (raw: string) => {
      const { status, json } = await send(route, raw);
      expect(status).toBe(422);
      return json.error.details.fields.map(
        ({ field, code }: { field: string; code: string }) => `${field} ${code}`,
      );
    };
    expect(await fieldsOf('{"a":')).toEqual(['body invalid_json']);
    // The body of such a route may be the list itself.
    const whole = route.bareItems === undefined ? 'body invalid_type' : 'pages empty';
    expect(await fieldsOf('[]')).toEqual([whole]);
    expect(await fieldsOf('{"no_such_field":1}')).toContain('no_such_field unknown_field');
    const schemas: Record<string, TypedSchema> = route.body?.properties ?? {};
    const properties = Object.keys(schemas);
    const wrongFor = (field: string) => (takesObjects(schemas[field] ?? {}) ? 7 : { a: 1 });
    const wrongTypes = await fieldsOf(
      JSON.stringify(Object.fromEntries(properties.map((field) => [field, wrongFor(field)]))),
    );
    expect(wrongTypes.sort()).toEqual(properties.map((field) => `${field} invalid_type`).sort());
  });
});
