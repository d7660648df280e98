/**
 * Every route that declares `Idempotency-Key` answers a repeated request with the same status and bytes and
 * `Idempotent-Replayed: true`, and rejects another body with 409.
 */
import { beforeAll, describe, expect, test } from 'vitest';
import { dereferenced } from '../../src/platform/http/routes/openapi-references.ts';
import type { Route } from '../../src/platform/http/routes/route.ts';
import { engine, type TestAnswer, type TestOrg, useOrg, useWorld } from '../harness.ts';
import { declaredRoutes } from '../support/declared-routes.ts';
import { storedToolSignIn } from '../support/device-sign-in.ts';
import { pendingPriceChange, priceUpdate } from '../support/price-updates.ts';
import { signIn } from '../support/sign-in.ts';
import { statementBody } from '../support/statement-files.ts';

const routes = declaredRoutes();
/** The routes that should declare the header in OpenAPI; a test below checks that exactly these do. */
const keyed = routes.filter(({ kind }) => kind === 'write');

const world = useWorld({ SVC_SMTP_URL: 'smtp://localhost:9', SVC_SMTP_FROM: 'purser@example.com' });
const home = useOrg(world);
beforeAll(async () => {
  await asOperator('PUT', `/v1/admin/models/${model}`, price);
  await asOwner('POST', '/evals', evalBody);
  await asOwner('PUT', '/routing-policy', routingPolicy);
  await asOwner('POST', '/policies', approvalPolicy);
});

const model = 'idempotent';
const price = { provider: 'a', input_usd_per_million: '1', output_usd_per_million: '1' };
const evalBody = { suite: 's', model, score: 1, samples: 100 };
const routingPolicy = { candidates: [model], suite: 's', min_score: 0, max_age_days: 30, objective: 'cost' };
const approvalPolicy = { effect: 'require_approval', models: ['governed'], priority: 1, reason: 'a' };
const budget = { name: 'a', scope_kind: 'org', period: 'day', limit_usd: '1000' };
const raise = (amount_usd = '1') => ({
  amount_usd,
  until: new Date(world.clock.now().getTime() + 3_600_000).toISOString(),
  reason: 'a',
});
const customerLimit = { period: 'day', limit_usd: '1000' };
const webhook = { url: 'https://receiver.example/hook', events: ['*'] };
const emailSubscription = { recipients: ['a@example.com'] };
const running = { model: 'm', status: 'running', estimated_cost_usd: '0.1' };
const route = { input_tokens: 10, max_output_tokens: 10 };

async function done(answer: Promise<TestAnswer>): Promise<TestAnswer> {
  const { status, text } = await answer;
  expect(status, text).toBeLessThan(300);
  return answer;
}
const asOperator = (method: string, path: string, body?: object) =>
  done(world.request(method, path, { key: world.operatorKey, ...(body && { body }) }));
const asOwner = (method: string, path: string, body?: object, org = home) =>
  done(
    world.request(method, path.startsWith('/v1') ? path : `/v1/orgs/${org.id}${path}`, {
      key: org.ownerKey,
      ...(body && { body }),
    }),
  );
let names = 0;
const fresh = (what: string) => `${what}-${++names}`;
const made = async (path: string, body: object) => (await asOwner('POST', path, body)).json.id as string;
const grantFor = async (org: TestOrg) =>
  (
    await asOperator('POST', '/v1/admin/support/grants', {
      org_id: org.id,
      scope: ['runs:read'],
      reason: 'a',
      expires_at: new Date(world.clock.now().getTime() + 3_600_000).toISOString(),
    })
  ).json.id as string;

/** Creates a new resource for each path parameter, so that routes do not affect each other. */
const makers: Record<string, () => Promise<string> | string> = {
  id: () => home.id,
  org_id: async () => (await world.createOrg()).id,
  key_id: async () => (await world.mintKey(home, 'viewer', [])).id,
  grant_id: () => grantFor(home),
  member_id: () => made('/members', { email: `${fresh('a')}@example.com`, role: 'viewer' }),
  session_id: async () => (await signIn(world, home.ownerKey, home.id)).id,
  tool_sign_in_id: () => storedToolSignIn(world, home),
  budget_id: () => made('/budgets', budget),
  async request_id() {
    const { secret } = await world.mintKey(home, 'member', ['budgets:read']);
    const body = { ...raise(), limit_id: await made('/budgets', budget) };
    return (await done(world.request('POST', `/v1/orgs/${home.id}/raise-requests`, { key: secret, body })))
      .json.id;
  },
  // The raise of this limit is made by `raised`.
  raise_id: () => 'rse_of_the_limit',
  cap_raise_id: () => 'rse_of_the_limit',
  limit_raise_id: () => 'rse_of_the_limit',
  limit_id: () => made('/customer-limits', { ...customerLimit, customer_id: fresh('customer') }),
  async customer_id() {
    const customer_id = fresh('customer');
    await made('/customer-limits', { ...customerLimit, customer_id });
    return customer_id;
  },
  pack_id: () => made('/credit-packs', { customer_id: fresh('customer'), amount_usd: '1' }),
  model: () => fresh('model'),
  run_id: () => made('/v1/runs', running),
  decision_id: async () => (await asOwner('POST', '/v1/runs', running)).json.decision_id,
  policy_id: () => made('/policies', { ...approvalPolicy, models: [fresh('model')] }),
  async approval_id() {
    // The approval is requested with another key than the one that decides.
    const { secret } = await world.mintKey(home, 'member', ['runs:write']);
    const asked = await world.request('POST', '/v1/runs', {
      key: secret,
      body: { model: 'governed', cost_usd: '0.1', workflow: fresh('workflow') },
    });
    return asked.json.error.details.approval_id;
  },
  detector_id: () =>
    made('/safety-detectors', { name: fresh('a'), kind: 'words', words: ['a'], action: 'flag' }),
  eval_id: () => made('/evals', evalBody),
  change_id: () => pendingPriceChange(world, fresh('changing')),
  cohort_id: () => made('/v1/benchmarks/cohorts', { name: fresh('a'), criteria: {} }),
  statement_id() {
    statements += 1;
    return made('/statements', statementBody(statements));
  },
  scenario_id: () => made('/capacity-scenarios', { name: fresh('a'), changes: {} }),
  sub_id: () => made('/webhooks', webhook),
  email_subscription_id: () => made('/email-subscriptions', emailSubscription),
  connection_id: () => made('/connections', { name: fresh('c'), kind: 'openai', api_key: 'sk-a' }),
};

/** Statements differ by their amount. */
let statements = 0;

interface Request {
  readonly path: string;
  readonly key: string;
  readonly body?: object;
}

interface Case {
  readonly body?: object | ((path: string) => object);
  /** Another valid body, for routes with a body. */
  readonly other?: object;
  /** Creates the resources of the path in another way, or the state that the route needs. */
  readonly prepare?: (path: string) => Promise<string | undefined>;
  readonly key?: () => string;
}

const name = { body: { name: 'b' }, other: { name: 'c' } };
const replacing = (placeholder: string, make: () => Promise<string>) => async (path: string) =>
  path.replace(new RegExp(`${placeholder}[^/]*`), await make());

/** Creates a raise of the limit in the path, and returns its path. */
async function raised(path: string): Promise<string> {
  const raises = path.slice(0, path.lastIndexOf('/'));
  return `${raises}/${await made(raises, raise())}`;
}

async function makeCap(): Promise<undefined> {
  await asOwner('PUT', '/spend-cap', { cap_usd: '1000' });
  return undefined;
}

/** Creates a run that was settled before its model had a price. */
async function unpricedRun(): Promise<string> {
  const model = fresh('priced-later');
  const { json } = await asOwner('POST', '/v1/edge/decision', { model, estimated_cost_usd: '0.001' });
  const { decision_id } = json;
  const { json: run } = await asOwner('POST', '/v1/runs', { model, input_tokens: 1, decision_id });
  await asOperator('PUT', `/v1/admin/models/${model}`, { input_usd_per_million: '1' });
  return run.id;
}

let requestedId = '';
async function makeRequested(): Promise<undefined> {
  requestedId = await made('/budgets', budget);
  return undefined;
}

const otherRaise = { amount_usd: '2', until: '2100-01-01T00:00:00Z', reason: 'b' };

/** The cases of each route. A route without a case fails its test. */
const cases: Record<string, Case | readonly Case[]> = {
  'orgs.create': { body: { name: 'b' }, other: { name: 'c' } },
  'orgs.change': name,
  'orgs.suspend': { body: { reason: 'a' }, other: { reason: 'b' } },
  'orgs.reinstate': {
    async prepare(path) {
      await asOperator('POST', path.replace('reinstate', 'suspend'));
      return undefined;
    },
  },
  'org.change': name,
  'org.ip_allow_list.put': { body: { cidrs: [] }, other: { cidrs: ['0.0.0.0/0'] } },
  'orgs.ip_allow_list.clear': {},
  'orgs.remove': {
    async prepare(path) {
      await asOperator('POST', `${path}/suspend`);
      return undefined;
    },
  },
  'residency.put': { body: { home_region: 'eu' }, other: { home_region: 'us' } },
  'support.grants.create': {
    body: () => ({
      org_id: home.id,
      scope: ['runs:read'],
      reason: 'a',
      expires_at: new Date(world.clock.now().getTime() + 60_000).toISOString(),
    }),
    other: { org_id: 'org_0', scope: ['runs:read'], reason: 'b', expires_at: '2030-01-01T00:00:00Z' },
  },
  'support.sessions.open': {},
  'support.grants.revoke': {},
  'support_access.settings.put': {
    body: { allowed: true, approval_required: false },
    other: { allowed: true, approval_required: true },
  },
  ...Object.fromEntries(
    ['approve', 'deny'].map((verb) => [
      `support_access.grants.${verb}`,
      { prepare: pendingGrant, key: () => strict.ownerKey },
    ]),
  ),
  'support_access.grants.revoke': {},
  'orgs.keys.mint': {
    body: { name: 'a', role: 'viewer', scopes: [] },
    other: { name: 'b', role: 'viewer', scopes: [] },
  },
  'keys.mint': {
    body: { name: 'a', role: 'viewer', scopes: [] },
    other: { name: 'b', role: 'viewer', scopes: [] },
  },
  'keys.change': {
    body: { attribution: { team: 'a' } },
    other: { attribution: { team: 'a' }, attribution_locked: ['team'] },
  },
  'keys.revoke': {},
  'keys.rotate': { body: {}, other: { overlap_seconds: 60 } },
  'operator_keys.mint': name,
  'operator_keys.revoke': { prepare: replacing('key_', operatorKey) },
  'operator_keys.rotate': {
    body: {},
    other: { overlap_seconds: 60 },
    prepare: replacing('key_', operatorKey),
  },
  'members.invite': {
    body: { email: 'once@example.com', role: 'viewer' },
    other: { email: 'twice@example.com', role: 'viewer' },
  },
  'members.change': name,
  'members.remove': {},
  'members.sign_in_link': {},
  'sso.put': {
    body: { issuer: 'https://login.example.com', client_id: 'a' },
    other: { issuer: 'https://login.example.com', client_id: 'b' },
  },
  'sso.tests.create': {
    body: { settings: { issuer: 'https://login.example.com', client_id: 'a' } },
    other: { settings: { issuer: 'https://login.example.com', client_id: 'b' } },
  },
  'sso.remove': {
    async prepare(path) {
      await asOwner('PUT', path, { issuer: 'https://login.example.com', client_id: 'a' });
      return undefined;
    },
  },
  'sessions.revoke': {},
  'tool_sign_ins.revoke': {},
  'key_rules.put': {
    body: { lifetime_days_max: 365, unused_days_max: null },
    other: { lifetime_days_max: 180, unused_days_max: null },
  },
  'operator_sessions.revoke': {
    prepare: replacing('ses_', async () => (await signIn(world, world.operatorKey)).id),
  },
  'console_links.make': { body: {}, other: { role: 'viewer' } },
  'budgets.create': { body: budget, other: { ...budget, name: 'b' } },
  'budgets.change': name,
  'budgets.delete': {},
  'spend_cap.put': { body: { cap_usd: '1000' }, other: { cap_usd: '2000' } },
  'spend_cap.delete': {
    async prepare(path) {
      await asOwner('PUT', path, { cap_usd: '1000' });
      return undefined;
    },
  },
  'chain_budget.put': { body: {}, other: { max_depth: 100 } },
  'chain_budget.delete': {},
  'unpriced_policy.put': { body: { on_unpriced: 'record' }, other: { on_unpriced: 'refuse' } },
  'customer_limits.create': {
    body: { ...customerLimit, customer_id: 'once' },
    other: { ...customerLimit, customer_id: 'twice' },
  },
  'customer_limits.change': { body: { limit_usd: '2' }, other: { limit_usd: '3' } },
  'customer_limits.delete': {},
  'customers.erase': {},
  'credit_packs.create': {
    body: { customer_id: 'once', amount_usd: '1' },
    other: { customer_id: 'once', amount_usd: '2' },
  },
  'credit_packs.change': name,
  'credit_packs.void': {},
  'orgs.prepaid.put': { body: { enabled: false }, other: { enabled: true } },
  'orgs.prepaid.top_up': {
    body: { amount_usd: '1' },
    other: { amount_usd: '2' },
    async prepare(path) {
      await asOperator('PUT', path.replace('/top-ups', ''), { enabled: true });
      return undefined;
    },
  },
  'plans.create': {
    body: { name: 'a', overage_policy: 'block' },
    other: { name: 'b', overage_policy: 'block' },
  },
  'orgs.plan.put': { body: () => ({ plan_id: planId }), other: { plan_id: null }, prepare: makePlan },
  'orgs.rate_limits.put': { body: { read_rpm: 1_000 }, other: { read_rpm: 2_000 } },
  'models.prices.put': { body: price, other: { ...price, input_usd_per_million: '2' } },
  'price_updates.create': { body: priceUpdate('1'), other: priceUpdate('2') },
  'price_changes.approve': { body: {}, other: { reason: 'b' } },
  'price_changes.reject': { body: {}, other: { reason: 'b' } },
  'models.org_prices.put': {
    body: { input_usd_per_million: '1' },
    other: { input_usd_per_million: '2' },
  },
  'models.org_prices.remove': {
    async prepare(path) {
      await asOperator('PUT', path, { input_usd_per_million: '1' });
      return undefined;
    },
  },
  'budgets.raises.create': { body: () => raise(), other: otherRaise },
  'spend_cap.raises.create': { body: () => raise(), other: otherRaise, prepare: makeCap },
  'customer_limits.raises.create': { body: () => raise(), other: otherRaise },
  'raise_requests.create': {
    body: () => ({ ...raise(), limit_id: requestedId }),
    other: { ...otherRaise, limit_id: 'bud_other' },
    prepare: makeRequested,
  },
  'raise_requests.approve': { body: {}, other: { reason: 'b' } },
  'raise_requests.deny': { body: {}, other: { reason: 'b' } },
  'budgets.raises.end': { prepare: raised },
  'spend_cap.raises.end': { prepare: (path) => makeCap().then(() => raised(path)) },
  'customer_limits.raises.end': { prepare: raised },
  'runs.create': { body: { model: 'm', cost_usd: '0.1' }, other: { model: 'm', cost_usd: '0.2' } },
  'runs.create_bulk': {
    body: { runs: [{ model: 'm', cost_usd: '0.1' }] },
    other: { runs: [{ model: 'm', cost_usd: '0.2' }] },
  },
  'runs.complete': { body: { cost_usd: '0.1' }, other: { cost_usd: '0.2' } },
  'runs.adjust': {
    body: { amount_usd: '0.1', reason: 'a' },
    other: { amount_usd: '0.2', reason: 'a' },
    async prepare(path) {
      await asOwner('POST', path.replace('adjustments', 'complete'), { cost_usd: '0.1' });
      return undefined;
    },
  },
  'runs.reprice': { prepare: replacing('run_', unpricedRun) },
  ...Object.fromEntries(
    ['configuration.plan', 'configuration.apply'].map((id) => [
      id,
      { body: { chain_budget: { max_depth: 50 } }, other: { chain_budget: { max_depth: 60 } } },
    ]),
  ),
  ...Object.fromEntries(
    ['orgs.configuration.plan', 'orgs.configuration.apply'].map((id) => [
      id,
      { body: { org: { slug: 'once', name: 'a' } }, other: { org: { slug: 'twice', name: 'a' } } },
    ]),
  ),
  'snapshots.create': {},
  'secrets.rotate': { body: {}, other: { cursor: 'a' } },
  'policies.create': {
    body: { ...approvalPolicy, models: ['none'] },
    other: { ...approvalPolicy, models: ['none'], reason: 'b' },
  },
  'policies.change': { body: { reason: 'b' }, other: { reason: 'c' } },
  'policies.delete': {},
  'policies.evaluate': { body: { model: 'm' }, other: { model: 'n' } },
  'policies.simulate': { body: { rules: [] }, other: { rules: [approvalPolicy] } },
  'approvals.approve': { body: {}, other: { reason: 'b' } },
  'approvals.deny': { body: {}, other: { reason: 'b' } },
  'safety_detectors.create': {
    body: { name: 'once', kind: 'words', words: ['a'], action: 'flag' },
    other: { name: 'twice', kind: 'words', words: ['a'], action: 'flag' },
  },
  'safety_detectors.change': { body: { enabled: false }, other: { enabled: true } },
  'safety_detectors.delete': {},
  'safety_detectors.test': { body: { content: 'a@example.com' }, other: { content: 'b@example.com' } },
  'evals.create': { body: evalBody, other: { ...evalBody, score: 0.5 } },
  'evals.delete': {},
  'routing_policy.put': { body: routingPolicy, other: { ...routingPolicy, objective: 'quality' } },
  'routing_policy.delete': {
    async prepare(path) {
      return path.replace(home.id, await routingOrg());
    },
    key: () => routed.ownerKey,
  },
  'routing.decide': [
    { body: route, other: { ...route, workflow: 'b' } },
    { body: { ...route, hold: true }, other: { ...route, hold: true, workflow: 'b' } },
    { body: { ...route, hold: true }, other: route },
    { body: route, other: { ...route, hold: true } },
  ],
  'benchmark_participation.put': {
    body: { enabled: false },
    other: { enabled: true, industry: 'software', size_band: '1-10' },
  },
  'benchmarks.create_cohort': {
    body: { name: 'once', criteria: {} },
    other: { name: 'twice', criteria: {} },
  },
  'benchmarks.delete_cohort': {},
  'webhooks.create': { body: webhook, other: { ...webhook, description: 'b' } },
  'webhooks.change': { body: { description: 'b' }, other: { description: 'c' } },
  'webhooks.delete': {},
  'webhooks.pause': {},
  'webhooks.resume': {
    async prepare(path) {
      await asOwner('POST', path.replace('resume', 'pause'));
      return undefined;
    },
  },
  'webhooks.signing.rotate': { body: {}, other: { force: true } },
  'connections.create': {
    body: { name: 'once', kind: 'openai', api_key: 'sk-a' },
    other: { name: 'twice', kind: 'openai', api_key: 'sk-a' },
  },
  'connections.change': { body: { weight: 1 }, other: { weight: 2 } },
  'connections.rotate': { body: { api_key: 'sk-b' }, other: { api_key: 'sk-c' } },
  'connections.delete': {},
  'gateway.put': { body: {}, other: { hold: 'expected' } },
  'webhooks.test': {},
  'webhooks.deliveries.redeliver': {
    async prepare(path) {
      const [subscription = ''] = path.split('/deliveries');
      const { json } = await asOwner('POST', `${subscription}/test`);
      return `${subscription}/deliveries/${json.id}/redeliver`;
    },
  },
  'email_subscriptions.create': {
    body: emailSubscription,
    other: { ...emailSubscription, digest: 'weekly' },
  },
  'email_subscriptions.change': { body: { description: 'b' }, other: { description: 'c' } },
  'email_subscriptions.delete': {},
  'email_subscriptions.test': {},
  'email_subscriptions.deliveries.redeliver': {
    async prepare(path) {
      const [subscription = ''] = path.split('/deliveries');
      const { json } = await asOwner('POST', `${subscription}/test`);
      return `${subscription}/deliveries/${json.data[0].id}/redeliver`;
    },
  },
  'webhooks.redeliver': {
    body: { from: '2026-01-01T00:00:00Z' },
    other: { from: '2026-01-02T00:00:00Z' },
  },
  'webhooks.org_secret.rotate': { key: () => world.operatorKey },
  'retention_policy.put': { body: {}, other: { content_days: 1 } },
  'platform_retention.put': { body: {}, other: { legal_hold: false } },
  'audit.checkpoints.create': {},
  'platform_audit.checkpoints.create': {},
  'platform_audit.signing_key.rotate': {},
  'statements.create': { body: statementBody('0.1'), other: statementBody('0.2') },
  'statements.reconcile': {},
  'statements.delete': {},
  'capacity_scenarios.create': { body: { name: 'once', changes: {} }, other: { name: 'twice', changes: {} } },
  'capacity_scenarios.change': name,
  'capacity_scenarios.delete': {},
  'holds.extend': { body: { seconds: 60 }, other: { seconds: 120 } },
  'holds.increase': { body: { cost_usd: '0.1' }, other: { cost_usd: '0.2' } },
  'holds.void': {},
  'decisions.extend': { body: { seconds: 60 }, other: { seconds: 120 } },
  'decisions.increase': { body: { cost_usd: '0.1' }, other: { cost_usd: '0.2' } },
  'decisions.void': {},
  'edge.decide': {
    body: { model: 'm', estimated_cost_usd: '0.1' },
    other: { model: 'm', estimated_cost_usd: '0.2' },
  },
};

let strict: TestOrg;
/** Creates a pending grant for an org that must approve every grant. */
async function pendingGrant(path: string): Promise<string> {
  strict = await world.createOrg();
  await asOwner('PUT', '/support-access/settings', { allowed: true, approval_required: true }, strict);
  return path.replace(home.id, strict.id).replace(/grants\/[^/]+/, `grants/${await grantFor(strict)}`);
}

let routed: TestOrg;
async function routingOrg(): Promise<string> {
  routed = await world.createOrg();
  await asOwner('PUT', '/routing-policy', routingPolicy, routed);
  return routed.id;
}

let planId: string;
async function makePlan(): Promise<undefined> {
  planId = (await asOperator('POST', '/v1/admin/plans', { name: fresh('a'), overage_policy: 'block' })).json
    .id;
}

async function operatorKey(): Promise<string> {
  return (await asOperator('POST', '/v1/admin/keys', { name: fresh('a') })).json.id;
}

async function requestOf(declared: Route, one: Case): Promise<Request> {
  let path = declared.path;
  for (const [parameter, key = ''] of declared.path.matchAll(/\{(\w+)\}/g)) {
    // Deliveries have no maker: the case creates its own.
    path = path.replace(parameter, (await makers[key]?.()) ?? key);
  }
  path = (await one.prepare?.(path)) ?? path;
  const body = typeof one.body === 'function' ? one.body(path) : one.body;
  const key = one.key?.() ?? (declared.access.kind === 'org' ? home.ownerKey : world.operatorKey);
  return { path, key, ...(body !== undefined && { body }) };
}

/** PostgreSQL needs no snapshots, so the route always rejects there. */
const canSucceed = ({ id }: Route) => engine === 'embedded' || id !== 'snapshots.create';

const tried = keyed.filter(canSucceed).flatMap((declared) => {
  const known = cases[declared.id];
  const all = known === undefined ? [undefined] : [known].flat();
  return all.map(
    (one, index) => [`${declared.method} ${declared.path} (${index + 1})`, declared, one] as const,
  );
});

describe('a request with an Idempotency-Key', () => {
  test.each(tried)('%s is replayed, and rejected with another body', async (_, declared, one) => {
    if (one === undefined) {
      throw new Error(`teach this test a request of ${declared.id}`);
    }
    const { path, key, body } = await requestOf(declared, one);
    const headers = { 'idempotency-key': fresh('key') };
    const send = (sent: object | undefined) =>
      world.request(declared.method, path, { key, headers, ...(sent && { body: sent }) });
    const first = await send(body);
    expect([first.status, first.headers['idempotent-replayed']], first.text).toEqual([
      declared.success,
      undefined,
    ]);
    const second = await send(body);
    expect([second.status, second.text, second.headers['idempotent-replayed']]).toEqual([
      first.status,
      first.text,
      'true',
    ]);
    if (declared.body === undefined) {
      return;
    }
    expect(one.other, `teach this test another body of ${declared.id}`).toBeDefined();
    const { status, json } = await send(one.other);
    expect([status, json.error.code]).toEqual([409, 'idempotency_key_conflict']);
    expect((await send(body)).text).toBe(first.text);
  });

  test('a request with an Idempotency-Key is declared by exactly these routes', async () => {
    const { json } = await world.request('GET', '/v1/openapi.json');
    const declaring = Object.entries<Record<string, { parameters: { name: string }[] }>>(
      dereferenced(json).paths,
    ).flatMap(([path, operations]) =>
      Object.entries(operations).flatMap(([method, { parameters }]) =>
        parameters.some((parameter) => parameter.name === 'Idempotency-Key')
          ? [`${method.toUpperCase()} ${path}`]
          : [],
      ),
    );
    expect(declaring.sort()).toEqual(keyed.map(({ method, path }) => `${method} ${path}`).sort());
    expect(Object.keys(cases).sort()).toEqual(keyed.map(({ id }) => id).sort());
  });
});
