import { beforeEach, expect, test } from 'vitest';
import { type TestOrg, useOrg, useWorld } from '../../../../test/harness.ts';
import { errorSummary, invalid, recordedOf } from '../../../../test/support/limits.ts';

const floor = 3;
const world = useWorld({ SVC_BENCHMARK_K_FLOOR: String(floor) });
const reader = useOrg(world);
let industries = 0;
/** A different industry for each test, so that tests do not affect each other. */
let industry: string;
beforeEach(() => {
  industries += 1;
  industry = `industry ${industries}`;
});

const call = (org: TestOrg, method: string, path: string, body?: object) =>
  world.request(method, path, { key: org.ownerKey, ...(body !== undefined && { body }) });
const takePart = (org: TestOrg, body: object) =>
  call(org, 'PUT', `/v1/orgs/${org.id}/benchmark-participation`, body);
const run = (org: TestOrg, body: object) =>
  call(org, 'POST', '/v1/runs', { model: 'm', cost_usd: '1', ...body });

async function contributor(runs: readonly object[], more: object = {}): Promise<TestOrg> {
  const org = await world.createOrg();
  const { status } = await call(org, 'POST', '/v1/runs/bulk', {
    runs: runs.map((body) => ({ model: 'm', cost_usd: '1', ...body })),
  });
  expect(status).toBe(201);
  expect((await takePart(org, { enabled: true, industry, ...more })).status).toBe(200);
  return org;
}

const contributors = (costs: readonly string[], more: object = {}) =>
  Promise.all(costs.map((cost_usd) => contributor([{ cost_usd }], more)));

async function cohort(criteria: object = { industry }, org = reader): Promise<string> {
  const { status, json } = await call(org, 'POST', '/v1/benchmarks/cohorts', { name: 'c', criteria });
  expect(status).toBe(201);
  return json.id;
}

const read = (id: string, org = reader) => call(org, 'GET', `/v1/benchmarks/cohorts/${id}`);
const tooFew = [400, 'insufficient_cohort_size'];

test('an organization does not participate until it opts in', async () => {
  const org = await world.createOrg();
  const path = `/v1/orgs/${org.id}/benchmark-participation`;
  const nothing = { enabled: false, industry: null, size_band: null, updated_at: null };
  expect((await call(org, 'GET', path)).json).toEqual(nothing);
  const { json } = await takePart(org, { enabled: true, industry: ' Software ', size_band: '50-200' });
  const set = {
    enabled: true,
    industry: 'software',
    size_band: '50-200',
    updated_at: world.clock.now().toISOString(),
  };
  expect(json).toEqual(set);
  expect((await call(org, 'GET', path)).json).toEqual(set);
  const { json: left } = await takePart(org, { enabled: false, industry: null, size_band: null });
  expect(left).toMatchObject({ enabled: false, industry: null, size_band: null });
  const { entries } = await recordedOf(world, org.id);
  const put = {
    action: 'benchmark_participation.put',
    target_kind: 'benchmark_participation',
    target_id: org.id,
  };
  expect(entries).toEqual([
    { ...put, before: nothing, after: set },
    { ...put, before: set, after: left },
  ]);
});

test('lists only the organization’s own cohorts', async () => {
  const org = await world.createOrg();
  const id = await cohort({ industry: 'A', size_band: 'b' }, org);
  const { json } = await call(org, 'GET', '/v1/benchmarks/cohorts');
  expect(json).toEqual({
    data: [
      {
        id: expect.stringMatching(/^coh_/),
        name: 'c',
        criteria: { industry: 'a', size_band: 'b' },
        created_at: world.clock.now().toISOString(),
      },
    ],
    next_cursor: null,
  });
  expect((await call(reader, 'GET', '/v1/benchmarks/cohorts?limit=200')).json.data).not.toContainEqual(
    expect.objectContaining({ id }),
  );
  expect(errorSummary(await read(id))).toEqual([404, 'not_found']);
});

test('returns quartiles with equal weight per organization, and the caller’s position', async () => {
  await contributor(
    Array.from({ length: 9 }, () => ({
      cost_usd: '0.001',
      latency_ms: 100,
      input_tokens: 300,
      output_tokens: 100,
    })),
  );
  const [mine] = await Promise.all([
    contributor([
      {
        cost_usd: '0.2',
        latency_ms: 400,
        input_tokens: 100,
        output_tokens: 50,
        status: 'failed',
        model: 'n',
      },
      { cost_usd: '0.4', latency_ms: 400, input_tokens: 100, output_tokens: 50 },
    ]),
    // An org with very many runs and very high costs counts like any other.
    contributor(
      Array.from({ length: 200 }, () => ({
        cost_usd: '1000',
        latency_ms: 60_000,
        input_tokens: 10,
        output_tokens: 90,
      })),
    ),
  ]);
  const { status, json } = await read(await cohort({ industry }, mine), mine);
  expect(status).toBe(200);
  expect(json).toMatchObject({
    criteria: { industry, size_band: null },
    release: { week: '2026-11-09', from: '2026-11-02T00:00:00.000Z', until: '2026-11-16T00:00:00.000Z' },
    contributing_orgs: 3,
    minimum_cohort_size: floor,
    metrics: {
      cost_per_run_usd: { q1: '0.15', median: '0.3', q3: '500', own: '0.3', own_quarter: 2 },
      cost_per_1k_tokens_usd: { median: '2', own: '2', own_quarter: 2 },
      output_ratio: { median: 0.5, own: 0.5 },
      failure_rate: { q1: 0, median: 0, q3: 0.25, own: 0.5, own_quarter: 4 },
      latency_p50_ms: { median: expect.closeTo(400, -2) },
    },
    model_mix: [{ model: 'm', share: 0.83, own_share: 0.5 }],
  });
  // An org that does not participate can read the cohort, but has no figures of its own.
  const { json: others } = await read(await cohort());
  expect(others.metrics.cost_per_run_usd).toEqual({
    q1: '0.15',
    median: '0.3',
    q3: '500',
    own: null,
    own_quarter: null,
  });
});

test('applies the minimum to current contributors, whatever was returned before', async () => {
  const id = await cohort();
  const [first, second] = await contributors(['1', '2']);
  expect(errorSummary(await read(id))).toEqual(tooFew);
  expect((await read(id)).json.error.details).toEqual({ minimum_cohort_size: floor });
  // An org that participates but has no runs does not contribute.
  const idle = await world.createOrg();
  await takePart(idle, { enabled: true, industry });
  expect(errorSummary(await read(id))).toEqual(tooFew);
  await run(idle, {});
  expect((await read(id)).json.contributing_orgs).toBe(3);
  await world.request('POST', `/v1/admin/orgs/${second?.id}/suspend`, { key: world.operatorKey });
  expect(errorSummary(await read(id))).toEqual(tooFew);
  await world.request('POST', `/v1/admin/orgs/${second?.id}/reinstate`, { key: world.operatorKey });
  expect((await read(id)).status).toBe(200);
  await takePart(first as TestOrg, { enabled: false });
  expect(errorSummary(await read(id))).toEqual(tooFew);
  expect(errorSummary(await read(await cohort()))).toEqual(tooFew);
});

test('usage during the week does not change an organization’s figures', async () => {
  const orgs = await contributors(['1', '2', '3']);
  const id = await cohort();
  const before = (await read(id)).json.metrics;
  await run(orgs[0] as TestOrg, { cost_usd: '1000000' });
  await takePart(orgs[0] as TestOrg, { enabled: true, industry: 'elsewhere' });
  expect((await read(id)).json.metrics).toEqual(before);
  world.clock.advanceSeconds(7 * 86_400);
  await Promise.all(orgs.map((org) => run(org, { cost_usd: '7' })));
  expect(errorSummary(await read(id))).toEqual(tooFew);
  await contributors(['7']);
  expect((await read(id)).json).toMatchObject({
    contributing_orgs: 3,
    release: { week: '2026-11-16' },
  });
});

test('deletes the figures of an organization that leaves, which cannot return in the same week', async () => {
  const orgs = await contributors(['1', '2', '3']);
  const id = await cohort();
  expect((await read(id)).status).toBe(200);
  const leaver = orgs[1] as TestOrg;
  await takePart(leaver, { enabled: false });
  const rows = await world.db.query('SELECT figures FROM benchmark_members WHERE org_id = $1', [leaver.id]);
  expect(rows).toEqual([{ figures: null }]);
  await takePart(leaver, { enabled: true, industry });
  expect(errorSummary(await read(id))).toEqual(tooFew);
  // New participants do not bring back the rest of the leaver's block: the difference would reveal its figures.
  await contributors(['4', '5']);
  expect(errorSummary(await read(id))).toEqual(tooFew);
  await contributors(['6']);
  expect((await read(id)).json.contributing_orgs).toBe(3);
});

test('concurrent reads form the same blocks', async () => {
  await contributors(['1', '2', '3', '4', '5', '6', '7']);
  const id = await cohort();
  const answers = await Promise.all(Array.from({ length: 6 }, () => read(id)));
  for (const { status, text } of answers) {
    expect([status, text]).toEqual([200, answers[0]?.text]);
  }
  expect(answers[0]?.json.contributing_orgs).toBe(7);
});

/** Creates an organization with ten runs, of which this many use the model `x`. */
const using = (times: number) =>
  contributor(Array.from({ length: 10 }, (_, i) => ({ model: i < times ? 'x' : 'y' })));

test('the difference of two responses does not reveal a leaver’s figures; without blocks it would', async () => {
  // No organization makes up more than half of any block. Otherwise the model would be left out, and there would be
  // nothing to subtract.
  const uses = [9, 5, 6, 5, 7, 5, 6, 8, 5];
  const orgs = await Promise.all(uses.map(using));
  const id = await cohort();
  const observe = async () => {
    const { json } = await read(id);
    const mix: { model: string; share: number }[] = json.model_mix;
    return {
      orgs: json.contributing_orgs as number,
      share: mix.find(({ model }) => model === 'x')?.share ?? 0,
    };
  };
  /** The figures of the leaver, if the leaver alone caused the difference. */
  const difference = (before: Answer, after: Answer) => before.orgs * before.share - after.orgs * after.share;
  type Answer = Awaited<ReturnType<typeof observe>>;

  const plain = (taking: readonly number[]): Answer => ({
    orgs: taking.length,
    share: taking.reduce((sum, times) => sum + times / 10, 0) / taking.length,
  });
  // An aggregate that is protected only by a minimum size reveals the leaver's share exactly.
  expect(difference(plain(uses), plain(uses.slice(1)))).toBeCloseTo(0.9, 9);

  const before = await observe();
  expect(before.orgs).toBe(9);
  await takePart(orgs[0] as TestOrg, { enabled: false });
  const after = await observe();
  expect(before.orgs - after.orgs).toBeGreaterThanOrEqual(floor);
  // The difference covers at least the minimum number of organizations, and does not show whose figures they are.
  const gone = difference(before, after);
  const members = await world.db.query<{ org_id: string; block: string }>(
    'SELECT org_id, block FROM benchmark_members WHERE org_id = ANY($1)',
    [orgs.map((org) => org.id)],
  );
  const blockOf = (org: TestOrg | undefined) => members.find(({ org_id }) => org_id === org?.id)?.block;
  const together = orgs.filter((org) => blockOf(org) === blockOf(orgs[0]));
  expect(together.length).toBe(before.orgs - after.orgs);
  const sum = together.reduce((total, org) => total + (uses[orgs.indexOf(org)] ?? 0) / 10, 0);
  expect(gone).toBeCloseTo(sum, 0);
  expect(Math.abs(gone - 0.9)).toBeGreaterThan(0.1);
});

test('overlapping cohorts do not reveal their difference', async () => {
  // The industry has one organization besides the small ones: without blocks the difference of the cohorts reveals it.
  const small = await contributors(['1', '2', '3', '4'], { size_band: 'small' });
  const [lonely] = await contributors(['100'], { size_band: 'large' });
  const narrow = await read(await cohort({ industry, size_band: 'small' }));
  const wide = await read(await cohort({ industry }));
  expect(narrow.json.contributing_orgs).toBe(small.length);
  expect(wide.json.contributing_orgs).toBe(small.length);
  expect(wide.json.metrics).toEqual(narrow.json.metrics);
  expect(errorSummary(await read(await cohort({ industry, size_band: 'large' })))).toEqual(tooFew);
  expect(lonely).toBeDefined();
});

test.each<[object, string]>([
  [{}, 'enabled required'],
  [{ enabled: 'yes' }, 'enabled invalid_type'],
  [{ enabled: true, industry: '' }, 'industry empty'],
  [{ enabled: true, industry: ' ' }, 'industry invalid_format'],
  [{ enabled: true, size_band: 'x'.repeat(101) }, 'size_band out_of_range'],
  [{ enabled: true, colour: 'red' }, 'colour unknown_field'],
])('rejects participation %j', async (body, fault) => {
  expect(errorSummary(await takePart(reader, body))).toEqual(invalid(fault));
});

test.each<[object, string]>([
  [{ name: 'a' }, 'criteria required'],
  [{ criteria: {} }, 'name required'],
  [{ name: 'a', criteria: [] }, 'criteria invalid_type'],
  [{ name: 'a', criteria: { runs: 7 } }, 'criteria.runs unknown_field'],
  [{ name: 'a', criteria: { industry: 7 } }, 'criteria.industry invalid_type'],
])('rejects the cohort %j', async (body, fault) => {
  expect(errorSummary(await call(reader, 'POST', '/v1/benchmarks/cohorts', body))).toEqual(invalid(fault));
});

test('limits an organization to a hundred cohorts', async () => {
  const org = await world.createOrg();
  for (let made = 0; made < 100; made += 1) {
    await cohort({}, org);
  }
  const oneMore = () => call(org, 'POST', '/v1/benchmarks/cohorts', { name: 'a', criteria: {} });
  expect(errorSummary(await oneMore())).toEqual([409, 'conflict']);
  const { json } = await call(org, 'GET', '/v1/benchmarks/cohorts');
  expect((await call(org, 'DELETE', `/v1/benchmarks/cohorts/${json.data[0].id}`)).status).toBe(204);
  expect((await oneMore()).status).toBe(201);
});

test('only its organization can delete a cohort, once', async () => {
  const org = await world.createOrg();
  await contributors(['1', '2', '3']);
  const [mine, theirs] = [await cohort({ industry }, org), await cohort()];
  const remove = (by: TestOrg, id: string) => call(by, 'DELETE', `/v1/benchmarks/cohorts/${id}`);
  expect(errorSummary(await remove(org, theirs))).toEqual([404, 'not_found']);
  const { json: before } = await call(org, 'GET', '/v1/benchmarks/cohorts');
  const statuses = (await Promise.all([remove(org, mine), remove(org, mine)])).map(({ status }) => status);
  expect(statuses.sort()).toEqual([204, 404]);
  expect(errorSummary(await read(mine, org))).toEqual([404, 'not_found']);
  expect((await call(org, 'GET', '/v1/benchmarks/cohorts')).json.data).toEqual([]);
  expect((await read(theirs)).json.contributing_orgs).toBe(3);
  const { entries } = await recordedOf(world, org.id);
  expect(entries.filter(({ action }) => action === 'benchmarks.delete_cohort')).toEqual([
    expect.objectContaining({
      target_kind: 'benchmark_cohort',
      target_id: mine,
      before: before.data[0],
      after: { ...before.data[0], deleted_at: world.clock.now().toISOString() },
    }),
  ]);
});
