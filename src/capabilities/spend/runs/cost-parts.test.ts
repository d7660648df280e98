/** The cost of runs by kind of usage: of single runs, in usage, and after corrections, late settlements and repricing. */
import { beforeEach, describe, expect, test } from 'vitest';
import { useOrgPerTest, useWorld } from '../../../../test/harness.ts';

const world = useWorld();
const org = useOrgPerTest(world);

const send = (method: string, path: string, body?: unknown) =>
  world.request(method, path, { key: org.ownerKey, ...(body !== undefined && { body }) });
const post = async (path: string, body: object) => (await send('POST', path, body)).json;
const get = async (path: string) => (await send('GET', path)).json;
const putPrice = (model: string, price: object) =>
  world.request('PUT', `/v1/admin/models/${model}`, { key: world.operatorKey, body: price });
const usageByKind = async (query = '') => (await get(`/v1/orgs/${org.id}/usage?group_by=kind${query}`)).data;
const part = (kind: string, quantity: number, cost_usd: string) => ({ kind, quantity, cost_usd });

/** In dollars per million tokens, so the cost of a million tokens is the rate. */
const everyRate = {
  input_usd_per_million: '2',
  cached_input_usd_per_million: '0.5',
  cached_image_input_usd_per_million: '0.75',
  cache_write_usd_per_million: '2.5',
  output_usd_per_million: '10',
  audio_input_usd_per_million: '40',
  image_input_usd_per_million: '4',
  audio_output_usd_per_million: '80',
  image_usd: '0.25',
  request_usd: '0.01',
  units: { web_search: '0.02', 'tool:look-up': '3' },
  modifiers: [{ cache_write_ttl: '1h', cache_write_usd_per_million: '5' }],
};
const everything = {
  model: 'every-kind',
  input_tokens: 7_000_000,
  cached_input_tokens: 2_000_000,
  cached_image_input_tokens: 1_000_000,
  cache_write_tokens: 1_000_000,
  cache_write_1h_tokens: 1_000_000,
  audio_input_tokens: 1_000_000,
  image_input_tokens: 1_000_000,
  output_tokens: 3_000_000,
  reasoning_tokens: 1_000_000,
  audio_output_tokens: 1_000_000,
  images: 4,
  units: { web_search: 3, 'tool:look-up': 1 },
};
const everyPart = [
  part('input', 1_000_000, '2'),
  part('cached_input', 1_000_000, '0.5'),
  part('cached_image_input', 1_000_000, '0.75'),
  part('cache_write', 1_000_000, '2.5'),
  part('cache_write_1h', 1_000_000, '5'),
  part('audio_input', 1_000_000, '40'),
  part('image_input', 1_000_000, '4'),
  part('output', 1_000_000, '10'),
  part('reasoning', 1_000_000, '10'),
  part('audio_output', 1_000_000, '80'),
  part('image', 4, '1'),
  part('request', 1, '0.01'),
  part('unit:web_search', 3, '0.06'),
  part('unit:tool:look-up', 1, '3'),
];

beforeEach(() => putPrice('every-kind', everyRate));

async function expectBalanced(cost_usd: string): Promise<void> {
  const report = await get(`/v1/orgs/${org.id}/ledger/reconciliation`);
  expect(report).toMatchObject({ balanced: true, totals: { cost_usd: { entries: cost_usd } } });
}

describe('a run', () => {
  test('shows what every kind of usage cost, when it is created and when it is read', async () => {
    const run = await post('/v1/runs', everything);
    expect(run).toMatchObject({ cost_usd: '158.82', cost_parts: everyPart });
    expect(await get(`/v1/runs/${run.id}`)).toEqual(run);
    expect((await get('/v1/runs')).data).toMatchObject([{ cost_usd: '158.82', cost_parts: null }]);
    await expectBalanced('158.82');
  });

  test('a run has the parts of its completion, and none while it runs', async () => {
    const { id, cost_parts } = await post('/v1/runs', {
      model: 'every-kind',
      status: 'running',
      estimated_cost_usd: '200',
    });
    expect(cost_parts).toBeNull();
    const { model: _, ...measured } = everything;
    expect(await post(`/v1/runs/${id}/complete`, measured)).toMatchObject({ cost_parts: everyPart });
    expect(await get(`/v1/runs/${id}`)).toMatchObject({ cost_parts: everyPart });
  });

  test('a run is unsplit if its cost was given or posted as held', async () => {
    const given = await post('/v1/runs', { model: 'every-kind', cost_usd: '1.5', input_tokens: 9 });
    expect(given.cost_parts).toEqual([part('unsplit', 0, '1.5')]);
    const { decision_id } = await post('/v1/edge/decision', {
      model: 'every-kind',
      estimated_cost_usd: '4',
    });
    const held = await post('/v1/runs', { model: 'every-kind', decision_id });
    expect(held).toMatchObject({ marks: ['usage_missing'], cost_parts: [part('unsplit', 0, '4')] });
    await expectBalanced('5.5');
  });

  test('rounds the sum, not each kind', async () => {
    await putPrice('tiny', { input_usd_per_million: '0.000000001', output_usd_per_million: '0.000000001' });
    const run = await post('/v1/runs', { model: 'tiny', input_tokens: 400_000, output_tokens: 400_000 });
    expect(run).toMatchObject({
      cost_usd: '0.000000001',
      cost_parts: [part('input', 400_000, '0.000000001'), part('output', 400_000, '0')],
    });
  });

  test('a run has its corrections as a kind of their own', async () => {
    const { id } = await post('/v1/runs', { model: 'every-kind', input_tokens: 1_000_000 });
    await post(`/v1/runs/${id}/adjustments`, { amount_usd: '-0.5', reason: 'refund' });
    const { run } = await post(`/v1/runs/${id}/adjustments`, { amount_usd: '0.2', reason: 'fee' });
    const parts = [part('input', 1_000_000, '2'), part('request', 1, '0.01'), part('adjustment', 2, '-0.3')];
    expect(run.cost_parts).toEqual(parts);
    expect((await get(`/v1/runs/${id}`)).cost_parts).toEqual(parts);
    await expectBalanced('1.71');
  });

  test('a run has the parts of its new price after it was repriced', async () => {
    const runs = [
      { model: 'later-9', input_tokens: 1_000_000, output_tokens: 1_000_000 },
      { model: 'later-9', input_tokens: 1_000_000, output_tokens: 1_000_000 },
    ];
    await send('PUT', `/v1/orgs/${org.id}/unpriced-policy`, {
      on_unpriced: 'hold_default',
      input_usd_per_million: '1',
      output_usd_per_million: '3',
    });
    const ids: string[] = [];
    for (const body of runs) {
      ids.push((await post('/v1/runs', body)).id);
    }
    await post(`/v1/runs/${ids[1]}/adjustments`, { amount_usd: '1', reason: 'fee' });
    await putPrice('later-9', { input_usd_per_million: '2', output_usd_per_million: '4' });
    for (const id of ids) {
      const { run } = await post(`/v1/runs/${id}/reprice`, {});
      expect(run.cost_parts).toEqual([part('input', 1_000_000, '2'), part('output', 1_000_000, '4')]);
    }
    expect(await usageByKind()).toMatchObject([
      part('output', 2_000_000, '8'),
      part('input', 2_000_000, '4'),
    ]);
    await expectBalanced('12');
  });

  test('charges the tokens of other models at their prices', async () => {
    await putPrice('adviser', { input_usd_per_million: '5', output_usd_per_million: '50' });
    const body = { model: 'every-kind', input_tokens: 3_000_000, output_tokens: 2_000_000 };
    const adviser = { model: 'adviser', input_tokens: 1_000_000, output_tokens: 1_000_000 };
    const run = await post('/v1/runs', { ...body, other_models: [adviser] });
    expect(run).toMatchObject({
      cost_usd: '69.01',
      input_tokens: 3_000_000,
      cost_parts: [
        part('input', 3_000_000, '9'),
        part('output', 2_000_000, '60'),
        part('request', 1, '0.01'),
      ],
    });
    const fieldsOf = async (other: object) =>
      (await post('/v1/runs', { ...body, other_models: [other] })).error.details.fields;
    expect(await fieldsOf({ model: 'no-price-9', input_tokens: 1 })).toMatchObject([
      { field: 'other_models', code: 'invalid_value' },
    ]);
    expect(await fieldsOf({ ...adviser, output_tokens: 2_000_001 })).toMatchObject([
      { field: 'other_models', code: 'out_of_range' },
    ]);
  });

  test('posts the held amount if another model has no price', async () => {
    const { decision_id } = await post('/v1/edge/decision', {
      model: 'every-kind',
      estimated_cost_usd: '40',
    });
    const other_models = [{ model: 'no-price-9', input_tokens: 1_000_000 }];
    expect(
      await post('/v1/runs', { model: 'every-kind', decision_id, input_tokens: 1_000_000, other_models }),
    ).toMatchObject({ cost_usd: '40', marks: ['unpriced'] });
  });

  test('rejects cached images beyond the cached input', async () => {
    const body = { input_tokens: 5, cached_input_tokens: 2, cached_image_input_tokens: 3 };
    const { status, json } = await send('POST', '/v1/runs', { model: 'every-kind', ...body });
    expect([status, json.error.details.fields]).toMatchObject([
      422,
      [{ field: 'cached_image_input_tokens' }],
    ]);
  });

  test('rejects reasoning tokens beyond the output', async () => {
    const body = { model: 'every-kind', output_tokens: 5, reasoning_tokens: 4, audio_output_tokens: 2 };
    const { status, json } = await send('POST', '/v1/runs', body);
    expect([status, json.error.details.fields]).toMatchObject([422, [{ field: 'reasoning_tokens' }]]);
  });
});

describe('usage', () => {
  test('usage is grouped by kind, the most expensive first, and sums to the total', async () => {
    await post('/v1/runs', everything);
    await post('/v1/runs', { model: 'every-kind', cost_usd: '1' });
    const { total, data } = await get(`/v1/orgs/${org.id}/usage?group_by=kind`);
    expect(total).toMatchObject({ runs: 2, cost_usd: '159.82', cache_savings_usd: '4.75', quantity: null });
    expect(data.slice(0, 3)).toMatchObject([
      { ...part('audio_output', 1_000_000, '80'), runs: 0, input_tokens: 0 },
      part('audio_input', 1_000_000, '40'),
      part('output', 1_000_000, '10'),
    ]);
    const dollars = data.reduce((sum: number, row: { cost_usd: string }) => sum + Number(row.cost_usd), 0);
    expect(dollars).toBeCloseTo(159.82, 6);
    expect(data.map(({ kind }: { kind: string }) => kind).sort()).toEqual(
      [...everyPart.map(({ kind }) => kind), 'unsplit'].sort(),
    );
  });

  test('usage is paged by kind without losing or repeating one', async () => {
    await post('/v1/runs', everything);
    const kinds: string[] = [];
    for (let cursor: string | null = ''; cursor !== null; ) {
      const page: { data: { kind: string }[]; next_cursor: string | null } = await get(
        `/v1/orgs/${org.id}/usage?group_by=kind&limit=5${cursor === '' ? '' : `&cursor=${cursor}`}`,
      );
      kinds.push(...page.data.map(({ kind }) => kind));
      cursor = page.next_cursor;
    }
    expect(kinds.sort()).toEqual(everyPart.map(({ kind }) => kind).sort());
  });

  test('counts only the cost of one kind, with other groupings and conditions', async () => {
    await post('/v1/runs', { ...everything, customer_id: 'a' });
    await post('/v1/runs', { model: 'every-kind', units: { web_search: 7 }, customer_id: 'b' });
    const searches = await get(`/v1/orgs/${org.id}/usage?group_by=customer_id&kind=unit:web_search`);
    expect(searches).toMatchObject({
      total: { cost_usd: '0.2', quantity: 10, runs: 0 },
      data: [
        { customer_id: 'b', cost_usd: '0.14', quantity: 7 },
        { customer_id: 'a', cost_usd: '0.06', quantity: 3 },
      ],
    });
    const ofOne = await get(`/v1/orgs/${org.id}/usage?group_by=kind,day&customer_id=b`);
    expect(ofOne.data).toMatchObject([
      { kind: 'unit:web_search', cost_usd: '0.14', day: expect.any(String) },
      { kind: 'request', cost_usd: '0.01' },
    ]);
  });

  test('usage is compared, exported and drawn by kind', async () => {
    await post('/v1/runs', { model: 'every-kind', input_tokens: 2_000_000 });
    const compared = await get(`/v1/orgs/${org.id}/usage?group_by=kind&compare=previous`);
    expect(compared.data[0]).toMatchObject({
      ...part('input', 2_000_000, '4'),
      previous: { cost_usd: '0', quantity: null },
      change: { cost_usd: '4' },
    });
    const csv = await send('GET', `/v1/orgs/${org.id}/usage?group_by=kind&format=csv`);
    const [head = '', first = ''] = csv.text.split('\r\n');
    expect([head.split(',')[0], head.split(',').slice(-2)]).toEqual([
      'kind',
      ['cache_savings_usd', 'quantity'],
    ]);
    expect([first.split(',')[0], first.split(',').at(-1)]).toEqual(['input', '2000000']);
    const { series } = await get(`/v1/orgs/${org.id}/usage/series?group_by=kind&top=1`);
    expect(series).toMatchObject([
      { kind: 'value', value: 'input' },
      { kind: 'other', value: null },
    ]);
  });

  test.each(['kind=inputs', 'kind=unit:', 'kind=u:web_search', 'group_by=kind,kind', 'group_by=kinds'])(
    'rejects %s',
    async (query) => {
      const { status, json } = await send('GET', `/v1/orgs/${org.id}/usage?${query}`);
      expect([status, json.error.code]).toEqual([422, 'validation_failed']);
    },
  );
});
