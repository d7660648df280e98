/** Events are emitted at the right times and not too often, and every event matches the catalog. */
import { beforeAll, describe, expect, test } from 'vitest';
import { type TestOrg, useWorld, type World } from '../../../../test/harness.ts';
import { Browser } from '../../../../test/support/cookie-browser.ts';
import { decideIn, joinWithLink, toolAt } from '../../../../test/support/device-sign-in.ts';
import { eventually } from '../../../../test/support/eventually.ts';
import { pendingPriceChange } from '../../../../test/support/price-updates.ts';
import { postForm } from '../../../../test/support/sign-in.ts';
import { statementBody } from '../../../../test/support/statement-files.ts';
import { daysOf, recordDays } from '../../../../test/support/usage-history.ts';
import { type EventType, eventSchema, eventTypes } from '../../../contract/events.ts';
import { denialOf } from '../../../kernel/denial.ts';
import { counterKey, emptyScope, type Limit, windowOf } from '../../../kernel/limits.ts';
import { createLimitEvents } from '../../../ledger/limits/limit-events.ts';
import { compileBody } from '../../../platform/http/routes/validation.ts';
import { createIds } from '../../../platform/ids.ts';

const world = useWorld();
let org: TestOrg;

const call = (method: string, path: string, body?: object, key = org.ownerKey) =>
  world.request(method, path, { key, ...(body !== undefined && { body }) });
interface EventRow {
  readonly id: string;
  readonly type: EventType;
  readonly created_at: Date;
  // biome-ignore lint/suspicious/noExplicitAny: a test looks into events of every kind.
  readonly data: any;
}
const events = (type?: string) =>
  world.db.query<EventRow>(
    `SELECT id, type, created_at, data FROM outbox
      WHERE tenant_id = $1 AND ($2::text IS NULL OR type = $2) ORDER BY created_at, id`,
    [org.id, type ?? null],
  );
const listen = (patterns: string[]) =>
  call('POST', `/v1/orgs/${org.id}/webhooks`, { url: 'https://receiver.example/', events: patterns });
const run = (more: object = {}) => call('POST', '/v1/runs', { model: 'm', cost_usd: '0.4', ...more });

describe('a finished run', () => {
  beforeAll(async () => {
    // A process emits an event for every run until it has loaded the subscriptions.
    org = await world.createOrg();
    let told = 0;
    await eventually(async () => {
      const before = told;
      await run();
      told = (await events('run.finished')).length;
      expect(told).toBe(before);
    });
    org = await world.createOrg();
  });

  test('emits an event in its own transaction if there is a subscriber, and none otherwise', async () => {
    await run();
    expect(await events('run.finished')).toEqual([]);
    const { json: subscription } = await listen(['run.*']);
    const { json: finished } = await run({ content: 'secret words', metadata: { a: 1 } });
    const [event] = await events('run.finished');
    expect(event?.data).toMatchObject({ id: finished.id, cost_usd: '0.4', status: 'succeeded' });
    expect(JSON.stringify(event)).not.toContain('secret words');

    const { json: running } = await run({ status: 'running', cost_usd: undefined, estimated_cost_usd: '1' });
    expect(await events('run.finished')).toHaveLength(1);
    await call('POST', `/v1/runs/${running.id}/complete`, { cost_usd: '0.2', status: 'failed' });
    const ofIt = (await events('run.finished')).find(({ data }) => data.id === running.id);
    expect(ofIt?.data.status).toBe('failed');

    const runs = [1, 2, 3].map((index) => ({ model: 'm', cost_usd: '0.1', external_id: `bulk ${index}` }));
    await call('POST', '/v1/runs/bulk', { runs });
    expect(await events('run.finished')).toHaveLength(5);
    // Runs that already exist do not finish again.
    await call('POST', '/v1/runs/bulk', { runs });
    expect(await events('run.finished')).toHaveLength(5);
    // Recorded history finished long ago, so it emits no event.
    await call('POST', '/v1/runs/bulk?enforcement=record', {
      runs: [{ model: 'm', cost_usd: '0.1', started_at: '2026-11-01T00:00:00Z' }],
    });
    expect(await events('run.finished')).toHaveLength(5);

    await call('POST', `/v1/orgs/${org.id}/webhooks/${subscription.id}/pause`);
    await run();
    expect(await events('run.finished'), 'a paused one waits for it').toHaveLength(6);
    await call('DELETE', `/v1/orgs/${org.id}/webhooks/${subscription.id}`);
    // Once this process has reloaded the subscriptions, it emits nothing, because there is no subscriber.
    await expect
      .poll(async () => {
        const before = (await events('run.finished')).length;
        await run();
        return (await events('run.finished')).length - before;
      })
      .toBe(0);
  });

  test('emits no event if its posting is rolled back', async () => {
    await listen(['run.*']);
    const before = (await events('run.finished')).length;
    await call('PUT', `/v1/orgs/${org.id}/spend-cap`, { cap_usd: '0' });
    expect((await run()).status).toBe(402);
    expect(await events('run.finished')).toHaveLength(before);
  });
});

describe('a limit that denies', () => {
  const decide = (more: object = {}) =>
    call('POST', '/v1/edge/decision', { model: 'm', estimated_cost_usd: '5', ...more });
  const told = async () => {
    await world.runJob('emit-limit-events');
    return (await events('limit.exhausted')).map(({ data }) => data);
  };

  test('emits one event per window, however often it denies', async () => {
    org = await world.createOrg();
    const { json: cap } = await call('PUT', `/v1/orgs/${org.id}/spend-cap`, { cap_usd: '1' });
    expect(await told()).toEqual([]);
    for (let i = 0; i < 3; i += 1) {
      expect((await decide()).status).toBe(402);
    }
    await run({ cost_usd: '5' });
    expect(await told()).toHaveLength(1);
    expect((await told())[0]).toMatchObject({
      limit_id: cap.id,
      kind: 'spend_cap',
      unit: 'usd',
      limit: '1',
      used: '0',
      code: 'spend_cap_exceeded',
      window_start: '2026-11-15T00:00:00.000Z',
      window_end: '2026-11-16T00:00:00.000Z',
    });
    world.clock.advanceSeconds(86_400);
    await decide();
    expect(await told()).toHaveLength(2);
  });

  test('emits one event for all processes together', async () => {
    org = await world.createOrg();
    await call('PUT', `/v1/orgs/${org.id}/spend-cap`, { cap_usd: '1' });
    const other = await anotherProcess(world);
    await decide();
    await other.refuse(org.id);
    await other.tell();
    expect(await told()).toHaveLength(1);
  });

  test('emits the event even if the process stops right after', async () => {
    org = await world.createOrg();
    await call('PUT', `/v1/orgs/${org.id}/spend-cap`, { cap_usd: '1' });
    const other = await anotherProcess(world);
    await other.refuse(org.id);
    await other.stop();
    expect(await told()).toHaveLength(1);
  });

  test('emits an event for each kind, and for each customer', async () => {
    org = await world.createOrg();
    const path = `/v1/orgs/${org.id}`;
    await call('POST', `${path}/customer-limits`, { customer_id: '*', period: 'month', limit_usd: '1' });
    await call('POST', `${path}/credit-packs`, { customer_id: 'c', amount_usd: '1' });
    await call('PUT', `${path}/chain-budget`, { max_depth: 1, max_cost_usd: '2' });
    await world.request('PUT', `/v1/admin/orgs/${org.id}/rate-limits`, {
      key: world.operatorKey,
      body: {
        policies: [
          {
            name: 'q',
            unit: 'requests',
            limit: 1,
            window_seconds: 60,
            kind: 'quota',
            match: { model: 'scarce' },
          },
          { name: 'r', unit: 'usd', limit: '1', window_seconds: 60, kind: 'rate', match: { model: 'slow' } },
        ],
      },
    });
    await decide({ customer_id: 'a' });
    await decide({ customer_id: 'a' });
    await decide({ customer_id: 'b' });
    await run({ customer_id: 'c', cost_usd: '0.9' });
    await run({ customer_id: 'c', cost_usd: '0.1' });
    await run({ cost_usd: '3', chain_id: 'chain-1' });
    const { json: parent } = await run({ chain_id: 'chain-2' });
    expect((await run({ chain_id: 'chain-2', parent_run_id: parent.id })).status).toBe(429);
    await decide({ model: 'scarce', estimated_cost_usd: '0.1' });
    await decide({ model: 'scarce', estimated_cost_usd: '0.1' });
    const slow = { model: 'slow', estimated_cost_usd: '0.8' };
    expect((await decide(slow)).status).toBe(200);
    expect((await decide(slow)).status).toBe(429);
    expect((await decide(slow)).status).toBe(429);
    const seen = (await told()).map(({ kind, scope }) =>
      [kind, scope.customer_id ?? scope.chain_id].join(' ').trim(),
    );
    expect(seen.sort()).toEqual(
      ['chain_cost chain-1', 'chain_depth chain-2', 'customer a', 'customer b', 'quota', 'rate'].sort(),
    );
    // A customer's limit is checked before its credits. Without a limit, the credits deny the run.
    const other = await world.createOrg();
    org = other;
    await call('POST', `/v1/orgs/${org.id}/credit-packs`, { customer_id: 'c', amount_usd: '1' });
    expect((await run({ customer_id: 'c', cost_usd: '3' })).json.error.code).toBe('credits_exhausted');
    await run({ customer_id: 'c', cost_usd: '3' });
    expect((await told()).map(({ kind, code }) => [kind, code])).toEqual([['credits', 'credits_exhausted']]);
    // A second pack is bought and exhausted too.
    world.clock.advanceSeconds(1);
    await call('POST', `/v1/orgs/${org.id}/credit-packs`, { customer_id: 'c', amount_usd: '1' });
    await run({ customer_id: 'c', cost_usd: '3' });
    expect(await told()).toHaveLength(2);
  });
});

describe('a key that expires', () => {
  test('emits an event a week and a day before, once each, unless its lifetime is shorter or it is revoked', async () => {
    org = await world.createOrg();
    const inDays = (days: number) => new Date(world.clock.now().getTime() + days * 86_400_000).toISOString();
    const { id } = await world.mintKey(org, 'viewer', [], { expires_at: inDays(10) });
    await world.mintKey(org, 'viewer', [], { expires_at: inDays(0.5) });
    const revoked = await world.mintKey(org, 'viewer', [], { expires_at: inDays(10) });
    await call('DELETE', `/v1/orgs/${org.id}/keys/${revoked.id}`);
    const told = async () => {
      await world.runJob('emit-key-expiring-events');
      await world.runJob('emit-key-expiring-events');
      return (await events('key.expiring')).map(({ data }) => [data.id, data.days_left]);
    };
    expect(await told()).toEqual([]);
    world.clock.advanceSeconds(3 * 86_400);
    expect(await told()).toEqual([[id, 7]]);
    world.clock.advanceSeconds(6 * 86_400 - 1);
    expect(await told()).toEqual([[id, 7]]);
    world.clock.advanceSeconds(1);
    expect(await told()).toEqual([
      [id, 7],
      [id, 1],
    ]);
    world.clock.advanceSeconds(10 * 86_400);
    expect(await told()).toHaveLength(2);
  });
});

/** Raises a budget and ends the raise, and decides on two requests for raises. */
async function raiseAndAsk(budgetPath: string, limit_id: string): Promise<void> {
  const until = new Date(world.clock.now().getTime() + 3_600_000).toISOString();
  const raise = { amount_usd: '1', until, reason: 'a' };
  const { json } = await call('POST', `${budgetPath}/raises`, raise);
  await call('DELETE', `${budgetPath}/raises/${json.id}`);
  const { secret } = await world.mintKey(org, 'member', ['budgets:read']);
  const requests = `/v1/orgs/${org.id}/raise-requests`;
  for (const verb of ['deny', 'approve']) {
    const asked = await world.request('POST', requests, { key: secret, body: { ...raise, limit_id } });
    await call('POST', `${requests}/${asked.json.id}/${verb}`);
  }
}

test('every stored event matches the catalog', async () => {
  org = await world.createOrg();
  const path = `/v1/orgs/${org.id}`;
  const operator = (method: string, sub: string, body?: object) =>
    call(method, `/v1/admin/orgs/${org.id}${sub}`, body, world.operatorKey);
  const { json: budget } = await call('POST', `${path}/budgets`, {
    name: 'a',
    scope_kind: 'org',
    period: 'day',
    limit_usd: '1',
  });
  await call('PATCH', `${path}/budgets/${budget.id}`, { name: 'b' });
  await raiseAndAsk(`${path}/budgets/${budget.id}`, budget.id);
  await call('DELETE', `${path}/budgets/${budget.id}`);
  await call('PUT', `${path}/spend-cap`, { cap_usd: '1' });
  await call('DELETE', `${path}/spend-cap`);
  await call('PUT', `${path}/chain-budget`, { max_depth: 3 });
  const limit = { customer_id: 'c', period: 'day', limit_usd: '1' };
  const { json: customer } = await call('POST', `${path}/customer-limits`, limit);
  await call('PATCH', `${path}/customer-limits/${customer.id}`, { limit_usd: '2' });
  await call('DELETE', `${path}/customer-limits/${customer.id}`);
  const { json: pack } = await call('POST', `${path}/credit-packs`, { customer_id: 'c', amount_usd: '1' });
  await call('PATCH', `${path}/credit-packs/${pack.id}`, { name: 'p' });
  await call('DELETE', `${path}/credit-packs/${pack.id}`);
  await call('PUT', `${path}/ip-allow-list`, { cidrs: [] });
  await call('PATCH', path, { name: 'Renamed' });
  await call('PUT', `${path}/retention-policy`, { runs_days: 90 });
  await call('PUT', `${path}/unpriced-policy`, { on_unpriced: 'record' });
  await operator('PUT', '/prepaid', { enabled: true });
  await operator('POST', '/prepaid/top-ups', { amount_usd: '1' });
  const plan = { name: org.id, overage_policy: 'block' };
  const { json: made } = await call('POST', '/v1/admin/plans', plan, world.operatorKey);
  await operator('PUT', '/plan', { plan_id: made.id });
  await operator('PUT', '/rate-limits', { read_rpm: 100_000 });
  await operator('PUT', '/prices/gpt-4o', { discount_percent: '5' });
  await operator('DELETE', '/prices/gpt-4o');
  const key = await world.mintKey(org, 'viewer', []);
  await call('PATCH', `${path}/keys/${key.id}`, { attribution: { team: 'search', tags: { env: 'test' } } });
  await call('POST', `${path}/keys/${key.id}/rotate`);
  await call('DELETE', `${path}/keys/${(await world.mintKey(org, 'viewer', [])).id}`);
  await policyEvents(path);
  await peopleEvents(path);
  await toolEvents(path);
  await supportEvents(path);
  await routingEvents(path);
  await settleWithoutPrice();
  await leaveUnsettled();
  await call('POST', `${path}/statements`, statementBody());
  await world.runJob('compare-statements');
  await listen(['price.change_pending']);
  await pendingPriceChange(world, 'announced');
  await operator('PUT', '/residency', { home_region: 'eu' });
  await forecastEvent(path);
  await operator('POST', '/suspend', { reason: 'unpaid' });
  await operator('POST', '/reinstate');
  world.clock.advanceSeconds(86_400);
  await world.runJob('sign-daily-checkpoints');
  await listen(['digest.weekly']);
  world.clock.advanceSeconds(7 * 86_400);
  await world.runJob('emit-weekly-digests');

  const all = await world.db.query<EventRow & { tenant_id: string }>(
    'SELECT tenant_id, id, type, created_at, data FROM outbox',
  );
  const faults = all.flatMap(({ tenant_id, id, type, created_at, data }) => {
    const event = { id, type, created_at: created_at.toISOString(), org_id: tenant_id, data };
    return compileBody(eventSchema(type))(event).map((fieldError) => ({ type, ...fieldError }));
  });
  expect(faults).toEqual([]);
  // Every type in the catalog is emitted. Events of the dispatcher, of the gateway and of fail-open imports are covered by their own tests.
  const written = new Set(all.map(({ type }) => type));
  expect(eventTypes.filter((type) => !written.has(type)).sort()).toEqual([
    'edge.decisions_imported',
    'gateway.pace_exceeded',
    'webhook.disabled',
    'webhook.test',
  ]);
});

async function settleWithoutPrice(): Promise<void> {
  await listen(['price.missing', 'model.unpriced']);
  const model = 'model-without-a-price';
  const { json } = await call('POST', '/v1/edge/decision', { model, estimated_cost_usd: '0.1' });
  const { decision_id } = json;
  const settled = await call('POST', '/v1/runs', { model, input_tokens: 1, decision_id });
  const correction = { amount_usd: '-0.05', reason: 'charged as held' };
  expect((await call('POST', `/v1/runs/${settled.json.id}/adjustments`, correction)).status).toBe(201);
}

/** A hold expires and nobody has settled it. */
async function leaveUnsettled(): Promise<void> {
  await listen(['run.unsettled']);
  await call('PATCH', `/v1/orgs/${org.id}`, { on_unsettled: 'post_held' });
  const decision = { model: 'gpt-4o', estimated_cost_usd: '0.1', expires_in_seconds: 1 };
  expect((await call('POST', '/v1/edge/decision', decision)).status).toBe(200);
  world.clock.advanceSeconds(2);
  await world.runJob('expire-holds');
}

/** One rule blocks, another requires approval; the requests are approved, denied, and ended with their rule. */
async function policyEvents(path: string): Promise<void> {
  const runner = await world.mintKey(org, 'member', ['runs:write']);
  const attempt = (model: string) =>
    call('POST', '/v1/runs', { model, cost_usd: '0.1' }, runner.secret).then(
      ({ json }) => json.error.details,
    );
  const rule = { priority: 1, reason: 'because' };
  await call('POST', `${path}/policies`, { ...rule, effect: 'block', models: ['bad'] });
  const { json: asking } = await call('POST', `${path}/policies`, {
    ...rule,
    effect: 'require_approval',
    models: ['dear-*'],
  });
  await attempt('bad');
  await world.runJob('emit-policy-blocked-events');
  await call('POST', `${path}/approvals/${(await attempt('dear-1')).approval_id}/approve`);
  expect((await call('POST', '/v1/runs', { model: 'dear-1', cost_usd: '0.1' }, runner.secret)).status).toBe(
    201,
  );
  await call('POST', `${path}/approvals/${(await attempt('dear-2')).approval_id}/deny`);
  await attempt('dear-3');
  await call('DELETE', `${path}/policies/${asking.id}`);
}

/** A member is invited, joins, changes and leaves; and the org sets up SSO. */
async function peopleEvents(path: string): Promise<void> {
  const invited = { email: 'ada@example.com', role: 'viewer' };
  const { json: member } = await call('POST', `${path}/members`, invited);
  await postForm(world, new URL(member.sign_in_url).pathname, {});
  await call('PATCH', `${path}/members/${member.id}`, { role: 'member' });
  await call('DELETE', `${path}/members/${member.id}`);
  const sso = {
    issuer: 'https://login.example.com',
    client_id: 'purser',
    client_secret: 'secret',
    allowed_email_domains: ['example.com'],
  };
  expect((await call('PUT', `${path}/sso`, sso)).status).toBe(200);
}

/** A member signs in from a coding tool, and an admin ends that. */
async function toolEvents(path: string): Promise<void> {
  const { baseUrl } = world;
  world.baseUrl = (await world.listen()).url;
  const { slug } = (await call('GET', path)).json;
  const browser = new Browser();
  await joinWithLink(world, org, browser, { email: 'grace@example.com' });
  const device = await toolAt(`${world.baseUrl}/code/${slug}`).authorize();
  await decideIn(browser, device, 'approve');
  world.baseUrl = baseUrl;
  const [signIn] = (await call('GET', `${path}/tool-sign-ins`)).json.data;
  expect((await call('DELETE', `${path}/tool-sign-ins/${signIn.id}`)).status).toBe(204);
}

/** Support requests access twice. One request is denied; the other is approved, used and revoked. */
async function supportEvents(path: string): Promise<void> {
  const settings = { allowed: true, approval_required: true };
  expect((await call('PUT', `${path}/support-access/settings`, settings)).status).toBe(200);
  const expires_at = new Date(world.clock.now().getTime() + 3_600_000).toISOString();
  const wanted = { org_id: org.id, scope: ['runs:read'], reason: 'a look', expires_at };
  const ask = async () =>
    (await call('POST', '/v1/admin/support/grants', wanted, world.operatorKey)).json.id as string;
  const [letIn, refused] = [await ask(), await ask()];
  await call('POST', `${path}/support-access/grants/${refused}/deny`);
  await call('POST', `${path}/support-access/grants/${letIn}/approve`);
  await call('POST', `/v1/admin/support/grants/${letIn}/sessions`, undefined, world.operatorKey);
  await call('DELETE', `/v1/admin/support/grants/${letIn}`, undefined, world.operatorKey);
}

async function routingEvents(path: string): Promise<void> {
  const { json: result } = await call('POST', `${path}/evals`, {
    suite: 's',
    model: 'gpt-4o',
    score: 0.9,
    samples: 10,
  });
  await call('DELETE', `${path}/evals/${result.id}`);
  const policy = { candidates: ['gpt-4o'], suite: 's', min_score: 0.5, max_age_days: 30, objective: 'cost' };
  expect((await call('PUT', `${path}/routing-policy`, policy)).status).toBe(200);
  await call('DELETE', `${path}/routing-policy`);
}

/** A second process with its own cache of reported limits, on the same database. */
async function anotherProcess({ db, clock, services }: World) {
  const limitEvents = createLimitEvents({ db, clock, ids: createIds(clock), orgLimits: services.orgLimits });
  return {
    tell: () => limitEvents.job.runOnce(),
    stop: async () => limitEvents.job.stop?.(),
    async refuse(orgId: string) {
      const { all, timezone } = await services.orgLimits.get(orgId);
      const limit = all[0] as Limit;
      const window = windowOf(limit, timezone, clock.now().getTime());
      const denial = denialOf({
        limit,
        window,
        key: counterKey(limit, window, emptyScope),
        settled: 0n,
        held: 0n,
        growth: 0n,
        attempted: 5n,
        timezone,
        preFlight: true,
      });
      limitEvents.limitDenied(orgId, emptyScope, denial);
    },
  };
}

/**
 * Records $10 a day, and creates a budget that runs out. A job run checks only a few orgs, so several runs may be
 * needed.
 */
async function forecastEvent(path: string): Promise<void> {
  await listen(['limit.exhaustion_forecast']);
  await recordDays(
    world,
    org,
    daysOf(9, () => '10'),
    { workflow: 'forecast' },
  );
  const scope = { scope_kind: 'workflow', scope_id: 'forecast' };
  await call('POST', `${path}/budgets`, { name: 'f', ...scope, period: 'year', limit_usd: '100' });
  await expect
    .poll(async () => {
      await world.runJob('emit-exhaustion-forecasts');
      return (await events('limit.exhaustion_forecast')).length;
    })
    .toBeGreaterThan(0);
}
