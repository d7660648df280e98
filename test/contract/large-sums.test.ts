/** Amounts of runs fit into 64 bits, and their sums need not: no report of an organization is an error because of that. */
import { beforeAll, expect, test } from 'vitest';
import { exampleRequests } from '../../src/docs/example-requests.ts';
import { type OpenApi, operationsOf } from '../../src/docs/openapi.ts';
import { useOrg, useWorld } from '../harness.ts';

const world = useWorld({ SVC_BENCHMARK_K_FLOOR: '5' });
const org = useOrg(world);
beforeAll(async () => {
  const key = org.ownerKey;
  const cap = { cap_usd: '1', enforcement: 'alert' };
  await world.request('PUT', `/v1/orgs/${org.id}/spend-cap`, { key, body: cap });
  for (const scope_type of ['org', 'workflow', 'customer']) {
    const body = {
      name: scope_type,
      scope_type,
      ...(scope_type !== 'org' && { scope_id: '*' }),
      amount_usd: '8999999999',
      period: 'monthly',
      enforcement: 'alert',
    };
    await world.request('POST', `/v1/orgs/${org.id}/budgets`, { key, body });
  }
  // The usage of fifteen minutes, and that of a day and a scope, is stored in 64 bits.
  const runs = Array.from({ length: 12 }, (_, n) => ({
    model: 'gpt-4o',
    provider: 'openai',
    cost_usd: '8999999999',
    value_usd: '8999999999',
    input_tokens: 1_000_000_000,
    output_tokens: 1_000_000_000,
    latency_ms: 86_400_000,
    team: `team-${n % 3}`,
    workflow: `workflow-${n % 2}`,
    deployment: `deployment-${n}`,
    customer_id: 'acme',
    started_at: new Date(world.clock.now().getTime() - n * 3 * 3_600_000).toISOString(),
  }));
  const { status } = await world.request('POST', '/v1/runs/bulk?enforcement=record', { key, body: { runs } });
  expect(status).toBe(201);
  for (let n = 0; n < 3; n += 1) {
    world.clock.advanceSeconds(3_600);
    await world.request('POST', '/v1/runs', { key, body: { ...runs[n], started_at: undefined } });
  }
});

/** Except the list of customers: its published schema has at most ten digits, so that the harness rejects larger totals. */
test('every report of an organization is answered', async () => {
  const { json } = await world.request('GET', '/v1/openapi.json');
  const failures: string[] = [];
  let reports = 0;
  for (const { operationId, method, path } of operationsOf(json as OpenApi)) {
    const target = path.replace('/orgs/{id}/', `/orgs/${org.id}/`).replace('{customer_id}', 'acme');
    if (method !== 'GET' || target.includes('{') || operationId === 'customers.list') {
      continue;
    }
    const query = new URLSearchParams(exampleRequests[operationId]?.query);
    const key = path.startsWith('/v1/admin/') ? world.operatorKey : org.ownerKey;
    const { status } = await world.request('GET', `${target}?${query}`, { key });
    reports += 1;
    if (status >= 500) {
      failures.push(`${operationId} ${status}`);
    }
  }
  expect(reports).toBeGreaterThan(50);
  expect(failures).toEqual([]);
});

test.each(['model', 'team', 'workflow', 'customer_id', 'day', 'model,team'])(
  'usage by %s is exact',
  async (groupBy) => {
    const { status, json } = await world.request('GET', `/v1/orgs/${org.id}/usage?group_by=${groupBy}`, {
      key: org.ownerKey,
    });
    expect([status, json.total?.cost_usd]).toEqual([200, `${12n * 8_999_999_999n}`]);
  },
);

test.each([
  'reconcile-ledger',
  'emit-exhaustion-forecasts',
  'summarize-orgs',
  'emit-weekly-digests',
  'compare-statements',
])('the job %s succeeds', async (job) => {
  await expect(world.runJob(job)).resolves.toBeUndefined();
});
