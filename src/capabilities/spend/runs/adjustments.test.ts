/** Adjustments refund only what the run took from the prepaid balance. */
import { afterAll, beforeAll, expect, test } from 'vitest';
import { createWorld, type TestOrg, type World } from '../../../../test/harness.ts';

let world: World;
beforeAll(async () => {
  world = await createWorld();
});
afterAll(() => world.close());

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
