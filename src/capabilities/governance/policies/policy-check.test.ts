/** The effect of the rules of an org on its runs, over HTTP. */
import { beforeEach, describe, expect, test } from 'vitest';
import { useWorld } from '../../../../test/harness.ts';
import { errorOf, type PolicyWorld, policyWorld } from '../../../../test/support/policies.ts';

const world = useWorld();
let here: PolicyWorld;
beforeEach(async () => {
  here = await policyWorld(world);
});

const runs = async () =>
  (await world.request('GET', '/v1/runs', { key: here.org.ownerKey })).json.data as object[];
const held = async () => (await here.call('GET', '/holds')).json.data as object[];

describe('a rule that blocks', () => {
  test('denies with its reason, the attempted model and its id, and nothing is counted', async () => {
    await here.call('PUT', '/spend-cap', { cap_usd: '1' });
    const rule_id = await here.rule({ effect: 'block', models: ['gpt-4*'], reason: 'Too expensive.' });
    const blocked = [403, 'policy_blocked', { reason: 'Too expensive.', attempted: 'gpt-4o', rule_id }];
    expect(errorOf(await here.run())).toEqual(blocked);
    expect(errorOf(await here.run({ status: 'running', estimated_cost_usd: '0.5' }))).toEqual(blocked);
    expect([await runs(), await held()]).toEqual([[], []]);
    // The blocked runs hold nothing: the whole cap is still available.
    expect((await here.run({ model: 'small', cost_usd: '1' })).status).toBe(201);
  });

  test('a blocking rule that only matches actions returns the action as attempted', async () => {
    const rule_id = await here.rule({ effect: 'block', actions: ['delete_*'] });
    expect(errorOf(await here.run({ action: 'delete_all' }))[2]).toEqual({
      reason: 'because',
      attempted: 'delete_all',
      rule_id,
    });
    expect((await here.run({ action: 'read' })).status).toBe(201);
    expect((await here.run()).status).toBe(201);
  });

  test('a rule that blocks applies to the next run, and no longer applies once it is deleted', async () => {
    expect((await here.run()).status).toBe(201);
    const id = await here.rule({ effect: 'block' });
    expect((await here.run()).status).toBe(403);
    await here.call('PATCH', `/policies/${id}`, { enabled: false });
    expect((await here.run()).status).toBe(201);
    await here.call('PATCH', `/policies/${id}`, { enabled: true });
    expect((await here.run()).status).toBe(403);
    await here.call('DELETE', `/policies/${id}`);
    expect((await here.run()).status).toBe(201);
  });

  test('returns the index of the run in a bulk request, and nothing of the batch is stored', async () => {
    const rule_id = await here.rule({ effect: 'block', models: ['bad'] });
    const post = (models: string[]) =>
      world.request('POST', '/v1/runs/bulk', {
        key: here.runner.secret,
        body: { runs: models.map((model) => ({ model, cost_usd: '0.1' })) },
      });
    expect(errorOf(await post(['good', 'good', 'bad', 'bad']))).toEqual([
      403,
      'policy_blocked',
      { reason: 'because', attempted: 'bad', rule_id, run_index: 2 },
    ]);
    expect(await runs()).toEqual([]);
    expect((await post(['good', 'good'])).status).toBe(201);
  });

  test('a rule that blocks is not checked for settled decisions, completions, backfilled runs and existing runs', async () => {
    const { json: decision } = await world.request('POST', '/v1/edge/decision', {
      key: here.runner.secret,
      body: { model: 'gpt-4o', estimated_cost_usd: '0.5' },
    });
    const { json: running } = await here.run({ status: 'running', estimated_cost_usd: '0.5' });
    const { json: known } = await here.run({ external_id: 'mine' });
    await here.rule({ effect: 'block' });
    expect((await here.run({ decision_id: decision.decision_id })).status).toBe(201);
    const complete = `/v1/runs/${running.id}/complete`;
    expect(
      (await world.request('POST', complete, { key: here.runner.secret, body: { cost_usd: '1' } })).status,
    ).toBe(200);
    const again = await here.run({ external_id: 'mine' });
    expect([again.status, again.json.id]).toEqual([201, known.id]);
    const history = await world.request('POST', '/v1/runs/bulk?enforcement=record', {
      key: here.runner.secret,
      body: { runs: [{ model: 'gpt-4o', cost_usd: '0.1', started_at: '2026-11-01T00:00:00Z' }] },
    });
    expect(history.status).toBe(201);
    expect((await here.run()).status).toBe(403);
  });

  test('a rule that blocks is checked after rate limits and before every other limit', async () => {
    await here.call('PUT', '/spend-cap', { cap_usd: '0' });
    await here.rule({ effect: 'block', models: ['bad'] });
    expect((await here.run({ model: 'bad' })).json.error.code).toBe('policy_blocked');
    expect((await here.run()).json.error.code).toBe('spend_cap_exceeded');
    await world.request('PUT', `/v1/admin/orgs/${here.org.id}/rate-limits`, {
      key: world.operatorKey,
      body: {
        policies: [
          {
            name: 'r',
            match: { model: 'bad' },
            unit: 'requests',
            limit: 1,
            window_seconds: 60,
            kind: 'rate',
          },
        ],
      },
    });
    // A run that a policy denies does not count against the rate limit.
    expect((await here.run({ model: 'bad' })).json.error.code).toBe('policy_blocked');
    expect((await here.run({ model: 'bad' })).json.error.code).toBe('policy_blocked');
  });

  test('sends one event a minute for each key', async () => {
    const events = async () => {
      await world.job('emit-policy-blocked-events').runOnce();
      return world.db.query<{ data: object }>(
        `SELECT data FROM outbox WHERE tenant_id = $1 AND type = 'policy.blocked' ORDER BY created_at, id`,
        [here.org.id],
      );
    };
    const rule_id = await here.rule({ effect: 'block' });
    await here.run({ action: 'chat' });
    await here.run();
    expect((await events()).map(({ data }) => data)).toEqual([
      {
        rule_id,
        reason: 'because',
        attempted: 'gpt-4o',
        key_id: here.runner.id,
        model: 'gpt-4o',
        action: 'chat',
      },
    ]);
    await here.run({}, here.org.ownerKey);
    expect(await events()).toHaveLength(2);
    world.clock.advanceSeconds(60);
    await here.run();
    await here.run();
    expect(await events()).toHaveLength(3);
  });
});

test('the first matching rule decides: the one of lowest priority, then the oldest; the default is allow', async () => {
  await here.rule({ effect: 'block', priority: 20, reason: 'late' });
  world.clock.advanceSeconds(1);
  await here.rule({ effect: 'block', priority: 20, reason: 'later' });
  await here.rule({ effect: 'allow', priority: 10, models: ['gpt-*'] });
  await here.rule({
    effect: 'block',
    priority: -5,
    models: ['gpt-4o'],
    actions: ['train'],
    reason: 'first',
  });
  expect((await here.run()).status).toBe(201);
  expect((await here.run({ action: 'train' })).json.error.details.reason).toBe('first');
  expect((await here.run({ model: 'other' })).json.error.details.reason).toBe('late');
});

describe('an expression', () => {
  const blocksIf = (expression: string) => here.rule({ effect: 'block', expression });
  const isBlocked = async (body: object, key?: string) => {
    const { status, json } = await here.run(body, key);
    expect([201, 403], json.error?.code).toContain(status);
    return status === 403;
  };

  test('an expression can read every field of a run', async () => {
    await blocksIf(
      [
        'model == "m"',
        'provider == "p"',
        'action == "a"',
        'workflow == "w"',
        'deployment == "d"',
        'department == "dp"',
        'team == "t"',
        'customer_id == "c"',
        'member_id == "mem_1"',
        `key_id == "${here.runner.id}"`,
        'role == "member"',
        'cost_usd == 1.25',
        'input_tokens == 10',
        'output_tokens == 20',
        'tags.env == "prod"',
        'metadata.n == 3 && metadata.list.exists(x, x == "b")',
      ].join(' && '),
    );
    const run = {
      model: 'm',
      provider: 'p',
      action: 'a',
      workflow: 'w',
      deployment: 'd',
      department: 'dp',
      team: 't',
      customer_id: 'c',
      member_id: 'mem_1',
      cost_usd: '1.25',
      input_tokens: 10,
      output_tokens: 20,
      tags: { env: 'prod' },
      metadata: { n: 3, list: ['a', 'b'] },
    };
    expect(await isBlocked(run)).toBe(true);
    for (const other of ['model', 'provider', 'action', 'workflow', 'deployment', 'team', 'member_id']) {
      expect(await isBlocked({ ...run, [other]: 'x' }), other).toBe(false);
    }
    expect(await isBlocked({ ...run, cost_usd: '1.250000001' })).toBe(false);
    expect(await isBlocked(run, here.org.ownerKey)).toBe(false);
  });

  test('reads fields that are left out as empty, and the maximum of a running run', async () => {
    await blocksIf('team == "" && size(tags) == 0 && size(metadata) == 0 && output_tokens == 400');
    expect(
      await isBlocked({
        status: 'running',
        cost_usd: undefined,
        estimated_cost_usd: '0.1',
        input_tokens: 5,
        max_output_tokens: 400,
      }),
    ).toBe(true);
    expect(await isBlocked({ output_tokens: 400, team: 't' })).toBe(false);
  });

  test("reads the time in the org's time zone, also after a change of the zone", async () => {
    // 12:00 on a Sunday in UTC.
    await blocksIf('hour == 12 && weekday == 7 && date == "2026-11-15"');
    world.clock.advanceSeconds(
      Date.parse('2026-11-15T12:00:00Z') / 1_000 - world.clock.now().getTime() / 1_000,
    );
    expect(await isBlocked({})).toBe(true);
    await here.call('PATCH', '', { timezone: 'Pacific/Auckland' });
    expect(await isBlocked({})).toBe(false);
    await here.call('DELETE', `/policies/${(await here.call('GET', '/policies')).json.data[0].id}`);
    await blocksIf('hour == 1 && weekday == 1 && date == "2026-11-16"');
    expect(await isBlocked({})).toBe(true);
  });

  test('an expression that fails at run time is 500 with the id of its rule, and nothing is admitted or held', async () => {
    await here.call('PUT', '/spend-cap', { cap_usd: '1' });
    const rule_id = await here.rule({ effect: 'allow', expression: 'tags.team == "x"' });
    const failed = [500, 'policy_expression_error', { rule_id }];
    expect(errorOf(await here.run())).toEqual(failed);
    expect(errorOf(await here.run({ status: 'running', estimated_cost_usd: '0.5' }))).toEqual(failed);
    expect([await runs(), await held()]).toEqual([[], []]);
    const bulk = await world.request('POST', '/v1/runs/bulk', {
      key: here.runner.secret,
      body: {
        runs: [
          { model: 'm', cost_usd: '0.1', tags: { team: 'x' } },
          { model: 'm', cost_usd: '0.1' },
        ],
      },
    });
    expect(errorOf(bulk)).toEqual([500, 'policy_expression_error', { rule_id, run_index: 1 }]);
    expect((await here.run({ tags: { team: 'y' }, cost_usd: '1' })).status).toBe(201);
    expect(world.logLines.join('')).toContain('No such key: team');
  });

  test('fails on metadata that exceeds the bounds', async () => {
    const rule_id = await blocksIf('has(metadata.a) && metadata.a == "x"');
    const large = { metadata: { list: Array.from({ length: 101 }, (_, n) => n) } };
    expect(errorOf(await here.run(large))).toEqual([500, 'policy_expression_error', { rule_id }]);
    const long = { metadata: { text: 'x'.repeat(8_001) } };
    expect(errorOf(await here.run(long))).toEqual([500, 'policy_expression_error', { rule_id }]);
    expect((await here.run({ metadata: { list: [1, 2, { b: 'c' }] } })).status).toBe(201);
    // Rules that do not read metadata still work.
    await here.call('PATCH', `/policies/${rule_id}`, { expression: 'cost_usd > 100.0' });
    expect((await here.run(large)).status).toBe(201);
  });
});

test('rules of one org do not affect runs of another', async () => {
  await here.rule({ effect: 'block' });
  const other = await policyWorld(world);
  expect((await other.run()).status).toBe(201);
  expect((await here.run()).status).toBe(403);
});

describe('the edge', () => {
  const decide = async (more: object = {}) => {
    const { status, json } = await world.request('POST', '/v1/edge/decision', {
      key: here.runner.secret,
      body: { model: 'gpt-4o', estimated_cost_usd: '0.1' },
      ...more,
    });
    expect(status).toBe(200);
    return json.not_checked;
  };

  test('does not check policies, and lists them in `not_checked` exactly while there are some', async () => {
    expect(await decide()).toEqual([]);
    const id = await here.rule({ effect: 'block' });
    expect(await decide()).toEqual(['policies']);
    // One decision uses cached limits and response texts, the other takes the full pipeline.
    expect(await decide()).toEqual(['policies']);
    expect(await decide({ headers: { 'idempotency-key': 'one' } })).toEqual(['policies']);
    await here.call('PUT', '/chain-budget', { max_cost_usd: '5' });
    await here.call('PATCH', `/policies/${id}`, { enabled: false });
    expect(await decide()).not.toContain('policies');
  });
});
