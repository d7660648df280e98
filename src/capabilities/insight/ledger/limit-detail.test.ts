/** One limit with its usage, past windows and alerts. */
import { expect, test } from 'vitest';
import { useOrgPerTest, useWorld } from '../../../../test/harness.ts';

const world = useWorld();
const org = useOrgPerTest(world);

const own = (method: string, path: string, body?: object) =>
  world.request(method, path.startsWith('/v1') ? path : `/v1/orgs/${org.id}/${path}`, {
    key: org.ownerKey,
    ...(body !== undefined && { body }),
  });
const backfill = async (started_at: string, cost_usd: string, workflow: string) => {
  const run = { model: 'm', status: 'succeeded', cost_usd, workflow, started_at };
  expect((await own('POST', '/v1/runs/bulk?enforcement=record', { runs: [run] })).status).toBe(201);
};
const budget = async (body: object) =>
  (await own('POST', 'budgets', { name: 'b', period: 'month', limit_usd: '10', ...body })).json.id as string;

test('returns the amounts of past windows, also before the limit existed', async () => {
  await backfill('2026-09-30T23:59:59Z', '1', 'w');
  await backfill('2026-10-01T00:00:00Z', '2', 'w');
  await backfill('2026-10-02T00:00:00Z', '4', 'other');
  await own('POST', '/v1/runs', { model: 'm', cost_usd: '3', workflow: 'w' });
  const id = await budget({ scope_kind: 'workflow', scope_id: 'w', owner: '#spend' });
  const { json } = await own('GET', `limits/${id}?windows=3`);
  expect(json).toMatchObject({ id, name: 'b', owner: '#spend', state: 'ok', standing: { settled: '3' } });
  expect(json.windows).toEqual([
    { window_start: '2026-10-01T00:00:00.000Z', window_end: '2026-11-01T00:00:00.000Z', settled: '2' },
    { window_start: '2026-09-01T00:00:00.000Z', window_end: '2026-10-01T00:00:00.000Z', settled: '1' },
    { window_start: '2026-08-01T00:00:00.000Z', window_end: '2026-09-01T00:00:00.000Z', settled: '0' },
  ]);
  expect((await own('GET', `limits/${id}`)).json.windows).toHaveLength(12);
  expect((await own('GET', `limits/${id}?windows=0`)).json.windows).toEqual([]);
});

test('returns windows in the time zone of the limit, by tag, and of a cap by day', async () => {
  await own('POST', '/v1/runs/bulk?enforcement=record', {
    runs: [
      {
        model: 'm',
        status: 'succeeded',
        cost_usd: '1',
        tags: { job: 'a' },
        started_at: '2026-11-13T16:00:00Z',
      },
    ],
  });
  const id = await budget({ scope_kind: 'tag:job', scope_id: 'a', period: 'day', timezone: 'Asia/Tokyo' });
  expect((await own('GET', `limits/${id}?windows=1`)).json.windows).toEqual([
    { window_start: '2026-11-13T15:00:00.000Z', window_end: '2026-11-14T15:00:00.000Z', settled: '1' },
  ]);
  const cap = (await own('PUT', 'spend-cap', { cap_usd: '5' })).json;
  expect((await own('GET', `limits/${cap.id}?windows=2`)).json.windows).toMatchObject([
    { settled: '0' },
    { window_start: '2026-11-13T00:00:00.000Z', settled: '1' },
  ]);
});

test('returns the alerts of its windows, the latest first, and that it denied', async () => {
  const id = await budget({ scope_kind: 'org', limit_usd: '10', alert_thresholds: [50, 80] });
  const other = await budget({ scope_kind: 'org', limit_usd: '1000' });
  await own('POST', '/v1/runs', { model: 'm', cost_usd: '5' });
  world.clock.advanceSeconds(60);
  await own('POST', '/v1/runs', { model: 'm', cost_usd: '4' });
  world.clock.advanceSeconds(60);
  expect((await own('POST', '/v1/runs', { model: 'm', cost_usd: '4' })).status).toBe(402);
  await world.runJob('emit-limit-events');
  const { alerts } = (await own('GET', `limits/${id}`)).json;
  expect(alerts.map(({ threshold }: { threshold: number | null }) => threshold)).toEqual([null, 80, 50]);
  expect(alerts[0]).toEqual({
    threshold: null,
    at: world.clock.now().toISOString(),
    window_start: '2026-11-01T00:00:00.000Z',
    value: null,
  });
  expect((await own('GET', `limits/${other}`)).json.alerts).toEqual([]);
});

test('returns alerts of each value of a limit with a wildcard, and of a limit without a window', async () => {
  const each = await budget({ scope_kind: 'team', scope_id: '*', limit_usd: '1', alert_thresholds: [100] });
  await own('POST', '/v1/runs', { model: 'm', cost_usd: '1', team: 'red:blue' });
  const { json } = await own('GET', `limits/${each}`);
  expect(json).toMatchObject({
    standing: null,
    windows: [],
    alerts: [{ threshold: 100, value: 'red:blue', window_start: '2026-11-01T00:00:00.000Z' }],
  });
  const pack = (await own('POST', 'credit-packs', { customer_id: 'acme', amount_usd: '1' })).json.id;
  const spend = { model: 'm', cost_usd: '2', customer_id: 'acme' };
  expect((await own('POST', '/v1/runs', spend)).status).toBe(402);
  await world.runJob('emit-limit-events');
  expect((await own('GET', `limits/${pack}`)).json).toMatchObject({
    kind: 'credits',
    windows: [],
    alerts: [{ threshold: null, value: null, window_start: null }],
  });
});

test('a limit of another org, a deleted limit and an unknown id are not found', async () => {
  const id = await budget({ scope_kind: 'org' });
  const other = await world.createOrg();
  const theirs = await world.request('GET', `/v1/orgs/${other.id}/limits/${id}`, { key: other.ownerKey });
  expect(theirs.status).toBe(404);
  await own('DELETE', `budgets/${id}`);
  for (const gone of [id, 'bud_none']) {
    expect((await own('GET', `limits/${gone}`)).status).toBe(404);
  }
});

test.each(['-1', '61', 'x'])('rejects %s windows', async (windows) => {
  const id = await budget({ scope_kind: 'org' });
  expect((await own('GET', `limits/${id}?windows=${windows}`)).status).toBe(422);
});
