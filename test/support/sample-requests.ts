/** Creates what the samples of the API reference need: an organization, a resource for each variable, and the state before a call. */
import { exampleRequests } from '../../src/docs/example-requests.ts';
import { type SampledOperation, variablesOf } from '../../src/docs/samples.ts';
import type { TestAnswer, TestOrg, World } from '../harness.ts';
import { storedToolSignIn } from './device-sign-in.ts';
import { pendingPriceChange } from './price-updates.ts';
import { signIn } from './sign-in.ts';
import { statementBody } from './statement-files.ts';

export interface SampleWorld {
  readonly world: World;
  readonly url: string;
  /** An organization with some of everything, for operations that read. */
  readonly home: TestOrg;
}

type Variables = Record<string, string>;

const budget = { name: 'Total', scope_kind: 'org', period: 'month', limit_usd: '100' };
const running = { model: 'gpt-4o', status: 'running', estimated_cost_usd: '0.25', workflow: 'support' };
const finished = {
  model: 'gpt-4o',
  input_tokens: 1200,
  output_tokens: 310,
  customer_id: 'acme',
  deployment: 'support-bot',
};
const emailSubscription = { recipients: ['finance@example.com'], digest: 'weekly' };
const webhook = { url: 'https://receiver.example.com/purser', events: ['*'] };
const routingPolicy = exampleRequests['routing_policy.put']?.body ?? {};
const evaluation = exampleRequests['evals.create']?.body ?? {};
const approvalRule = {
  effect: 'require_approval',
  models: ['o1-*'],
  priority: 1,
  reason: 'Expensive model.',
};
const identityProvider = { issuer: 'https://login.example.com', client_id: 'purser' };
/** Higher than the tests can reach, whose clock stands still. */
const highRate = {
  name: 'Per minute',
  match: {},
  unit: 'requests',
  limit: 1_000_000,
  window_seconds: 60,
  kind: 'rate',
};
const price = exampleRequests['models.prices.put']?.body ?? {};

let names = 0;
const fresh = (what: string) => `${what}-${++names}`;

export async function createSampleWorld(world: World): Promise<SampleWorld> {
  const { url } = await world.listen();
  for (const model of ['gpt-4o', 'o1-pro']) {
    await done(world, 'PUT', `/v1/admin/models/${model}`, price, world.operatorKey);
  }
  const home = await world.createOrg('Acme');
  const sample: SampleWorld = { world, url, home };
  for (const make of Object.values(makers)) {
    await make(sample, home);
  }
  for (const name of Object.keys(states) as (keyof typeof states)[]) {
    await withState(name)(sample, home);
  }
  await inOrg(sample, home, 'POST', '/v1/runs', finished);
  await inOrg(sample, home, 'POST', '/audit-log/checkpoints');
  for (const [path, body] of [
    ['/prepaid', { enabled: true }],
    ['/rate-limits', { policies: [highRate] }],
  ] as const) {
    await done(world, 'PUT', `/v1/admin/orgs/${home.id}${path}`, body, world.operatorKey);
  }
  const topUp = { amount_usd: '100', reference: 'invoice 17' };
  await done(world, 'POST', `/v1/admin/orgs/${home.id}/prepaid/top-ups`, topUp, world.operatorKey);
  // A denial, which is listed once it was written.
  const tooExpensive = { model: 'gpt-4o', estimated_cost_usd: '1000' };
  await world.request('POST', '/v1/edge/decision', { key: home.ownerKey, body: tooExpensive });
  await world.runJob('record-refusals');
  return sample;
}

/** Singletons of an organization, which exist before they are read or removed. */
const states = {
  spendCap: { path: '/spend-cap', body: { cap_usd: '50' } },
  routingPolicy: { path: '/routing-policy', body: routingPolicy },
  identityProvider: { path: '/sso', body: identityProvider },
};

/** Returns the environment of the samples of an operation, after the state before the call was created. */
export async function prepareSample(sample: SampleWorld, operation: SampledOperation): Promise<Variables> {
  const { world, url, home } = sample;
  const isRead = operation.method === 'GET';
  const org = isRead ? home : await world.createOrg('Acme');
  const own = await preparations[operation.operationId]?.(sample, org);
  const variables: Variables = {
    PURSER_URL: url,
    PURSER_OPERATOR_KEY: world.operatorKey,
    PURSER_KEY: org.ownerKey,
    ORG_ID: org.id,
    ...own,
  };
  for (const name of variablesOf(operation).filter((one) => variables[one] === undefined)) {
    const make = makers[name];
    if (make === undefined) {
      throw new Error(
        `teach test/support/sample-requests.ts the variable ${name} of ${operation.operationId}`,
      );
    }
    variables[name] = await make(sample, org);
  }
  return variables;
}

/** Creates a resource in the organization, and returns its id. */
const makers: Record<string, (sample: SampleWorld, org: TestOrg) => Promise<string>> = {
  KEY_ID: async ({ world }, org) => (await world.mintKey(org, 'member', ['runs:write'])).id,
  GRANT_ID: (sample, org) => grantFor(sample, org),
  MEMBER_ID: made('/members', () => ({ email: `${fresh('amy')}@example.com`, role: 'member' })),
  SESSION_ID: async ({ world }, org) => (await signIn(world, org.ownerKey, org.id)).id,
  TOOL_SIGN_IN_ID: async ({ world }, org) => storedToolSignIn(world, org),
  BUDGET_ID: made('/budgets', () => budget),
  LIMIT_ID: made('/customer-limits', () => ({
    customer_id: fresh('customer'),
    period: 'month',
    limit_usd: '20',
  })),
  async CUSTOMER_ID(sample, org) {
    const customer_id = fresh('customer');
    await inOrg(sample, org, 'POST', '/customer-limits', { customer_id, period: 'month', limit_usd: '20' });
    return customer_id;
  },
  PACK_ID: made('/credit-packs', () => ({ customer_id: fresh('customer'), amount_usd: '25' })),
  PLAN_ID: async ({ world }) =>
    idOf(
      await done(
        world,
        'POST',
        '/v1/admin/plans',
        { name: fresh('Team'), overage_policy: 'block' },
        world.operatorKey,
      ),
    ),
  MODEL: async () => 'gpt-4o',
  CHANGE_ID: ({ world }) => pendingPriceChange(world, fresh('model')),
  RUN_ID: made('/v1/runs', () => running),
  DECISION_ID: async (sample, org) =>
    (await inOrg(sample, org, 'POST', '/v1/runs', running)).json.decision_id,
  POLICY_ID: made('/policies', () => approvalRule),
  async APPROVAL_ID(sample, org) {
    await inOrg(sample, org, 'POST', '/policies', approvalRule);
    // The approval is requested with another key than the one that decides.
    const { secret } = await sample.world.mintKey(org, 'member', ['runs:write']);
    const body = { model: 'o1-pro', cost_usd: '0.1', workflow: fresh('workflow') };
    const { json } = await sample.world.request('POST', '/v1/runs', { key: secret, body });
    return json.error.details.approval_id;
  },
  async REQUEST_ID(sample, org) {
    const limit_id = idOf(await inOrg(sample, org, 'POST', '/budgets', budget));
    // The raise is requested with another key than the one that decides.
    const { secret } = await sample.world.mintKey(org, 'member', ['budgets:read']);
    const path = `/v1/orgs/${org.id}/raise-requests`;
    return idOf(await done(sample.world, 'POST', path, { ...raise(sample), limit_id }, secret));
  },
  async REFUSAL_ID(sample, org) {
    await sample.world.runJob('record-refusals');
    return (await inOrg(sample, org, 'GET', '/refusals')).json.data[0].id;
  },
  DETECTOR_ID: made('/safety-detectors', () => ({
    name: fresh('Names'),
    kind: 'words',
    words: ['bluebird'],
    action: 'flag',
  })),
  EVAL_ID: made('/evals', () => evaluation),
  STATEMENT_ID: made('/statements', () => statementBody(++names)),
  COHORT_ID: made('/v1/benchmarks/cohorts', () => ({
    name: fresh('Software'),
    criteria: { industry: 'software' },
  })),
  CONNECTION_ID: made('/connections', () => ({
    name: fresh('openai'),
    kind: 'openai',
    api_key: 'sk-example',
  })),
  TEST_ID: made('/sso/tests', () => ({ settings: identityProvider })),
  SUB_ID: made('/webhooks', () => webhook),
  EMAIL_SUBSCRIPTION_ID: made('/email-subscriptions', () => emailSubscription),
  SCENARIO_ID: made('/capacity-scenarios', () => ({ name: fresh('Baseline'), changes: {} })),
  PLAN_NAME: async () => fresh('Team'),
  PROVIDER_KEY: async () => 'sk-example',
  EXPIRES_AT: async ({ world }) => inOneHour(world),
};

function withState(name: keyof typeof states) {
  return async (sample: SampleWorld, org: TestOrg): Promise<Variables> => {
    const { path, body } = states[name];
    await inOrg(sample, org, 'PUT', path, body);
    return {};
  };
}

/** State that an operation needs beyond the resources in its path. */
const preparations: Record<string, (sample: SampleWorld, org: TestOrg) => Promise<Variables>> = {
  'spend_cap.delete': withState('spendCap'),
  'budgets.raises.list': raisedBudget,
  'budgets.raises.end': raisedBudget,
  'spend_cap.raises.create': withState('spendCap'),
  'spend_cap.raises.list': raisedCap,
  'spend_cap.raises.end': raisedCap,
  'customer_limits.raises.list': raisedCustomerLimit,
  'customer_limits.raises.end': raisedCustomerLimit,
  'routing_policy.delete': withState('routingPolicy'),
  'sso.remove': withState('identityProvider'),
  'orgs.reinstate': suspended,
  'orgs.remove': suspended,
  async 'orgs.prepaid.top_up'({ world }, { id }) {
    await done(world, 'PUT', `/v1/admin/orgs/${id}/prepaid`, { enabled: true }, world.operatorKey);
    return {};
  },
  async 'limits.values'(sample, org) {
    const each = { ...budget, name: fresh('Each deployment'), scope_kind: 'deployment', scope_id: '*' };
    return { LIMIT_ID: idOf(await inOrg(sample, org, 'POST', '/budgets', each)) };
  },
  'support_access.grants.approve': pendingGrant,
  'support_access.grants.deny': pendingGrant,
  'operator_keys.read': operatorKey,
  'operator_keys.revoke': operatorKey,
  'operator_keys.rotate': operatorKey,
  'operator_sessions.revoke': async ({ world }) => ({
    SESSION_ID: (await signIn(world, world.operatorKey)).id,
  }),
  'models.org_prices.read': orgPrice,
  'models.org_prices.remove': orgPrice,
  async 'runs.adjust'(sample, org) {
    const run = idOf(await inOrg(sample, org, 'POST', '/v1/runs', finished));
    return { RUN_ID: run };
  },
  async 'runs.reprice'(sample, org) {
    const model = fresh('priced-later');
    const { json } = await inOrg(sample, org, 'POST', '/v1/edge/decision', {
      model,
      estimated_cost_usd: '0.01',
    });
    const run = { model, input_tokens: 1000, decision_id: json.decision_id };
    const { json: posted } = await inOrg(sample, org, 'POST', '/v1/runs', run);
    await done(sample.world, 'PUT', `/v1/admin/models/${model}`, price, sample.world.operatorKey);
    return { RUN_ID: posted.id };
  },
  'usage.own': memberKey,
  'webhooks.resume': async (sample, org) => {
    const sub = idOf(await inOrg(sample, org, 'POST', '/webhooks', webhook));
    await inOrg(sample, org, 'POST', `/webhooks/${sub}/pause`);
    return { SUB_ID: sub };
  },
  'email_subscriptions.deliveries.list': emailDelivery,
  'email_subscriptions.deliveries.redeliver': emailDelivery,
  'webhooks.deliveries.list': delivery,
  'webhooks.deliveries.read': delivery,
  'webhooks.deliveries.payload': delivery,
  'webhooks.deliveries.redeliver': delivery,
  async 'routing.decide'(sample, org) {
    await inOrg(sample, org, 'POST', '/evals', evaluation);
    return withState('routingPolicy')(sample, org);
  },
  async 'benchmarks.read_cohort'(sample) {
    const { world } = sample;
    for (const _ of Array.from({ length: cohortSize })) {
      const member = await world.createOrg('Acme');
      const participation = { enabled: true, industry: 'software', size_band: '11-50' };
      await inOrg(sample, member, 'PUT', '/benchmark-participation', participation);
      await inOrg(sample, member, 'POST', '/v1/runs', finished);
    }
    return {};
  },
};

const cohortSize = 6;

const raise = ({ world }: SampleWorld) => ({
  amount_usd: '50',
  until: inOneHour(world),
  reason: 'The launch needs more.',
});

async function raisedBudget(sample: SampleWorld, org: TestOrg): Promise<Variables> {
  const id = idOf(await inOrg(sample, org, 'POST', '/budgets', budget));
  const raised = await inOrg(sample, org, 'POST', `/budgets/${id}/raises`, raise(sample));
  return { BUDGET_ID: id, RAISE_ID: idOf(raised) };
}

async function raisedCap(sample: SampleWorld, org: TestOrg): Promise<Variables> {
  await withState('spendCap')(sample, org);
  return { CAP_RAISE_ID: idOf(await inOrg(sample, org, 'POST', '/spend-cap/raises', raise(sample))) };
}

async function raisedCustomerLimit(sample: SampleWorld, org: TestOrg): Promise<Variables> {
  const limit = { customer_id: fresh('customer'), period: 'month', limit_usd: '20' };
  const id = idOf(await inOrg(sample, org, 'POST', '/customer-limits', limit));
  const raised = await inOrg(sample, org, 'POST', `/customer-limits/${id}/raises`, raise(sample));
  return { LIMIT_ID: id, LIMIT_RAISE_ID: idOf(raised) };
}

function made(path: string, body: () => object) {
  return async (sample: SampleWorld, org: TestOrg) => idOf(await inOrg(sample, org, 'POST', path, body()));
}

async function suspended({ world }: SampleWorld, { id }: TestOrg): Promise<Variables> {
  await done(world, 'POST', `/v1/admin/orgs/${id}/suspend`, {}, world.operatorKey);
  return {};
}

async function pendingGrant(sample: SampleWorld, org: TestOrg): Promise<Variables> {
  await inOrg(sample, org, 'PUT', '/support-access/settings', { allowed: true, approval_required: true });
  return { GRANT_ID: await grantFor(sample, org) };
}

async function grantFor({ world }: SampleWorld, { id }: TestOrg): Promise<string> {
  const grant = { org_id: id, scope: ['runs:read'], reason: 'Ticket 4711.', expires_at: inOneHour(world) };
  return idOf(await done(world, 'POST', '/v1/admin/support/grants', grant, world.operatorKey));
}

async function operatorKey({ world }: SampleWorld): Promise<Variables> {
  return {
    KEY_ID: idOf(await done(world, 'POST', '/v1/admin/keys', { name: 'automation' }, world.operatorKey)),
  };
}

/** A key that is locked to a member, who has a run. */
async function memberKey(sample: SampleWorld, org: TestOrg): Promise<Variables> {
  const body = { email: `${fresh('amy')}@example.com`, role: 'member' };
  const member_id = idOf(await inOrg(sample, org, 'POST', '/members', body));
  const { secret } = await sample.world.mintKey(org, 'member', ['gateway:call', 'runs:write'], {
    attribution: { member_id },
    attribution_locked: ['member_id'],
  });
  await done(sample.world, 'POST', '/v1/runs', finished, secret);
  return { PURSER_KEY: secret };
}

async function orgPrice({ world }: SampleWorld, { id }: TestOrg): Promise<Variables> {
  await done(
    world,
    'PUT',
    `/v1/admin/orgs/${id}/prices/gpt-4o`,
    { discount_percent: '10' },
    world.operatorKey,
  );
  return {};
}

async function delivery(sample: SampleWorld, org: TestOrg): Promise<Variables> {
  const sub = idOf(await inOrg(sample, org, 'POST', '/webhooks', webhook));
  return { SUB_ID: sub, DELIVERY_ID: idOf(await inOrg(sample, org, 'POST', `/webhooks/${sub}/test`)) };
}

async function emailDelivery(sample: SampleWorld, org: TestOrg): Promise<Variables> {
  const sub = idOf(await inOrg(sample, org, 'POST', '/email-subscriptions', emailSubscription));
  const { json } = await inOrg(sample, org, 'POST', `/email-subscriptions/${sub}/test`);
  return { EMAIL_SUBSCRIPTION_ID: sub, EMAIL_DELIVERY_ID: json.data[0].id };
}

const inOneHour = (world: World) => new Date(world.clock.now().getTime() + 3_600_000).toISOString();
const idOf = ({ json }: TestAnswer): string => json.id;

function inOrg(
  { world }: SampleWorld,
  { id, ownerKey }: TestOrg,
  method: string,
  path: string,
  body?: object,
) {
  return done(world, method, path.startsWith('/v1') ? path : `/v1/orgs/${id}${path}`, body, ownerKey);
}

async function done(
  world: World,
  method: string,
  path: string,
  body: object | undefined,
  key: string,
): Promise<TestAnswer> {
  const answer = await world.request(method, path, { key, ...(body && { body }) });
  if (answer.status >= 300) {
    throw new Error(`${method} ${path}: ${answer.status} ${answer.text}`);
  }
  return answer;
}
