import { describe, expect, test } from 'vitest';
import { chartAnswers, chartDays } from '../../../../scripts/forecast-chart.ts';
import { useOrgPerTest, useWorld } from '../../../../test/harness.ts';
import { exampleWeeks } from '../../../../test/support/forecast-example.ts';
import { errorSummary, invalid } from '../../../../test/support/limits.ts';
import { dayMs, daysOf, recordDays, recordRuns } from '../../../../test/support/usage-history.ts';
import { scenariosPerOrgMax } from './scenario-schema.ts';

const world = useWorld();
const org = useOrgPerTest(world);

const scenarios = (method: string, path = '', body?: object) =>
  world.request(method, `/v1/orgs/${org.id}/capacity-scenarios${path}`, {
    key: org.ownerKey,
    ...(body !== undefined && { body }),
  });
const create = async (name: string, changes: object) =>
  (await scenarios('POST', '', { name, changes })).json.id as string;
const capacity = async (query = '') =>
  (await world.request('GET', `/v1/capacity/forecasts${query}`, { key: org.ownerKey })).json;
const cost = async (query = '') => Number((await capacity(query)).total.cost_usd);

describe('scenarios', () => {
  test('capacity scenarios can be created, read, listed, updated and deleted, with audit entries', async () => {
    const made = await scenarios('POST', '', { name: 'Grow', changes: { growth_percent_per_month: 10 } });
    expect(made.status).toBe(201);
    expect(made.json).toMatchObject({
      id: expect.stringMatching(/^scn_/),
      name: 'Grow',
      description: null,
      changes: { growth_percent_per_month: 10 },
    });
    const path = `/${made.json.id}`;
    expect((await scenarios('GET', path)).json).toEqual(made.json);
    const other = await create('Another', {});
    expect((await scenarios('GET', '?sort=name')).json.data.map(({ id }: { id: string }) => id)).toEqual([
      other,
      made.json.id,
    ]);
    expect((await scenarios('GET', '?name=Grow')).json.data).toEqual([made.json]);
    const changed = await scenarios('PATCH', path, { description: 'b', changes: { teams: 2 } });
    expect(changed.json).toMatchObject({ name: 'Grow', description: 'b', changes: { teams: 2 } });
    expect((await scenarios('PATCH', path, { description: null })).json.description).toBeNull();
    expect((await scenarios('DELETE', path)).status).toBe(204);
    expect(errorSummary(await scenarios('GET', path))).toEqual([404, 'not_found']);
    expect(errorSummary(await scenarios('DELETE', path))).toEqual([404, 'not_found']);
    const entries = await world.db.query<{ action: string }>(
      `SELECT action FROM audit_log WHERE tenant_id = $1 AND action LIKE 'capacity_scenarios.%' ORDER BY seq`,
      [org.id],
    );
    expect(entries.map(({ action }) => action.replace('capacity_scenarios.', ''))).toEqual([
      'create',
      'create',
      'change',
      'change',
      'delete',
    ]);
  });

  test('capacity scenarios have unique names, also under concurrent creation, and a maximum number', async () => {
    const both = await Promise.all([
      scenarios('POST', '', { name: 'a', changes: {} }),
      scenarios('POST', '', { name: 'a', changes: {} }),
    ]);
    expect(both.map(({ status }) => status).sort()).toEqual([201, 409]);
    const other = await create('b', {});
    expect(errorSummary(await scenarios('PATCH', `/${other}`, { name: 'a' }))).toEqual([409, 'conflict']);
    for (let count = 2; count < scenariosPerOrgMax; count += 1) {
      await create(`n${count}`, {});
    }
    expect(errorSummary(await scenarios('POST', '', { name: 'one more', changes: {} }))).toEqual([
      409,
      'conflict',
    ]);
  });

  test.each([
    [{ changes: {} }, 'name required'],
    [{ name: 'a' }, 'changes required'],
    [{ name: 'a', changes: { teams: 0 } }, 'changes.teams out_of_range'],
    [{ name: 'a', changes: { speed: 1 } }, 'changes.speed unknown_field'],
    [
      { name: 'a', changes: { growth_percent_per_month: 1_001 } },
      'changes.growth_percent_per_month out_of_range',
    ],
    [
      { name: 'a', changes: { price_changes: [{ percent: 1, from: '2026-02-30' }] } },
      'changes.price_changes[0].from invalid_format',
    ],
    [
      {
        name: 'a',
        changes: { seasonality: { periods: [{ from: '2026-02-02', to: '2026-02-01', percent: 1 }] } },
      },
      'changes.seasonality.periods[0].to out_of_range',
    ],
    [
      { name: 'a', changes: { new_deployment: { name: 'd', daily_cost_usd: '1e3' } } },
      'changes.new_deployment.daily_cost_usd invalid_format',
    ],
  ])('reject %j', async (body, fault) => {
    expect(errorSummary(await scenarios('POST', '', body))).toEqual(invalid(fault));
  });
});

describe('a forecast with a scenario', () => {
  test('a forecast with a scenario is returned beside the one without, by id or by name', async () => {
    await recordDays(
      world,
      org,
      daysOf(60, () => '10'),
    );
    const id = await create('Twice the teams', { teams: 2 });
    const plain = await capacity();
    expect([plain.scenario, plain.baseline]).toEqual([null, null]);
    const json = await capacity(`?scenario=${id}`);
    expect(json.scenario).toEqual({
      id,
      name: 'Twice the teams',
      changes: { teams: 2 },
      unpriced_models: [],
    });
    expect(json.baseline.total).toEqual(plain.total);
    expect(json.baseline.days).toEqual(plain.days);
    // Without team names all runs belong to one team.
    expect([json.total.cost_usd, json.total.runs]).toEqual(['600', 60]);
    expect(await capacity('?scenario=Twice%20the%20teams')).toEqual(json);
    const foreign = await world.createOrg();
    const theirs = await world.request('GET', `/v1/capacity/forecasts?scenario=${id}`, {
      key: foreign.ownerKey,
    });
    expect(errorSummary(theirs)).toEqual([404, 'not_found']);
  });

  test('runs without tokens, which have no price, do not become free when moved', async () => {
    await recordDays(
      world,
      org,
      daysOf(30, () => '7'),
      { model: 'flat', input_tokens: 0, output_tokens: 0 },
    );
    await create('flat', { model_mix: [{ from_model: 'flat', to_model: 'gpt-4o-mini', percent: 50 }] });
    const flat = await capacity('?scenario=flat');
    expect([flat.scenario.unpriced_models, flat.total.cost_usd]).toEqual([['gpt-4o-mini'], '210']);
  });

  test('prices, a mix of models, a season and a new deployment change the cost', async () => {
    await recordDays(
      world,
      org,
      daysOf(30, () => '10'),
      { model: 'gpt-4o', input_tokens: 1_000_000, output_tokens: 0 },
    );
    await recordDays(
      world,
      org,
      daysOf(30, () => '2'),
      { model: 'own', deployment: 'd', input_tokens: 1_000_000, output_tokens: 0 },
    );
    expect(await cost()).toBeCloseTo(360, 6);
    await create('dearer', { price_changes: [{ model: 'gpt-4o', percent: 10 }] });
    expect(await cost('?scenario=dearer')).toBeCloseTo(390, 6);
    expect(await cost('?scenario=dearer&deployment=d')).toBeCloseTo(60, 6);
    // Half of the tokens at the cost per million of `own`, which has no price but a history: 5 + 1 instead of 10.
    await create('mix', { model_mix: [{ from_model: 'gpt-4o', to_model: 'own', percent: 50 }] });
    expect(await cost('?scenario=mix')).toBeCloseTo(240, 6);
    // All tokens at the price of `gpt-4o-mini`, $0.15 per million.
    await create('mini', { model_mix: [{ from_model: 'gpt-4o', to_model: 'gpt-4o-mini', percent: 100 }] });
    expect(await cost('?scenario=mini')).toBeCloseTo(30 * 2.15, 4);
    await create('nobody', { model_mix: [{ from_model: 'gpt-4o', to_model: 'nowhere', percent: 50 }] });
    const unknown = await capacity('?scenario=nobody');
    expect([unknown.scenario.unpriced_models, unknown.total.cost_usd]).toEqual([['nowhere'], '360']);
    await create('closed', {
      seasonality: { periods: [{ from: '2026-11-15', to: '2026-11-19', percent: 0 }] },
    });
    expect(await cost('?scenario=closed')).toBeCloseTo(300, 6);
    await create('new', { new_deployment: { name: 'n', daily_cost_usd: '5', daily_runs: 3 } });
    const added = await capacity('?scenario=new&horizon_days=10');
    expect([Number(added.total.cost_usd), added.total.runs]).toEqual([170, 50]);
    // The new deployment is not part of another deployment's forecast, and is all of its own forecast.
    expect(await cost('?scenario=new&deployment=d&horizon_days=10')).toBeCloseTo(20, 6);
    expect(await cost('?scenario=new&deployment=n&horizon_days=10')).toBeCloseTo(50, 6);
  });
});

describe('teams', () => {
  /**
   * Records 26 weeks with one run per team: `teamsOf` returns the number of teams of a week, `value` their total value.
   */
  async function recordTeams(value: (teams: number) => number, teamsOf: (week: number) => number) {
    const startMs = Math.floor(world.clock.now().getTime() / dayMs) * dayMs - 26 * 7 * dayMs;
    const runs = Array.from({ length: 26 }, (_, week) =>
      Array.from({ length: teamsOf(week) }, (_, team) => ({
        model: 'm',
        status: 'succeeded',
        deployment: 'd',
        team: `team ${team}`,
        cost_usd: '10',
        value_usd: (value(teamsOf(week)) / teamsOf(week)).toFixed(6),
        started_at: new Date(startMs + (week * 7 + 3) * dayMs).toISOString(),
      })),
    ).flat();
    await recordRuns(world, org, runs);
  }

  test('the curve shows up to which count another team pays off, with a confidence', async () => {
    await recordTeams(
      (teams) => 100 * Math.sqrt(teams),
      (week) => 2 + Math.floor(week / 3),
    );
    const { teams } = await capacity('?deployment=d&horizon_days=7');
    expect(teams).toMatchObject({ observed: 10, cost_per_team_usd: '10' });
    expect(teams.curve).toMatchObject({ family: 'power', weeks: 26, team_counts: 9, quality: 'good' });
    expect(teams.curve.elasticity).toBeCloseTo(0.5, 1);
    expect(teams.curve.r_squared).toBeGreaterThan(0.99);
    // The 25th team adds 100 (√25 - √24) = 10.1, the 26th adds 100 (√26 - √25) = 9.9; a team costs 10.
    expect(teams.pays_up_to.expected).toBeGreaterThanOrEqual(23);
    expect(teams.pays_up_to.expected).toBeLessThanOrEqual(28);
    expect(teams.pays_up_to.low).toBeLessThanOrEqual(25);
    expect(teams.pays_up_to.high).toBeGreaterThanOrEqual(25);
    const best = teams.points.reduce((a: { return_usd: string }, b: { return_usd: string }) =>
      Number(b.return_usd) > Number(a.return_usd) ? b : a,
    );
    expect(Math.abs(best.teams - teams.pays_up_to.expected)).toBeLessThanOrEqual(2);
    for (const point of teams.points) {
      expect(Number(point.return_low_usd)).toBeLessThanOrEqual(Number(point.return_usd));
      expect(Number(point.return_high_usd)).toBeGreaterThanOrEqual(Number(point.return_usd));
    }
    // At twice the cost fewer teams pay off: 100 (√n - √(n-1)) is 20 at n = 6.5.
    await create('dearer', { price_changes: [{ percent: 100 }] });
    const dearer = (await capacity('?deployment=d&horizon_days=7&scenario=dearer')).teams;
    expect(dearer.cost_per_team_usd).toBe('20');
    expect(dearer.pays_up_to.expected).toBeGreaterThanOrEqual(6);
    expect(dearer.pays_up_to.expected).toBeLessThanOrEqual(8);
    // A plan with more teams at the same prices does not change the number of teams that pay off.
    await create('plan', { teams: 40 });
    const planned = (await capacity('?deployment=d&horizon_days=7&scenario=plan')).teams;
    expect(planned.pays_up_to).toEqual(teams.pays_up_to);
    expect(planned.points.at(-1).teams).toBe(40);
  });

  test('counts the teams of the last weeks, however many there were in the weeks before', async () => {
    await recordTeams(
      (teams) => 100 * teams,
      (week) => (week < 22 ? 1 : 3),
    );
    const fourWeeksAgo = new Date(world.clock.now().getTime() - 29 * dayMs);
    await world.db.query(
      `INSERT INTO usage_days SELECT added.* FROM usage_days AS used, generate_series(1, 500) AS n,
         LATERAL jsonb_populate_record(used, jsonb_build_object('digest', used.digest || n, 'team', 'more ' || n)) AS added
        WHERE used.org_id = $1 AND used.day < $2`,
      [org.id, fourWeeksAgo],
    );
    const { teams } = await capacity('?deployment=d&horizon_days=7');
    expect(teams).toMatchObject({ observed: 3, curve: { weeks: 26, team_counts: 2 } });
  });

  test('the chart of the guide matches the responses of the two routes', async () => {
    const startMs = Math.floor(world.clock.now().getTime() / dayMs) * dayMs - 26 * 7 * dayMs;
    const runs = exampleWeeks().flatMap(({ teams, valueUsd, costUsd }, week) =>
      Array.from({ length: teams }, (_, team) => ({
        model: 'm',
        status: 'succeeded',
        deployment: 'd',
        team: `team ${team}`,
        cost_usd: (costUsd / teams).toFixed(2),
        value_usd: (valueUsd / teams).toFixed(2),
        started_at: new Date(startMs + (week * 7 + 3) * dayMs).toISOString(),
      })),
    );
    await recordRuns(world, org, runs);
    const drawn = chartAnswers();
    expect((await capacity(`?deployment=d&horizon_days=${chartDays}`)).teams).toEqual(drawn.teams);
    for (const { teams, returnUsd } of drawn.linear) {
      const { json } = await world.request('GET', `/v1/forecast?deployment=d&teams=${teams}`, {
        key: org.ownerKey,
      });
      expect(Number(json.return_usd)).toBeCloseTo(returnUsd, 6);
    }
    // At twice the observed number of teams, the linear forecast is far above the upper bound of the curve.
    const [last, line] = [drawn.teams.points.at(-1), drawn.linear.at(-1)];
    expect(line?.returnUsd).toBeGreaterThan(1.5 * Number(last?.return_high_usd));
  });

  test('without variation of the team count the curve is the prior, and the response shows it', async () => {
    await recordTeams(
      () => 100,
      () => 3,
    );
    const { curve, pays_up_to, observed } = (await capacity()).teams;
    expect(observed).toBe(3);
    expect(curve).toMatchObject({ team_counts: 1, r_squared: null, prior_weight: 1, quality: 'low' });
    expect(pays_up_to.high === null || pays_up_to.high > 5 * pays_up_to.low).toBe(true);
  });

  test('without value of the runs there is no curve, and without history nothing', async () => {
    const none = { observed: 0, cost_per_team_usd: '0', curve: null, pays_up_to: null, points: [] };
    expect((await capacity()).teams).toEqual(none);
    await recordDays(
      world,
      org,
      daysOf(7, () => '10'),
    );
    expect((await capacity('?horizon_days=7')).teams).toEqual({
      ...none,
      observed: 1,
      cost_per_team_usd: '70',
    });
  });
});
