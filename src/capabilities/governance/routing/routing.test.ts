import { beforeAll, beforeEach, describe, expect, test } from 'vitest';
import { type TestAnswer, useWorld } from '../../../../test/harness.ts';
import { errorOf, type PolicyWorld, policyWorld } from '../../../../test/support/policies.ts';

const world = useWorld();
let here: PolicyWorld;
beforeAll(async () => {
  // Prices per million tokens. A run with 1,000 input and 1,000 output tokens costs a thousandth of their sum.
  const models: [string, string, string, object][] = [
    ['small', '1', '1', { context_tokens: 8_000, max_output_tokens: 2_000, regions: ['eu', 'us'] }],
    ['medium', '2', '4', { context_tokens: 100_000, regions: ['us'], capabilities: ['tools'] }],
    ['large', '10', '30', { capabilities: ['tools', 'vision'], regions: ['us'] }],
    ['private', '3', '3', {}],
  ];
  for (const [model, input, output, capabilities] of models) {
    await world.request('PUT', `/v1/admin/models/${model}`, {
      key: world.operatorKey,
      body: {
        provider: 'acme',
        input_usd_per_million: input,
        output_usd_per_million: output,
        ...capabilities,
      },
    });
  }
});
beforeEach(async () => {
  here = await policyWorld(world);
});

const bar = { suite: 'support', min_score: 0.8, max_age_days: 30, objective: 'cost' };
const put = (body: object = {}) =>
  here.call('PUT', '/routing-policy', { candidates: ['small', 'medium', 'large'], ...bar, ...body });
const evaluate = (model: string, score: number, more: object = {}) =>
  here.call('POST', '/evals', { suite: 'support', model, score, samples: 100, ...more });
const decide = (body: object = {}, headers: Record<string, string> = {}): Promise<TestAnswer> =>
  world.request('POST', '/v1/routing/decisions', {
    key: here.runner.secret,
    body: { input_tokens: 1_000, max_output_tokens: 1_000, ...body },
    headers,
  });
const daysAgo = (days: number) => new Date(world.clock.now().getTime() - days * 86_400_000).toISOString();
const chosen = async (body: object = {}) => {
  const { status, json } = await decide(body);
  return status === 200 ? json.model : json.error.code;
};
const reasonsIn = ({ json }: TestAnswer) =>
  Object.fromEntries(json.considered.map(({ model, reason }: Record<string, string>) => [model, reason]));

/** Puts a policy under which every evaluated model meets the minimum score. */
async function allGood(body: object = {}): Promise<void> {
  await put(body);
  await evaluate('small', 0.8);
  await evaluate('medium', 0.9);
  await evaluate('large', 0.99);
}

describe('a decision', () => {
  test('returns the best model, its expected cost, and the rejection reasons of the others', async () => {
    await put({ candidates: ['small', 'medium', 'large', 'unknown'] });
    await evaluate('small', 0.7);
    await evaluate('medium', 0.9);
    await evaluate('large', 0.99);
    const { status, json } = await decide();
    expect([status, json]).toEqual([
      200,
      {
        model: 'medium',
        provider: 'acme',
        expected_cost_usd: '0.006',
        score: 0.9,
        latency_ms: null,
        fallback: false,
        considered: [
          {
            model: 'large',
            reason: 'not_best',
            rank: 2,
            expected_cost_usd: '0.04',
            score: 0.99,
            latency_ms: null,
            rule_id: null,
          },
          {
            model: 'small',
            reason: 'score_too_low',
            rank: null,
            expected_cost_usd: '0.002',
            score: 0.7,
            latency_ms: null,
            rule_id: null,
          },
          {
            model: 'unknown',
            reason: 'no_price',
            rank: null,
            expected_cost_usd: null,
            score: null,
            latency_ms: null,
            rule_id: null,
          },
        ],
        not_checked: [],
      },
    ]);
    expect((await decide()).json).toEqual(json);
  });

  test('compares the rates of the stated tier, and holds them', async () => {
    const tiered = { input_usd_per_million: '5', output_usd_per_million: '5' };
    await world.request('PUT', '/v1/admin/models/tiered', {
      key: world.operatorKey,
      body: { ...tiered, modifiers: [{ tier: 'flex', multiplier: '0.1' }] },
    });
    await put({ candidates: ['medium', 'tiered'] });
    await evaluate('medium', 0.9);
    await evaluate('tiered', 0.9);
    expect(await chosen()).toBe('medium');
    expect((await decide({ service_tier: 'flex', hold: true })).json).toMatchObject({
      model: 'tiered',
      expected_cost_usd: '0.001',
      held_usd: '0.001',
    });
  });

  test('a routing decision has no cost of a model that is charged by units alone', async () => {
    await world.request('PUT', '/v1/admin/models/by-page', {
      key: world.operatorKey,
      body: { input_usd_per_million: '0', units: { page: '0.01' } },
    });
    await put({ candidates: ['medium', 'by-*', 'by-page'] });
    await evaluate('medium', 0.9);
    await evaluate('by-page', 0.9);
    const answer = await decide();
    expect([answer.json.model, reasonsIn(answer)]).toEqual(['medium', { 'by-page': 'no_price' }]);
  });

  test('follows the objective, and the weights if there are any', async () => {
    await allGood();
    for (const [model, latency_ms] of [
      ['small', 900],
      ['medium', 700],
      ['large', 100],
    ] as const) {
      await here.run({ model, cost_usd: '0', latency_ms });
    }
    expect(await chosen()).toBe('small');
    await put({ objective: 'quality' });
    expect(await chosen()).toBe('large');
    await put({ objective: 'latency' });
    expect((await decide()).json).toMatchObject({ model: 'large', latency_ms: 100 });
    await put({ weights: { cost: 1, latency: 1 } });
    expect(await chosen()).toBe('medium');
  });

  test('expands wildcards to all models that have a price', async () => {
    await allGood({ candidates: ['me*um', 'l*ge'] });
    const answer = await decide();
    expect(answer.json.model).toBe('medium');
    expect(reasonsIn(answer)).toEqual({ large: 'not_best' });
  });

  test('a routing decision is a conflict without a routing policy or if no candidate has a price', async () => {
    expect(errorOf(await decide())).toEqual([409, 'conflict', {}]);
    await put({ candidates: ['nowhere', 'nothing-*'] });
    expect(errorOf(await decide())).toEqual([409, 'conflict', {}]);
  });

  test('filters by size and capability, and reports the field that asks for too much', async () => {
    await allGood();
    expect(await chosen({ input_tokens: 7_500 })).toBe('medium');
    expect(await chosen({ input_tokens: 1, max_output_tokens: 2_001 })).toBe('medium');
    expect(await chosen({ capabilities: ['vision', 'tools'] })).toBe('large');
    const fieldOf = ({ json }: TestAnswer) => json.error.details.fields[0].field;
    await put({ candidates: ['small'] });
    expect(fieldOf(await decide({ input_tokens: 8_000 }))).toBe('input_tokens');
    expect(fieldOf(await decide({ max_output_tokens: 2_001 }))).toBe('max_output_tokens');
    expect(fieldOf(await decide({ capabilities: ['song'] }))).toBe('capabilities');
  });

  test('reports an error for each invalid field', async () => {
    await allGood();
    for (const body of [
      { input_tokens: -1 },
      { max_output_tokens: '1' },
      { capabilities: ['A'] },
      { hold: 'yes' },
      { model: 'small' },
      { provider: 'acme' },
      { region: '' },
    ]) {
      expect((await decide(body)).status, JSON.stringify(body)).toBe(422);
    }
  });

  test('requires the role member and the scope', async () => {
    await allGood();
    const { secret } = await world.mintKey(here.org, 'viewer', ['routing:write']);
    const body = { input_tokens: 1, max_output_tokens: 1 };
    expect((await world.request('POST', '/v1/routing/decisions', { key: secret, body })).status).toBe(403);
  });

  test('does not use data of other orgs', async () => {
    await allGood();
    here = await policyWorld(world);
    expect(errorOf(await decide())).toEqual([409, 'conflict', {}]);
    await put();
    expect(errorOf(await decide())).toEqual([503, 'no_model_passes_eval', {}]);
  });
});

describe('the minimum eval score', () => {
  test('the minimum eval score that no candidate meets is 503 with empty details', async () => {
    await put();
    await evaluate('small', 0.799999);
    const answer = await decide();
    expect(errorOf(answer)).toEqual([503, 'no_model_passes_eval', {}]);
    expect(answer.json.error.message).toContain('1 score_too_low');
    expect(answer.json.error.message).toContain('2 not_evaluated');
  });

  test('requires enough samples and recent results of its suite', async () => {
    await put({ min_samples: 50, candidates: ['small'] });
    await evaluate('small', 0.9, { suite: 'other' });
    const why = async () => (await decide()).json.error.message.split(': ')[1];
    expect(await why()).toBe('1 not_evaluated.');
    await evaluate('small', 0.9, { ran_at: daysAgo(31) });
    expect(await why()).toBe('1 evaluation_too_old.');
    await evaluate('small', 0.9, { ran_at: daysAgo(30), samples: 49 });
    expect(await why()).toBe('1 too_few_samples.');
    await evaluate('small', 0.9, { ran_at: daysAgo(29), samples: 50 });
    expect(await chosen()).toBe('small');
  });

  test('uses the newest result by `ran_at`, regardless of when it was recorded', async () => {
    await put({ candidates: ['small'] });
    await evaluate('small', 0.9, { ran_at: daysAgo(3) });
    await evaluate('small', 0.1, { ran_at: daysAgo(5) });
    expect(await chosen()).toBe('small');
    const { json: bad } = await evaluate('small', 0.2, { ran_at: daysAgo(1) });
    expect(await chosen()).toBe('no_model_passes_eval');
    expect((await here.call('DELETE', `/evals/${bad.id}`)).status).toBe(204);
    expect(await chosen()).toBe('small');
  });

  test('does not apply to fallbacks, which are used in order if no candidate remains', async () => {
    await put({ fallbacks: ['private', 'large'], candidates: ['small'] });
    const answer = await decide();
    expect(answer.json).toMatchObject({ model: 'private', fallback: true, score: null });
    expect(reasonsIn(answer)).toEqual({ small: 'not_evaluated', large: 'not_best' });
    await here.rule({ effect: 'block', models: ['private'] });
    expect(await chosen()).toBe('large');
    await evaluate('small', 1);
    expect((await decide()).json).toMatchObject({ model: 'small', fallback: false });
    await here.rule({ effect: 'block' });
    expect(await chosen()).toBe('policy_blocked');
  });
});

describe('policies', () => {
  test('reject a candidate with the id of the rule', async () => {
    await allGood();
    const ruleId = await here.rule({ effect: 'block', models: ['small'], actions: ['chat'] });
    expect(await chosen()).toBe('small');
    const { json } = await decide({ action: 'chat' });
    expect(json.model).toBe('medium');
    expect(json.considered.at(-1)).toMatchObject({
      model: 'small',
      reason: 'policy_blocked',
      rule_id: ruleId,
    });
  });

  test('policies that reject all candidates return their own error code with all details', async () => {
    await allGood();
    const ruleId = await here.rule({ effect: 'block', expression: 'provider == "acme" && team == "a"' });
    const answer = await decide({ team: 'a' });
    expect(errorOf(answer)).toEqual([
      403,
      'policy_blocked',
      { reason: 'because', attempted: 'small', rule_id: ruleId },
    ]);
    expect(await chosen({ team: 'b' })).toBe('small');
  });

  test('policies that fail deny the routing decision', async () => {
    await allGood();
    const ruleId = await here.rule({ effect: 'block', expression: '1 / (input_tokens - 1000) == 0' });
    expect(errorOf(await decide())).toEqual([500, 'policy_expression_error', { rule_id: ruleId }]);
  });

  test('request an approval only if the decision is denied, and allow approved models', async () => {
    await allGood();
    const ruleId = await here.rule({ effect: 'require_approval', models: ['small', 'medium'] });
    expect((await decide()).json.model).toBe('large');
    expect((await here.call('GET', '/approvals')).json.data).toEqual([]);
    await put({ candidates: ['small', 'medium'] });
    const denied = await decide();
    const approval_id = denied.json.error.details.approval_id;
    expect(errorOf(denied)).toEqual([
      403,
      'policy_approval_required',
      { reason: 'because', attempted: 'small', rule_id: ruleId, approval_id },
    ]);
    const approvals = (await here.call('GET', '/approvals')).json.data;
    expect(approvals.map(({ model }: { model: string }) => model)).toEqual(['small']);

    await here.approve(approval_id);
    expect((await decide()).json.model).toBe('small');
    // A run that settles a hold is not checked again, so it would not use the approval.
    expect(errorOf(await decide({ hold: true }))).toEqual(errorOf(denied));
    expect((await here.run({ model: 'small' })).status).toBe(201);
    expect(await chosen()).toBe('policy_approval_required');
  });
});

describe('residency', () => {
  const reside = (mode: string) =>
    world.request('PUT', `/v1/admin/orgs/${here.org.id}/residency`, {
      key: world.operatorKey,
      body: { home_region: 'eu', mode },
    });

  test('strict residency leaves only models known to be served in the home region', async () => {
    await allGood({ objective: 'quality' });
    expect((await reside('forward')).status).toBe(200);
    expect(await chosen()).toBe('large');
    await reside('strict');
    const answer = await decide();
    expect(answer.json.model).toBe('small');
    expect(reasonsIn(answer)).toEqual({ medium: 'not_in_region', large: 'not_in_region' });
    await put({ candidates: ['medium', 'large'] });
    expect(errorOf(await decide())).toEqual([403, 'residency_violation', {}]);
  });

  test('residency of the request filters further', async () => {
    await allGood({ objective: 'quality' });
    expect(await chosen({ region: 'eu' })).toBe('small');
    expect(await chosen({ region: 'mars' })).toBe('residency_violation');
    await reside('strict');
    expect(await chosen({ region: 'us' })).toBe('small');
  });
});

describe('limits', () => {
  const budget = (limit_usd: string) =>
    here.call('POST', '/budgets', { name: 'a', scope_kind: 'org', period: 'month', limit_usd });

  test('reject candidates that no longer fit, and count nothing', async () => {
    await allGood({ objective: 'quality' });
    const { json: made } = await budget('0.03');
    const answer = await decide();
    expect(answer.json.model).toBe('medium');
    expect(reasonsIn(answer)).toEqual({ large: 'budget_exceeded', small: 'not_best' });
    expect((await here.call('GET', `/budgets/${made.id}`)).json).toMatchObject({ limit_usd: '0.03' });
    expect((await here.call('GET', '/holds')).json.data).toEqual([]);
  });

  test('limits that reject all candidates return the error code for the preferred model', async () => {
    await allGood();
    const { json: made } = await budget('0.001');
    const { status, json } = await decide();
    expect([status, json.error.code]).toEqual([402, 'budget_exceeded']);
    expect(json.error.details).toMatchObject({
      budget_id: made.id,
      scope_kind: 'org',
      limit_usd: '0.001',
      spent_usd: '0',
      attempted_usd: '0.002',
    });
  });

  test('the limits of a routing decision are checked before the minimum eval score', async () => {
    await put();
    await evaluate('large', 0.99);
    await budget('0.03');
    expect(await chosen()).toBe('no_model_passes_eval');
    await put({ candidates: ['large'] });
    expect(await chosen()).toBe('budget_exceeded');
  });

  test('the limits of a routing decision include every limit that applies to a run', async () => {
    await allGood();
    await here.call('POST', '/credit-packs', { customer_id: 'c', amount_usd: '0.001' });
    expect(await chosen({ customer_id: 'c' })).toBe('credits_exhausted');
    await here.call('PUT', '/chain-budget', { max_cost_usd: '0.001', max_depth: 3 });
    expect(await chosen({ chain_id: 'one' })).toBe('chain_budget_exceeded');
    expect((await decide()).json.not_checked).toEqual(['chain']);
    await here.call('PUT', '/spend-cap', { cap_usd: '0' });
    expect((await decide()).json.error).toMatchObject({
      code: 'spend_cap_exceeded',
      details: { cap_usd: '0', reason: 'pre_flight' },
    });
  });
});

describe('a hold', () => {
  test('the hold of a routing decision is taken with the decision, and settled by the run', async () => {
    await allGood();
    const { status, json } = await decide({ hold: true, workflow: 'w', expires_in_seconds: 60 });
    expect(status).toBe(200);
    expect(json).toMatchObject({ model: 'small', held_usd: '0.002', not_checked: [] });
    expect(json.expires_at).toBe(new Date(world.clock.now().getTime() + 60_000).toISOString());
    const { json: holds } = await here.call('GET', '/holds');
    expect(holds.data).toMatchObject([{ decision_id: json.decision_id, held_usd: '0.002', model: 'small' }]);
    const run = await here.run({
      decision_id: json.decision_id,
      model: 'small',
      workflow: 'w',
      cost_usd: '0.001',
    });
    expect([run.status, run.json.cost_usd]).toEqual([201, '0.001']);
    expect((await here.call('GET', '/holds')).json.data).toEqual([]);
    const { json: reconciliation } = await here.call('GET', '/ledger/reconciliation');
    expect(reconciliation.drift_usd).toBe('0');
  });

  test('the hold of a routing decision with an Idempotency-Key is taken once, and replayed even if the input has changed', async () => {
    await allGood();
    const headers = { 'idempotency-key': 'once' };
    const [first, second] = await Promise.all([
      decide({ hold: true }, headers),
      decide({ hold: true }, headers),
    ]);
    expect(second.text).toBe(first.text);
    await here.rule({ effect: 'block' });
    expect((await decide({ hold: true }, headers)).text).toBe(first.text);
    expect(errorOf(await decide({ hold: true, team: 'x' }, headers))).toEqual([
      409,
      'idempotency_key_conflict',
      {},
    ]);
    expect((await here.call('GET', '/holds')).json.data).toHaveLength(1);
    // The edge endpoint treats the same idempotency key independently.
    const edge = await world.request('POST', '/v1/edge/decision', {
      key: here.runner.secret,
      body: { model: 'small', estimated_cost_usd: '0' },
      headers,
    });
    expect([edge.status, edge.json.decision]).toEqual([200, 'allow']);
  });

  test('never exceeds the limit with concurrent requests; if the best model is denied, the next is used', async () => {
    await allGood({ objective: 'quality', candidates: ['medium', 'small'] });
    await here.call('PUT', '/spend-cap', { cap_usd: '0.05' });
    const answers = await Promise.all(Array.from({ length: 20 }, () => decide({ hold: true })));
    const outcome = ({ status, json }: TestAnswer) => (status === 200 ? json.model : json.error.code);
    const counts: Record<string, number> = {};
    for (const answer of answers) {
      counts[outcome(answer)] = (counts[outcome(answer)] ?? 0) + 1;
    }
    // 8 × 0.006 = 0.048. The remaining 0.002 allow one run of the small model.
    expect(counts).toEqual({ medium: 8, small: 1, spend_cap_exceeded: 11 });
    expect((await here.call('GET', '/holds')).json.data).toHaveLength(9);
  });

  test('the hold of a routing decision that a rate limit denies falls back to the next model; if none remains it is 429', async () => {
    await allGood({ candidates: ['small', 'medium'] });
    await world.request('PUT', `/v1/admin/orgs/${here.org.id}/rate-limits`, {
      key: world.operatorKey,
      body: {
        policies: [
          {
            name: 'each model once a minute',
            match: { model: '*' },
            unit: 'requests',
            limit: 1,
            window_seconds: 60,
            kind: 'rate',
          },
        ],
      },
    });
    expect(await chosen({ hold: true })).toBe('small');
    expect((await decide({ hold: true })).json).toMatchObject({
      model: 'medium',
      considered: [{ model: 'small', reason: 'rate_limited' }],
    });
    const denied = await decide({ hold: true });
    expect([denied.status, denied.json.error.code]).toEqual([429, 'rate_limited']);
    expect(denied.headers['retry-after']).toBe(String(denied.json.error.details.retry_after_seconds));
  });
});

describe('eval results', () => {
  test('eval results can be recorded, read, listed and deleted, each with an event and an audit entry', async () => {
    const { status, json } = await evaluate('small', 0.1234567, { source: 'nightly', ran_at: daysAgo(2) });
    expect([status, json]).toEqual([
      201,
      {
        id: expect.stringMatching(/^evl_/),
        suite: 'support',
        model: 'small',
        score: 0.123457,
        samples: 100,
        ran_at: daysAgo(2),
        source: 'nightly',
        created_at: world.clock.now().toISOString(),
      },
    ]);
    expect((await here.call('GET', `/evals/${json.id}`)).json).toEqual(json);
    await here.call('DELETE', `/evals/${json.id}`);
    expect((await here.call('GET', `/evals/${json.id}`)).status).toBe(404);
    expect((await here.call('DELETE', `/evals/${json.id}`)).status).toBe(404);
    const changes = await world.db.query<{ type: string; action: string }>(
      `SELECT o.type, a.action FROM outbox o JOIN audit_log a ON a.tenant_id = o.tenant_id AND a.target_id = o.data ->> 'id'
         AND (o.data ? 'deleted_at') = (a.after ? 'deleted_at') WHERE o.tenant_id = $1 AND o.type LIKE 'eval.%' ORDER BY o.type`,
      [here.org.id],
    );
    expect(changes).toEqual([
      { type: 'eval.deleted', action: 'evals.delete' },
      { type: 'eval.recorded', action: 'evals.create' },
    ]);
  });

  test('eval results are listed with filters, sorting and pages', async () => {
    for (const [model, score, days, suite] of [
      ['a', 0.5, 1, 'x'],
      ['a', 0.9, 2, 'x'],
      ['b', 0.7, 3, 'x'],
      ['b', 0.6, 4, 'y'],
    ] as const) {
      await evaluate(model, score, { suite, ran_at: daysAgo(days), source: model });
    }
    const scores = async (query: string) =>
      (await here.call('GET', `/evals?${query}`)).json.data.map(({ score }: { score: number }) => score);
    expect(await scores('')).toEqual([0.5, 0.9, 0.7, 0.6]);
    expect(await scores('sort=score')).toEqual([0.5, 0.6, 0.7, 0.9]);
    expect(await scores('model=a&suite=x')).toEqual([0.5, 0.9]);
    expect(await scores('newest=true&suite=x')).toEqual([0.5, 0.7]);
    expect(await scores('newest=false')).toEqual([0.9]);
    expect(await scores('source=b&sort=-score')).toEqual([0.7, 0.6]);
    const { json: first } = await here.call('GET', '/evals?sort=-score&limit=3');
    expect(await scores(`sort=-score&limit=3&cursor=${first.next_cursor}`)).toEqual([0.5]);
    expect((await here.call('GET', '/evals?sort=model')).status).toBe(422);
  });

  test('eval results are limited to the newest hundred per suite and model', async () => {
    for (let i = 0; i < 103; i += 1) {
      await evaluate('small', 0.5, { ran_at: daysAgo(200 - i) });
    }
    const { json } = await here.call('GET', '/evals?limit=200');
    expect(json.data).toHaveLength(100);
    expect(json.data.at(-1).ran_at).toBe(daysAgo(197));
  });

  test('eval results must be between 0 and 1, with samples, and not in the future', async () => {
    for (const body of [
      { score: 1.01 },
      { score: -0.1 },
      { score: '1' },
      { samples: 0 },
      { ran_at: daysAgo(-1) },
      { ran_at: 'yesterday' },
      { suite: '' },
      { grade: 1 },
    ]) {
      expect((await evaluate('small', 0.5, body)).status, JSON.stringify(body)).toBe(422);
    }
    expect((await evaluate('small', 0)).status).toBe(201);
    expect((await evaluate('small', 1)).status).toBe(201);
  });
});

describe('the routing policy', () => {
  test('the routing policy can be set, read and deleted, each with an event and an audit entry', async () => {
    expect((await here.call('GET', '/routing-policy')).status).toBe(404);
    const { status, json } = await put({ candidates: ['gpt-*', 'gpt-*', 'small'], weights: { cost: 2 } });
    const now = world.clock.now().toISOString();
    expect([status, json]).toEqual([
      200,
      {
        ...bar,
        candidates: ['gpt-*', 'small'],
        min_samples: 1,
        weights: { cost: 2, latency: 0, quality: 0 },
        fallbacks: [],
        created_at: now,
        updated_at: now,
      },
    ]);
    expect((await here.call('GET', '/routing-policy')).json).toEqual(json);
    await put({ fallbacks: ['small'] });
    expect((await here.call('GET', '/routing-policy')).json).toMatchObject({
      weights: null,
      fallbacks: ['small'],
    });
    expect((await here.call('DELETE', '/routing-policy')).status).toBe(204);
    expect((await here.call('DELETE', '/routing-policy')).status).toBe(404);
    const entries = await world.db.query<{ action: string }>(
      "SELECT action FROM audit_log WHERE tenant_id = $1 AND action LIKE 'routing_policy.%' ORDER BY seq",
      [here.org.id],
    );
    expect(entries.map(({ action }) => action)).toEqual([
      'routing_policy.put',
      'routing_policy.put',
      'routing_policy.delete',
    ]);
  });

  test('reports an error for each invalid field', async () => {
    for (const body of [
      { candidates: [] },
      { candidates: [''] },
      { min_score: 2 },
      { max_age_days: 0 },
      { objective: 'luck' },
      { weights: {} },
      { weights: { cost: 0 } },
      { weights: { luck: 1 } },
      { fallbacks: ['gpt-*'] },
      { suite: undefined },
    ]) {
      expect((await put(body)).status, JSON.stringify(body)).toBe(422);
    }
  });
});
