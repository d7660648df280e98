import { describe, expect, test } from 'vitest';
import { useOrgPerTest, useWorld } from '../../../../test/harness.ts';
import { errorSummary, invalid } from '../../../../test/support/limits.ts';
import { dayMs, daysOf, recordDays } from '../../../../test/support/usage-history.ts';

const world = useWorld();
const org = useOrgPerTest(world);

const daySeconds = 86_400;

async function run(body: object, of = org): Promise<void> {
  const { status } = await world.request('POST', '/v1/runs', {
    key: of.ownerKey,
    body: { model: 'm', status: 'succeeded', ...body },
  });
  expect(status).toBe(201);
}

const record = (costs: readonly (string | undefined)[], body: object = {}) =>
  recordDays(world, org, costs, body);
const get = (path: string, key = org.ownerKey) => world.request('GET', path, { key });

describe('GET /v1/forecast', () => {
  test('projects value and cost of the deployment’s runs in proportion to the teams', async () => {
    await run({ deployment: 'd', team: 'a', cost_usd: '1', value_usd: '3' });
    await run({ deployment: 'd', team: 'a', cost_usd: '0.5', value_usd: '0' });
    await run({ deployment: 'd', team: 'b', cost_usd: '0.5', value_usd: '1' });
    await run({ deployment: 'other', team: 'c', cost_usd: '100', value_usd: '100' });
    await run({ deployment: 'd', team: 'z', cost_usd: '100' }, await world.createOrg());

    const { status, json } = await get('/v1/forecast?deployment=d&teams=5');
    expect(status).toBe(200);
    expect(json).toEqual({
      deployment: 'd',
      teams: 5,
      value_usd: '10',
      cost_usd: '5',
      return_usd: '5',
      per_team: { value_usd: '2', cost_usd: '1', return_usd: '1' },
      teams_observed: 2,
      history: {
        from: expect.any(String),
        to: expect.any(String),
        runs: 3,
        value_usd: '4',
        cost_usd: '2',
        return_usd: '2',
      },
    });
    expect(Date.parse(json.history.to) - Date.parse(json.history.from)).toBe(30 * daySeconds * 1_000);
  });

  test('the forecast of capacity is exact, rounds once, and can be a loss', async () => {
    await run({ deployment: 'd', team: 'a', cost_usd: '0.000000001' });
    await run({ deployment: 'd', team: 'b', cost_usd: '1' });
    await run({ deployment: 'd', team: 'c', cost_usd: '0' });
    const { json } = await get('/v1/forecast?deployment=d&teams=2');
    // Two of three teams: two thirds of 1.000000001.
    expect([json.value_usd, json.cost_usd, json.return_usd]).toEqual(['0', '0.666666667', '-0.666666667']);
    expect(json.per_team.cost_usd).toBe('0.333333334');
  });

  test('spreads runs without a team over the existing teams; without any team they count as one', async () => {
    await run({ deployment: 'd', cost_usd: '1' });
    const alone = (await get('/v1/forecast?deployment=d&teams=3')).json;
    expect([alone.teams_observed, alone.cost_usd]).toEqual([1, '3']);
    await run({ deployment: 'd', team: 'a', cost_usd: '1' });
    await run({ deployment: 'd', team: 'b', cost_usd: '2' });
    const shared = (await get('/v1/forecast?deployment=d&teams=3')).json;
    expect([shared.teams_observed, shared.cost_usd]).toEqual([2, '6']);
  });

  test('looks back 30 days; a deployment without runs is all zeros', async () => {
    await run({ deployment: 'd', team: 'a', cost_usd: '1' });
    world.clock.advanceSeconds(29 * daySeconds);
    expect((await get('/v1/forecast?deployment=d&teams=1')).json.cost_usd).toBe('1');
    world.clock.advanceSeconds(2 * daySeconds);
    const { status, json } = await get('/v1/forecast?deployment=d&teams=7');
    const zeros = { value_usd: '0', cost_usd: '0', return_usd: '0' };
    expect([status, json]).toMatchObject([200, { ...zeros, per_team: zeros, teams_observed: 0 }]);
    expect(json.history).toMatchObject({ runs: 0, ...zeros });
  });

  test.each([
    ['', 'deployment required', 'teams required'],
    ['?deployment=&teams=1', 'deployment empty'],
    ['?deployment=d&teams=0', 'teams out_of_range'],
    ['?deployment=d&teams=1000001', 'teams out_of_range'],
    ['?deployment=d&teams=1.5', 'teams invalid_type'],
    ['?deployment=%00&teams=x', 'deployment invalid_value', 'teams invalid_type'],
    ['?deployment=d&teams=1&curve=s', 'curve unknown_field'],
  ])('rejects %s', async (query, ...faults) => {
    expect(errorSummary(await get(`/v1/forecast${query}`))).toEqual(invalid(...faults));
  });
});

describe('GET /v1/capacity/forecasts', () => {
  test('continues the weekly pattern, in days of the organization’s time zone', async () => {
    await world.request('PATCH', `/v1/orgs/${org.id}`, {
      key: org.ownerKey,
      body: { timezone: 'Pacific/Auckland' },
    });
    // A day without runs belongs to the history too.
    await record(
      daysOf(50, (day) => (day === 2 ? undefined : day % 7 >= 5 ? '1' : '10')),
      { deployment: 'd' },
    );
    const today = new Intl.DateTimeFormat('en-CA', { timeZone: 'Pacific/Auckland' }).format(
      world.clock.now(),
    );
    const { status, json } = await get('/v1/capacity/forecasts?horizon_days=14');
    expect([status, json.quality, json.timezone, json.coverage]).toEqual([
      200,
      'fair',
      'Pacific/Auckland',
      0.8,
    ]);
    expect(json.history).toMatchObject({ days: 50, runs: 49, tokens: 4_900 });
    expect([json.days.length, json.days[0].date]).toEqual([14, today]);
    expect(Date.parse(json.days[13].date) - Date.parse(today)).toBe(13 * dayMs);
    // Today is day 50, so days 54 and 55 are the next weekend.
    const costs = json.days.map((day: { cost_usd: { expected: string } }) => Number(day.cost_usd.expected));
    expect(costs.slice(0, 7).map((cost: number) => cost < 5)).toEqual([
      false,
      false,
      false,
      false,
      true,
      true,
      false,
    ]);
    for (const { runs, cost_usd } of json.days) {
      expect(runs.low).toBeLessThanOrEqual(runs.expected);
      expect(runs.high).toBeGreaterThanOrEqual(runs.expected);
      expect(Number(cost_usd.low)).toBeLessThanOrEqual(Number(cost_usd.expected));
    }
    const sum = costs.reduce((a: number, b: number) => a + b, 0);
    expect(Number(json.total.cost_usd)).toBeCloseTo(sum, 4);
    expect(json.total_band.cost_usd.expected).toBe(json.total.cost_usd);
    expect(Number(json.total_band.cost_usd.high)).toBeGreaterThanOrEqual(sum);

    const elsewhere = (await get('/v1/capacity/forecasts?deployment=other')).json;
    expect([elsewhere.history.days, elsewhere.quality]).toEqual([0, 'none']);
    const only = (await get('/v1/capacity/forecasts?deployment=d&horizon_days=14')).json;
    expect(only).toEqual({ ...json, deployment: 'd' });
  });

  test('excludes today from the history, and returns nothing without history', async () => {
    await run({ cost_usd: '5' });
    const { status, json } = await get('/v1/capacity/forecasts');
    expect(status).toBe(200);
    expect(json).toMatchObject({
      deployment: null,
      horizon_days: 30,
      method: 'none',
      quality: 'none',
      history: { from: null, to: null, days: 0, runs: 0, tokens: 0, cost_usd: '0' },
      total: { cost_usd: '0', runs: 0, tokens: 0 },
    });
    expect(json.days).toHaveLength(30);
    expect(json.days[0].cost_usd).toEqual({ expected: '0', low: null, high: null });
  });

  test('reads at most 180 days', async () => {
    await record(daysOf(200, (day) => (day === 19 ? '900' : day === 20 ? '3' : undefined)));
    const { json } = await get('/v1/capacity/forecasts');
    expect(json.history).toMatchObject({ days: 180, runs: 1, cost_usd: '3' });
    expect(json.quality).toBe('good');
  });

  test('returns 404 for an unknown scenario', async () => {
    expect(errorSummary(await get('/v1/capacity/forecasts?scenario=growth'))).toEqual([404, 'not_found']);
  });

  test.each([
    ['?horizon_days=0', 'horizon_days out_of_range'],
    ['?horizon_days=366', 'horizon_days out_of_range'],
    ['?deployment=', 'deployment empty'],
    ['?teams=1', 'teams unknown_field'],
  ])('rejects %s', async (query, fault) => {
    expect(errorSummary(await get(`/v1/capacity/forecasts${query}`))).toEqual(invalid(fault));
  });
});
