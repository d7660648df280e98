import { describe, expect, test } from 'vitest';
import { type TestOrg, useOrgPerTest, useWorld } from '../../../../test/harness.ts';
import { errorSummary, invalid } from '../../../../test/support/limits.ts';

const world = useWorld();
const org = useOrgPerTest(world);
const hourMs = 3_600_000;

const call = (method: string, path: string, body?: object, of: TestOrg = org) =>
  world.request(method, `/v1/orgs/${of.id}${path}`, { key: of.ownerKey, ...(body && { body }) });
const inHours = (hours: number) => new Date(world.clock.now().getTime() + hours * hourMs).toISOString();
const raise = (fields: object = {}) => ({
  amount_usd: '5',
  until: inHours(1),
  reason: 'The launch.',
  ...fields,
});
const budgetOf = async (fields: object = {}, of: TestOrg = org) =>
  (
    await call(
      'POST',
      '/budgets',
      { name: 'All', scope_kind: 'org', period: 'month', limit_usd: '10', ...fields },
      of,
    )
  ).json.id as string;
const decide = (dollars: string, fields: object = {}) =>
  world.request('POST', '/v1/edge/decision', {
    key: org.ownerKey,
    body: { model: 'm', estimated_cost_usd: dollars, ...fields },
  });
const eventsOf = async (type: string) =>
  (
    await world.db.query<{ data: Record<string, unknown> }>(
      'SELECT data FROM outbox WHERE tenant_id = $1 AND type = $2 ORDER BY created_at, id',
      [org.id, type],
    )
  ).map(({ data }) => data);
const actionsOf = async (target: string) =>
  (
    await world.db.query<{ action: string; actor_kind: string }>(
      'SELECT action, actor_kind FROM audit_log WHERE tenant_id = $1 AND target_id = $2 ORDER BY seq',
      [org.id, target],
    )
  ).map(({ action, actor_kind }) => `${action} by ${actor_kind}`);

describe('a raise', () => {
  test('of a budget adds its amount to the next decision, and ends by itself', async () => {
    const budgetId = await budgetOf();
    expect((await decide('10')).status).toBe(200);
    expect((await decide('0.01')).status).toBe(402);
    const { status, json } = await call('POST', `/budgets/${budgetId}/raises`, raise());
    expect(status).toBe(201);
    expect(json).toMatchObject({
      id: expect.stringMatching(/^rse_/),
      limit_id: budgetId,
      limit_kind: 'budget',
      limit_name: 'All',
      scope_id: null,
      amount_usd: '5',
      until: inHours(1),
      state: 'active',
      ended_at: null,
      ended_by: null,
    });
    const denied = await decide('5.01');
    expect(denied.json.error.details).toMatchObject({
      budget_id: budgetId,
      limit_usd: '15',
      raised_usd: '5',
      raised_until: expect.stringContaining('T'),
    });
    expect((await decide('4')).status).toBe(200);
    world.clock.advanceSeconds(3_600);
    const after = (await decide('0.01')).json.error.details;
    expect(after).toMatchObject({ limit_usd: '10', spent_usd: '14' });
    expect(after).not.toHaveProperty('raised_usd');
  });

  test.each([
    ['spend cap', '/spend-cap', 'cap_usd'],
    ['customer limit', '/customer-limits', 'limit_usd'],
  ])('of a %s is listed with the usage of the limit', async (_, path, field) => {
    const { json: limit } =
      field === 'cap_usd'
        ? await call('PUT', path, { cap_usd: '10' })
        : await call('POST', path, { customer_id: 'c', period: 'day', limit_usd: '10' });
    const raises = field === 'cap_usd' ? `${path}/raises` : `${path}/${limit.id}/raises`;
    const { json: made } = await call('POST', raises, raise());
    expect((await call('GET', raises)).json.data).toEqual([made]);
    expect((await decide('15', { customer_id: 'c' })).status).toBe(200);
    expect((await decide('0.01', { customer_id: 'c' })).status).toBe(402);
    expect((await call('GET', `/limits/${limit.id}`)).json).toMatchObject({
      limit: '15',
      state: 'exhausted',
      standing: { held: '15', remaining: '0', raised_usd: '5', raised_until: inHours(1) },
    });
    expect((await call('DELETE', `${raises}/${made.id}`)).status).toBe(204);
    expect((await call('GET', raises)).json.data).toMatchObject([
      { id: made.id, state: 'ended', ended_by: expect.stringMatching(/^key_/) },
    ]);
    expect((await call('GET', `/limits/${limit.id}`)).json).toMatchObject({
      limit: '10',
      standing: { remaining: '0', raised_usd: null, raised_until: null },
    });
    expect((await call('DELETE', `${raises}/${made.id}`)).json.error.code).toBe('conflict');
  });

  test('of one value of a budget of each value leaves the other values as they are', async () => {
    const budgetId = await budgetOf({ scope_kind: 'team', scope_id: '*' });
    await call('POST', `/budgets/${budgetId}/raises`, raise({ scope_id: 'red' }));
    expect((await decide('15', { team: 'red' })).status).toBe(200);
    expect((await decide('10.01', { team: 'blue' })).json.error.details).toMatchObject({ limit_usd: '10' });
    const ofOther = await call('POST', `/budgets/${await budgetOf()}/raises`, raise({ scope_id: 'red' }));
    expect(errorSummary(ofOther)).toEqual(invalid('scope_id invalid_value'));
  });

  test('is recorded when it is made, ended early, or ends by itself', async () => {
    const budgetId = await budgetOf();
    const [early, alone] = [
      (await call('POST', `/budgets/${budgetId}/raises`, raise())).json,
      (await call('POST', `/budgets/${budgetId}/raises`, raise({ amount_usd: '1' }))).json,
    ];
    await call('DELETE', `/budgets/${budgetId}/raises/${early.id}`);
    await world.runJob('record-ended-raises');
    expect(await eventsOf('raise.ended')).toHaveLength(1);
    world.clock.advanceSeconds(3_600);
    expect((await call('GET', `/budgets/${budgetId}/raises`)).json.data).toMatchObject([
      { id: alone.id, state: 'ended', ended_at: alone.until, ended_by: null },
      { id: early.id, state: 'ended' },
    ]);
    await world.runJob('record-ended-raises');
    await world.runJob('record-ended-raises');
    expect(await eventsOf('raise.created')).toMatchObject([early, alone]);
    expect(await eventsOf('raise.ended')).toMatchObject([
      { id: early.id, limit_name: 'All', ended_by: expect.stringMatching(/^key_/) },
      { id: alone.id, limit_name: 'All', ended_at: alone.until, ended_by: null },
    ]);
    expect(await actionsOf(early.id)).toEqual(['budgets.raises.create by key', 'budgets.raises.end by key']);
    expect(await actionsOf(alone.id)).toEqual(['budgets.raises.create by key', 'raises.end by service']);
  });

  test.each([
    ['amount_usd', '0', 'out_of_range'],
    ['amount_usd', '-1', 'out_of_range'],
    ['amount_usd', '8999999999', 'out_of_range'],
    ['until', '2026-01-01T00:00:00Z', 'out_of_range'],
    ['until', 'tomorrow', 'invalid_format'],
    ['reason', '', 'empty'],
  ])('with %s %s is rejected', async (field, value, code) => {
    const path = `/budgets/${await budgetOf()}/raises`;
    const answer = await call('POST', path, raise({ [field]: value }));
    expect(errorSummary(answer)).toEqual(invalid(`${field} ${code}`));
    const tooLong = await call('POST', path, raise({ until: inHours(24 * 366 + 1) }));
    expect(errorSummary(tooLong)).toEqual(invalid('until out_of_range'));
    expect((await call('GET', path)).json.data).toEqual([]);
  });

  test('requires a reason, and the role admin', async () => {
    const path = `/budgets/${await budgetOf()}/raises`;
    const { reason: _, ...withoutReason } = raise();
    expect(errorSummary(await call('POST', path, withoutReason))).toEqual(invalid('reason required'));
    const { secret } = await world.mintKey(org, 'member', ['budgets:read', 'budgets:write']);
    const asMember = await world.request('POST', `/v1/orgs/${org.id}${path}`, { key: secret, body: raise() });
    expect(asMember.json.error.code).toBe('forbidden');
  });

  test('of a limit of another kind, of another organization, or of another limit is not found', async () => {
    const other = await world.createOrg();
    const [mine, own, theirs] = [await budgetOf(), await budgetOf(), await budgetOf({}, other)];
    const { json } = await call('POST', `/budgets/${mine}/raises`, raise());
    const statuses = await Promise.all([
      call('POST', `/budgets/${theirs}/raises`, raise()),
      call('POST', `/customer-limits/${mine}/raises`, raise()),
      call('POST', '/spend-cap/raises', raise()),
      call('GET', `/budgets/${theirs}/raises`),
      call('DELETE', `/budgets/${own}/raises/${json.id}`),
      call('DELETE', `/budgets/${theirs}/raises/${json.id}`, undefined, other),
    ]);
    expect(statuses.map(({ status }) => status)).toEqual([404, 404, 404, 404, 404, 404]);
  });

  test('of a limit is bounded in number, also for concurrent requests', async () => {
    const path = `/budgets/${await budgetOf()}/raises`;
    await call('POST', path, raise({ amount_usd: '0.01' }));
    await world.db.query(
      `INSERT INTO limit_raises (org_id, id, limit_id, value, amount, until, reason, created_by, created_at)
       SELECT org_id, id || n, limit_id, value, amount, until, reason, created_by, created_at
         FROM limit_raises CROSS JOIN generate_series(1, 196) AS n WHERE org_id = $1`,
      [org.id],
    );
    const answers = await Promise.all(
      Array.from({ length: 6 }, () => call('POST', path, raise({ amount_usd: '0.01' }))),
    );
    expect(answers.map(({ status }) => status).sort()).toEqual([201, 201, 201, 409, 409, 409]);
  });
});
