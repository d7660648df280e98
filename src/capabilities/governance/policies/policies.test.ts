/** Creating, changing and deleting rules, dry runs and simulations, over HTTP. */
import { beforeEach, describe, expect, test } from 'vitest';
import { useWorld } from '../../../../test/harness.ts';
import { errorSummary, recordedOf } from '../../../../test/support/limits.ts';
import { errorOf, type PolicyWorld, policyWorld } from '../../../../test/support/policies.ts';

const world = useWorld();
let here: PolicyWorld;
beforeEach(async () => {
  here = await policyWorld(world);
});

const minimal = { effect: 'block', priority: 10, reason: 'because' };

describe('a rule', () => {
  test('a rule can be created, changed and deleted; every version is kept, and every change is audited with its difference', async () => {
    const created = await here.call('POST', '/policies', { ...minimal, models: ['gpt-*'] });
    expect([created.status, created.json]).toEqual([
      201,
      {
        id: expect.stringMatching(/^pol_/),
        version: 1,
        effect: 'block',
        models: ['gpt-*'],
        actions: null,
        expression: null,
        priority: 10,
        reason: 'because',
        enabled: true,
        owner: null,
        created_at: world.clock.now().toISOString(),
        updated_at: world.clock.now().toISOString(),
      },
    ]);
    const path = `/policies/${created.json.id}`;
    expect((await here.call('GET', path)).json).toEqual(created.json);
    world.clock.advanceSeconds(1);
    const changed = await here.call('PATCH', path, {
      models: null,
      expression: 'cost_usd > 1',
      priority: 5,
      owner: 'security@example.com',
    });
    expect(changed.json).toEqual({
      ...created.json,
      version: 2,
      models: null,
      expression: 'cost_usd > 1',
      priority: 5,
      owner: 'security@example.com',
      updated_at: world.clock.now().toISOString(),
    });
    world.clock.advanceSeconds(1);
    expect((await here.call('DELETE', path)).status).toBe(204);
    expect(errorOf(await here.call('GET', path)).slice(0, 2)).toEqual([404, 'not_found']);
    expect(errorOf(await here.call('PATCH', path, {})).slice(0, 2)).toEqual([404, 'not_found']);

    const { data: versions } = (await here.call('GET', `${path}/versions`)).json;
    const at = world.clock.now().toISOString();
    const gone = { ...changed.json, version: 3, updated_at: at };
    expect(
      versions.map(({ version, deleted, policy }: Record<string, unknown>) => [version, deleted, policy]),
    ).toEqual([
      [3, true, gone],
      [2, false, changed.json],
      [1, false, created.json],
    ]);
    const page = (await here.call('GET', `${path}/versions?limit=2`)).json;
    const rest = (await here.call('GET', `${path}/versions?limit=2&cursor=${page.next_cursor}`)).json;
    expect([...page.data, ...rest.data]).toEqual(versions);
    const oldestFirst = (await here.call('GET', `${path}/versions?sort=version`)).json;
    expect(oldestFirst.data).toEqual(versions.toReversed());
    expect(errorOf(await here.call('GET', `${path}/versions?sort=colour`)).slice(0, 2)).toEqual([
      422,
      'validation_failed',
    ]);

    const { entries } = await recordedOf(world, here.org.id);
    expect(entries.map(({ action, before, after }) => [action, before, after])).toEqual([
      ['policies.create', null, created.json],
      ['policies.change', created.json, changed.json],
      ['policies.delete', changed.json, { ...gone, deleted_at: at }],
    ]);
  });

  test('a rule is listed by priority, and filtered by effect and by enabled', async () => {
    const [late, early] = [
      await here.rule({ effect: 'block', priority: 20 }),
      await here.rule({ effect: 'allow', priority: -3, enabled: false }),
    ];
    const ids = async (query: string) =>
      (await here.call('GET', `/policies${query}`)).json.data.map(({ id }: { id: string }) => id);
    expect(await ids('')).toEqual([early, late]);
    expect(await ids('?sort=-priority')).toEqual([late, early]);
    expect(await ids('?effect=allow')).toEqual([early]);
    expect(await ids('?enabled=true')).toEqual([late]);
    const first = (await here.call('GET', '/policies?limit=1')).json;
    const second = (await here.call('GET', `/policies?limit=1&cursor=${first.next_cursor}`)).json;
    expect([first.data[0].id, second.data[0].id]).toEqual([early, late]);
  });

  test('a rule with an invalid expression is rejected with the position, on creation and on change', async () => {
    const wrong = await here.call('POST', '/policies', {
      ...minimal,
      expression: 'model == "a" && foo == 1',
    });
    expect(errorSummary(wrong)).toEqual([422, 'validation_failed', 'expression invalid_value']);
    expect(wrong.json.error.details.fields[0].message).toBe('At character 17: Unknown variable: foo.');
    const id = await here.rule({ effect: 'block' });
    expect((await here.call('PATCH', `/policies/${id}`, { expression: 'model' })).status).toBe(422);
    expect((await here.call('GET', `/policies/${id}`)).json).toMatchObject({ version: 1, expression: null });
  });

  test.each([
    ['no effect', { effect: undefined }, 'effect required'],
    ['no priority', { priority: undefined }, 'priority required'],
    ['no reason', { reason: undefined }, 'reason required'],
    ['another effect', { effect: 'warn' }, 'effect invalid_value'],
    ['no models', { models: [] }, 'models empty'],
    ['a long expression', { expression: 'x'.repeat(2_001) }, 'expression out_of_range'],
  ])('a rule with %s is rejected', async (_, more, field) => {
    expect(errorSummary(await here.call('POST', '/policies', { ...minimal, ...more }))).toEqual([
      422,
      'validation_failed',
      field,
    ]);
  });

  test('a rule is rejected if the number or the total cost of the rules would exceed the maximum', async () => {
    const expensive = 'metadata.a.all(x, metadata.a.all(y, x == y))';
    let answer = await here.call('POST', '/policies', { ...minimal, expression: expensive });
    let made = 0;
    while (answer.status === 201 && made < 10) {
      made += 1;
      answer = await here.call('POST', '/policies', { ...minimal, expression: expensive });
    }
    expect(made).toBeLessThan(10);
    expect(errorSummary(answer)).toEqual([422, 'validation_failed', 'expression out_of_range']);
    await here.rule({ effect: 'block', expression: 'cost_usd > 1.0' });
    await world.db.query(
      `INSERT INTO policies (org_id, id, version, effect, priority, reason, enabled, created_at, updated_at)
       SELECT $1, 'pol_' || n, 1, 'allow', n, 'r', true, now(), now() FROM generate_series(1, 500) AS n`,
      [here.org.id],
    );
    expect(errorOf(await here.call('POST', '/policies', minimal)).slice(0, 2)).toEqual([409, 'conflict']);
  });

  test('a rule of another org is not found', async () => {
    const id = await here.rule({ effect: 'block' });
    const other = await policyWorld(world);
    for (const [method, path, body] of [
      ['GET', `/policies/${id}`],
      ['GET', `/policies/${id}/versions`],
      ['PATCH', `/policies/${id}`, { enabled: false }],
      ['DELETE', `/policies/${id}`],
    ] as const) {
      expect(errorOf(await other.call(method, path, body))).toEqual([404, 'not_found', {}]);
    }
    expect((await here.run()).status).toBe(403);
  });
});

describe('a dry run', () => {
  const evaluate = async (body: object) => (await here.call('POST', '/policies/evaluate', body)).json;

  test('returns which rules were evaluated and which one decided, and requests no approval', async () => {
    const off = await here.rule({ effect: 'block', priority: 1, enabled: false });
    const model = await here.rule({ effect: 'block', priority: 2, models: ['claude-*'] });
    const action = await here.rule({ effect: 'block', priority: 3, actions: ['train'] });
    const cheap = await here.rule({ effect: 'block', priority: 4, expression: 'cost_usd < 1.0' });
    const decides = await here.rule({ effect: 'require_approval', priority: 5, reason: 'Expensive.' });
    const last = await here.rule({ effect: 'block', priority: 6 });
    const answer = await evaluate({ model: 'gpt-4o', cost_usd: '2' });
    expect(answer).toMatchObject({
      verdict: 'require_approval',
      rule_id: decides,
      reason: 'Expensive.',
      attempted: 'gpt-4o',
    });
    const considered = answer.considered.map(
      (one: { rule_id: string; outcome: string; explanation: string }) => [
        one.rule_id,
        one.outcome,
        one.explanation,
      ],
    );
    expect(considered).toEqual([
      [off, 'disabled', 'The rule is disabled.'],
      [model, 'passed_over', 'None of its models matches “gpt-4o”.'],
      [action, 'passed_over', 'None of its actions matches a request without an action.'],
      [cheap, 'passed_over', 'Its expression is false.'],
      [decides, 'decided', expect.stringContaining('require_approval')],
      [last, 'not_reached', expect.stringContaining(decides)],
    ]);
    expect((await here.call('GET', '/approvals')).json.data).toEqual([]);
    expect((await evaluate({ model: 'gpt-4o', cost_usd: '0.5' })).rule_id).toBe(cheap);
  });

  test('returns `allow` if no rule matches, and `error` if one fails', async () => {
    expect(await evaluate({ model: 'm' })).toEqual({
      verdict: 'allow',
      rule_id: null,
      reason: null,
      attempted: null,
      considered: [],
    });
    const id = await here.rule({ effect: 'allow', expression: 'tags.a == "b"' });
    const failed = await evaluate({ model: 'm' });
    expect([failed.verdict, failed.rule_id]).toEqual(['error', id]);
    expect(failed.considered[0]).toMatchObject({
      outcome: 'failed',
      explanation: expect.stringContaining('No such key'),
    });
  });

  test('accepts a draft, a time, a key and a role', async () => {
    await here.rule({ effect: 'block' });
    const rules = [
      { ...minimal, expression: 'hour == 3 && role == "viewer" && key_id == "key_x"', reason: 'night' },
      ...Array.from({ length: 11 }, (_, n) => ({
        ...minimal,
        reason: `rule ${n + 1}`,
        models: [`m${n + 1}`],
      })),
    ];
    const request = { at: '2026-11-15T03:30:00Z', role: 'viewer', key_id: 'key_x', rules };
    expect(await evaluate({ model: 'm', ...request })).toMatchObject({
      verdict: 'block',
      rule_id: 'rules[0]',
      reason: 'night',
    });
    expect(await evaluate({ model: 'm11', ...request, role: 'member' })).toMatchObject({
      rule_id: 'rules[11]',
    });
    const order = (await evaluate({ model: 'm', rules })).considered.map(
      ({ rule_id }: { rule_id: string }) => rule_id,
    );
    expect(order).toEqual(rules.map((_, n) => `rules[${n}]`));
    const wrong = await here.call('POST', '/policies/evaluate', {
      model: 'm',
      rules: [minimal, { ...minimal, expression: 'model ==' }],
    });
    expect(errorSummary(wrong)).toEqual([422, 'validation_failed', 'rules[1].expression invalid_value']);
  });

  test('a dry run with an Idempotency-Key is replayed', async () => {
    const evaluateAgain = () =>
      world.request('POST', `/v1/orgs/${here.org.id}/policies/evaluate`, {
        key: here.org.ownerKey,
        body: { model: 'm' },
        headers: { 'idempotency-key': 'dry' },
      });
    const first = await evaluateAgain();
    await here.rule({ effect: 'block' });
    expect((await evaluateAgain()).text).toBe(first.text);
  });
});

describe('a simulation', () => {
  const simulate = (body: object) => here.call('POST', '/policies/simulate', body);

  test('replays the latest runs against a draft, and returns the differences', async () => {
    await here.rule({ effect: 'block', models: ['never'] });
    const ids: string[] = [];
    for (const [model, cost_usd] of [
      ['old', '9'],
      ['small', '0.1'],
      ['large', '5'],
      ['large', '0.2'],
    ] as const) {
      world.clock.advanceSeconds(1);
      ids.push((await here.run({ model, cost_usd, action: 'chat' })).json.id);
    }
    const rules = [
      {
        ...minimal,
        effect: 'require_approval',
        expression: 'cost_usd > 1.0 && role == "member"',
        reason: 'Expensive.',
      },
      { ...minimal, priority: 20, models: ['small'], reason: 'Small.' },
      { ...minimal, priority: 30, reason: 'off', enabled: false },
    ];
    const { status, json } = await simulate({ rules, runs: 3 });
    expect([status, json]).toMatchObject([
      200,
      {
        runs: 3,
        changed: 2,
        unchanged: 1,
        draft: { allow: 1, block: 1, require_approval: 1, error: 0 },
        changes: [
          {
            run_id: ids[2],
            model: 'large',
            action: 'chat',
            now: { verdict: 'allow', rule_id: null, reason: null },
            draft: { verdict: 'require_approval', rule_id: 'rules[0]', reason: 'Expensive.' },
          },
          { run_id: ids[1], draft: { verdict: 'block', rule_id: 'rules[1]', reason: 'Small.' } },
        ],
      },
    ]);
    expect((await simulate({ rules: [] })).json).toMatchObject({ runs: 4, changed: 0, changes: [] });
    expect((await here.call('GET', '/approvals')).json.data).toEqual([]);
  });

  test('uses the held estimate of a running run, even after its hold has expired', async () => {
    const running = { status: 'running', cost_usd: undefined, model: 'gpt-4o' };
    await here.run({ ...running, estimated_cost_usd: '5', expires_in_seconds: 60 });
    await here.run({ ...running, estimated_cost_usd: '0.5', input_tokens: 10, max_output_tokens: 90 });
    const blocked = async (expression: string) =>
      (await simulate({ rules: [{ ...minimal, effect: 'block', expression }] })).json.draft.block;
    expect(await blocked('cost_usd > 1.0')).toBe(1);
    expect(await blocked('cost_usd == 0.5 && output_tokens == 90')).toBe(1);
    world.clock.advanceSeconds(61);
    await world.services.ledger.expiry.expireDue();
    expect(await blocked('cost_usd > 1.0')).toBe(1);
  });

  test('reports rules that would fail, and is bounded', async () => {
    await here.run();
    const rules = [{ ...minimal, expression: 'tags.a == "b"' }];
    expect((await simulate({ rules })).json).toMatchObject({ changed: 1, draft: { error: 1 } });
    expect((await simulate({ rules, runs: 1_001 })).status).toBe(422);
    expect((await simulate({ rules: Array(501).fill(minimal) })).status).toBe(422);
  });

  test('does not see runs of another org', async () => {
    await here.run();
    const other = await policyWorld(world);
    expect((await other.call('POST', '/policies/simulate', { rules: [minimal] })).json).toMatchObject({
      runs: 0,
    });
  });
});
