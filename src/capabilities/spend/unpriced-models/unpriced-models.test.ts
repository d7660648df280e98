/** Calls of models without a price under each policy, on every surface, over HTTP. */
import { describe, expect, test } from 'vitest';
import { useOrgPerTest, useWorld } from '../../../../test/harness.ts';
import { createPrices } from '../models/index.ts';
import { createCallPrices } from './index.ts';

const world = useWorld();
const org = useOrgPerTest(world);

const defaultRates = { input_usd_per_million: '10', output_usd_per_million: '40' };
const model = 'home-grown-1';
/** 1,000 × $10 and 500 × $40 per million tokens. */
const tokens = { input_tokens: 1_000, output_tokens: 500 };
const atDefaultRates = '0.03';

const call = (method: string, path: string, body?: unknown, key = org.ownerKey) =>
  world.request(method, path, { key, ...(body !== undefined && { body }) });
const post = (path: string, body: unknown) => call('POST', path, body);
const policyPath = () => `/v1/orgs/${org.id}/unpriced-policy`;
const setPolicy = async (body: object) => {
  const answer = await call('PUT', policyPath(), body);
  expect(answer.status).toBe(200);
  return answer.json;
};
const holdDefault = () => setPolicy({ on_unpriced: 'hold_default', ...defaultRates });
const record = () => setPolicy({ on_unpriced: 'record' });
const decide = (body: object) => post('/v1/edge/decision', { model, ...body });
const putPrice = (name: string, more: object = {}) =>
  world.request('PUT', `/v1/admin/models/${encodeURIComponent(name)}`, {
    key: world.operatorKey,
    body: { input_usd_per_million: '1', output_usd_per_million: '2', ...more },
  });
const fieldsOf = (json: { error: { details: { fields: object[] } } }) => json.error.details.fields;
const listed = async (query = '') => (await call('GET', `/v1/orgs/${org.id}/unpriced-models${query}`)).json;
const settledUsd = async () =>
  (await call('GET', `/v1/orgs/${org.id}/limits`)).json.data.find(
    ({ kind }: { kind: string }) => kind === 'spend_cap',
  ).standing.settled;

describe('the policy', () => {
  test('refuses by default, and each change is audited, emits an event and has a version', async () => {
    const unset = (await call('GET', policyPath())).json;
    expect(unset).toMatchObject({ on_unpriced: 'refuse', id: null, updated_at: null });
    expect((await call('PUT', policyPath(), { on_unpriced: 'refuse' })).json).toEqual(unset);
    const first = await holdDefault();
    expect(first).toMatchObject({
      on_unpriced: 'hold_default',
      ...defaultRates,
      cached_input_usd_per_million: null,
    });
    expect(first.id).toMatch(/^upr_/);
    expect(await holdDefault()).toEqual(first);
    world.clock.advanceSeconds(1);
    const second = await record();
    expect(second).toMatchObject({ on_unpriced: 'record', input_usd_per_million: null });
    expect((await call('GET', policyPath())).json).toEqual(second);
    const audit = (await call('GET', `/v1/orgs/${org.id}/audit-log?action=unpriced_policy.put`)).json.data;
    expect(audit).toMatchObject([
      { before: first, after: second },
      { before: unset, after: first },
    ]);
    const events = await world.db.query<{ data: object }>(
      `SELECT data FROM outbox WHERE tenant_id = $1 AND type = 'org.unpriced_policy_updated' ORDER BY created_at, id`,
      [org.id],
    );
    expect(events.map(({ data }) => data)).toMatchObject([first, second]);
  });

  test.each([
    [{ on_unpriced: 'hold_default' }, ['input_usd_per_million', 'output_usd_per_million'], 'required'],
    [
      { on_unpriced: 'hold_default', input_usd_per_million: '1', output_usd_per_million: null },
      ['output_usd_per_million'],
      'required',
    ],
    [{ on_unpriced: 'record', image_usd: '1' }, ['image_usd'], 'invalid_value'],
    [
      { on_unpriced: 'refuse', ...defaultRates },
      ['input_usd_per_million', 'output_usd_per_million'],
      'invalid_value',
    ],
    [{ on_unpriced: 'guess' }, ['on_unpriced'], 'invalid_value'],
    [{}, ['on_unpriced'], 'required'],
    [{ on_unpriced: 'record', model: 'm' }, ['model'], 'unknown_field'],
  ])('rejects %j', async (body, fields, code) => {
    const { status, json } = await call('PUT', policyPath(), body);
    expect(status).toBe(422);
    expect(fieldsOf(json)).toMatchObject(fields.map((field) => ({ field, code })));
  });

  test('the policy for models without a price is changed by admins of its own org only', async () => {
    const member = await world.mintKey(org, 'member', ['budgets:read', 'budgets:write']);
    const reader = await world.mintKey(org, 'admin', ['budgets:read']);
    const admin = await world.mintKey(org, 'admin', ['budgets:write']);
    const put = async (key: string) => (await call('PUT', policyPath(), { on_unpriced: 'record' }, key)).json;
    expect((await put(member.secret)).error.code).toBe('forbidden');
    expect((await put(reader.secret)).error.code).toBe('missing_scope');
    const other = await world.createOrg();
    expect((await put(other.ownerKey)).error.code).toBe('not_found');
    expect((await call('GET', policyPath(), undefined, other.ownerKey)).status).toBe(404);
    expect((await call('GET', `/v1/orgs/${org.id}/unpriced-models`, undefined, other.ownerKey)).status).toBe(
      404,
    );
    expect((await put(admin.secret)).on_unpriced).toBe('record');
  });

  test('the policy for models without a price has one version per change, also if several are sent at once', async () => {
    const answers = await Promise.all(
      ['1', '2', '3', '4'].map((usd) =>
        call('PUT', policyPath(), {
          on_unpriced: 'hold_default',
          input_usd_per_million: usd,
          output_usd_per_million: usd,
        }),
      ),
    );
    expect(answers.map(({ status }) => status)).toEqual([200, 200, 200, 200]);
    const rows = await world.db.query<{ id: string; version: number }>(
      'SELECT id, version FROM unpriced_policies WHERE org_id = $1 ORDER BY version',
      [org.id],
    );
    expect(rows.map(({ version }) => version)).toEqual([1, 2, 3, 4]);
    expect((await call('GET', policyPath())).json.id).toBe(rows.at(-1)?.id);
  });

  test('the policy for models without a price applies at once in another cache of the same database, and while caches are bypassed', async () => {
    const others = createCallPrices(world.db, createPrices(world.db));
    const bypassed = { ...world.db, notificationsHealthy: () => false };
    const unhealthy = createCallPrices(bypassed, createPrices(bypassed));
    const atMs = world.clock.now().getTime();
    const found = async () => {
      const prices = [others, unhealthy].map(
        async (one) => (await one.findForCall(org.id, model, atMs))?.unpriced,
      );
      return Promise.all(prices);
    };
    expect(await found()).toEqual([undefined, undefined]);
    await record();
    await expect.poll(found).toEqual(['record', 'record']);
    await holdDefault();
    await expect.poll(found).toEqual(['hold_default', 'hold_default']);
    await setPolicy({ on_unpriced: 'refuse' });
    await expect.poll(found).toEqual([undefined, undefined]);
  });

  test('the policy for models without a price is explained by the resolution of a name', async () => {
    const resolve = async (name: string) => (await call('GET', `/v1/models/resolve?model=${name}`)).json;
    expect(await resolve(model)).toMatchObject({
      priced_as: null,
      on_unpriced: 'refuse',
      price_version: null,
    });
    const { id } = await holdDefault();
    expect(await resolve(model)).toMatchObject({
      priced_as: null,
      on_unpriced: 'hold_default',
      price_version: id,
      source: null,
      ...defaultRates,
    });
    expect(await resolve('gpt-4o')).toMatchObject({ priced_as: 'gpt-4o', on_unpriced: null });
    await record();
    expect(await resolve(model)).toMatchObject({
      on_unpriced: 'record',
      price_version: null,
      input_usd_per_million: null,
    });
  });
});

describe('a run of a model without a price', () => {
  test('a run of a model without a price is rejected under `refuse`, alone and in bulk', async () => {
    expect(fieldsOf((await post('/v1/runs', { model, ...tokens })).json)).toMatchObject([{ field: 'model' }]);
    const { json } = await post('/v1/runs/bulk', {
      runs: [
        { model: 'gpt-4o', ...tokens },
        { model, ...tokens },
      ],
    });
    expect(fieldsOf(json)).toMatchObject([{ field: 'runs[1].model' }]);
  });

  test('a run of a model without a price is charged at the default rates, also by another name of a model without a price', async () => {
    const { id } = await holdDefault();
    for (const name of [model, `openai/${model}-2024-08-06`]) {
      const { status, json } = await post('/v1/runs', { model: name, ...tokens });
      expect(status).toBe(201);
      expect(json).toMatchObject({
        model: name,
        cost_usd: atDefaultRates,
        marks: ['unpriced'],
        price_version: id,
        price_source: 'default_rates',
        priced_as: null,
      });
      expect((await call('GET', `/v1/runs/${json.id}`)).json).toEqual(json);
    }
  });

  test('a run of a model without a price is recorded at no cost, and its tokens count', async () => {
    await record();
    await world.request('PUT', `/v1/admin/orgs/${org.id}/rate-limits`, {
      key: world.operatorKey,
      body: {
        policies: [
          { name: 'tokens', match: {}, unit: 'tokens', limit: 2_000, window_seconds: 86_400, kind: 'quota' },
        ],
      },
    });
    const { json } = await post('/v1/runs', { model, ...tokens });
    expect(json).toMatchObject({
      cost_usd: '0',
      marks: ['unpriced'],
      price_version: null,
      price_source: 'none',
      priced_as: null,
    });
    const { json: denied } = await post('/v1/runs', { model, ...tokens });
    expect(denied.error).toMatchObject({ code: 'quota_exhausted', details: { unit: 'tokens', used: 1_500 } });
  });

  test('a run of a model without a price that states its cost, or whose model has a price, is not affected', async () => {
    await record();
    const stated = (await post('/v1/runs', { model, ...tokens, cost_usd: '0.5' })).json;
    expect(stated).toMatchObject({ cost_usd: '0.5', marks: [], price_source: null });
    const priced = (await post('/v1/runs', { model: 'gpt-4o', ...tokens })).json;
    expect(priced).toMatchObject({ marks: [], price_source: 'price', priced_as: 'gpt-4o' });
    expect((await listed()).data).toEqual([]);
  });

  test('a run of a model without a price in bulk and as a backfill is charged at the default rates', async () => {
    const { id } = await holdDefault();
    const runs = [
      { model, ...tokens },
      { model: 'gpt-4o', ...tokens },
      { model: 'other-model', ...tokens },
    ];
    for (const query of ['', '?on_error=skip', '?enforcement=record']) {
      const past = runs.map((run) => ({
        ...run,
        ...(query.includes('record') && { started_at: '2026-11-01T00:00:00Z' }),
      }));
      expect((await post(`/v1/runs/bulk${query}`, { runs: past })).json.accepted).toBe(3);
    }
    const { data } = (await call('GET', '/v1/runs?unpriced=true')).json;
    expect(data).toHaveLength(6);
    for (const run of data) {
      expect(run).toMatchObject({ cost_usd: atDefaultRates, price_version: id });
      expect(run.marks).toContain('unpriced');
    }
    expect(data.filter(({ marks }: { marks: string[] }) => marks.includes('backfill'))).toHaveLength(2);
    expect((await call('GET', '/v1/runs?unpriced=false')).json.data).toHaveLength(3);
  });

  test('a run of a model without a price in progress holds the default rates and is charged at them, also if the policy changes meanwhile', async () => {
    await holdDefault();
    const { json: running } = await post('/v1/runs', {
      model,
      status: 'running',
      input_tokens: 1_000,
      max_output_tokens: 1_000,
    });
    expect(running).toMatchObject({ held_usd: '0.05', marks: [], price_source: null });
    await setPolicy({
      on_unpriced: 'hold_default',
      input_usd_per_million: '99',
      output_usd_per_million: '99',
    });
    const { json: done } = await post(`/v1/runs/${running.id}/complete`, { output_tokens: 500 });
    expect(done).toMatchObject({
      cost_usd: atDefaultRates,
      marks: ['unpriced'],
      price_source: 'default_rates',
    });
    expect((await listed()).data).toMatchObject([{ model, runs: 1, output_tokens: 500 }]);
  });

  test('a run of a model without a price in progress under `record` holds nothing and costs nothing', async () => {
    await record();
    const { json: running } = await post('/v1/runs', {
      model,
      status: 'running',
      input_tokens: 1_000,
      max_output_tokens: 1_000,
    });
    expect(running).toMatchObject({ held_usd: '0', price_source: null });
    const { json: done } = await post(`/v1/runs/${running.id}/complete`, { output_tokens: 500 });
    expect(done).toMatchObject({
      cost_usd: '0',
      marks: ['unpriced'],
      price_source: 'none',
      price_version: null,
    });
  });

  test('a run of a model without a price whose price begins later is charged at the default rates until then', async () => {
    await holdDefault();
    const later = new Date(world.clock.now().getTime() + 60_000).toISOString();
    await putPrice('soon-priced', { effective_from: later });
    const { json: before } = await post('/v1/runs', { model: 'soon-priced', ...tokens });
    expect(before.price_source).toBe('default_rates');
    world.clock.advanceSeconds(60);
    const { json: after } = await post('/v1/runs', { model: 'soon-priced', ...tokens });
    expect(after).toMatchObject({ price_source: 'price', marks: [] });
  });
});

describe('a decision on a model without a price', () => {
  const usage = { input_tokens: 1_000, max_output_tokens: 1_000 };

  test('holds the default rates, and its run is charged at them', async () => {
    await call('PUT', `/v1/orgs/${org.id}/spend-cap`, { cap_usd: '0.06' });
    expect(fieldsOf((await decide(usage)).json)).toMatchObject([{ field: 'model' }]);
    const { id } = await holdDefault();
    const { json } = await decide(usage);
    expect(json).toMatchObject({ held_usd: '0.05', max_output_tokens: 1_000 });
    expect((await decide(usage)).json.error.code).toBe('spend_cap_exceeded');
    await setPolicy({ on_unpriced: 'refuse' });
    const { json: run } = await post('/v1/runs', { model, decision_id: json.decision_id, ...tokens });
    expect(run).toMatchObject({ cost_usd: atDefaultRates, marks: ['unpriced'], price_version: id });
    expect(await settledUsd()).toBe(atDefaultRates);
  });

  test('holds nothing under `record`, and does not limit the output', async () => {
    await call('PUT', `/v1/orgs/${org.id}/spend-cap`, { cap_usd: '0.06' });
    await record();
    for (let i = 0; i < 3; i += 1) {
      expect((await decide({ ...usage, input_tokens: 1_000_000 })).json).toMatchObject({
        held_usd: '0',
        max_output_tokens: 1_000,
      });
    }
    const { json } = await decide({ estimated_cost_usd: '0.04' });
    expect(json).toMatchObject({ held_usd: '0.04', max_output_tokens: null });
    // The caller's estimate is all that is known of the cost.
    const { json: run } = await post('/v1/runs', { model, decision_id: json.decision_id, ...tokens });
    expect(run).toMatchObject({ cost_usd: '0.04', marks: ['unpriced'], price_source: 'none' });
  });

  test('a decision on a model without a price is fitted into the limits at the default rates, and into those of tokens under `record`', async () => {
    await call('PUT', `/v1/orgs/${org.id}/spend-cap`, { cap_usd: '0.03' });
    await holdDefault();
    const { json: fitted } = await decide({ ...usage, fit: true });
    expect(fitted).toMatchObject({ held_usd: '0.03', max_output_tokens: 500 });
    await world.request('PUT', `/v1/admin/orgs/${org.id}/rate-limits`, {
      key: world.operatorKey,
      body: {
        policies: [
          { name: 'tokens', match: {}, unit: 'tokens', limit: 2_700, window_seconds: 86_400, kind: 'quota' },
        ],
      },
    });
    await record();
    const { json } = await decide({ ...usage, fit: true });
    expect(json).toMatchObject({ held_usd: '0', max_output_tokens: 200 });
  });

  test('a decision on a model without a price can be increased by output tokens, at the rates of its hold', async () => {
    await holdDefault();
    const { json: charged } = await decide(usage);
    await record();
    const { json: free } = await decide(usage);
    const increase = (id: string) => post(`/v1/decisions/${id}/increase`, { output_tokens: 1_000 });
    expect((await increase(charged.decision_id)).json.held_usd).toBe('0.09');
    expect((await increase(free.decision_id)).json.held_usd).toBe('0');
  });

  test('a decision on a model without a price has the price of the model that its run reports, if that has one', async () => {
    await holdDefault();
    const { json: unpriced } = await decide(usage);
    const { json: other } = await post('/v1/runs', {
      model: 'gpt-4o',
      decision_id: unpriced.decision_id,
      ...tokens,
    });
    expect(other).toMatchObject({ price_source: 'price', priced_as: 'gpt-4o', marks: [] });
  });

  test('a decision on a model without a price is not chosen by routing: its cost is not known', async () => {
    await holdDefault();
    await call('PUT', `/v1/orgs/${org.id}/routing-policy`, {
      candidates: [model, 'gpt-4o'],
      suite: 's',
      min_score: 0,
      max_age_days: 30,
      objective: 'cost',
    });
    await post(`/v1/orgs/${org.id}/evals`, { suite: 's', model: 'gpt-4o', score: 1, samples: 10 });
    await post(`/v1/orgs/${org.id}/evals`, { suite: 's', model, score: 1, samples: 10 });
    const { json } = await post('/v1/routing/decisions', usage);
    expect(json.model).toBe('gpt-4o');
    expect(json.considered).toMatchObject([{ model, reason: 'no_price' }]);
  });

  test('a decision on a model without a price that expires unsettled posts what it held', async () => {
    await call('PATCH', `/v1/orgs/${org.id}`, { on_unsettled: 'post_held' });
    await holdDefault();
    const { json } = await decide({ ...usage, expires_in_seconds: 1 });
    world.clock.advanceSeconds(2);
    await world.runJob('expire-holds');
    const [unsettled] = (await call('GET', `/v1/runs?decision_id=${json.decision_id}`)).json.data;
    expect(unsettled).toMatchObject({ cost_usd: '0.05', marks: ['unsettled'], price_source: null });
    const { json: late } = await post('/v1/runs', { model, decision_id: json.decision_id, ...tokens });
    expect(late).toMatchObject({ id: unsettled.id, cost_usd: atDefaultRates, marks: ['unpriced', 'late'] });
    expect((await listed()).data).toMatchObject([{ model, runs: 1 }]);
  });
});

describe('repricing', () => {
  test('corrects a run at the default rates, and one at no cost, once', async () => {
    await call('PUT', `/v1/orgs/${org.id}/spend-cap`, { cap_usd: '10' });
    await holdDefault();
    const name = `later-priced-${org.id}`;
    const { json: atDefault } = await post('/v1/runs', { model: name, ...tokens });
    await record();
    const { json: atZero } = await post('/v1/runs', { model: name, ...tokens });
    const reprice = (id: string) => call('POST', `/v1/runs/${id}/reprice`);
    expect(fieldsOf((await reprice(atDefault.id)).json)).toMatchObject([
      { field: 'model', code: 'invalid_value' },
    ]);
    const price = (await putPrice(name)).json;
    expect((await listed()).data).toMatchObject([
      { model: name, runs: 2, repriced_runs: 0, priced_as: name },
    ]);
    for (const [run, amount_usd] of [
      [atDefault, '-0.028'],
      [atZero, '0.002'],
    ] as const) {
      const { status, json } = await reprice(run.id);
      expect(status).toBe(201);
      expect(json).toMatchObject({
        amount_usd,
        run: { price_version: price.id, priced_as: name, price_source: 'price', marks: ['unpriced'] },
      });
      expect((await reprice(run.id)).json.error.code).toBe('conflict');
    }
    expect(await settledUsd()).toBe('0.004');
    expect((await call('GET', '/v1/runs?unpriced=true')).json.data).toEqual([]);
    expect((await listed()).data).toMatchObject([{ runs: 2, repriced_runs: 2 }]);
    expect((await call('GET', `/v1/orgs/${org.id}/ledger/reconciliation`)).json.drift_usd).toBe('0');
  });

  test('corrects a run once, also if it is sent twice at once', async () => {
    await holdDefault();
    const name = `raced-${org.id}`;
    const { json: run } = await post('/v1/runs', { model: name, ...tokens });
    await putPrice(name);
    const answers = await Promise.all([1, 2].map(() => call('POST', `/v1/runs/${run.id}/reprice`)));
    expect(answers.map(({ status }) => status).sort()).toEqual([201, 409]);
    expect((await call('GET', `/v1/runs/${run.id}`)).json.adjustment_usd).toBe('-0.028');
    expect((await listed()).data).toMatchObject([{ repriced_runs: 1 }]);
  });
});

describe('the list of models', () => {
  test('the list of models without a price counts runs and tokens by the name that was called, and pages in each order', async () => {
    await record();
    const names = ['a', 'b', 'c'].map((name) => `${name}-model`);
    for (const [index, name] of names.entries()) {
      world.clock.advanceSeconds(1);
      await post('/v1/runs/bulk', {
        runs: Array.from({ length: index + 1 }, () => ({ model: name, ...tokens })),
      });
    }
    const { data } = await listed();
    expect(data.map((one: { model: string }) => one.model)).toEqual(names.toReversed());
    expect(data[0]).toEqual({
      model: 'c-model',
      runs: 3,
      repriced_runs: 0,
      input_tokens: 3_000,
      output_tokens: 1_500,
      first_used_at: world.clock.now().toISOString(),
      last_used_at: world.clock.now().toISOString(),
      priced_as: null,
    });
    for (const [sort, expected] of [
      ['model', names],
      ['-runs', names.toReversed()],
      ['last_used_at', names],
    ] as const) {
      const seen: string[] = [];
      let cursor = '';
      do {
        const page = await listed(`?limit=1&sort=${sort}${cursor}`);
        seen.push(...page.data.map((one: { model: string }) => one.model));
        cursor = page.next_cursor === null ? '' : `&cursor=${page.next_cursor}`;
      } while (cursor !== '');
      expect(seen).toEqual(expected);
    }
    const since = encodeURIComponent(world.clock.now().toISOString());
    expect((await listed(`?used_since=${since}`)).data).toHaveLength(1);
    expect((await listed('?model=b-model')).data).toHaveLength(1);
    expect((await call('GET', `/v1/orgs/${org.id}/unpriced-models?sort=tokens`)).status).toBe(422);
  });

  test('keeps the thousand models that were used last', async () => {
    await record();
    await post('/v1/runs', { model: 'oldest', ...tokens });
    world.clock.advanceSeconds(1);
    const runs = Array.from({ length: 1_001 }, (_, index) => ({ model: `m${index}`, input_tokens: 1 }));
    expect((await post('/v1/runs/bulk', { runs })).status).toBe(201);
    const [row] = await world.db.query(
      'SELECT count(*)::int4 AS models FROM unpriced_models WHERE org_id = $1',
      [org.id],
    );
    expect(row).toEqual({ models: 1_000 });
    expect((await listed('?model=oldest')).data).toEqual([]);
  });

  test('stops counting at the largest number instead of rejecting runs', async () => {
    await record();
    const runs = Array.from({ length: 10 }, () => ({ model, input_tokens: 1_000_000_000_000 }));
    await post('/v1/runs/bulk', { runs });
    await world.db.query('UPDATE unpriced_models SET input_tokens = $2 WHERE org_id = $1', [
      org.id,
      Number.MAX_SAFE_INTEGER - 1,
    ]);
    expect((await post('/v1/runs', { model, ...tokens })).status).toBe(201);
    expect((await listed()).data[0].input_tokens).toBe(Number.MAX_SAFE_INTEGER);
  });

  test('the list of models without a price has sums over all orgs for operators only', async () => {
    const name = `shared-${org.id}`;
    const other = await world.createOrg();
    for (const { id, ownerKey } of [org, other]) {
      await call('PUT', `/v1/orgs/${id}/unpriced-policy`, { on_unpriced: 'record' }, ownerKey);
      await call('POST', '/v1/runs', { model: name, ...tokens }, ownerKey);
    }
    const path = `/v1/admin/unpriced-models?model=${name}`;
    expect((await call('GET', path)).json.error.code).toBe('forbidden');
    const { json } = await call('GET', path, undefined, world.operatorKey);
    expect(json).toMatchObject({
      data: [{ model: name, organizations: 2, runs: 2, input_tokens: 2_000 }],
      next_cursor: null,
    });
    const pages = ['model', '-model'].map((sort) =>
      call('GET', `/v1/admin/unpriced-models?limit=1&sort=${sort}`, undefined, world.operatorKey),
    );
    const [up, down] = await Promise.all(pages);
    expect(up?.json.data[0].model < down?.json.data[0].model).toBe(true);
    const next = await call(
      'GET',
      `/v1/admin/unpriced-models?limit=1&cursor=${up?.json.next_cursor}`,
      undefined,
      world.operatorKey,
    );
    expect(next.json.data[0].model > up?.json.data[0].model).toBe(true);
  });

  test('emits an event for the first use of a model on each day', async () => {
    await post(`/v1/orgs/${org.id}/webhooks`, {
      url: 'https://receiver.example/',
      events: ['model.unpriced'],
    });
    await record();
    const run = () => post('/v1/runs', { model, ...tokens });
    const { json: first } = await run();
    await run();
    const usedBefore = world.clock.now().toISOString();
    world.clock.advanceSeconds(86_400);
    const { json: third } = await run();
    const events = await world.db.query<{ data: object }>(
      `SELECT data FROM outbox WHERE tenant_id = $1 AND type = 'model.unpriced' ORDER BY created_at, id`,
      [org.id],
    );
    expect(events.map(({ data }) => data)).toEqual([
      { model, run_id: first.id, runs: 1, used_before: null },
      { model, run_id: third.id, runs: 3, used_before: usedBefore },
    ]);
  });
});
