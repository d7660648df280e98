/** Provokes each error code of the contract with an HTTP request. */
import { describe, expect, test } from 'vitest';
import { type ErrorCode, errorCatalog, errorCodes } from '../../src/contract/errors.ts';
import { createWorld, type TestAnswer, type TestOrg, useOrg, useWorld } from '../harness.ts';

const world = useWorld({
  SVC_BODY_LIMIT_BYTES: '2000',
  SVC_AUTH_BACKOFF_ATTEMPTS: '3',
  SVC_REGION: 'eu',
});
const org = useOrg(world);

const own = (key: string, more: object = {}) => world.request('GET', `/v1/orgs/${org.id}`, { key, ...more });
const create = (body: unknown, headers: Record<string, string> = {}) =>
  world.request('POST', '/v1/admin/orgs', { key: world.operatorKey, body, headers });
const soon = (seconds: number) => new Date(world.clock.now().getTime() + seconds * 1_000).toISOString();

const takePart = ({ id, ownerKey }: TestOrg, body: object) =>
  world.request('PUT', `/v1/orgs/${id}/benchmark-participation`, { key: ownerKey, body });

type Call = (path: string, body: object) => Promise<TestAnswer>;

interface Limiting {
  readonly put: Call;
  readonly post: Call;
  operate(method: string, path: string, body: object): Promise<TestAnswer>;
}

/** Posts a run to an org with a limit. `money.test.ts` checks the details of these denials. */
async function spending(limit: (calls: Limiting) => Promise<TestAnswer>, run: object): Promise<TestAnswer> {
  const { id, ownerKey } = await world.createOrg();
  const limited = await limit({
    put: (path, body) => world.request('PUT', `/v1/orgs/${id}${path}`, { key: ownerKey, body }),
    post: (path, body) => world.request('POST', `/v1/orgs/${id}${path}`, { key: ownerKey, body }),
    operate: (method, path, body) =>
      world.request(method, `/v1/admin/orgs/${id}${path}`, { key: world.operatorKey, body }),
  });
  expect(limited.status).toBeLessThan(300);
  return world.request('POST', '/v1/runs', { key: ownerKey, body: run });
}

const policy = (effect: string) => ({ effect, priority: 1, reason: 'because' });

const provocations: Record<ErrorCode, () => Promise<TestAnswer>> = {
  bad_request: () => world.request('GET', '/v1/orgs/%E0%A4%A', { key: org.ownerKey }),
  unauthorized: () => world.request('GET', `/v1/orgs/${org.id}`),
  async key_expired() {
    const { secret } = await world.mintKey(org, 'viewer', ['org:read'], { expires_at: soon(1) });
    world.clock.advanceSeconds(2);
    return own(secret);
  },
  async forbidden() {
    const { secret } = await world.mintKey(org, 'viewer', ['org:write']);
    return world.request('PATCH', `/v1/orgs/${org.id}`, { key: secret, body: { name: 'x' } });
  },
  async missing_scope() {
    const { secret } = await world.mintKey(org, 'owner', []);
    return own(secret);
  },
  async ip_not_allowed() {
    const listed = await world.createOrg();
    await world.request('PUT', `/v1/orgs/${listed.id}/ip-allow-list`, {
      key: listed.ownerKey,
      body: { cidrs: ['192.0.2.1'], force: true },
    });
    return world.request('GET', `/v1/orgs/${listed.id}`, { key: listed.ownerKey });
  },
  async org_suspended() {
    const suspended = await world.createOrg();
    await world.request('POST', `/v1/admin/orgs/${suspended.id}/suspend`, { key: world.operatorKey });
    return world.request('GET', `/v1/orgs/${suspended.id}`, { key: suspended.ownerKey });
  },
  async residency_violation() {
    const { id, ownerKey } = await world.createOrg();
    await world.request('PUT', `/v1/admin/orgs/${id}/residency`, {
      key: world.operatorKey,
      body: { home_region: 'us', mode: 'strict' },
    });
    return world.request('GET', `/v1/orgs/${id}`, { key: ownerKey });
  },
  async support_scope_denied() {
    const expires_at = soon(3_600);
    const grants = '/v1/admin/support/grants';
    const { json } = await world.request('POST', grants, {
      key: world.operatorKey,
      body: { org_id: org.id, scope: ['runs:read'], reason: 'a', expires_at },
    });
    const opened = await world.request('POST', `${grants}/${json.id}/sessions`, { key: world.operatorKey });
    const answer = await own(opened.json.token);
    expect(answer.json.error.details).toEqual({
      reason: 'scope_not_granted',
      scope: ['runs:read'],
      method: 'GET',
    });
    return answer;
  },
  not_found: () => world.request('GET', `/v1/orgs/${org.id}/keys/key_none`, { key: org.ownerKey }),
  async conflict() {
    await create({ name: 'A', slug: 'taken' });
    return create({ name: 'B', slug: 'taken' });
  },
  async idempotency_key_conflict() {
    await create({ name: 'A' }, { 'idempotency-key': 'one' });
    return create({ name: 'B' }, { 'idempotency-key': 'one' });
  },
  async idempotency_key_processing() {
    let goOn = () => {};
    const reserved = new Promise<void>((reached) => {
      world.fault = () =>
        new Promise<void>((resume) => {
          world.fault = undefined;
          goOn = resume;
          reached();
        });
    });
    const first = create({ name: 'A' }, { 'idempotency-key': 'two' });
    await reserved;
    const answer = await create({ name: 'A' }, { 'idempotency-key': 'two' });
    goOn();
    expect((await first).status).toBe(201);
    return answer;
  },
  async gone() {
    const key = await world.mintKey(org, 'viewer', ['org:read']);
    await world.request('DELETE', `/v1/orgs/${org.id}/keys/${key.id}`, { key: org.ownerKey });
    return own(key.secret);
  },
  /** Also returned for a cohort that could be read a moment ago, after one of its organizations has left. */
  async insufficient_cohort_size() {
    const industry = 'catalog';
    const joined = await Promise.all(
      Array.from({ length: 5 }, async () => {
        const one = await world.createOrg();
        await world.request('POST', '/v1/runs', { key: one.ownerKey, body: { model: 'm', cost_usd: '1' } });
        await takePart(one, { enabled: true, industry });
        return one;
      }),
    );
    const cohort = await world.request('POST', '/v1/benchmarks/cohorts', {
      key: org.ownerKey,
      body: { name: 'a', criteria: { industry } },
    });
    const read = () =>
      world.request('GET', `/v1/benchmarks/cohorts/${cohort.json.id}`, { key: org.ownerKey });
    expect((await read()).status).toBe(200);
    await takePart(joined[2] as TestOrg, { enabled: false });
    const refused = await read();
    expect(refused.json.error.details).toEqual({ minimum_cohort_size: 5 });
    return refused;
  },
  payload_too_large: () => create({ name: 'x'.repeat(3_000) }),
  validation_failed: () => create({ name: 7 }),
  async rate_limited() {
    for (let i = 0; i < 3; i += 1) {
      expect((await own('bad', { address: '203.0.113.9' })).status).toBe(401);
    }
    return own('bad', { address: '203.0.113.9' });
  },
  content_safety_blocked: () =>
    spending(
      ({ post }) =>
        post('/safety-detectors', { name: 'a', kind: 'words', words: ['heron'], action: 'block' }),
      { model: 'm', cost_usd: '1', content: 'a heron' },
    ),
  spend_cap_exceeded: () =>
    spending(({ put }) => put('/spend-cap', { cap_usd: '0' }), { model: 'm', cost_usd: '1' }),
  chain_budget_exceeded: () =>
    spending(({ put }) => put('/chain-budget', { max_cost_usd: '0' }), { model: 'm', cost_usd: '1' }),
  budget_exceeded: () =>
    spending(
      ({ post }) => post('/budgets', { name: 'a', scope_kind: 'org', period: 'day', limit_usd: '0' }),
      { model: 'm', cost_usd: '1' },
    ),
  quota_exhausted: () =>
    spending(({ operate }) => operate('PUT', '/prepaid', { enabled: true }), { model: 'm', cost_usd: '1' }),
  credits_exhausted: () =>
    spending(({ post }) => post('/credit-packs', { customer_id: 'c', amount_usd: '0.5' }), {
      model: 'm',
      cost_usd: '1',
      customer_id: 'c',
    }),
  plan_limit_exceeded: () =>
    spending(
      async ({ operate }) => {
        const { json } = await world.request('POST', '/v1/admin/plans', {
          key: world.operatorKey,
          body: { name: 'none', monthly_runs: 0, overage_policy: 'block' },
        });
        return operate('PUT', '/plan', { plan_id: json.id });
      },
      { model: 'm', cost_usd: '1' },
    ),
  policy_blocked: () =>
    spending(({ post }) => post('/policies', policy('block')), { model: 'm', cost_usd: '1' }),
  policy_approval_required: () =>
    spending(({ post }) => post('/policies', policy('require_approval')), { model: 'm', cost_usd: '1' }),
  policy_expression_error: () =>
    spending(({ post }) => post('/policies', { ...policy('allow'), expression: 'tags.a == "b"' }), {
      model: 'm',
      cost_usd: '1',
    }),
  async no_model_passes_eval() {
    const { id, ownerKey } = await world.createOrg();
    await world.request('PUT', `/v1/orgs/${id}/routing-policy`, {
      key: ownerKey,
      body: { candidates: ['gpt-4o'], suite: 'a', min_score: 0.9, max_age_days: 30, objective: 'cost' },
    });
    const answer = await world.request('POST', '/v1/routing/decisions', {
      key: ownerKey,
      body: { input_tokens: 1_000, max_output_tokens: 100 },
    });
    expect([answer.status, answer.json.error.details]).toEqual([503, {}]);
    return answer;
  },
  async internal() {
    world.fault = () => {
      throw new Error('SELECT secret FROM the_inside');
    };
    const answer = await own(org.ownerKey);
    world.fault = undefined;
    return answer;
  },
  async session_revoked() {
    const form = { 'content-type': 'application/x-www-form-urlencoded', 'sec-fetch-site': 'same-origin' };
    const login = await world.request('POST', '/console/login', {
      raw: `key=${org.ownerKey}`,
      headers: form,
    });
    const cookie = String(login.headers['set-cookie']).split(';')[0] ?? '';
    await world.request('POST', '/console/logout', { raw: '', headers: { ...form, cookie } });
    return world.request('GET', `/v1/orgs/${org.id}`, { headers: { cookie } });
  },
  async service_unavailable() {
    const away = await createWorld();
    const { ownerKey, id } = await away.createOrg();
    await away.db.close();
    const answer = await away.request('GET', `/v1/orgs/${id}`, { key: ownerKey });
    await away.close();
    return answer;
  },
};

describe('every error code is returned by a real request', () => {
  test.each(Object.keys(provocations) as ErrorCode[])('%s', async (code) => {
    const { status, json } = await provocations[code]();
    expect(json.error.code).toBe(code);
    expect(errorCatalog[code].statuses as readonly number[]).toContain(status);
  });

  test('every error code has a request here', () => {
    expect(Object.keys(provocations).sort()).toEqual([...errorCodes].sort());
  });
});
