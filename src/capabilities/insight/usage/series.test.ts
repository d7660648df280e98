/** Usage over time by the most expensive values, the values in use, and usage of runs without a value. */
import { beforeAll, describe, expect, test } from 'vitest';
import { useOrg, useWorld } from '../../../../test/harness.ts';

const world = useWorld();
const org = useOrg(world);
beforeAll(async () => {
  const timezone = 'America/New_York';
  await world.request('PATCH', `/v1/orgs/${org.id}`, { key: org.ownerKey, body: { timezone } });
  const runs = [
    // 23:30 on 9 November in New York.
    { started_at: '2026-11-10T04:30:00Z', model: 'a', cost_usd: '5', team: 'web', latency_ms: 100 },
    { started_at: '2026-11-10T05:30:00Z', model: 'b', cost_usd: '3', team: 'web', latency_ms: 200 },
    { started_at: '2026-11-10T06:30:00Z', model: 'c', cost_usd: '2', status: 'failed', input_tokens: 7 },
    { started_at: '2026-11-12T12:00:00Z', model: 'd', cost_usd: '1', tags: { env: 'live' }, value_usd: '4' },
    { started_at: '2026-11-12T12:00:00Z', model: 'a', cost_usd: '0.5', tags: { env: 'test' } },
  ];
  const answer = await world.request('POST', '/v1/runs/bulk?enforcement=record', {
    key: org.ownerKey,
    body: { runs },
  });
  expect(answer.status).toBe(201);
  const foreign = await world.createOrg();
  await world.request('POST', '/v1/runs', { key: foreign.ownerKey, body: { model: 'x', cost_usd: '9' } });
});

const get = (path: string) => world.request('GET', `/v1/orgs/${org.id}/usage${path}`, { key: org.ownerKey });
const week = 'from=2026-11-09T00:00:00-05:00&to=2026-11-13T00:00:00-05:00';
type Point = { readonly cost_usd: string } | null;
const costs = (points: readonly Point[]) => points.map((point) => point && Number(point.cost_usd));

describe('a series', () => {
  test('exists for the most expensive values, all others and runs without a value', async () => {
    const { json } = await get(`/series?group_by=model&top=2&${week}`);
    expect(json).toMatchObject({
      timezone: 'America/New_York',
      interval: 'day',
      points: ['2026-11-09', '2026-11-10', '2026-11-11', '2026-11-12'],
    });
    const seen = (answer: { series: { kind: string; value: string | null; points: Point[] }[] }) =>
      answer.series.map(({ kind, value, points }) => [kind, value, costs(points)]);
    expect(seen(json)).toEqual([
      ['value', 'a', [5, null, null, 0.5]],
      ['value', 'b', [null, 3, null, null]],
      ['other', null, [null, 2, null, 1]],
    ]);
    expect(seen((await get(`/series?group_by=team&${week}`)).json)).toEqual([
      ['value', 'web', [5, 3, null, null]],
      ['unset', null, [null, 2, null, 1.5]],
    ]);
    expect(seen((await get(`/series?group_by=tag:env&top=1&${week}`)).json)).toEqual([
      ['value', 'live', [null, null, null, 1]],
      ['other', null, [null, null, null, 0.5]],
      ['unset', null, [5, 5, null, null]],
    ]);
    expect(seen((await get(`/series?${week}`)).json)).toEqual([['all', null, [5, 5, null, 1.5]]]);
  });

  test('a usage series has the sums of each point, and the latency if requested', async () => {
    const { json } = await get(`/series?interval=month&latency=true&${week}`);
    expect(json.points).toEqual(['2026-11']);
    expect(json.series[0].points[0]).toMatchObject({
      runs: 5,
      failed_runs: 1,
      input_tokens: 7,
      output_tokens: 0,
      cost_usd: '11.5',
      value_usd: '4',
    });
    expect(json.series[0].points[0].latency_p95_ms).toBeGreaterThan(150);
    const without = await get(`/series?${week}`);
    expect(without.json.series[0].points[0]).not.toHaveProperty('latency_p95_ms');
  });

  test('takes the filters of usage', async () => {
    const { json } = await get(`/series?group_by=model&team=web&${week}`);
    expect(json.series.map(({ value }: { value: string }) => value)).toEqual(['a', 'b']);
    expect((await get('/series?from=2026-01-01T00:00:00Z&to=2026-01-02T00:00:00Z')).json.series).toEqual([]);
  });

  test.each([
    ['group_by=day', 'group_by'],
    ['group_by=colour', 'group_by'],
    ['group_by=model,team', 'group_by'],
    ['interval=hour&from=2026-10-01T00:00:00Z&to=2026-11-01T00:00:00Z', 'interval'],
    ['interval=week', 'interval'],
    ['top=0', 'top'],
    ['top=21', 'top'],
    ['from=2026-11-02T00:00:00Z&to=2026-11-01T00:00:00Z', 'to'],
    ['cursor=x', 'cursor'],
  ])('%s is rejected', async (query, field) => {
    const { status, json } = await get(`/series?${query}`);
    expect([status, json.error.details.fields[0].field]).toEqual([422, field]);
  });
});

describe('the values in use', () => {
  test('the values in use are those of the runs of the period, by cost', async () => {
    const { json } = await get(`/values?${week}&limit=3`);
    expect(json.fields.model).toEqual({ values: ['a', 'b', 'c'], more: true });
    expect(json.fields.team).toEqual({ values: ['web'], more: false });
    expect(json.fields.customer_id).toEqual({ values: [], more: false });
    expect(json.tags).toEqual({ env: { values: ['live', 'test'], more: false } });
    expect([json.from, json.to]).toEqual(['2026-11-09T00:00:00.000Z', '2026-11-14T00:00:00.000Z']);
    const early = await get('/values?from=2026-11-01T00:00:00Z&to=2026-11-02T00:00:00Z');
    expect([early.json.fields.model.values, early.json.tags]).toEqual([[], {}]);
  });

  test('a limit that is too large is rejected', async () => {
    expect((await get('/values?limit=201')).json.error.details.fields[0].field).toBe('limit');
  });
});

describe('usage of runs without a value', () => {
  const runsIn = async (query: string) => (await get(`?${week}&${query}`)).json.total.runs;

  test.each([
    ['without=team', 3],
    ['without=team,tag:env', 1],
    ['without=tag:env', 3],
    ['without=customer_id,team&model=a', 1],
  ])('%s', async (query, expected) => {
    expect(await runsIn(query)).toBe(expected);
  });

  test.each(['model', 'colour', 'action', 'tag:', 'team&team=web'])(
    'usage without=%s is rejected',
    async (without) => {
      const { status, json } = await get(`?without=${without}`);
      expect([status, json.error.details.fields[0].field]).toEqual([422, 'without']);
    },
  );

  test('usage of runs without a value is the same in FOCUS columns', async () => {
    const rowsIn = async (query: string) => {
      const { text } = await get(`/focus?${week}&${query}`);
      return text.trim().split('\r\n').length - 1;
    };
    expect(await rowsIn('without=team,tag:env')).toBe(1);
    expect(await rowsIn('team=web')).toBe(2);
  });
});
