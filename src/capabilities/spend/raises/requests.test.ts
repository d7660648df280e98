import { beforeEach, describe, expect, test } from 'vitest';
import { useOrgPerTest, useWorld } from '../../../../test/harness.ts';
import { errorSummary, invalid } from '../../../../test/support/limits.ts';

const world = useWorld();
const org = useOrgPerTest(world);
const hourMs = 3_600_000;

let agent: string;
let admin: string;
let budgetId: string;
beforeEach(async () => {
  agent = (await world.mintKey(org, 'member', ['budgets:read', 'edge:decide'])).secret;
  admin = (await world.mintKey(org, 'admin', ['budgets:read', 'budgets:write'])).secret;
  const budget = { name: 'Each team', scope_kind: 'team', scope_id: '*', period: 'day', limit_usd: '10' };
  budgetId = (await send('POST', '/budgets', admin, budget)).json.id;
});

const send = (method: string, path: string, key: string, body?: object) =>
  world.request(method, `/v1/orgs/${org.id}${path}`, { key, ...(body && { body }) });
const inHours = (hours: number) => new Date(world.clock.now().getTime() + hours * hourMs).toISOString();
const request = (fields: object = {}) => ({
  limit_id: budgetId,
  scope_id: 'red',
  amount_usd: '5',
  until: inHours(2),
  reason: 'The migration is half done.',
  ...fields,
});
const ask = (fields: object = {}, key = agent) => send('POST', '/raise-requests', key, request(fields));
const decide = (dollars: string, team: string) =>
  world.request('POST', '/v1/edge/decision', {
    key: agent,
    body: { model: 'm', estimated_cost_usd: dollars, team },
  });

describe('a request for a raise', () => {
  test('raises the limit once an administrator approves it, for the requested value and time', async () => {
    const { status, json } = await ask();
    expect(status).toBe(201);
    expect(json).toMatchObject({
      id: expect.stringMatching(/^rrq_/),
      state: 'pending',
      limit_id: budgetId,
      limit_name: 'Each team',
      scope_id: 'red',
      amount_usd: '5',
      decided_by: null,
      raise_id: null,
    });
    expect((await decide('10.01', 'red')).status).toBe(402);
    const approved = await send('POST', `/raise-requests/${json.id}/approve`, admin);
    expect(approved.json).toMatchObject({ state: 'approved', raise_id: expect.stringMatching(/^rse_/) });
    expect((await decide('15', 'red')).status).toBe(200);
    expect((await decide('10.01', 'blue')).status).toBe(402);
    expect((await send('GET', `/budgets/${budgetId}/raises`, admin)).json.data).toMatchObject([
      { id: approved.json.raise_id, request_id: json.id, amount_usd: '5', until: inHours(2) },
    ]);
    world.clock.advanceSeconds(2 * 3_600);
    expect((await decide('0.01', 'red')).status).toBe(402);
    expect((await send('POST', `/raise-requests/${json.id}/approve`, admin)).json.error.code).toBe(
      'conflict',
    );
  });

  test('can be approved for less, and for a shorter time', async () => {
    const { json } = await ask();
    const body = { amount_usd: '2', until: inHours(1), reason: 'Half of it.' };
    const approved = await send('POST', `/raise-requests/${json.id}/approve`, admin, body);
    expect(approved.json).toMatchObject({ amount_usd: '5', decision_reason: 'Half of it.' });
    expect((await decide('12.01', 'red')).status).toBe(402);
    expect((await decide('12', 'red')).status).toBe(200);
  });

  test('that is denied raises nothing, and is decided on once', async () => {
    const { json } = await ask();
    const deny = () => send('POST', `/raise-requests/${json.id}/deny`, admin, { reason: 'Not today.' });
    const answers = await Promise.all([deny(), deny(), deny()]);
    expect(answers.map(({ status }) => status).sort()).toEqual([200, 409, 409]);
    expect((await send('GET', `/raise-requests/${json.id}`, agent)).json).toMatchObject({
      state: 'denied',
      decision_reason: 'Not today.',
    });
    expect((await send('GET', `/budgets/${budgetId}/raises`, admin)).json.data).toEqual([]);
    expect((await ask()).status).toBe(201);
  });

  test('cannot be decided by the key that made it', async () => {
    const { json } = await ask({}, admin);
    for (const verb of ['approve', 'deny']) {
      const { status } = await send('POST', `/raise-requests/${json.id}/${verb}`, admin);
      expect([verb, status]).toEqual([verb, 403]);
    }
    expect((await send('POST', `/raise-requests/${json.id}/approve`, agent)).status).toBe(403);
    expect((await send('POST', `/raise-requests/${json.id}/approve`, org.ownerKey)).status).toBe(200);
  });

  test('lapses at its end, and does not block another one', async () => {
    const { json } = await ask();
    expect((await ask()).json.error.code).toBe('conflict');
    expect((await ask({ scope_id: 'blue' })).status).toBe(201);
    world.clock.advanceSeconds(2 * 3_600);
    const inState = async (state: string) =>
      (await send('GET', `/raise-requests?state=${state}`, agent)).json.data.map(
        ({ id }: { id: string }) => id,
      );
    expect(await inState('lapsed')).toContain(json.id);
    expect(await inState('pending')).toEqual([]);
    expect((await send('POST', `/raise-requests/${json.id}/approve`, admin)).json.error.code).toBe(
      'conflict',
    );
    expect((await ask()).status).toBe(201);
  });

  test('names a limit of the organization that can be raised, and a value if it counts each value', async () => {
    const other = await world.createOrg();
    const foreign = await world.request('POST', `/v1/orgs/${other.id}/budgets`, {
      key: other.ownerKey,
      body: { name: 'a', scope_kind: 'org', period: 'day', limit_usd: '1' },
    });
    const [unknown, theirs] = [await ask({ limit_id: 'bud_none' }), await ask({ limit_id: foreign.json.id })];
    expect(errorSummary(unknown)).toEqual(invalid('limit_id invalid_value'));
    expect(theirs.json.error.message).toBe(unknown.json.error.message);
    const { scope_id: _, ...withoutValue } = request();
    expect(errorSummary(await send('POST', '/raise-requests', agent, withoutValue))).toEqual(
      invalid('scope_id required'),
    );
    expect(errorSummary(await ask({ until: inHours(-1) }))).toEqual(invalid('until out_of_range'));
  });

  test('about a customer limit is only decided with the scope for customers', async () => {
    const body = { customer_id: 'c', period: 'day', limit_usd: '1' };
    const { json: limit } = await send('POST', '/customer-limits', org.ownerKey, body);
    const { scope_id: _, ...withoutValue } = request({ limit_id: limit.id });
    const { json } = await send('POST', '/raise-requests', agent, withoutValue);
    const denied = await send('POST', `/raise-requests/${json.id}/approve`, admin);
    expect(denied.json.error).toMatchObject({
      code: 'missing_scope',
      details: { required: 'customers:write' },
    });
    expect((await send('POST', `/raise-requests/${json.id}/approve`, org.ownerKey)).status).toBe(200);
  });

  test('is recorded with its decision and its raise in one transaction each', async () => {
    const { json } = await ask();
    await send('POST', `/raise-requests/${json.id}/approve`, admin);
    const events = await world.db.query<{ type: string }>(
      `SELECT type FROM outbox WHERE tenant_id = $1 AND type LIKE 'raise.%' ORDER BY created_at, id`,
      [org.id],
    );
    expect(events.map(({ type }) => type).sort()).toEqual([
      'raise.approved',
      'raise.created',
      'raise.requested',
    ]);
    const actions = await world.db.query<{ action: string }>(
      `SELECT action FROM audit_log WHERE tenant_id = $1 AND action LIKE 'raise%' ORDER BY seq`,
      [org.id],
    );
    expect(actions.map(({ action }) => action)).toEqual([
      'raise_requests.create',
      'raise_requests.approve',
      'raise_requests.approve',
    ]);
  });
});
