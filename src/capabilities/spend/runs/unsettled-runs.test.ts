/** Holds that expire unsettled in an org with `on_unsettled: post_held`, over HTTP. */

import { beforeEach, describe, expect, test, vi } from 'vitest';
import { useOrgPerTest, useWorld } from '../../../../test/harness.ts';
import { eventually } from '../../../../test/support/eventually.ts';

const world = useWorld();
const org = useOrgPerTest(world);
beforeEach(() => send('PATCH', `/v1/orgs/${org.id}`, { on_unsettled: 'post_held' }));

const send = (method: string, path: string, body?: unknown) =>
  world.request(method, path, { key: org.ownerKey, ...(body !== undefined && { body }) });

const decision = { model: 'gpt-4o', estimated_cost_usd: '0.5', expires_in_seconds: 60, workflow: 'w' };

async function expire(): Promise<void> {
  world.clock.advanceSeconds(61);
  await world.runJob('expire-holds');
}

/** Returns the id of a decision whose hold has expired. */
async function expiredDecision(fields: object = {}): Promise<string> {
  const { json } = await send('POST', '/v1/edge/decision', { ...decision, ...fields });
  await expire();
  return json.decision_id;
}

async function expiredRun(fields: object = {}) {
  const { estimated_cost_usd, expires_in_seconds, model, workflow } = decision;
  const body = { model, workflow, estimated_cost_usd, expires_in_seconds, status: 'running', ...fields };
  const { json } = await send('POST', '/v1/runs', body);
  await expire();
  return json;
}

const unsettledRuns = async () => (await send('GET', '/v1/runs?mark=unsettled')).json.data;
const usage = async () => (await send('GET', `/v1/orgs/${org.id}/usage?group_by=status`)).json;

async function expectBalanced(cost_usd: string, runs: number): Promise<void> {
  const { json } = await send('GET', `/v1/orgs/${org.id}/ledger/reconciliation`);
  expect(json).toMatchObject({ balanced: true, totals: { cost_usd: { entries: cost_usd, runs: cost_usd } } });
  expect((await usage()).total).toMatchObject({ cost_usd, runs });
}

describe('the setting', () => {
  test('the setting for unsettled holds is `release` at first, can be read and changed, and is audited', async () => {
    const other = await world.createOrg();
    const as = (method: string, body?: object) =>
      world.request(method, `/v1/orgs/${other.id}`, { key: other.ownerKey, ...(body && { body }) });
    expect((await as('GET')).json.on_unsettled).toBe('release');
    expect((await as('PATCH', { on_unsettled: 'post_held' })).json.on_unsettled).toBe('post_held');
    expect((await as('PATCH', { on_unsettled: 'forget' })).json.error.details.fields).toMatchObject([
      { field: 'on_unsettled', code: 'invalid_value' },
    ]);
    const [entry] = await world.db.query<{ before: object; after: object }>(
      `SELECT before, after FROM audit_log WHERE tenant_id = $1 AND target_kind = 'org' ORDER BY seq DESC LIMIT 1`,
      [other.id],
    );
    expect(entry).toMatchObject({
      before: { on_unsettled: 'release' },
      after: { on_unsettled: 'post_held' },
    });
  });

  test('releases the hold if it is `release` when the hold expires', async () => {
    await send('PATCH', `/v1/orgs/${org.id}`, { on_unsettled: 'release' });
    await expiredDecision();
    expect((await send('GET', '/v1/runs')).json.data).toEqual([]);
  });
});

describe('an edge decision that expires', () => {
  test('becomes a run of the held amount, with an event', async () => {
    const hook = { url: 'https://hooks.example.com/purser', events: ['run.unsettled', 'run.finished'] };
    await send('POST', `/v1/orgs/${org.id}/webhooks`, hook);
    const decisionId = await expiredDecision();
    const runs = await unsettledRuns();
    expect(runs).toMatchObject([
      {
        decision_id: decisionId,
        status: 'running',
        cost_usd: '0.5',
        model: 'gpt-4o',
        workflow: 'w',
        input_tokens: 0,
        finished_at: null,
        marks: ['unsettled'],
      },
    ]);
    expect(runs[0].price_version).not.toBeNull();
    const events = await world.db.query<{ type: string; data: object }>(
      `SELECT type, data FROM outbox WHERE tenant_id = $1 AND type LIKE 'run.%'`,
      [org.id],
    );
    expect(events).toMatchObject([
      { type: 'run.unsettled', data: { run_id: runs[0].id, decision_id: decisionId, posted_usd: '0.5' } },
    ]);
    await expectBalanced('0.5', 1);
    expect((await send('DELETE', `/v1/orgs/${org.id}/holds/${decisionId}`)).status).toBe(409);
  });

  test('an edge decision that expires is corrected by its late run, which takes its place', async () => {
    const decisionId = await expiredDecision();
    const [unsettled] = await unsettledRuns();
    const body = {
      model: 'gpt-4o-2024-08-06',
      decision_id: decisionId,
      external_id: 'call-1',
      input_tokens: 1_000,
      output_tokens: 100,
      team: 't',
      tags: { feature: 'chat' },
      metadata: { a: 1 },
    };
    const late = await send('POST', '/v1/runs', body);
    expect([late.status, late.json]).toMatchObject([
      201,
      {
        id: unsettled.id,
        external_id: 'call-1',
        status: 'succeeded',
        cost_usd: '0.0035',
        adjustment_usd: '0',
        team: 't',
        tags: { feature: 'chat' },
        marks: ['late'],
      },
    ]);
    expect((await send('GET', `/v1/runs/${unsettled.id}`)).json).toEqual(late.json);
    expect((await send('GET', '/v1/runs')).json.data).toHaveLength(1);
    expect((await send('POST', '/v1/runs', body)).json.id).toBe(unsettled.id);
    expect((await send('POST', '/v1/runs', { ...body, external_id: 'call-2' })).status).toBe(409);
    await expectBalanced('0.0035', 1);
    expect((await usage()).data.filter(({ runs }: { runs: number }) => runs > 0)).toMatchObject([
      { status: 'succeeded', runs: 1 },
    ]);
  });

  test('keeps the content of its late run, readable under the id of the unsettled run', async () => {
    await send('PUT', `/v1/orgs/${org.id}/retention-policy`, { content_days: 7 });
    const decision_id = await expiredDecision();
    const { json } = await send('POST', '/v1/runs', {
      model: 'gpt-4o',
      decision_id,
      cost_usd: '0.1',
      content: 'hello',
    });
    expect((await send('GET', `/v1/runs/${json.id}`)).json).toMatchObject({ content: 'hello' });
  });

  test('an edge decision that expires is corrected in bulk, each once, also if bad runs are skipped', async () => {
    const first = await expiredDecision();
    const second = await expiredDecision();
    const runs = [first, second].map((decision_id) => ({ model: 'gpt-4o', decision_id, cost_usd: '0.1' }));
    const ids = new Set((await unsettledRuns()).map(({ id }: { id: string }) => id));
    const all = await send('POST', '/v1/runs/bulk', { runs: runs.slice(0, 1) });
    expect(all.json).toMatchObject({ accepted: 1 });
    const skipping = await send('POST', '/v1/runs/bulk?on_error=skip', { runs });
    expect(skipping.json).toMatchObject({ accepted: 1, errors: [{ index: 0, code: 'conflict' }] });
    expect([...all.json.runs, ...skipping.json.runs].map(({ id }) => ids.has(id))).toEqual([true, true]);
    expect(await unsettledRuns()).toEqual([]);
    await expectBalanced('0.2', 2);
  });

  test('keeps the held amount if its late run has neither usage nor a price', async () => {
    const first = await expiredDecision();
    const second = await expiredDecision({ model: 'no-price' });
    const missing = await send('POST', '/v1/runs', { model: 'gpt-4o', decision_id: first });
    expect(missing.json).toMatchObject({ cost_usd: '0.5', marks: ['usage_missing', 'late'] });
    const unpriced = await send('POST', '/v1/runs', {
      model: 'no-price',
      decision_id: second,
      input_tokens: 1,
    });
    expect(unpriced.json).toMatchObject({ cost_usd: '0.5', marks: ['unpriced', 'late'] });
    await expectBalanced('1', 2);
  });

  test('an edge decision that expires can be completed by the id of the run, and adjusted before that', async () => {
    await expiredDecision();
    const [{ id }] = await unsettledRuns();
    const adjusted = await send('POST', `/v1/runs/${id}/adjustments`, { amount_usd: '-0.2', reason: 'r' });
    expect(adjusted.json.run).toMatchObject({ cost_usd: '0.5', adjustment_usd: '-0.2' });
    await expectBalanced('0.3', 1);
    const completed = await send('POST', `/v1/runs/${id}/complete`, { cost_usd: '0.4' });
    expect(completed.json).toMatchObject({ cost_usd: '0.4', adjustment_usd: '0', marks: ['late'] });
    expect((await send('POST', `/v1/runs/${id}/complete`, { cost_usd: '0.4' })).status).toBe(409);
    await expectBalanced('0.4', 1);
  });

  test('an edge decision that expires can still be continued as a running run, and completed then', async () => {
    const decisionId = await expiredDecision();
    const [unsettled] = await unsettledRuns();
    const { json: run } = await send('POST', '/v1/runs', {
      model: 'gpt-4o',
      status: 'running',
      decision_id: decisionId,
      external_id: 'call-1',
      input_tokens: 10,
      max_output_tokens: 10,
    });
    expect(run).toMatchObject({
      id: unsettled.id,
      chain_id: unsettled.id,
      external_id: 'call-1',
      cost_usd: '0.5',
      marks: ['unsettled'],
    });
    await expectBalanced('0.5', 1);
    expect((await send('POST', '/v1/runs', { model: 'gpt-4o', decision_id: decisionId })).status).toBe(409);
    expect((await send('POST', `/v1/runs/${run.id}/complete`, { cost_usd: '0.1' })).json.marks).toEqual([
      'late',
    ]);
    await expectBalanced('0.1', 1);
  });

  test('an edge decision that expires after a run in progress had taken it over is posted for that run', async () => {
    const { json } = await send('POST', '/v1/edge/decision', decision);
    const { json: run } = await send('POST', '/v1/runs', {
      model: 'gpt-4o',
      status: 'running',
      decision_id: json.decision_id,
      team: 't',
      estimated_cost_usd: '0.5',
    });
    await expire();
    expect(await unsettledRuns()).toMatchObject([{ id: run.id, team: 't', cost_usd: '0.5' }]);
    // Another caller with the same decision neither takes the run over nor is counted twice.
    const other = { model: 'gpt-4o', decision_id: json.decision_id, cost_usd: '0.2' };
    expect((await send('POST', '/v1/runs', other)).status).toBe(409);
    await expectBalanced('0.5', 1);
    await send('POST', `/v1/runs/${run.id}/complete`, { cost_usd: '0.2' });
    await expectBalanced('0.2', 1);
  });
});

describe('a running run whose hold expires', () => {
  test('a running run whose hold expires stays running at the held amount, and is corrected when it completes', async () => {
    const { id } = await expiredRun({ input_tokens: 70, tags: { a: 'b' } });
    expect((await send('GET', `/v1/runs/${id}`)).json).toMatchObject({
      status: 'running',
      cost_usd: '0.5',
      marks: ['unsettled'],
    });
    await expectBalanced('0.5', 1);
    const { json } = await send('POST', `/v1/runs/${id}/complete`, {
      input_tokens: 1_000,
      output_tokens: 100,
      latency_ms: 5,
    });
    expect(json).toMatchObject({ status: 'succeeded', cost_usd: '0.0035', marks: ['late'] });
    await expectBalanced('0.0035', 1);
  });

  test('a running run whose hold expires is corrected after the end of its hold was deleted', async () => {
    const { id } = await expiredRun();
    await world.db.query('DELETE FROM hold_ends WHERE org_id = $1', [org.id]);
    await send('POST', `/v1/runs/${id}/complete`, { cost_usd: '0.1' });
    await expectBalanced('0.1', 1);
  });

  test('gives credits and the prepaid balance back to where they came from', async () => {
    const prepaid = (method: string, path: string, body: object) =>
      world.request(method, `/v1/admin/orgs/${org.id}/prepaid${path}`, { key: world.operatorKey, body });
    await prepaid('PUT', '', { enabled: true });
    await prepaid('POST', '/top-ups', { amount_usd: '10' });
    const credits = { customer_id: 'c', amount_usd: '0.3' };
    await send('POST', `/v1/orgs/${org.id}/credit-packs`, { ...credits, name: 'one' });
    await send('POST', `/v1/orgs/${org.id}/credit-packs`, { ...credits, name: 'two' });
    const { id } = await expiredRun({ customer_id: 'c' });
    await send('POST', `/v1/runs/${id}/complete`, { cost_usd: '0.25' });
    const standings = (await send('GET', `/v1/orgs/${org.id}/limits`)).json.data.map(
      ({ kind, standing }: { kind: string; standing: { settled: string } }) => `${kind} ${standing.settled}`,
    );
    expect(standings.sort()).toEqual(['credits 0', 'credits 0.25', 'prepaid 0.25']);
    await expectBalanced('0.25', 1);
  });
});

describe('an adjustment and the settlement in one batch of the ledger', () => {
  /** Sends requests whose postings reach the ledger in this order, and in the same batch. */
  async function sendInOneBatch(...requests: readonly (readonly [path: string, body: object])[]) {
    const { ledger } = world.services;
    const post = ledger.post.bind(ledger);
    const waiting: (() => void)[] = [];
    const spy = vi.spyOn(ledger, 'post').mockImplementation(async (group) => {
      await new Promise<void>((resolve) => waiting.push(resolve));
      return post(group);
    });
    try {
      const responses = [];
      for (const [path, body] of requests) {
        responses.push(send('POST', path, body));
        await eventually(() => expect(waiting).toHaveLength(responses.length));
      }
      for (const proceed of waiting) {
        proceed();
      }
      return (await Promise.all(responses)).map(({ status }) => status);
    } finally {
      spy.mockRestore();
    }
  }

  const adjustment = (id: string, amount_usd: string) =>
    [`/v1/runs/${id}/adjustments`, { amount_usd, reason: 'r' }] as const;

  test('leaves the actual cost if the run is completed', async () => {
    const { id } = await expiredRun();
    const complete = [`/v1/runs/${id}/complete`, { cost_usd: '0.1' }] as const;
    expect(await sendInOneBatch(adjustment(id, '-0.2'), complete)).toEqual([201, 200]);
    expect((await send('GET', `/v1/runs/${id}`)).json).toMatchObject({
      cost_usd: '0.1',
      adjustment_usd: '0',
    });
    await expectBalanced('0.1', 1);
  });

  test('leaves the actual cost if a late run takes the place of the run', async () => {
    const decision_id = await expiredDecision();
    const [{ id }] = await unsettledRuns();
    const late = ['/v1/runs', { model: 'gpt-4o', decision_id, cost_usd: '0.4' }] as const;
    expect(await sendInOneBatch(adjustment(id, '-0.2'), late)).toEqual([201, 201]);
    expect((await send('GET', `/v1/runs/${id}`)).json).toMatchObject({
      cost_usd: '0.4',
      adjustment_usd: '0',
    });
    await expectBalanced('0.4', 1);
  });

  test('an adjustment in one batch with the settlement of its run is counted if it comes after the settlement', async () => {
    const decision_id = await expiredDecision();
    const [{ id }] = await unsettledRuns();
    const late = ['/v1/runs', { model: 'gpt-4o', decision_id, cost_usd: '0.4' }] as const;
    expect(await sendInOneBatch(late, adjustment(id, '-0.1'))).toEqual([201, 201]);
    const run = (await send('GET', `/v1/runs/${id}`)).json;
    expect(run).toMatchObject({ cost_usd: '0.4', adjustment_usd: '-0.1' });
    await expectBalanced('0.3', 1);
  });
});

test('a customer who is erased between the expiry and the late run stays erased, and the amounts agree', async () => {
  const decisionId = await expiredDecision({ customer_id: 'someone' });
  const erasure = await send('DELETE', `/v1/orgs/${org.id}/customers/someone`);
  expect(erasure.status).toBeLessThan(300);
  await world.runJob('erase-customers');
  const body = { model: 'gpt-4o', decision_id: decisionId, cost_usd: '0.2', customer_id: 'someone' };
  const { json } = await send('POST', '/v1/runs', body);
  expect(json.customer_id).not.toBe('someone');
  expect(json.cost_usd).toBe('0.2');
  await expectBalanced('0.2', 1);
});

test('retention keeps an unsettled run as long as other runs in progress', async () => {
  await send('PUT', `/v1/orgs/${org.id}/retention-policy`, { runs_days: 1 });
  await expiredDecision();
  const listed = async (days: number) => {
    world.clock.advanceSeconds(days * 86_400);
    await world.runJob('apply-retention');
    return (await unsettledRuns()).length;
  };
  expect(await listed(3)).toBe(1);
  expect(await listed(9)).toBe(0);
  await expectBalanced('0.5', 1);
});
