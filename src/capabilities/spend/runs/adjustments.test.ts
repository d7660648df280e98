/** Adjustments leave a trace, and refund only what the run took from the prepaid balance. */
import { describe, expect, test } from 'vitest';
import { type TestOrg, useWorld } from '../../../../test/harness.ts';

const world = useWorld();

async function balanceSpent(org: TestOrg): Promise<string> {
  const { json } = await world.request('GET', `/v1/orgs/${org.id}/limits?kind=prepaid`, {
    key: org.ownerKey,
  });
  return json.data[0].standing.settled;
}

async function prepay(org: TestOrg): Promise<void> {
  const operator = { key: world.operatorKey };
  const path = `/v1/admin/orgs/${org.id}/prepaid`;
  await world.request('POST', `${path}/top-ups`, { ...operator, body: { amount_usd: '10' } });
  await world.request('PUT', path, { ...operator, body: { enabled: true } });
}

const post = (org: TestOrg, path: string, body: object) =>
  world.request('POST', path, { key: org.ownerKey, body });

test('does not refund the prepaid balance for a run that was posted before it was turned on', async () => {
  const org = await world.createOrg();
  const { json: run } = await post(org, '/v1/runs', { model: 'm', cost_usd: '3' });
  await prepay(org);
  const adjusted = await post(org, `/v1/runs/${run.id}/adjustments`, {
    amount_usd: '-2',
    reason: 'mis-costed',
  });
  expect(adjusted.json.run).toMatchObject({ cost_usd: '3', adjustment_usd: '-2' });
  expect(await balanceSpent(org)).toBe('0');
});

test('refunds what the prepaid balance paid for a run; backfilled runs neither charge nor refund it', async () => {
  const org = await world.createOrg();
  await prepay(org);
  const { json: run } = await post(org, '/v1/runs', { model: 'm', cost_usd: '3' });
  await post(org, `/v1/runs/${run.id}/adjustments`, { amount_usd: '-2', reason: 'mis-costed' });
  expect(await balanceSpent(org)).toBe('1');
  const { json: bulk } = await post(org, '/v1/runs/bulk?enforcement=record', {
    runs: [{ model: 'm', cost_usd: '5' }],
  });
  const history = `/v1/runs/${bulk.runs[0].id}/adjustments`;
  expect((await post(org, history, { amount_usd: '-4', reason: 'less' })).status).toBe(201);
  expect((await post(org, history, { amount_usd: '2', reason: 'more' })).status).toBe(201);
  expect(await balanceSpent(org)).toBe('1');
  const { json } = await world.request('GET', `/v1/orgs/${org.id}/ledger/reconciliation`, {
    key: org.ownerKey,
  });
  expect(json.drift_usd).toBe('0');
});

describe('the trace of a correction', () => {
  const adjustmentsOf = (org: TestOrg, runId: string, query = '') =>
    world.request('GET', `/v1/runs/${runId}/adjustments${query}`, { key: org.ownerKey });

  async function subscribe(org: TestOrg): Promise<void> {
    const hook = { url: 'https://hooks.example.com/purser', events: ['run.adjusted'] };
    expect((await post(org, `/v1/orgs/${org.id}/webhooks`, hook)).status).toBe(201);
  }

  const eventsOf = (org: TestOrg) =>
    world.db.query<{ data: object }>(
      `SELECT data FROM outbox WHERE tenant_id = $1 AND type = 'run.adjusted' ORDER BY id`,
      [org.id],
    );

  test('the trace of a correction is listed with who, why, when and how much, the newest first', async () => {
    const org = await world.createOrg();
    const { json: run } = await post(org, '/v1/runs', { model: 'm', cost_usd: '3' });
    expect((await adjustmentsOf(org, run.id)).json).toEqual({ data: [], next_cursor: null });
    const key = await world.mintKey(org, 'admin', ['runs:write']);
    for (const [amount_usd, reason] of [
      ['-2', 'mis-costed'],
      ['0.5', 'surcharge'],
    ] as const) {
      world.clock.advanceSeconds(1);
      const { json } = await world.request('POST', `/v1/runs/${run.id}/adjustments`, {
        key: key.secret,
        body: { amount_usd, reason },
      });
      expect(json.actor).toEqual({ kind: 'key', id: key.id });
    }
    const { json } = await adjustmentsOf(org, run.id);
    expect(json).toEqual({
      data: [
        {
          id: expect.stringMatching(/^adj_/),
          run_id: run.id,
          amount_usd: '0.5',
          reason: 'surcharge',
          actor: { kind: 'key', id: key.id },
          uncovered_usd: '0',
          created_at: world.clock.now().toISOString(),
        },
        expect.objectContaining({ amount_usd: '-2', reason: 'mis-costed' }),
      ],
      next_cursor: null,
    });
    const first = (await adjustmentsOf(org, run.id, '?limit=1')).json;
    expect(first.data).toEqual([json.data[0]]);
    const second = (await adjustmentsOf(org, run.id, `?limit=1&cursor=${first.next_cursor}`)).json;
    expect(second).toEqual({ data: [json.data[1]], next_cursor: null });
  });

  test('the trace of a correction has one time in its response, in the list and in the audit log, also while the ledger is ahead of the clock', async () => {
    const org = await world.createOrg();
    world.clock.advanceSeconds(600);
    const { json: run } = await post(org, '/v1/runs', { model: 'm', cost_usd: '3' });
    world.clock.advanceSeconds(-600);
    const body = { amount_usd: '-2', reason: 'mis-costed' };
    const { json: adjusted } = await post(org, `/v1/runs/${run.id}/adjustments`, body);
    world.clock.advanceSeconds(600);
    expect(adjusted.created_at).toBe(run.created_at);
    expect((await adjustmentsOf(org, run.id)).json.data).toMatchObject([{ created_at: adjusted.created_at }]);
    const { json: log } = await world.request('GET', `/v1/orgs/${org.id}/audit-log?action=runs.adjust`, {
      key: org.ownerKey,
    });
    expect(log.data).toMatchObject([{ after: { created_at: adjusted.created_at } }]);
  });

  test('the trace of a correction is an audit entry and an event, each once, also if the request is repeated', async () => {
    const org = await world.createOrg();
    await subscribe(org);
    const { json: run } = await post(org, '/v1/runs', { model: 'm', cost_usd: '3' });
    const adjust = () =>
      world.request('POST', `/v1/runs/${run.id}/adjustments`, {
        key: org.ownerKey,
        headers: { 'idempotency-key': 'once' },
        body: { amount_usd: '-2', reason: 'mis-costed' },
      });
    const { json: adjusted } = await adjust();
    expect((await adjust()).json).toEqual(adjusted);
    const { json: log } = await world.request('GET', `/v1/orgs/${org.id}/audit-log?action=runs.adjust`, {
      key: org.ownerKey,
    });
    const after = {
      id: adjusted.id,
      run_id: run.id,
      amount_usd: '-2',
      reason: 'mis-costed',
      actor: adjusted.actor,
      adjustment_usd: '-2',
    };
    expect(log.data).toMatchObject([
      {
        actor: adjusted.actor,
        target: { kind: 'run', id: run.id },
        outcome: 'success',
        before: { adjustment_usd: '0' },
        after,
      },
    ]);
    expect(await eventsOf(org)).toMatchObject([{ data: after }]);
  });

  test('says of concurrent corrections what each of them changed', async () => {
    const org = await world.createOrg();
    const { json: run } = await post(org, '/v1/runs', { model: 'm', cost_usd: '3' });
    const corrections = Array.from({ length: 6 }, (_, index) =>
      post(org, `/v1/runs/${run.id}/adjustments`, { amount_usd: '0.5', reason: `${index}` }),
    );
    await Promise.all(corrections);
    const { json: log } = await world.request('GET', `/v1/orgs/${org.id}/audit-log?action=runs.adjust`, {
      key: org.ownerKey,
    });
    type Entry = { before: { adjustment_usd: string }; after: { adjustment_usd: string } };
    const changes = (log.data as Entry[]).map(({ before, after }) => [
      before.adjustment_usd,
      after.adjustment_usd,
    ]);
    expect(changes.sort()).toEqual([
      ['0', '0.5'],
      ['0.5', '1'],
      ['1', '1.5'],
      ['1.5', '2'],
      ['2', '2.5'],
      ['2.5', '3'],
    ]);
  });

  test('a rejected correction is neither listed nor an event', async () => {
    const org = await world.createOrg();
    await subscribe(org);
    const { json: run } = await post(org, '/v1/runs', { model: 'm', cost_usd: '3' });
    const rejected = await post(org, `/v1/runs/${run.id}/adjustments`, { amount_usd: '-4', reason: 'x' });
    expect(rejected.status).toBe(422);
    expect((await adjustmentsOf(org, run.id)).json.data).toEqual([]);
    expect(await eventsOf(org)).toEqual([]);
  });

  test('the correction of a repriced run names the caller', async () => {
    const org = await world.createOrg();
    const model = `later-${org.id.slice(4)}`;
    const { json: decision } = await post(org, '/v1/edge/decision', { model, estimated_cost_usd: '1' });
    const usage = { input_tokens: 1_000_000, output_tokens: 0 };
    const { json: run } = await post(org, '/v1/runs', { model, decision_id: decision.decision_id, ...usage });
    await world.request('PUT', `/v1/admin/models/${model}`, {
      key: world.operatorKey,
      body: { input_usd_per_million: '2', output_usd_per_million: '0' },
    });
    const { json } = await world.request('POST', `/v1/runs/${run.id}/reprice`, { key: org.ownerKey });
    expect((await adjustmentsOf(org, run.id)).json.data).toMatchObject([
      { id: json.id, amount_usd: '1', reason: `Priced as ${json.run.price_version}`, actor: json.actor },
    ]);
    const { json: log } = await world.request('GET', `/v1/orgs/${org.id}/audit-log?action=runs.reprice`, {
      key: org.ownerKey,
    });
    expect(log.data).toMatchObject([{ target: { kind: 'run', id: run.id } }]);
  });

  test('lists the reversal of a held amount without an actor', async () => {
    const org = await world.createOrg();
    const as = { key: org.ownerKey };
    await world.request('PATCH', `/v1/orgs/${org.id}`, { ...as, body: { on_unsettled: 'post_held' } });
    const held = { model: 'm', estimated_cost_usd: '1', expires_in_seconds: 60 };
    const { json: decision } = await post(org, '/v1/edge/decision', held);
    world.clock.advanceSeconds(61);
    await world.runJob('expire-holds');
    const { decision_id } = decision;
    const { json: run } = await post(org, '/v1/runs', { model: 'm', cost_usd: '0.5', decision_id });
    expect((await adjustmentsOf(org, run.id)).json.data).toMatchObject([{ amount_usd: '-1', actor: null }]);
  });

  test('corrections of an unknown run, or of one of another org, are not found', async () => {
    const [org, other] = [await world.createOrg(), await world.createOrg()];
    const { json: run } = await post(org, '/v1/runs', { model: 'm', cost_usd: '3' });
    expect((await adjustmentsOf(other, run.id)).status).toBe(404);
    expect((await adjustmentsOf(org, 'run_none')).status).toBe(404);
  });

  test('the trace of a correction is shown on the page of the run', async () => {
    const org = await world.createOrg();
    const { json: run } = await post(org, '/v1/runs', { model: 'm', cost_usd: '3' });
    await post(org, `/v1/runs/${run.id}/adjustments`, { amount_usd: '-2', reason: 'mis-costed' });
    const signedIn = await world.request('POST', '/console/login', {
      raw: `key=${org.ownerKey}`,
      headers: { 'content-type': 'application/x-www-form-urlencoded' },
    });
    const cookie = String(signedIn.headers['set-cookie']).split(';')[0] ?? '';
    const { text } = await world.request('GET', `/console/runs/${run.id}`, { headers: { cookie } });
    expect(text).toContain('Adjustments of this run');
    expect(text).toContain('mis-costed');
  });
});
