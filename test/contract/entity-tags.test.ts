/** A resource that can be changed has an entity tag, and a change with `If-Match` never overwrites another change. */
import { expect, test } from 'vitest';
import { scopes } from '../../src/contract/scopes.ts';
import { isVersioned } from '../../src/platform/http/routes/entity-tag.ts';
import { useOrg, useWorld } from '../harness.ts';
import { declaredRoutes } from '../support/declared-routes.ts';

const world = useWorld({ SVC_SMTP_URL: 'smtp://localhost:9', SVC_SMTP_FROM: 'purser@example.com' });
const org = useOrg(world);

/** How a resource is created, if it does not exist for every organization, and two changes of it. */
interface Changes {
  readonly create?: object;
  readonly one: object;
  readonly other: object;
}

const limit = { period: 'month', limit_usd: '20' };
const price = { input_usd_per_million: '1', output_usd_per_million: '2' };
const sso = { kind: 'oidc', issuer: 'https://login.example.com', allowed_email_domains: ['example.com'] };
const routing = { candidates: ['gpt-4o'], suite: 's', min_score: 0.5, max_age_days: 30 };

const changesOf: Readonly<Record<string, Changes>> = {
  'orgs.change': { one: { name: 'One' }, other: { name: 'Other' } },
  'org.change': { one: { name: 'One' }, other: { name: 'Other' } },
  'org.ip_allow_list.put': { one: { cidrs: ['0.0.0.0/0'] }, other: { cidrs: ['0.0.0.0/0', '::/0'] } },
  'residency.put': {
    one: { home_region: 'eu', mode: 'strict' },
    other: { home_region: 'us', mode: 'strict' },
  },
  'support_access.settings.put': {
    one: { allowed: true, approval_required: true },
    other: { allowed: true, approval_required: false },
  },
  'keys.change': {
    create: { name: 'a', role: 'viewer', scopes: [] },
    one: { name: 'One' },
    other: { name: 'Other' },
  },
  'key_rules.put': {
    one: { lifetime_days_max: 30, unused_days_max: null },
    other: { lifetime_days_max: 60, unused_days_max: null },
  },
  'members.change': {
    create: { email: 'amy@example.com', role: 'viewer' },
    one: { name: 'One' },
    other: { name: 'Other' },
  },
  'sso.put': { one: { ...sso, client_id: 'one' }, other: { ...sso, client_id: 'other' } },
  'budgets.change': {
    create: { name: 'a', scope_kind: 'org', ...limit },
    one: { limit_usd: '30' },
    other: { name: 'Other' },
  },
  'spend_cap.put': { one: { cap_usd: '50' }, other: { cap_usd: '60' } },
  'chain_budget.put': { one: { max_cost_usd: '5' }, other: { max_cost_usd: '6' } },
  'customer_limits.change': {
    create: { customer_id: 'c', ...limit },
    one: { limit_usd: '30' },
    other: { limit_usd: '40' },
  },
  'credit_packs.change': {
    create: { customer_id: 'c', amount_usd: '5' },
    one: { name: 'One' },
    other: { name: 'Other' },
  },
  'orgs.prepaid.put': { one: { enabled: true }, other: { enabled: false } },
  'orgs.plan.put': { one: { plan_id: 'one' }, other: { plan_id: 'other' } },
  'orgs.rate_limits.put': { one: { read_rpm: 100_000 }, other: { read_rpm: 200_000 } },
  'models.prices.put': { one: price, other: { ...price, input_usd_per_million: '3' } },
  'models.org_prices.put': { one: price, other: { ...price, input_usd_per_million: '3' } },
  'unpriced_policy.put': {
    one: { on_unpriced: 'refuse' },
    other: { on_unpriced: 'hold_default', ...price },
  },
  'policies.change': {
    create: { effect: 'block', models: ['m'], priority: 1, reason: 'a' },
    one: { reason: 'One' },
    other: { reason: 'Other' },
  },
  'safety_detectors.change': {
    create: { name: 'a', kind: 'words', words: ['bluebird'], action: 'block' },
    one: { action: 'flag' },
    other: { enabled: false },
  },
  'routing_policy.put': {
    one: { ...routing, objective: 'cost' },
    other: { ...routing, objective: 'quality' },
  },
  'benchmark_participation.put': {
    one: { enabled: true, industry: 'software' },
    other: { enabled: true, industry: 'finance' },
  },
  'connections.change': {
    create: { name: 'a', kind: 'openai', api_key: 'key-of-the-provider' },
    one: { priority: 1 },
    other: { priority: 2 },
  },
  'gateway.put': { one: { max_tool_calls: 1 }, other: { max_tool_calls: 2 } },
  'webhooks.change': {
    create: { url: 'https://receiver.example.com', events: ['limit.exhausted'] },
    one: { description: 'One' },
    other: { description: 'Other' },
  },
  'email_subscriptions.change': {
    create: { recipients: ['a@example.com'], events: ['limit.exhausted'] },
    one: { description: 'One' },
    other: { description: 'Other' },
  },
  'retention_policy.put': { one: { content_days: 30 }, other: { content_days: 31 } },
  'platform_retention.put': { one: { audit_days: 730 }, other: { audit_days: 731 } },
  'capacity_scenarios.change': {
    create: { name: 'a', changes: {} },
    one: { name: 'One' },
    other: { name: 'Other' },
  },
};

const routes = declaredRoutes();

test('every operation that changes a resource has a read of it at the same path', () => {
  const read = new Set(routes.filter(({ method }) => method === 'GET').map(({ path }) => path));
  expect(routes.filter((route) => isVersioned(route) && !read.has(route.path))).toEqual([]);
});

test.each(routes.filter(isVersioned).map(({ id, method, path, access }) => ({ id, method, path, access })))(
  '$method $path: a change of an older version is a conflict, and changes nothing',
  async ({ id, method, path: template, access }) => {
    const { create, one, other } = changesOf[id] ?? ({} as Changes);
    expect([one, other]).not.toContain(undefined);
    const key = access.kind === 'operator' ? world.operatorKey : org.ownerKey;
    const send = (verb: string, path: string, body?: object, headers?: Record<string, string>) =>
      world.request(verb, path, { key, ...(body && { body }), ...(headers && { headers }) });
    const filled = template
      .replace('{id}', org.id)
      .replace('{org_id}', org.id)
      .replace('{model}', `of-${id}`);
    const collection = filled.slice(0, filled.lastIndexOf('/'));
    const created = create && (await send('POST', collection, create));
    const path = created === undefined ? filled : `${collection}/${created.json.id}`;
    const plans = id === 'orgs.plan.put' ? await createPlans() : undefined;
    const bodyOf = (name: 'one' | 'other') => plans?.[name] ?? (name === 'one' ? one : other);

    const first = await send(method, path, bodyOf('one'));
    expect(first.status, first.text).toBe(200);
    const etag = first.headers.etag as string;
    const read = await send('GET', path);
    expect(read.headers.etag).toBe(etag);
    expect((await send('GET', path, undefined, { 'if-none-match': etag })).status).toBe(304);

    const second = await send(method, path, bodyOf('other'), { 'if-match': etag });
    expect(second.status, second.text).toBe(200);
    const current = second.headers.etag as string;
    expect(current).not.toBe(etag);
    const before = await send('GET', path);
    expect(before.headers.etag).toBe(current);

    const late = await send(method, path, bodyOf('one'), { 'if-match': etag });
    expect([late.status, late.json.error.code]).toEqual([409, 'conflict']);
    expect(late.json.error.details).toEqual({ etag: current });
    const after = await send('GET', path);
    expect(after.headers.etag).toBe(current);

    const listed = `"other", W/${current}`;
    expect((await send(method, path, bodyOf('one'), { 'if-match': listed })).status).toBe(200);
  },
);

async function createPlans(): Promise<{ one: object; other: object }> {
  const plan = async (name: string) => {
    const body = { name: `${name} of ${org.id}`, overage_policy: 'block' };
    const { json } = await world.request('POST', '/v1/admin/plans', { key: world.operatorKey, body });
    return { plan_id: json.id };
  };
  return { one: await plan('one'), other: await plan('other') };
}

test('of many changes of one version at once, one has an effect', async () => {
  const { ownerKey: key, id } = org;
  const body = { name: 'contended', scope_kind: 'org', ...limit };
  const budget = await world.request('POST', `/v1/orgs/${id}/budgets`, { key, body });
  const path = `/v1/orgs/${id}/budgets/${budget.json.id}`;
  const { headers } = await world.request('GET', path, { key });
  const answers = await Promise.all(
    Array.from({ length: 20 }, (_, index) =>
      world.request('PATCH', path, {
        key,
        body: { limit_usd: String(100 + index) },
        headers: { 'if-match': headers.etag as string },
      }),
    ),
  );
  expect(answers.map(({ status }) => status).sort()).toEqual([200, ...Array(19).fill(409)]);
  const changed = answers.find(({ status }) => status === 200)?.json.limit_usd;
  expect((await world.request('GET', path, { key })).json.limit_usd).toBe(changed);
  const audit = await world.request('GET', `/v1/orgs/${id}/audit-log?action=budgets.change&limit=200`, {
    key,
  });
  const ofBudget = audit.json.data.filter(
    (entry: { target: { id: string } }) => entry.target.id === budget.json.id,
  );
  expect(ofBudget.filter((entry: { outcome?: string }) => entry.outcome !== 'denied')).toHaveLength(1);
});

test('a key that is used has the same version', async () => {
  const { ownerKey: key } = org;
  const minted = await world.mintKey(org, 'owner', scopes);
  const path = `/v1/orgs/${org.id}/keys/${minted.id}`;
  const before = await world.request('GET', path, { key });
  world.clock.advanceSeconds(3_600);
  await world.request('GET', path, { key: minted.secret });
  expect((await world.request('GET', path, { key })).headers.etag).toBe(before.headers.etag);
});

test('`If-Match` for a resource that does not exist yet is a conflict, and a replayed change keeps its version', async () => {
  const other = await world.createOrg();
  const path = `/v1/orgs/${other.id}/spend-cap`;
  const put = (headers: Record<string, string>) =>
    world.request('PUT', path, { key: other.ownerKey, body: { cap_usd: '1' }, headers });
  const early = await put({ 'if-match': '*' });
  expect([early.status, early.json.error.details]).toEqual([409, {}]);
  expect((await world.request('GET', path, { key: other.ownerKey })).status).toBe(404);
  const made = await put({ 'idempotency-key': 'once' });
  const again = await put({ 'idempotency-key': 'once' });
  expect([again.status, again.headers.etag, again.headers['idempotent-replayed']]).toEqual([
    200,
    made.headers.etag,
    'true',
  ]);
});
