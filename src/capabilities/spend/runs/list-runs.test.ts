/** The list of runs: sort orders, pages in both directions, the number of runs, and runs without a value. */
import { beforeAll, describe, expect, test } from 'vitest';
import { useOrg, useWorld, type World } from '../../../../test/harness.ts';
import { countRows } from '../../../platform/http/routes/list.ts';
import { createIds } from '../../../platform/ids.ts';
import { listRuns } from './list-runs.ts';
import { runSorts } from './schema.ts';

const world = useWorld();
const org = useOrg(world);
/** Runs with equal values in each sort field, and some without a cost or a latency. */
const runs = [
  { model: 'a', cost_usd: '2', input_tokens: 10, output_tokens: 5, latency_ms: 100, team: 'web' },
  { model: 'b', cost_usd: '1', input_tokens: 5, output_tokens: 10, latency_ms: 100, tags: { env: 'live' } },
  { model: 'c', cost_usd: '2', input_tokens: 0, output_tokens: 0, team: 'web', tags: { env: 'test' } },
  { model: 'd', cost_usd: '0', input_tokens: 15, output_tokens: 0, latency_ms: 0 },
  { model: 'e', cost_usd: '2', input_tokens: 1, output_tokens: 0, latency_ms: 7, customer_id: 'acme' },
  { model: 'f', status: 'running', estimated_cost_usd: '9', team: 'web' },
  { model: 'g', cost_usd: '8999999999', input_tokens: 15, output_tokens: 0, latency_ms: 7 },
];
beforeAll(async () => {
  for (const body of runs) {
    // Ids are sorted by time.
    world.clock.advanceSeconds(1);
    const { status } = await world.request('POST', '/v1/runs', { key: org.ownerKey, body });
    expect(status).toBe(201);
  }
  const foreign = await world.createOrg();
  await world.request('POST', '/v1/runs', { key: foreign.ownerKey, body: { model: 'x', cost_usd: '5' } });
});

const list = (query: string) => world.request('GET', `/v1/runs?${query}`, { key: org.ownerKey });
const modelsIn = ({ json }: Awaited<ReturnType<typeof list>>): string =>
  json.data.map(({ model }: { model: string }) => model).join('');

describe('sort orders', () => {
  test.each([
    ['cost_usd', 'fdbaceg'],
    ['total_tokens', 'cfeabdg'],
    ['latency_ms', 'cfdegab'],
    ['charged_at', 'abcdefg'],
  ])(
    '%s sorts runs with equal values by their id, and runs without a value as the lowest',
    async (sort, expected) => {
      expect(modelsIn(await list(`sort=${sort}`))).toBe(expected);
      expect(modelsIn(await list(`sort=-${sort}`))).toBe([...expected].reverse().join(''));
    },
  );

  const orders = Object.keys(runSorts).flatMap((field) => [field, `-${field}`]);
  test.each(orders)('%s has every run on exactly one page, forwards and backwards', async (sort) => {
    const all = modelsIn(await list(`sort=${sort}`));
    for (const limit of [1, 2, 3, 7]) {
      const forwards: string[] = [];
      const backwards: string[] = [];
      let page = await list(`sort=${sort}&limit=${limit}`);
      expect(page.json.prev_cursor).toBeNull();
      for (;;) {
        forwards.push(modelsIn(page));
        if (page.json.next_cursor === null) {
          break;
        }
        page = await list(`sort=${sort}&limit=${limit}&cursor=${page.json.next_cursor}`);
      }
      for (;;) {
        backwards.unshift(modelsIn(page));
        if (page.json.prev_cursor === null) {
          break;
        }
        page = await list(`sort=${sort}&limit=${limit}&cursor=${page.json.prev_cursor}`);
        expect(page.json.next_cursor).not.toBeNull();
      }
      expect(forwards.join('')).toBe(all);
      expect(backwards).toEqual(forwards);
    }
  });

  test('a cursor of another order, or with a value that is not one, is rejected', async () => {
    const { json } = await list('sort=cost_usd&limit=2');
    const cursors = [
      json.next_cursor,
      ...[['cost_usd', '1e3', 'run_1'], ['cost_usd', '99999999999999999999', 'run_1'], 7].map((value) =>
        Buffer.from(JSON.stringify(value)).toString('base64url'),
      ),
    ];
    for (const [index, cursor] of cursors.entries()) {
      const { status, json: answer } = await list(
        `sort=${index === 0 ? 'latency_ms' : 'cost_usd'}&cursor=${cursor}`,
      );
      expect([status, answer.error.details.fields[0].field]).toEqual([422, 'cursor']);
    }
  });

  test('a range with many runs is read in the order of an index, with the same result', async () => {
    const from = '2026-11-01T00:00:00Z';
    for (const sort of ['-cost_usd', 'total_tokens', '-latency_ms']) {
      const read = (rowsMax: number) =>
        listRuns(world.db, org.id, { sort, from, limit: 3, count: true }, rowsMax);
      const [few, many] = [await read(100), await read(2)];
      expect(many.data).toEqual(few.data);
      expect(many.next_cursor).toBe(few.next_cursor);
      expect([few.count?.exact, many.count?.exact]).toEqual([true, false]);
    }
  });

  test('filters apply to each of them', async () => {
    expect(modelsIn(await list('sort=-cost_usd&team=web'))).toBe('caf');
    expect(modelsIn(await list('sort=-latency_ms&status=succeeded&limit=2'))).toBe('ba');
  });
});

describe('runs without a value', () => {
  test.each([
    ['team', 'gedb'],
    ['team,customer_id', 'gdb'],
    ['tag:env', 'gfeda'],
    ['team,tag:env', 'ged'],
  ])('the list of runs without=%s', async (without, expected) => {
    expect(modelsIn(await list(`without=${without}`))).toBe(expected);
  });

  test.each(['model', 'colour', 'tag:', ',', 'team&team=web'])(
    'the list of runs without=%s is rejected',
    async (without) => {
      const { status, json } = await list(`without=${without}`);
      expect([status, json.error.details.fields[0]]).toMatchObject([
        422,
        { field: 'without', code: 'invalid_value' },
      ]);
    },
  );
});

describe('the number of runs', () => {
  test('the number of runs is returned on request, for the filters and the range', async () => {
    const countOf = async (query: string) => (await list(`count=true&limit=1&${query}`)).json.count;
    expect(await countOf('')).toEqual({ value: 7, exact: true });
    expect(await countOf('team=web&sort=-cost_usd')).toEqual({ value: 3, exact: true });
    expect(await countOf('without=team')).toEqual({ value: 4, exact: true });
    expect(await countOf(`from=${new Date(world.clock.now().getTime() + 1_000).toISOString()}`)).toEqual({
      value: 0,
      exact: true,
    });
    expect((await list('limit=1')).json).not.toHaveProperty('count');
  });

  test('the number of runs is a lower bound beyond the number of runs that are read', async () => {
    const count = (rowsMax: number, model?: string) =>
      countRows(world.db, {
        table: 'runs',
        scanned: [['org_id = ?', org.id]],
        where: [['model = ?', model]],
        rowsMax,
      });
    expect(await count(7)).toEqual({ value: 7, exact: true });
    expect(await count(6)).toEqual({ value: 6, exact: false });
    expect(await count(7, 'a')).toEqual({ value: 1, exact: true });
    const { value, exact } = await count(3, 'a');
    expect([value <= 1, exact]).toEqual([true, false]);
  });
});

test('runs of an external id, of a chain and of a parent are found without reading others', async () => {
  const { id, ownerKey } = await world.createOrg();
  const create = async (body: object) => {
    const { status, json } = await world.request('POST', '/v1/runs', { key: ownerKey, body });
    expect(status).toBe(201);
    return json.id;
  };
  const run = { model: 'm', cost_usd: '0.01' };
  const parent = await create(run);
  await create({ ...run, parent_run_id: parent });
  const others = Array.from({ length: 400 }, (_, n) => ({
    ...run,
    external_id: `external-${n}`,
    ...(n % 2 === 1 && { chain_id: `chain-${n % 200}` }),
  }));
  const bulk = await world.request('POST', '/v1/runs/bulk', { key: ownerKey, body: { runs: others } });
  expect(bulk.status).toBe(201);

  const plan: string[] = [];
  const query: World['db']['query'] = async (sql, params = []) => {
    const lines = await world.db.query<object>(`EXPLAIN (ANALYZE, COSTS OFF, TIMING OFF) ${sql}`, params);
    plan.push(...lines.flatMap((line) => Object.values(line)));
    return world.db.query(sql, params);
  };
  const db = { query, transaction: world.db.transaction };
  const found = async (filters: Parameters<typeof listRuns>[2]) =>
    (await listRuns(db, id, filters)).data.length;
  expect(await found({ external_id: 'external-7' })).toBe(1);
  expect(await found({ external_id: 'none' })).toBe(0);
  expect(await found({ chain_id: 'chain-7' })).toBe(2);
  expect(await found({ parent_run_id: parent })).toBe(1);
  expect(plan.filter((line) => line.includes('Index Scan')).length).toBeGreaterThan(0);
  expect(plan.filter((line) => line.includes('Rows Removed by Filter'))).toEqual([]);
});

test('runs of a decision are found without reading others, also long after the decision has ended', async () => {
  const { id, ownerKey } = await world.createOrg();
  const send = async (path: string, body: object) => {
    const { status, json } = await world.request('POST', path, { key: ownerKey, body });
    expect(status).toBeLessThan(300);
    return json;
  };
  const run = { model: 'm', cost_usd: '0.01' };
  const others = () => send('/v1/runs/bulk', { runs: Array.from({ length: 200 }, () => run) });
  await others();
  world.clock.advanceSeconds(3_600);
  const { decision_id } = await send('/v1/edge/decision', { model: 'm', estimated_cost_usd: '1' });
  const { decision_id: open } = await send('/v1/runs', {
    ...run,
    cost_usd: undefined,
    status: 'running',
    estimated_cost_usd: '1',
  });
  world.clock.advanceSeconds(3_600);
  await others();
  await send('/v1/runs', { ...run, decision_id });
  // The run of a gateway call has the number of its hold.
  world.clock.advanceSeconds(1);
  const call = await send('/v1/runs', run);
  const ofCall = call.id.replace('run', 'dec');
  await world.db.query('UPDATE runs SET decision_id = $3 WHERE org_id = $1 AND id = $2', [
    id,
    call.id,
    ofCall,
  ]);

  const plan: string[] = [];
  const query: World['db']['query'] = async (sql, params = []) => {
    const lines = await world.db.query<object>(`EXPLAIN (ANALYZE, COSTS OFF, TIMING OFF) ${sql}`, params);
    plan.push(...lines.flatMap((line) => Object.values(line)));
    return world.db.query(sql, params);
  };
  const db = { query, transaction: world.db.transaction };
  const found = async (decisionId: string) =>
    (await listRuns(db, id, { decision_id: decisionId })).data.map((one) => one.decision_id);
  const decisions = [decision_id, open, ofCall];
  for (const decision of decisions) {
    expect(await found(decision)).toEqual([decision]);
  }
  await world.db.query('DELETE FROM hold_ends WHERE org_id = $1', [id]);
  for (const decision of decisions) {
    expect(await found(decision)).toEqual([decision]);
  }
  const removed = plan.flatMap((line) => /Rows Removed by Filter: (\d+)/.exec(line)?.[1] ?? []).map(Number);
  // The other run at the time of the decision.
  expect(Math.max(0, ...removed)).toBeLessThanOrEqual(1);
  expect(await found('dec_none')).toEqual([]);
  expect(await found(createIds(world.clock).next('dec'))).toEqual([]);
});

test('runs of a decision are found if the clock of the database is hours from that of its process', async () => {
  const { id, ownerKey } = await world.createOrg();
  const { json } = await world.request('POST', '/v1/runs', {
    key: ownerKey,
    body: { model: 'm', cost_usd: '1' },
  });
  const decision = createIds(world.clock).next('dec');
  const later = new Date(world.clock.now().getTime() + 5 * 3_600_000);
  await world.db.query('UPDATE runs SET decision_id = $3, charged_at = $4 WHERE org_id = $1 AND id = $2', [
    id,
    json.id,
    decision,
    later,
  ]);
  const { data } = await listRuns(world.db, id, { decision_id: decision });
  expect(data).toMatchObject([{ id: json.id }]);
});
