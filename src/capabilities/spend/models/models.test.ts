import { describe, expect, test } from 'vitest';
import { useOrg, useWorld } from '../../../../test/harness.ts';

const world = useWorld();
const org = useOrg(world);

const admin = (method: string, path: string, body?: unknown) =>
  world.request(method, `/v1/admin${path}`, { key: world.operatorKey, ...(body !== undefined && { body }) });
const put = (model: string, body: unknown) => admin('PUT', `/models/${encodeURIComponent(model)}`, body);
const get = (model: string) => admin('GET', `/models/${encodeURIComponent(model)}`);
const orgPath = (model: string, id = org.id) => `/orgs/${id}/prices/${encodeURIComponent(model)}`;
const models = (query = '', key = org.ownerKey) => world.request('GET', `/v1/models${query}`, { key });
const modelFor = async (model: string, key = org.ownerKey) =>
  (await models(`?model=${encodeURIComponent(model)}`, key)).json.data[0];
const inSeconds = (seconds: number) => new Date(world.clock.now().getTime() + seconds * 1_000).toISOString();
const fieldErrors = (answer: { status: number; json: { error: { details: { fields: object[] } } } }) => {
  expect(answer.status).toBe(422);
  return answer.json.error.details.fields;
};

const noOthers = {
  cached_input_usd_per_million: null,
  cache_write_usd_per_million: null,
  output_usd_per_million: null,
  audio_input_usd_per_million: null,
  image_input_usd_per_million: null,
  cached_image_input_usd_per_million: null,
  audio_output_usd_per_million: null,
  image_usd: null,
  request_usd: null,
  modifiers: [],
  units: {},
};

const unknownFacts = {
  context_tokens: null,
  max_output_tokens: null,
  regions: null,
  capabilities: null,
  aliases: [],
  patterns: [],
};
/** Removes the capabilities, which are not part of a price version. */
const versionOf = (priced: object) =>
  Object.fromEntries(Object.entries(priced).filter(([field]) => !(field in unknownFacts)));

describe("a model's price", () => {
  test("a model's price is returned as it was put, and read back with its versions", async () => {
    const body = {
      provider: 'acme',
      input_usd_per_million: '3.50',
      cached_input_usd_per_million: '0.35',
      cache_write_usd_per_million: '4.375',
      output_usd_per_million: '14',
      audio_input_usd_per_million: '40',
      image_input_usd_per_million: '5',
      cached_image_input_usd_per_million: '0.5',
      audio_output_usd_per_million: '80',
      image_usd: '0.04',
      request_usd: '0.000000001',
      modifiers: [
        { tier: 'batch', input_usd_per_million: '1.75', output_usd_per_million: '7' },
        { above_input_tokens: 200000, multiplier: '2' },
        { cache_write_ttl: '1h' as const, cache_write_usd_per_million: '7' },
        { tier: 'priority', region: 'eu', multiplier: '1.5' },
      ],
      units: { web_search: '0.01', 'tool:find/it': '0.000000001' },
    };
    const { status, json } = await put('whole', body);
    expect(status).toBe(200);
    expect(json).toEqual({
      ...body,
      input_usd_per_million: '3.5',
      id: expect.stringMatching(/^prc_[0-9a-hjkmnp-tv-z]{26}$/),
      model: 'whole',
      status: 'in_force',
      follows_updates: false,
      source: null,
      effective_from: world.clock.now().toISOString(),
      created_at: world.clock.now().toISOString(),
      ...unknownFacts,
    });
    expect((await get('whole')).json).toEqual({ ...json, versions: [versionOf(json)] });
  });

  test('requires only an input rate; rates left out or null do not exist', async () => {
    const { json } = await put('least', { input_usd_per_million: '0', output_usd_per_million: null });
    expect(json).toMatchObject({ ...noOthers, input_usd_per_million: '0', provider: null });
  });

  test('accepts names with slashes, blanks and non-ASCII letters', async () => {
    for (const model of ['meta-llama/Llama 4', 'ft:gpt-4o:größe', 'a'.repeat(200)]) {
      expect((await put(model, { input_usd_per_million: '1' })).json.model).toBe(model);
      expect((await get(model)).json.model).toBe(model);
    }
  });

  test('rejects names that are too long, start or end with blanks or have control characters', async () => {
    for (const [model, code] of [
      ['a'.repeat(201), 'out_of_range'],
      [' a', 'invalid_format'],
      ['a ', 'invalid_format'],
      [' ', 'invalid_format'],
      ['a\nb', 'invalid_format'],
    ] as const) {
      expect(fieldErrors(await put(model, { input_usd_per_million: '1' }))).toMatchObject([
        { field: 'model', code },
      ]);
      expect(fieldErrors(await admin('PUT', orgPath(model), { input_usd_per_million: '1' }))).toMatchObject([
        { field: 'model', code },
      ]);
      expect((await get(model)).status).toBe(404);
    }
  });

  test('reports an error for each invalid field', async () => {
    for (const amount of ['-1', '9000000000']) {
      const answer = await put('rejected', { input_usd_per_million: amount, image_usd: amount });
      expect(fieldErrors(answer), amount).toEqual([
        { field: 'input_usd_per_million', code: 'out_of_range', message: expect.any(String) },
        { field: 'image_usd', code: 'out_of_range', message: expect.any(String) },
      ]);
    }
    for (const amount of ['1e3', '1.0000000001', '', ' 1', '+1', '.5', '1.', '0x1', 'NaN']) {
      const answer = await put('rejected', { input_usd_per_million: amount, image_usd: amount });
      expect(fieldErrors(answer), amount).toEqual([
        { field: 'input_usd_per_million', code: 'invalid_format', message: expect.any(String) },
        { field: 'image_usd', code: 'invalid_format', message: expect.any(String) },
      ]);
    }
    const wrong = await put('rejected', {
      input_usd_per_million: 1,
      provider: '',
      effective_from: '2027-01-01',
      price: '1',
    });
    expect(fieldErrors(wrong)).toHaveLength(4);
    expect(fieldErrors(wrong)).toEqual(
      expect.arrayContaining(
        [
          ['input_usd_per_million', 'invalid_type'],
          ['provider', 'empty'],
          ['effective_from', 'invalid_format'],
          ['price', 'unknown_field'],
        ].map(([field, code]) => expect.objectContaining({ field, code })),
      ),
    );
    expect(fieldErrors(await put('rejected', {}))).toMatchObject([
      { field: 'input_usd_per_million', code: 'required' },
    ]);
    expect((await get('rejected')).status).toBe(404);
  });

  test('accepts the largest and the smallest amount', async () => {
    const body = { input_usd_per_million: '8999999999.999999999', output_usd_per_million: '0.000000001' };
    expect((await put('extreme', body)).json).toMatchObject(body);
  });
});

describe('versions', () => {
  const rateNow = async (model: string) => (await get(model)).json.input_usd_per_million;

  test('each is in force from its start until the next one, to the millisecond', async () => {
    await put('steps', { input_usd_per_million: '1', effective_from: inSeconds(10) });
    await put('steps', { input_usd_per_million: '2', effective_from: inSeconds(20) });
    const early = await get('steps');
    expect(early.json).toMatchObject({ status: 'scheduled', input_usd_per_million: '1' });
    expect(await modelFor('steps')).toBeUndefined();

    world.clock.advanceSeconds(9.999);
    expect((await get('steps')).json.status).toBe('scheduled');
    world.clock.advanceSeconds(0.001);
    expect((await get('steps')).json).toMatchObject({ status: 'in_force', input_usd_per_million: '1' });
    world.clock.advanceSeconds(9.999);
    expect(await rateNow('steps')).toBe('1');
    world.clock.advanceSeconds(0.001);
    const { json } = await get('steps');
    expect(json).toMatchObject({ status: 'in_force', input_usd_per_million: '2' });
    expect(json.versions).toMatchObject([
      { status: 'in_force', input_usd_per_million: '2' },
      { status: 'past', input_usd_per_million: '1' },
    ]);
    expect(await modelFor('steps')).toMatchObject({ input_usd_per_million: '2', price_version: json.id });
  });

  test('one that starts in the past is in force until the next one, which stays in force', async () => {
    await put('past', { input_usd_per_million: '2' });
    const late = await put('past', {
      input_usd_per_million: '1',
      effective_from: '2025-01-01T01:00:00+01:00',
    });
    expect(late.json).toMatchObject({ status: 'past', effective_from: '2025-01-01T00:00:00.000Z' });
    expect(await rateNow('past')).toBe('2');
  });

  test('one with the same start replaces the other, which keeps its id', async () => {
    const first = await put('corrected', { input_usd_per_million: '1' });
    const second = await put('corrected', { input_usd_per_million: '2' });
    expect(second.json.id).not.toBe(first.json.id);
    const { json } = await get('corrected');
    expect(json.id).toBe(second.json.id);
    const byId = Object.fromEntries(
      json.versions.map((v: { id: string; status: string }) => [v.id, v.status]),
    );
    expect(byId).toEqual({ [first.json.id]: 'withdrawn', [second.json.id]: 'in_force' });
  });

  test('putting the price in force creates none', async () => {
    const price = { provider: 'acme', input_usd_per_million: '1', output_usd_per_million: '2.50' };
    const first = await put('again', price);
    world.clock.advanceSeconds(60);
    const second = await put('again', { ...price, output_usd_per_million: '2.5' });
    expect(second.json).toEqual(first.json);
    expect((await get('again')).json.versions).toHaveLength(1);
    expect((await put('again', { ...price, provider: 'other' })).json.id).not.toBe(first.json.id);
  });

  test('one without a provider inherits it from the previous version', async () => {
    await put('served', { provider: 'acme', input_usd_per_million: '1' });
    world.clock.advanceSeconds(1);
    expect((await put('served', { input_usd_per_million: '2' })).json.provider).toBe('acme');
    world.clock.advanceSeconds(1);
    expect((await put('served', { input_usd_per_million: '2', provider: null })).json.provider).toBeNull();
  });

  test('concurrent PUTs with the same start leave one in force', async () => {
    const answers = await Promise.all(
      Array.from({ length: 8 }, (_, i) => put('at-once', { input_usd_per_million: String(i + 1) })),
    );
    expect(answers.map(({ status }) => status)).toEqual(Array(8).fill(200));
    const { json } = await get('at-once');
    const inForce = json.versions.filter((v: { status: string }) => v.status === 'in_force');
    expect(inForce).toHaveLength(1);
    expect(json.versions).toHaveLength(8);
  });

  test('their number is limited', async () => {
    await world.db.query(
      `INSERT INTO model_prices (model, id, input_nanos_per_million, effective_from, created_at)
       SELECT 'full', 'prc_' || n, n, '2020-01-01T00:00:00Z'::timestamptz + n * interval '1 hour', now()
         FROM generate_series(1, 1000) AS n`,
      [],
    );
    const { status, json } = await put('full', { input_usd_per_million: '1' });
    expect([status, json.error.code]).toEqual([409, 'conflict']);
    expect((await get('full')).json.versions).toHaveLength(100);
  });
});

describe('the capabilities of a model', () => {
  const rates = { input_usd_per_million: '1' };
  const capabilities = {
    context_tokens: 128_000,
    max_output_tokens: 4_096,
    regions: ['eu', 'us'],
    capabilities: ['json', 'tools'],
  };

  test('the capabilities of a model are set with its price, and stay unchanged if left out', async () => {
    const { status, json } = await put('able', {
      ...rates,
      ...capabilities,
      regions: ['us', 'eu', 'us'],
      capabilities: ['tools', 'json'],
    });
    expect([status, json]).toMatchObject([200, capabilities]);
    expect((await put('able', { input_usd_per_million: '2' })).json).toMatchObject(capabilities);
    expect((await get('able')).json).toMatchObject({ ...capabilities, input_usd_per_million: '2' });
    expect(await modelFor('able')).toMatchObject(capabilities);
    const changed = await put('able', { input_usd_per_million: '2', regions: null, context_tokens: 1 });
    expect(changed.json).toMatchObject({ ...capabilities, regions: null, context_tokens: 1 });
  });

  test('create no version of the price, and are audited', async () => {
    const first = await put('learning', rates);
    const { json } = await put('learning', { ...rates, ...capabilities });
    expect(json.id).toBe(first.json.id);
    expect((await get('learning')).json.versions).toHaveLength(1);
    const { json: again } = await put('learning', { ...rates, ...capabilities });
    expect(again).toEqual(json);
    const entries = await world.db.query<{ before: object | null; after: object }>(
      "SELECT before, after FROM audit_log WHERE target_id = 'learning' ORDER BY seq",
      [],
    );
    expect(entries).toMatchObject([
      { before: null, after: { regions: null } },
      { before: { regions: null }, after: capabilities },
    ]);
  });

  test('the capabilities of a model can be used to filter the list of models', async () => {
    await put('seer', { ...rates, capabilities: ['sight'], regions: ['mars'] });
    const names = async (query: string) => {
      const { json } = await world.request('GET', `/v1/models?${query}`, { key: org.ownerKey });
      return json.data.map(({ model }: { model: string }) => model);
    };
    expect(await names('capability=sight')).toEqual(['seer']);
    expect(await names('region=mars&capability=sight')).toEqual(['seer']);
    expect(await names('region=mars&capability=hearing')).toEqual([]);
  });

  test('reports an error for each invalid field', async () => {
    const wrong = { context_tokens: 0, max_output_tokens: 1.5, regions: ['EU'], capabilities: ['', 'a b'] };
    const { status, json } = await put('wrong', { ...rates, ...wrong });
    expect(status).toBe(422);
    const named = json.error.details.fields.map(({ field }: { field: string }) => field.replace(/\[.*/, ''));
    expect([...new Set(named)].sort()).toEqual(Object.keys(wrong).sort());
  });

  test('the capabilities of a model are seeded for well-known models, except for regions', async () => {
    expect(await modelFor('gpt-4o')).toMatchObject({
      context_tokens: 128_000,
      max_output_tokens: 16_384,
      regions: null,
      capabilities: ['json', 'tools', 'vision'],
    });
  });

  test('include the latency of its runs', async () => {
    const there = await world.createOrg();
    const run = (latency_ms: number, fields: object = {}) =>
      world.request('POST', '/v1/runs', {
        key: there.ownerKey,
        body: { model: 'gpt-4o', cost_usd: '0', latency_ms, ...fields },
      });
    for (let i = 1; i <= 20; i += 1) {
      await run(i * 100);
    }
    // Failed runs and runs without a latency do not count.
    await run(1, { status: 'failed' });
    await run(0, { latency_ms: undefined });
    expect(await modelFor('gpt-4o', there.ownerKey)).toMatchObject({
      latency_p50_ms: 1_000,
      latency_p95_ms: 1_900,
    });
    expect(await modelFor('gpt-4o')).toMatchObject({ latency_p50_ms: null, latency_p95_ms: null });
    await run(9_000, { model: 'gpt-5' });
    world.clock.advanceSeconds(31);
    expect(await modelFor('gpt-5', there.ownerKey)).toMatchObject({ latency_p50_ms: 9_000 });
  });
});

describe("the operators' list", () => {
  test('contains each model once, with pages, filters and both orders', async () => {
    for (const name of ['a', 'b', 'c', 'd', 'e']) {
      await put(`list-${name}`, { provider: 'lister', input_usd_per_million: '1' });
      await put(`list-${name}`, { input_usd_per_million: '9', effective_from: inSeconds(1_000_000) });
    }
    world.clock.advanceSeconds(1);
    await put('list-b', { input_usd_per_million: '2' });
    await put('list-z', { provider: 'lister', input_usd_per_million: '3', effective_from: inSeconds(500) });

    const seen: string[] = [];
    let cursor: string | null = null;
    do {
      const after = cursor === null ? '' : `&cursor=${cursor}`;
      const { json } = await admin('GET', `/models?provider=lister&limit=2${after}`);
      for (const item of json.data) {
        seen.push(`${item.model} ${item.status} ${item.input_usd_per_million}`);
      }
      cursor = json.next_cursor;
    } while (cursor !== null);
    expect(seen).toEqual([
      'list-a in_force 1',
      'list-b in_force 2',
      'list-c in_force 1',
      'list-d in_force 1',
      'list-e in_force 1',
      'list-z scheduled 3',
    ]);
    const reversed = await admin('GET', '/models?provider=lister&sort=-model&limit=1');
    expect(reversed.json.data[0].model).toBe('list-z');
    expect((await admin('GET', '/models?model=list-c')).json.data).toHaveLength(1);
    expect(fieldErrors(await admin('GET', '/models?cursor=nonsense'))).toMatchObject([{ field: 'cursor' }]);
    expect(fieldErrors(await admin('GET', '/models?sort=price'))).toMatchObject([{ field: 'sort' }]);
  });
});

describe("an org's own price", () => {
  const putOwn = (model: string, body: unknown, id = org.id) => admin('PUT', orgPath(model, id), body);

  test("an org's own price applies to that org only", async () => {
    const other = await world.createOrg();
    await put('own', { provider: 'acme', input_usd_per_million: '5', output_usd_per_million: '6' });
    const { status, json } = await putOwn('own', { input_usd_per_million: '4' });
    expect(status).toBe(200);
    expect(json).toEqual({
      ...noOthers,
      id: expect.stringMatching(/^prc_/),
      org_id: org.id,
      model: 'own',
      status: 'in_force',
      discount_percent: null,
      input_usd_per_million: '4',
      effective_from: world.clock.now().toISOString(),
      ended_at: null,
      created_at: world.clock.now().toISOString(),
    });
    expect((await admin('GET', orgPath('own'))).json).toEqual({ ...json, versions: [json] });
    expect(await modelFor('own')).toEqual({
      ...noOthers,
      model: 'own',
      provider: 'acme',
      price_version: json.id,
      source: 'org',
      discount_percent: null,
      input_usd_per_million: '4',
      ...unknownFacts,
      latency_p50_ms: null,
      latency_p95_ms: null,
    });
    expect(await modelFor('own', other.ownerKey)).toMatchObject({
      source: 'model',
      input_usd_per_million: '5',
      output_usd_per_million: '6',
    });
    expect((await admin('GET', orgPath('own', other.id))).status).toBe(404);
  });

  test("an org's own price can exist for a model without a list price", async () => {
    await putOwn('private', { input_usd_per_million: '1' });
    expect(await modelFor('private')).toMatchObject({ source: 'org', provider: null });
    expect((await get('private')).status).toBe(404);
  });

  test('as a discount follows the list price exactly', async () => {
    const first = await put('reduced', {
      input_usd_per_million: '0.000000003',
      output_usd_per_million: '10',
    });
    const discount = await putOwn('reduced', { discount_percent: '12.50' });
    expect(discount.json).toMatchObject({
      ...noOthers,
      discount_percent: '12.5',
      input_usd_per_million: null,
    });
    // 3 × 0.875 = 2.625 nanodollars, rounded up to a whole nanodollar.
    expect(await modelFor('reduced')).toMatchObject({
      source: 'discount',
      discount_percent: '12.5',
      price_version: `${first.json.id}+${discount.json.id}`,
      input_usd_per_million: '0.000000003',
      output_usd_per_million: '8.75',
    });
    world.clock.advanceSeconds(1);
    const second = await put('reduced', { input_usd_per_million: '1', output_usd_per_million: '3.33' });
    expect(await modelFor('reduced')).toMatchObject({
      price_version: `${second.json.id}+${discount.json.id}`,
      input_usd_per_million: '0.875',
      output_usd_per_million: '2.91375',
      cached_input_usd_per_million: null,
    });
    for (const [percent, output] of [
      ['0', '3.33'],
      ['0.01', '3.329667'],
      ['100', '0'],
      ['100.00', '0'],
    ]) {
      world.clock.advanceSeconds(1);
      await putOwn('reduced', { discount_percent: percent });
      expect((await modelFor('reduced')).output_usd_per_million).toBe(output);
    }
  });

  test('as a discount requires a list price', async () => {
    expect(fieldErrors(await putOwn('unpriced', { discount_percent: '5' }))).toMatchObject([
      { field: 'discount_percent', code: 'invalid_value' },
    ]);
    await put('unpriced', { input_usd_per_million: '1', effective_from: inSeconds(100) });
    expect((await putOwn('unpriced', { discount_percent: '5' })).status).toBe(200);
    expect(await modelFor('unpriced')).toBeUndefined();
    world.clock.advanceSeconds(100);
    expect((await modelFor('unpriced')).input_usd_per_million).toBe('0.95');
  });

  test('reports an error for each invalid field', async () => {
    await put('own-rejected', { input_usd_per_million: '1' });
    for (const [percent, code] of [
      ['-1', 'out_of_range'],
      ['1e1', 'invalid_format'],
      ['12.345', 'invalid_format'],
      ['1000', 'out_of_range'],
      ['', 'invalid_format'],
      ['100.01', 'out_of_range'],
      ['999', 'out_of_range'],
      [5, 'invalid_type'],
    ] as const) {
      expect(
        fieldErrors(await putOwn('own-rejected', { discount_percent: percent })),
        String(percent),
      ).toMatchObject([{ field: 'discount_percent', code }]);
    }
    expect(fieldErrors(await putOwn('own-rejected', {}))).toMatchObject([
      { field: 'input_usd_per_million', code: 'required' },
    ]);
    expect(fieldErrors(await putOwn('own-rejected', { output_usd_per_million: '1' }))).toMatchObject([
      { field: 'input_usd_per_million', code: 'required' },
    ]);
    const both = { discount_percent: '101', input_usd_per_million: '1', image_usd: '1' };
    expect(fieldErrors(await putOwn('own-rejected', both))).toMatchObject([
      { field: 'input_usd_per_million', code: 'invalid_value' },
      { field: 'image_usd', code: 'invalid_value' },
      { field: 'discount_percent', code: 'out_of_range' },
    ]);
    expect(
      fieldErrors(await putOwn('own-rejected', { input_usd_per_million: '-1', provider: 'acme' })),
    ).toHaveLength(2);
  });

  test("an org's own price is not found for an unknown org", async () => {
    const body = { input_usd_per_million: '1' };
    expect((await putOwn('own', body, 'org_none')).status).toBe(404);
    expect((await admin('GET', orgPath('own', 'org_none'))).status).toBe(404);
    expect((await admin('DELETE', orgPath('own', 'org_none'))).status).toBe(404);
    expect((await admin('GET', '/orgs/org_none/prices')).status).toBe(404);
  });

  test("an org's own price has versions like a list price", async () => {
    const first = await putOwn('own-steps', { input_usd_per_million: '1' });
    expect((await putOwn('own-steps', { input_usd_per_million: '1.0' })).json.id).toBe(first.json.id);
    await putOwn('own-steps', { input_usd_per_million: '2', effective_from: inSeconds(10) });
    const replaced = await putOwn('own-steps', { input_usd_per_million: '3' });
    expect((await admin('GET', orgPath('own-steps'))).json).toMatchObject({
      id: replaced.json.id,
      versions: expect.arrayContaining([
        expect.objectContaining({ status: 'scheduled', input_usd_per_million: '2' }),
        expect.objectContaining({ status: 'in_force', input_usd_per_million: '3' }),
        expect.objectContaining({ status: 'withdrawn', input_usd_per_million: '1' }),
      ]),
    });
    world.clock.advanceSeconds(10);
    expect((await modelFor('own-steps')).input_usd_per_million).toBe('2');
  });

  test("an org's own price is removed from now on, including scheduled versions", async () => {
    await put('removed', { input_usd_per_million: '9' });
    await putOwn('removed', { input_usd_per_million: '1' });
    await putOwn('removed', { input_usd_per_million: '2', effective_from: inSeconds(100) });
    world.clock.advanceSeconds(10);
    expect((await admin('DELETE', orgPath('removed'))).status).toBe(204);
    expect((await modelFor('removed')).input_usd_per_million).toBe('9');
    expect((await admin('GET', orgPath('removed'))).status).toBe(404);
    expect((await admin('DELETE', orgPath('removed'))).status).toBe(404);
    world.clock.advanceSeconds(200);
    expect((await modelFor('removed')).input_usd_per_million).toBe('9');

    await putOwn('removed', { input_usd_per_million: '3' });
    expect((await modelFor('removed')).input_usd_per_million).toBe('3');
    expect((await admin('GET', orgPath('removed'))).json.versions).toMatchObject([
      { status: 'in_force' },
      { status: 'withdrawn', input_usd_per_million: '2' },
      { status: 'past', input_usd_per_million: '1', ended_at: expect.any(String) },
    ]);
  });

  test("an org's own price can be scheduled, and removed before it begins", async () => {
    await putOwn('soon', { input_usd_per_million: '1', effective_from: inSeconds(100) });
    expect((await admin('GET', orgPath('soon'))).json.status).toBe('scheduled');
    expect((await admin('DELETE', orgPath('soon'))).status).toBe(204);
    expect((await admin('GET', orgPath('soon'))).status).toBe(404);
  });

  test("an org's own price is listed with the other custom prices of the org", async () => {
    const lister = await world.createOrg();
    await put('listed-b', { input_usd_per_million: '1' });
    await putOwn('listed-c', { input_usd_per_million: '1' }, lister.id);
    await putOwn('listed-b', { discount_percent: '10' }, lister.id);
    await putOwn('listed-a', { input_usd_per_million: '1' }, lister.id);
    await putOwn('listed-a', { input_usd_per_million: '2', effective_from: inSeconds(50) }, lister.id);
    await putOwn('listed-gone', { input_usd_per_million: '1' }, lister.id);
    world.clock.advanceSeconds(1);
    await admin('DELETE', orgPath('listed-gone', lister.id));
    const list = (query: string) => admin('GET', `/orgs/${lister.id}/prices${query}`);
    const names = ({ json }: { json: { data: { model: string }[] } }) => json.data.map(({ model }) => model);
    const first = await list('?limit=2');
    expect(names(first)).toEqual(['listed-a', 'listed-b']);
    expect(first.json.data[1].discount_percent).toBe('10');
    const second = await list(`?limit=2&cursor=${first.json.next_cursor}`);
    expect(names(second)).toEqual(['listed-c']);
    expect(second.json.next_cursor).toBeNull();
    expect(names(await list('?sort=-model'))).toEqual(['listed-c', 'listed-b', 'listed-a']);
    expect(names(await list('?model=listed-b'))).toEqual(['listed-b']);
    expect(names(await admin('GET', `/orgs/${(await world.createOrg()).id}/prices`))).toEqual([]);
  });
});

describe('the models of a caller', () => {
  test('the models of a caller are listed with pages, filters and both orders', async () => {
    for (const [model, provider] of [
      ['page-a', 'pager-2'],
      ['page-b', 'pager-1'],
      ['page-c', 'pager-1'],
    ]) {
      await put(model as string, { provider, input_usd_per_million: '1' });
    }
    const namesBy = async (query: string) => {
      const names: string[] = [];
      let cursor: string | null = '';
      while (cursor !== null) {
        const { json } = await models(`?${query}${cursor && `&cursor=${cursor}`}`);
        names.push(...json.data.map(({ model }: { model: string }) => model));
        cursor = json.next_cursor;
      }
      return names;
    };
    const all = await namesBy('limit=200');
    expect(all).toEqual([...all].sort());

    for (const sort of ['model', '-model', 'provider', '-provider']) {
      const seen = await namesBy(`limit=40&sort=${sort}`);
      expect(seen).toHaveLength(all.length);
      expect([...seen].sort()).toEqual(all);
      const backwards = sort.startsWith('-');
      const [a, b, c] = ['page-a', 'page-b', 'page-c'].map((model) => seen.indexOf(model)) as [
        number,
        number,
        number,
      ];
      expect(b < c).toBe(!backwards);
      expect(a < b).toBe(sort === 'model' || sort === '-provider');
    }
    const filtered = await models('?provider=pager-1');
    expect(filtered.json.data.map(({ model }: { model: string }) => model)).toEqual(['page-b', 'page-c']);
  });

  test('reject a cursor of another list or order', async () => {
    const { json } = await models('?limit=1&sort=-model');
    for (const query of [`?cursor=${json.next_cursor}`, '?cursor=W10', '?cursor=e30', '?cursor=%5B']) {
      expect(fieldErrors(await models(query))).toMatchObject([{ field: 'cursor', code: 'invalid_value' }]);
    }
    expect(fieldErrors(await models('?limit=0'))).toMatchObject([{ field: 'limit', code: 'out_of_range' }]);
    expect(fieldErrors(await models('?price=1'))).toMatchObject([{ field: 'price', code: 'unknown_field' }]);
  });

  test('require the role viewer and the scope', async () => {
    const viewer = await world.mintKey(org, 'viewer', ['routing:read']);
    expect((await models('?limit=1', viewer.secret)).status).toBe(200);
    const without = await world.mintKey(org, 'owner', ['routing:write']);
    expect((await models('', without.secret)).json.error.code).toBe('missing_scope');
  });
});

describe('every change is audited', () => {
  const trail = (tenantId: string, model: string) =>
    world.db.query<{ action: string; before: object | null; after: object }>(
      `SELECT action, before, after FROM audit_log WHERE tenant_id = $1 AND target_id = $2 ORDER BY seq`,
      [tenantId, model],
    );
  const events = async (tenantId: string, model: string) =>
    (
      await world.db.query<{ type: string }>(
        `SELECT type FROM outbox WHERE tenant_id = $1 AND data ->> 'model' = $2 ORDER BY created_at, id`,
        [tenantId, model],
      )
    ).map(({ type }) => type);

  test('of a model in the platform log, with before and after', async () => {
    const first = await put('audited', { input_usd_per_million: '1' });
    await put('audited', { input_usd_per_million: '1' });
    world.clock.advanceSeconds(1);
    const second = await put('audited', { input_usd_per_million: '2' });
    expect(await trail('platform', 'audited')).toEqual([
      { action: 'models.prices.put', before: null, after: first.json },
      { action: 'models.prices.put', before: first.json, after: second.json },
    ]);
    // Operator changes belong to no org, so there is no event.
    expect(await events('platform', 'audited')).toEqual([]);
  });

  test('of an org price in the log of the org', async () => {
    const own = await world.createOrg();
    const set = await admin('PUT', orgPath('audited', own.id), { discount_percent: '5' });
    world.clock.advanceSeconds(1);
    await admin('DELETE', orgPath('audited', own.id));
    expect(await trail(own.id, 'audited')).toEqual([
      { action: 'models.org_prices.put', before: null, after: set.json },
      {
        action: 'models.org_prices.remove',
        before: set.json,
        after: { ...set.json, status: 'past', ended_at: world.clock.now().toISOString() },
      },
    ]);
    expect(await events(own.id, 'audited')).toEqual(['org_price.updated', 'org_price.removed']);
    expect(await trail('platform', 'audited')).toHaveLength(2);
  });

  test('only once for repeated requests with the same idempotency key', async () => {
    const send = () =>
      world.request('PUT', '/v1/admin/models/retried%2Fmodel', {
        key: world.operatorKey,
        body: { input_usd_per_million: '1' },
        headers: { 'idempotency-key': 'price once' },
      });
    const first = await send();
    expect((await send()).text).toBe(first.text);
    expect(await trail('platform', 'retried/model')).toHaveLength(1);
  });
});

describe('the lists show the same values as the single resources', () => {
  const everyItem = async (path: string) => {
    const items: { model: string }[] = [];
    let cursor: string | null = '';
    while (cursor !== null) {
      const { json } = await admin('GET', `${path}?limit=40${cursor && `&cursor=${cursor}`}`);
      items.push(...json.data);
      cursor = json.next_cursor;
    }
    return items;
  };

  test.each([
    ['of everyone', () => '/models', 20],
    ['of an org', () => `/orgs/${org.id}/prices`, 5],
  ])('%s', async (_, path, atLeast) => {
    const items = await everyItem(path());
    expect(items.length).toBeGreaterThanOrEqual(atLeast);
    for (const item of items) {
      const { json } = await admin('GET', `${path()}/${encodeURIComponent(item.model)}`);
      const { versions: _, ...alone } = json;
      expect(alone).toEqual(item);
    }
  });
});
