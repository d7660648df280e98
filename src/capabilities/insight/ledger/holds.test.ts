import { describe, expect, test } from 'vitest';
import { useOrgPerTest, useWorld } from '../../../../test/harness.ts';
import { errorSummary } from '../../../../test/support/limits.ts';

const world = useWorld();
const org = useOrgPerTest(world);

const call = (method: string, path: string, body?: object, headers?: Record<string, string>) =>
  world.request(method, path, {
    key: org.ownerKey,
    ...(body !== undefined && { body }),
    ...(headers !== undefined && { headers }),
  });
const holds = (query = '') => call('GET', `/v1/orgs/${org.id}/holds${query}`);
const extend = (id: string, seconds: number, headers?: Record<string, string>) =>
  call('POST', `/v1/orgs/${org.id}/holds/${id}/extend`, { seconds }, headers);
const voidHold = (id: string, headers?: Record<string, string>) =>
  call('DELETE', `/v1/orgs/${org.id}/holds/${id}`, undefined, headers);
const ask = async (body: object): Promise<string> =>
  (await call('POST', '/v1/edge/decision', { model: 'm', estimated_cost_usd: '0.1', ...body })).json
    .decision_id;
const cap = (usd: string) => call('PUT', `/v1/orgs/${org.id}/spend-cap`, { cap_usd: usd });
const remaining = async () =>
  (await call('POST', '/v1/edge/decision', { model: 'm', estimated_cost_usd: '0' })).json.limits[0].remaining;
const inSeconds = (seconds: number) => new Date(world.clock.now().getTime() + seconds * 1_000).toISOString();

describe('listing', () => {
  test('returns the scope of each open hold and its amount of each limit', async () => {
    const { json: spendCap } = await cap('5');
    await world.request('PUT', `/v1/admin/orgs/${org.id}/rate-limits`, {
      key: world.operatorKey,
      body: { policies: [{ name: 'q', unit: 'tokens', limit: 1_000, window_seconds: 60, kind: 'quota' }] },
    });
    const { json: policies } = await call('GET', `/v1/orgs/${org.id}/rate-limit-policies`);
    const decisionId = await ask({
      estimated_cost_usd: '0.25',
      input_tokens: 30,
      max_output_tokens: 12,
      workflow: 'w',
      customer_id: 'c',
      expires_in_seconds: 60,
    });
    const { status, json } = await holds();
    expect(status).toBe(200);
    expect(json).toEqual({
      data: [
        {
          decision_id: decisionId,
          run_id: null,
          surface: 'edge',
          held_usd: '0.25',
          tokens: 42,
          key_id: expect.stringMatching(/^key_/),
          model: 'm',
          provider: null,
          action: null,
          workflow: 'w',
          deployment: null,
          department: null,
          team: null,
          customer_id: 'c',
          member_id: null,
          project: null,
          tags: {},
          chain_id: null,
          admitted_at: inSeconds(0),
          expires_at: inSeconds(60),
          limits: [
            { limit_id: policies.data[0].id, amount: 42 },
            { limit_id: spendCap.id, amount: '0.25' },
          ],
        },
      ],
      next_cursor: null,
    });
  });

  test('includes holds of runs in progress, with their credit packs, and omits ended ones', async () => {
    const { json: pack } = await call('POST', `/v1/orgs/${org.id}/credit-packs`, {
      customer_id: 'c',
      amount_usd: '3',
    });
    const { json: run } = await call('POST', '/v1/runs', {
      model: 'm',
      status: 'running',
      estimated_cost_usd: '2',
      customer_id: 'c',
    });
    expect((await holds()).json.data).toMatchObject([
      { run_id: run.id, surface: 'run', held_usd: '2', limits: [{ limit_id: pack.id, amount: '2' }] },
    ]);
    await call('POST', `/v1/runs/${run.id}/complete`, { cost_usd: '1' });
    expect((await holds()).json.data).toEqual([]);
  });

  test('pages through all of them, oldest or newest first', async () => {
    const ids: string[] = [];
    for (let i = 0; i < 5; i += 1) {
      world.clock.advanceSeconds(1);
      ids.push(await ask({}));
    }
    const seenBy = async (sort: string) => {
      const seen: string[] = [];
      for (let cursor = ''; ; ) {
        const { json } = await holds(`?limit=2${sort}${cursor}`);
        seen.push(...json.data.map((hold: { decision_id: string }) => hold.decision_id));
        if (json.next_cursor === null) {
          return seen;
        }
        cursor = `&cursor=${json.next_cursor}`;
      }
    };
    expect(await seenBy('')).toEqual(ids);
    expect(await seenBy('&sort=admitted_at')).toEqual(ids);
    expect(await seenBy('&sort=-admitted_at')).toEqual(ids.toReversed());
    const { next_cursor: ofOldest } = (await holds('?limit=2')).json;
    expect(errorSummary(await holds(`?cursor=${ofOldest}&sort=-admitted_at`))).toEqual([
      422,
      'validation_failed',
      'cursor invalid_value',
    ]);
    expect(errorSummary(await holds('?sort=colour'))).toEqual([
      422,
      'validation_failed',
      'sort invalid_value',
    ]);
    expect(errorSummary(await holds('?cursor=abc'))).toEqual([
      422,
      'validation_failed',
      'cursor invalid_value',
    ]);
  });
});

describe('extending', () => {
  test('extends a hold, counted from now', async () => {
    await cap('1');
    const id = await ask({ expires_in_seconds: 60 });
    world.clock.advanceSeconds(50);
    const { status, json } = await extend(id, 100);
    expect([status, json.decision_id, json.expires_at]).toEqual([200, id, inSeconds(100)]);
    world.clock.advanceSeconds(90);
    await world.services.ledger.expiry.expireDue();
    expect(await remaining()).toBe('0.9');
    world.clock.advanceSeconds(11);
    await world.services.ledger.expiry.expireDue();
    expect(await remaining()).toBe('1');
  });

  test('never beyond a day after the admission, and never shortens', async () => {
    const id = await ask({ expires_in_seconds: 600 });
    expect((await extend(id, 1)).json.expires_at).toBe(inSeconds(600));
    world.clock.advanceSeconds(60);
    expect((await extend(id, 86_400)).json.expires_at).toBe(inSeconds(86_400 - 60));
  });

  test('accepts 1 to 86400 seconds', async () => {
    const id = await ask({});
    for (const seconds of [0, 86_401]) {
      expect(errorSummary(await extend(id, seconds))).toEqual([
        422,
        'validation_failed',
        'seconds out_of_range',
      ]);
    }
  });

  test('returns the same response for the same key', async () => {
    const id = await ask({ expires_in_seconds: 10 });
    const first = await extend(id, 60, { 'idempotency-key': 'one' });
    world.clock.advanceSeconds(5);
    const second = await extend(id, 60, { 'idempotency-key': 'one' });
    expect([second.status, second.text]).toEqual([200, first.text]);
    expect(second.headers['idempotent-replayed']).toBe('true');
    expect((await holds()).json.data[0].expires_at).toBe(first.json.expires_at);
  });
});

describe('voiding', () => {
  test('releases the held amount; a later cost is posted late', async () => {
    await cap('1');
    const id = await ask({ estimated_cost_usd: '1' });
    expect(await remaining()).toBe('0');
    const { status, text } = await voidHold(id);
    expect([status, text]).toEqual([204, '']);
    expect(await remaining()).toBe('1');
    const run = await call('POST', '/v1/runs', { model: 'm', cost_usd: '0.3', decision_id: id });
    expect([run.status, run.json.marks]).toEqual([201, ['late']]);
    expect(await remaining()).toBe('0.7');
  });

  test('a second void is a conflict, except for the retry of the first', async () => {
    const id = await ask({});
    expect((await voidHold(id, { 'idempotency-key': 'one' })).status).toBe(204);
    const again = await voidHold(id, { 'idempotency-key': 'one' });
    expect([again.status, again.headers['idempotent-replayed']]).toEqual([204, 'true']);
    expect(errorSummary(await voidHold(id))).toEqual([409, 'conflict']);
  });

  test('a retry succeeds although the response was never stored', async () => {
    const id = await ask({});
    await world.services.ledger.void(org.id, id);
    expect((await voidHold(id, { 'idempotency-key': 'lost' })).status).toBe(204);
  });
});

describe('rejecting', () => {
  test('an unknown hold, or one of another org', async () => {
    const other = await world.createOrg();
    const { json } = await world.request('POST', '/v1/edge/decision', {
      key: other.ownerKey,
      body: { model: 'm', estimated_cost_usd: '1' },
    });
    for (const id of ['dec_none', json.decision_id]) {
      expect(errorSummary(await extend(id, 60))).toEqual([404, 'not_found']);
      expect(errorSummary(await voidHold(id))).toEqual([404, 'not_found']);
      expect(errorSummary(await voidHold(id, { 'idempotency-key': 'k' }))).toEqual([404, 'not_found']);
    }
  });

  test('a settled, expired or voided hold', async () => {
    const settled = await ask({});
    await call('POST', '/v1/runs', { model: 'm', cost_usd: '0.1', decision_id: settled });
    const expired = await ask({ expires_in_seconds: 1 });
    world.clock.advanceSeconds(3);
    await world.services.ledger.expiry.expireDue();
    const voided = await ask({});
    await voidHold(voided);
    for (const id of [settled, expired, voided]) {
      expect(errorSummary(await extend(id, 60))).toEqual([409, 'conflict']);
      expect(errorSummary(await voidHold(id))).toEqual([409, 'conflict']);
    }
    for (const id of [settled, expired]) {
      expect(errorSummary(await voidHold(id, { 'idempotency-key': 'k' }))).toEqual([409, 'conflict']);
    }
  });

  test('a key with the scope of decisions can extend and void, a read-only key can list', async () => {
    const decider = await world.mintKey(org, 'member', ['edge:decide']);
    const viewer = await world.mintKey(org, 'viewer', ['budgets:read']);
    const id = await ask({});
    const as = (key: string, method: string, path: string, body?: object) =>
      world.request(method, `/v1/orgs/${org.id}/holds${path}`, { key, ...(body && { body }) });
    expect((await as(decider.secret, 'POST', `/${id}/extend`, { seconds: 5 })).status).toBe(200);
    expect((await as(decider.secret, 'GET', '')).status).toBe(403);
    expect((await as(viewer.secret, 'DELETE', `/${id}`)).status).toBe(403);
    expect((await as(viewer.secret, 'GET', '')).status).toBe(200);
    expect((await as(decider.secret, 'DELETE', `/${id}`)).status).toBe(204);
  });
});
