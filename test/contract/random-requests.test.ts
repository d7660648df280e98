/**
 * Sends thousands of random requests: every response must follow the contract. On a failure fast-check prints the
 * minimal request.
 */
import fc from 'fast-check';
import { afterEach, beforeEach, expect, it } from 'vitest';
import { scopes } from '../../src/contract/scopes.ts';
import {
  createWorld,
  engine,
  routeOf,
  type TestAnswer,
  type TestOrg,
  transport,
  type World,
} from '../harness.ts';
import { checkAnswer } from '../support/contract-check.ts';
import { storedToolSignIn } from '../support/device-sign-in.ts';
import { mutate, mutations } from '../support/mutations.ts';
import { pendingPriceChange } from '../support/price-updates.ts';
import {
  type CredentialName,
  type Id,
  type keyIds,
  type Operation,
  operationsOf,
  type orgIds,
  type RandomRequest,
  randomRequest,
} from '../support/random-requests.ts';
import { exchange } from '../support/raw-socket.ts';
import { rounds } from '../support/rounds.ts';
import { checkWithSeed, sampleWithSeed, seedsOf } from '../support/seeds.ts';
import { signIn } from '../support/sign-in.ts';
import { statementBody } from '../support/statement-files.ts';

const { seeds } = seedsOf('random-requests');
/**
 * Runs on PostgreSQL or over sockets repeat only a part of the requests: they share most of the code, and take longer.
 */
const isMainRun = engine === 'embedded' && transport === 'inject';
const casts = isMainRun ? rounds(1, 40) : transport === 'sockets' ? 2 : rounds(2, 15);
/** After this round the heap has reached its usual size. */
const warmUpRound = Math.min(4, casts - 1);
const checkedPerRound = 345;
const rawPerRound = 55;
/** Each attempt has its own cast, since earlier requests may have removed what the next one needs. */
const attemptsMax = 40;
const requestsPerAttempt = 30;
/** The path of an org. Nearly every route is below it, so it does not show which routes belong together. */
const wholeOrg = /^\/v1\/orgs\/\{\w+\}$/;

/** The keys, orgs and resources that requests refer to. */
interface Cast {
  readonly tokens: Readonly<Record<Exclude<CredentialName, 'none'>, string>>;
  readonly orgs: Readonly<Record<(typeof orgIds)[number], string>>;
  readonly keys: Readonly<Record<(typeof keyIds)[number], string>>;
  /** Ids of resources, by path parameter. */
  readonly resources: Readonly<Record<string, string>>;
}

let world: World;
let port: number;
let cast: Cast;
const statuses = new Map<number, number>();
const succeeded = new Set<string>();

beforeEach(async () => {
  statuses.clear();
  succeeded.clear();
  world = await createWorld({
    SVC_BODY_LIMIT_BYTES: '4096',
    SVC_AUTH_BACKOFF_ATTEMPTS: '1',
    SVC_BENCHMARK_K_FLOOR: '2',
    SVC_SMTP_URL: 'smtp://localhost:9',
    SVC_SMTP_FROM: 'purser@example.com',
  });
  ({ port } = await world.listen());
});
afterEach(() => world.close());

async function customerWithPack({ id, ownerKey }: TestOrg): Promise<string> {
  const body = { customer_id: 'to be erased', amount_usd: '1' };
  await world.request('POST', `/v1/orgs/${id}/credit-packs`, { key: ownerKey, body });
  return encodeURIComponent(body.customer_id);
}

/** Routes that no random request reaches: its body names a limit, and only keys that are locked to a member have usage of their own. */
const unreachable: ReadonlySet<string> = new Set(['raise_requests.create', 'usage.own']);

/** Creates new orgs and keys for each round, because random requests suspend orgs and revoke keys. */
async function newCast(): Promise<Cast> {
  const own = await world.createOrg();
  const foreign = await world.createOrg();
  const suspended = await world.createOrg();
  const soon = new Date(world.clock.now().getTime() + 1_000).toISOString();
  const [admin, viewer, unscoped, revoked, expired, early, spare, foreignKey] = await Promise.all([
    world.mintKey(own, 'admin', scopes),
    world.mintKey(own, 'viewer', ['org:read', 'keys:read']),
    world.mintKey(own, 'owner', []),
    world.mintKey(own, 'owner', scopes),
    world.mintKey(own, 'owner', scopes, { expires_at: soon }),
    world.mintKey(own, 'owner', scopes, { not_before: '2199-01-01T00:00:00Z' }),
    world.mintKey(own, 'member', ['runs:read']),
    world.mintKey(foreign, 'owner', scopes),
  ]);
  const asOperator = { key: world.operatorKey };
  const mintOperator = () => world.request('POST', '/v1/admin/keys', { ...asOperator, body: { name: 'o' } });
  const operator = await mintOperator();
  const spareOperator = await mintOperator();
  const make = async (path: string, key: string, body: object): Promise<string> =>
    (await world.request('POST', path, { key, body })).json.id;
  const decision = await world.request('POST', '/v1/edge/decision', {
    key: own.ownerKey,
    body: { model: 'gpt-4o', estimated_cost_usd: '1', expires_in_seconds: 86_400 },
  });
  await world.request('PUT', `/v1/admin/orgs/${own.id}/prices/gpt-4o`, {
    ...asOperator,
    body: { discount_percent: '10' },
  });
  // A model without known limits accepts any number of tokens.
  await world.request('PUT', '/v1/admin/models/roomy', {
    ...asOperator,
    body: { input_usd_per_million: '0' },
  });
  await world.request('PUT', `/v1/orgs/${own.id}/routing-policy`, {
    key: own.ownerKey,
    body: { candidates: ['roomy'], suite: 'a', min_score: 0.5, max_age_days: 30, objective: 'cost' },
  });
  const policy_id = await make(`/v1/orgs/${own.id}/policies`, own.ownerKey, {
    effect: 'require_approval',
    models: ['governed'],
    priority: 1,
    reason: 'a',
  });
  const asker = await world.mintKey(own, 'member', ['runs:write']);
  const asked = await world.request('POST', '/v1/runs', {
    key: asker.secret,
    body: { model: 'governed', cost_usd: '0' },
  });
  const sub_id = await make(`/v1/orgs/${own.id}/webhooks`, own.ownerKey, {
    url: 'https://receiver.example/hook',
    events: ['*'],
  });
  const emailPath = `/v1/orgs/${own.id}/email-subscriptions`;
  const email_subscription_id = await make(emailPath, own.ownerKey, { recipients: ['a@example.com'] });
  const tested = await world.request('POST', `${emailPath}/${email_subscription_id}/test`, {
    key: own.ownerKey,
  });
  for (const org of [own, foreign]) {
    await make('/v1/runs', org.ownerKey, { model: 'gpt-4o', cost_usd: '0' });
    await world.request('PUT', `/v1/orgs/${org.id}/benchmark-participation`, {
      key: org.ownerKey,
      body: { enabled: true },
    });
  }
  const settings = `/v1/orgs/${own.id}/support-access/settings`;
  const grant = {
    org_id: own.id,
    scope: ['runs:read'],
    reason: 'a',
    expires_at: new Date(world.clock.now().getTime() + 7 * 3_600_000).toISOString(),
  };
  const active_grant_id = await make('/v1/admin/support/grants', world.operatorKey, grant);
  await world.request('PUT', settings, {
    key: own.ownerKey,
    body: { allowed: true, approval_required: true },
  });
  const raised = {
    amount_usd: '1',
    reason: 'a',
    until: new Date(world.clock.now().getTime() + 7 * 86_400_000).toISOString(),
  };
  const budget_id = await make(`/v1/orgs/${own.id}/budgets`, own.ownerKey, {
    name: 'a',
    scope_kind: 'org',
    period: 'year',
    limit_usd: '1000000',
  });
  const limit_id = await make(`/v1/orgs/${own.id}/customer-limits`, own.ownerKey, {
    customer_id: 'a',
    period: 'year',
    limit_usd: '1',
  });
  await world.request('PUT', `/v1/orgs/${own.id}/spend-cap`, {
    key: own.ownerKey,
    body: { cap_usd: '1000000' },
  });
  const requester = await world.mintKey(own, 'member', scopes);
  const resources = {
    raise_id: await make(`/v1/orgs/${own.id}/budgets/${budget_id}/raises`, own.ownerKey, raised),
    limit_raise_id: await make(`/v1/orgs/${own.id}/customer-limits/${limit_id}/raises`, own.ownerKey, raised),
    cap_raise_id: await make(`/v1/orgs/${own.id}/spend-cap/raises`, own.ownerKey, raised),
    request_id: await make(`/v1/orgs/${own.id}/raise-requests`, requester.secret, {
      ...raised,
      limit_id: budget_id,
    }),
    active_grant_id,
    grant_id: await make('/v1/admin/support/grants', world.operatorKey, grant),
    cohort_id: await make('/v1/benchmarks/cohorts', own.ownerKey, { name: 'a', criteria: {} }),
    sub_id,
    email_subscription_id,
    email_delivery_id: tested.json.data[0].id,
    delivery_id: await make(`/v1/orgs/${own.id}/webhooks/${sub_id}/test`, own.ownerKey, {}),
    test_id: await make(`/v1/orgs/${own.id}/sso/tests`, own.ownerKey, {
      settings: { issuer: 'https://login.example.com', client_id: 'a' },
    }),
    policy_id,
    approval_id: asked.json.error.details.approval_id,
    refusal_id: await deniedRequest(own),
    eval_id: await make(`/v1/orgs/${own.id}/evals`, own.ownerKey, {
      suite: 'a',
      model: 'roomy',
      score: 1,
      samples: 1,
    }),
    budget_id,
    limit_id,
    customer_id: await customerWithPack(own),
    pack_id: await make(`/v1/orgs/${own.id}/credit-packs`, own.ownerKey, {
      customer_id: 'a',
      amount_usd: '1',
    }),
    run_id: await make('/v1/runs', own.ownerKey, {
      model: 'gpt-4o',
      status: 'running',
      estimated_cost_usd: '1',
    }),
    unpriced_run_id: await unpricedRun(own),
    detector_id: await make(`/v1/orgs/${own.id}/safety-detectors`, own.ownerKey, {
      name: 'a',
      kind: 'words',
      words: ['a'],
      action: 'flag',
    }),
    member_id: await make(`/v1/orgs/${own.id}/members`, own.ownerKey, {
      email: 'ada@example.com',
      role: 'viewer',
    }),
    session_id: (await signIn(world, own.ownerKey, own.id)).id,
    tool_sign_in_id: await storedToolSignIn(world, own),
    operator_session_id: (await signIn(world, operator.json.secret)).id,
    statement_id: await make(`/v1/orgs/${own.id}/statements`, own.ownerKey, statementBody()),
    connection_id: await make(`/v1/orgs/${own.id}/connections`, own.ownerKey, {
      name: 'a',
      kind: 'openai',
      api_key: 'sk-a',
    }),
    scenario_id: await make(`/v1/orgs/${own.id}/capacity-scenarios`, own.ownerKey, {
      name: 'a',
      changes: {},
    }),
    change_id: await pendingPriceChange(world, `updated-${own.id}`),
    decision_id: decision.json.decision_id,
    model: 'gpt-4o',
    plan_id: await make('/v1/admin/plans', world.operatorKey, { name: own.id, overage_policy: 'allow' }),
  };
  await world.request('DELETE', `/v1/orgs/${own.id}/keys/${revoked.id}`, { key: own.ownerKey });
  await world.request('POST', `/v1/admin/orgs/${suspended.id}/suspend`, asOperator);
  // Later than the expiry above, and than the minute in which failed tokens are counted.
  world.clock.advanceSeconds(90);
  return {
    tokens: {
      operator: operator.json.secret,
      owner: own.ownerKey,
      admin: admin.secret,
      viewer: viewer.secret,
      unscoped: unscoped.secret,
      foreign: foreignKey.secret,
      revoked: revoked.secret,
      expired: expired.secret,
      early: early.secret,
      suspended: suspended.ownerKey,
    },
    orgs: { own: own.id, foreign: foreign.id, suspended: suspended.id },
    keys: {
      admin: admin.id,
      viewer: viewer.id,
      revoked: revoked.id,
      expired: expired.id,
      foreign: foreignKey.id,
      spare: spare.id,
      operator: operator.json.id,
      spareOperator: spareOperator.json.id,
    },
    resources,
  };
}

/** Returns the record of the run that needs an approval. */
async function deniedRequest(own: TestOrg): Promise<string> {
  await world.runJob('record-refusals');
  const { json } = await world.request('GET', `/v1/orgs/${own.id}/refusals`, { key: own.ownerKey });
  return json.data[0].id;
}

/** Returns a run that was settled before its model had a price. */
async function unpricedRun(own: TestOrg): Promise<string> {
  const model = `priced-after-${own.id}`;
  const decided = await world.request('POST', '/v1/edge/decision', {
    key: own.ownerKey,
    body: { model, estimated_cost_usd: '0.001' },
  });
  const { json: run } = await world.request('POST', '/v1/runs', {
    key: own.ownerKey,
    body: { model, input_tokens: 1, decision_id: decided.json.decision_id },
  });
  await world.request('PUT', `/v1/admin/models/${model}`, {
    key: world.operatorKey,
    body: { input_usd_per_million: '1' },
  });
  return run.id;
}

function idText(id: Id): string {
  if ('resource' in id) {
    return cast.resources[id.resource] ?? 'none';
  }
  return 'org' in id ? cast.orgs[id.org] : 'key' in id ? cast.keys[id.key] : id.literal;
}

function targetOf({ path, ids, queryString }: RandomRequest): string {
  const rest = [...ids];
  const concrete = path.replaceAll(/\{\w+\}/g, () => idText(rest.shift() ?? { literal: 'x' }));
  return queryString === '' ? concrete : `${concrete}?${queryString}`;
}

function headersOf({ credential, headers }: RandomRequest): Record<string, string> {
  if ('header' in credential) {
    return { ...headers, authorization: credential.header };
  }
  return credential.named === 'none'
    ? { ...headers }
    : { ...headers, authorization: `Bearer ${cast.tokens[credential.named]}` };
}

/** All dependencies are available, so even a 503 is an error, except `no_model_passes_eval`. */
function noteStatus({ status, text }: Pick<TestAnswer, 'status' | 'text'>): void {
  statuses.set(status, (statuses.get(status) ?? 0) + 1);
  if (!text.includes('"code":"no_model_passes_eval"')) {
    expect(status).toBeLessThan(500);
  }
}

async function sendChecked(request: RandomRequest): Promise<void> {
  const target = targetOf(request);
  const { method, body, address } = request;
  // An injected request has no connection to close; the requests over raw sockets cover `Expect`.
  const { expect: _, ...headers } = headersOf(request);
  // `world.request` checks every response against the contract and the declaration of its route.
  const answer = await world.request(method, target, {
    headers,
    address,
    ...(body !== undefined && { raw: namingOwnOrg(body) }),
  });
  noteStatus(answer);
  const route = routeOf(world.router, method, target);
  if (route !== undefined && answer.status === route.success && method !== 'HEAD') {
    succeeded.add(route.id);
  }
}

/** Replaces the placeholder of an org in a body by the caller's org. */
function namingOwnOrg(body: Buffer): Buffer {
  return Buffer.from(body.toString('latin1').replaceAll('{org_id}', cast.orgs.own), 'latin1');
}

function bytesOf(request: RandomRequest): Buffer {
  const { body } = request;
  const headers = Object.entries({
    host: 'test',
    ...headersOf(request),
    ...(body !== undefined && { 'content-length': String(body.length) }),
  });
  const method = request.method === 'HEAD' ? 'GET' : request.method;
  const lines = [
    `${method} ${targetOf(request)} HTTP/1.1`,
    ...headers.map(([name, value]) => `${name}: ${value}`),
  ];
  return Buffer.concat([Buffer.from(`${lines.join('\r\n')}\r\n\r\n`, 'latin1'), body ?? Buffer.alloc(0)]);
}

async function sendRaw(bytes: Uint8Array): Promise<void> {
  const answers = await exchange(port, bytes);
  for (const answer of answers.filter(({ status }) => status !== 100)) {
    checkAnswer(answer, undefined);
    noteStatus(answer);
  }
  // Blank lines before a request are ignored; anything else must get a response.
  const isBlank = bytes.every((byte) => byte === 13 || byte === 10);
  expect(answers.length, 'answers').toBeGreaterThanOrEqual(isBlank ? 0 : 1);
}

/**
 * Requests for a route that has not succeeded yet. Its resource may need another request first: a singleton is put
 * before it is read, a run is completed before it is adjusted.
 */
function requestsToReach(
  operations: readonly Operation[],
  method: string,
  path: string,
): fc.Arbitrary<RandomRequest> {
  const own = randomRequest(operations.filter((one) => one.method === method && one.path === path));
  const thing = path.slice(0, path.lastIndexOf('}') + 1);
  const before = operations.filter(
    (one) =>
      (one.method === 'PUT' && one.path === path) ||
      (one.method === 'POST' && one.path.startsWith(`${thing}/`) && thing !== '' && !wholeOrg.test(thing)),
  );
  return before.length === 0
    ? own
    : fc.oneof({ weight: 2, arbitrary: own }, { weight: 1, arbitrary: randomRequest(before) });
}

const title = `answers ${casts * (checkedPerRound + rawPerRound)} random requests within the contract (seed %d)`;
it.each(seeds)(title, async (seed) => {
  const { json: document } = await world.request('GET', '/v1/openapi.json');
  const operations = operationsOf(document);
  const request = randomRequest(operations);
  const mutated = fc.tuple(fc.array(request, { minLength: 1, maxLength: 2 }), mutations);
  const noise = fc.uint8Array({ minLength: 1, maxLength: 200 });
  let heapBefore = 0;

  for (let round = 0; round < casts; round += 1) {
    cast = await newCast();
    await checkWithSeed(seed + round, fc.asyncProperty(request, sendChecked), { numRuns: checkedPerRound });
    const raw = fc.asyncProperty(
      fc.oneof({ weight: 6, arbitrary: mutated }, { weight: 1, arbitrary: noise }),
      (drawn) =>
        sendRaw(drawn instanceof Uint8Array ? drawn : mutate(Buffer.concat(drawn[0].map(bytesOf)), drawn[1])),
    );
    await checkWithSeed(seed + round, raw, { numRuns: rawPerRound });

    expect((await world.request('GET', '/healthz')).status).toBe(200);
    expect((await world.request('GET', '/v1/admin/orgs', { key: world.operatorKey })).status).toBe(200);
    world.logLines.length = 0;
    if (round === warmUpRound) {
      heapBefore = process.memoryUsage().heapUsed;
    }
  }

  if (casts > warmUpRound) {
    const grownMiB = (process.memoryUsage().heapUsed - heapBefore) / 2 ** 20;
    expect(grownMiB, 'growth of the heap').toBeLessThan(200);
  }
  if (isMainRun) {
    // Every route must succeed at least once. A route that has not succeeded yet gets requests of its own.
    const routes = world.app.routes.filter(({ id }) => !unreachable.has(id));
    const lacking = () => routes.filter(({ id }) => !succeeded.has(id));
    for (let attempt = 0; attempt < attemptsMax && lacking().length > 0; attempt += 1) {
      cast = await newCast();
      for (const { id, method, path } of lacking()) {
        const drawn = requestsToReach(operations, method, path);
        for (const one of sampleWithSeed(seed + attempt, drawn, requestsPerAttempt)) {
          if (!succeeded.has(id)) {
            await sendChecked(one);
          }
        }
      }
    }
    expect(lacking().map(({ id }) => id)).toEqual([]);
    expect([...statuses.keys()]).toEqual(
      expect.arrayContaining([200, 201, 204, 400, 401, 403, 404, 409, 410, 413, 422, 429]),
    );
  }
  process.stdout.write(`random requests by status: ${JSON.stringify(Object.fromEntries(statuses))}\n`);
});
