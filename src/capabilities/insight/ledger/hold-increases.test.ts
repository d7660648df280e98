/** Changes of holds over HTTP: increases, and all changes by the id of the decision alone. */
import { beforeAll, beforeEach, describe, expect, test } from 'vitest';
import { type TestOrg, useWorld } from '../../../../test/harness.ts';
import { errorSummary } from '../../../../test/support/limits.ts';

const world = useWorld();
let org: TestOrg;
beforeAll(async () => {
  await world.request('PUT', '/v1/admin/models/priced', {
    key: world.operatorKey,
    body: { input_usd_per_million: '1', output_usd_per_million: '10' },
  });
});
beforeEach(async () => {
  org = await world.createOrg();
});

const call = (method: string, path: string, body?: object, headers: Record<string, string> = {}) =>
  world.request(method, path, { key: org.ownerKey, ...(body && { body }), headers });
const ask = async (body: object = { model: 'm', estimated_cost_usd: '0.5' }): Promise<string> =>
  (await call('POST', '/v1/edge/decision', body)).json.decision_id;
const priced = { model: 'priced', input_tokens: 1_000, max_output_tokens: 1_000 };
const cap = (usd: string) => call('PUT', `/v1/orgs/${org.id}/spend-cap`, { cap_usd: usd });
const heldUsd = async () => (await call('GET', `/v1/orgs/${org.id}/holds`)).json.data[0]?.held_usd;
const drift = async () => (await call('GET', `/v1/orgs/${org.id}/ledger/reconciliation`)).json.drift_usd;

describe.each([
  ['under the org', (id: string) => `/v1/orgs/${org.id}/holds/${id}`],
  ['by the id of the decision', (id: string) => `/v1/decisions/${id}`],
])('a change of a hold %s', (_, pathOf) => {
  const increase = (id: string, body: object, headers?: Record<string, string>) =>
    call('POST', `${pathOf(id)}/increase`, body, headers);
  const extend = (id: string, seconds: number) => call('POST', `${pathOf(id)}/extend`, { seconds });
  const voidHold = (id: string) => call('DELETE', pathOf(id));

  test('raises it by output tokens at the price of the decision, also after the price has changed', async () => {
    await cap('1');
    const id = await ask(priced);
    expect(await heldUsd()).toBe('0.011');
    await world.request('PUT', `/v1/admin/orgs/${org.id}/prices/priced`, {
      key: world.operatorKey,
      body: { input_usd_per_million: '1', output_usd_per_million: '999' },
    });
    const { status, json } = await increase(id, { output_tokens: 500 });
    expect([status, json.decision_id, json.held_usd, json.tokens]).toEqual([200, id, '0.016', 2_500]);
    expect(json.limits).toMatchObject([{ amount: '0.016' }]);
    const { json: run } = await call('POST', '/v1/runs', {
      model: 'priced',
      input_tokens: 1_000,
      output_tokens: 1_500,
      decision_id: id,
    });
    expect([run.cost_usd, run.marks]).toEqual(['0.016', []]);
    expect(await drift()).toBe('0');
  });

  test('is denied like a decision and leaves the hold as it was', async () => {
    await cap('1');
    const id = await ask();
    const denied = await increase(id, { cost_usd: '0.500000001', tokens: 7 });
    expect([denied.status, denied.json.error.code, denied.json.error.details]).toEqual([
      402,
      'spend_cap_exceeded',
      expect.objectContaining({ spent_usd: '0.5', held_usd: '0.5', attempted_usd: '0.500000001' }),
    ]);
    expect(await heldUsd()).toBe('0.5');
    expect((await increase(id, { cost_usd: '0.5', tokens: 7 })).json).toMatchObject({
      held_usd: '1',
      tokens: 7,
    });
    expect(await drift()).toBe('0');
  });

  test('raises it once for the same idempotency key, also if the first response was never stored', async () => {
    const id = await ask();
    const headers = { 'idempotency-key': 'more' };
    const first = await increase(id, { cost_usd: '0.25' }, headers);
    const again = await increase(id, { cost_usd: '0.25' }, headers);
    expect([again.text, again.headers['idempotent-replayed']]).toEqual([first.text, 'true']);
    expect(errorSummary(await increase(id, { cost_usd: '0.3' }, headers))).toEqual([
      409,
      'idempotency_key_conflict',
    ]);
    // As after a crash between the change and its stored response.
    await world.db.query('DELETE FROM idempotency_keys WHERE tenant_id = $1', [org.id]);
    expect((await increase(id, { cost_usd: '0.25' }, headers)).json.held_usd).toBe('0.75');
    expect((await increase(id, { cost_usd: '0.25' })).json.held_usd).toBe('1');
  });

  test('is possible for the hold of a run in progress, with the codes of runs', async () => {
    await call('POST', `/v1/orgs/${org.id}/credit-packs`, { customer_id: 'c', amount_usd: '1' });
    const { json: run } = await call('POST', '/v1/runs', {
      model: 'm',
      status: 'running',
      estimated_cost_usd: '0.6',
      customer_id: 'c',
    });
    expect((await increase(run.decision_id, { cost_usd: '0.3' })).json).toMatchObject({
      run_id: run.id,
      held_usd: '0.9',
      limits: [{ amount: '0.9' }],
    });
    expect(errorSummary(await increase(run.decision_id, { cost_usd: '0.2' }))).toEqual([
      402,
      'credits_exhausted',
    ]);
    const { json } = await call('POST', `/v1/runs/${run.id}/complete`, { cost_usd: '0.9' });
    expect([json.marks, json.uncovered_usd]).toEqual([[], '0']);
  });

  test('debits rate limits by tokens, and gives back what the ledger denies', async () => {
    await world.request('PUT', `/v1/admin/orgs/${org.id}/rate-limits`, {
      key: world.operatorKey,
      body: {
        policies: [
          { name: 't', unit: 'tokens', limit: 5_000, window_seconds: 3_600, kind: 'rate' },
          {
            name: 'n',
            unit: 'requests',
            limit: 1,
            window_seconds: 3_600,
            kind: 'rate',
            match: { model: '*' },
          },
        ],
      },
    });
    await cap('0.02');
    // The one request that the second rate allows: an increase is not another one.
    const id = await ask(priced);
    expect(errorSummary(await increase(id, { output_tokens: 2_000 }))).toEqual([402, 'spend_cap_exceeded']);
    await cap('1');
    expect((await increase(id, { output_tokens: 2_000 })).status).toBe(200);
    const denied = await increase(id, { output_tokens: 2_000 });
    expect([denied.status, denied.json.error.code, denied.headers['retry-after']]).toEqual([
      429,
      'rate_limited',
      String(denied.json.error.details.retry_after_seconds),
    ]);
  });

  test.each([
    [{}, 'output_tokens required'],
    [{ output_tokens: 1, cost_usd: '1' }, 'cost_usd invalid_value'],
    [{ output_tokens: 1, tokens: 1 }, 'tokens invalid_value'],
    [{ tokens: 1 }, 'output_tokens required'],
    [{ output_tokens: 1 }, 'output_tokens invalid_value'],
    [{ output_tokens: 0 }, 'output_tokens out_of_range'],
    [{ cost_usd: '-1' }, 'cost_usd out_of_range'],
    [{ cost_usd: 1 }, 'cost_usd invalid_type'],
    [{ cost_usd: '8999999999.999999999' }, 'cost_usd out_of_range'],
    [{ seconds: 1 }, 'seconds unknown_field'],
  ])('rejects an increase by %j of a hold without a price', async (body, error) => {
    const id = await ask();
    const [status, code, field] = errorSummary(await increase(id, body));
    expect([status, code]).toEqual([422, 'validation_failed']);
    expect(field).toContain(error);
  });

  test('is 404 for an unknown decision or one of another org, and 409 for one that has ended', async () => {
    const mine = org;
    org = await world.createOrg();
    const foreign = await ask();
    org = mine;
    for (const id of ['dec_none', foreign]) {
      expect(errorSummary(await extend(id, 60))).toEqual([404, 'not_found']);
      expect(errorSummary(await increase(id, { cost_usd: '1' }))).toEqual([404, 'not_found']);
      expect(errorSummary(await voidHold(id))).toEqual([404, 'not_found']);
    }
    const id = await ask();
    expect((await extend(id, 3_600)).status).toBe(200);
    expect((await voidHold(id)).status).toBe(204);
    expect(errorSummary(await extend(id, 60))).toEqual([409, 'conflict']);
    expect(errorSummary(await increase(id, { cost_usd: '1' }))).toEqual([409, 'conflict']);
    expect(errorSummary(await voidHold(id))).toEqual([409, 'conflict']);
  });

  test('needs a key with the scope of decisions', async () => {
    const decider = await world.mintKey(org, 'member', ['edge:decide']);
    const other = await world.mintKey(org, 'member', ['runs:write']);
    const id = await ask();
    const as = (key: string) =>
      world.request('POST', `${pathOf(id)}/increase`, { key, body: { cost_usd: '0.1' } });
    expect(errorSummary(await as(other.secret))).toEqual([403, 'missing_scope']);
    expect((await as(decider.secret)).status).toBe(200);
  });
});

describe('a fail-open decision', () => {
  /** A decision of this process that is not in the ledger yet. */
  const allow = async () => {
    const { text } = await world.services.failOpen.allow({
      body: { model: 'm', estimated_cost_usd: '0.2' },
      caller: { orgId: org.id, keyId: 'key_1' },
      key: undefined,
      price: undefined,
    });
    return JSON.parse(text).decision_id as string;
  };

  test('a fail-open decision is imported before it is changed', async () => {
    const increased = await call('POST', `/v1/decisions/${await allow()}/increase`, { cost_usd: '0.1' });
    expect([increased.status, increased.json.held_usd]).toEqual([200, '0.3']);
    expect((await call('POST', `/v1/decisions/${await allow()}/extend`, { seconds: 9 })).status).toBe(200);
    expect((await call('DELETE', `/v1/decisions/${await allow()}`)).status).toBe(204);
  });

  test('a fail-open decision of another process that has not imported it is 503, and 404 for another org', async () => {
    const id = await allow();
    await call('DELETE', `/v1/decisions/${id}`);
    // Without a record of its end the id looks like that of a decision that no process has imported yet.
    await world.db.query('DELETE FROM hold_ends WHERE hold_id = $1', [id]);
    expect(errorSummary(await call('POST', `/v1/decisions/${id}/extend`, { seconds: 9 }))).toEqual([
      503,
      'service_unavailable',
    ]);
    expect(errorSummary(await call('POST', `/v1/decisions/${id}/increase`, { cost_usd: '1' }))).toEqual([
      503,
      'service_unavailable',
    ]);
    expect(errorSummary(await call('DELETE', `/v1/decisions/${id}`))).toEqual([503, 'service_unavailable']);
    org = await world.createOrg();
    expect(errorSummary(await call('DELETE', `/v1/decisions/${id}`))).toEqual([404, 'not_found']);
  });
});

test('changes by the id of the decision count in rates of the class `edge`', async () => {
  await world.request('PUT', `/v1/admin/orgs/${org.id}/rate-limits`, {
    key: world.operatorKey,
    body: {
      policies: [
        {
          name: 'e',
          unit: 'requests',
          limit: 2,
          window_seconds: 3_600,
          kind: 'rate',
          match: { route_class: 'edge' },
        },
      ],
    },
  });
  const id = await ask();
  expect((await call('POST', `/v1/decisions/${id}/extend`, { seconds: 9 })).status).toBe(200);
  expect(errorSummary(await call('POST', `/v1/decisions/${id}/extend`, { seconds: 9 }))).toEqual([
    429,
    'rate_limited',
  ]);
  expect((await call('POST', `/v1/orgs/${org.id}/holds/${id}/extend`, { seconds: 9 })).status).toBe(200);
});
