/** Updates of list prices: what is applied, what waits for an operator, and what is kept. */
import { describe, expect, test } from 'vitest';
import { createWorld, type TestOrg, useOrg, useWorld } from '../../../../test/harness.ts';
import { createPrices, readCatalog } from '../models/index.ts';

const world = useWorld();
const org = useOrg(world);

const admin = (method: string, path: string, body?: unknown, headers: Record<string, string> = {}) =>
  world.request(method, `/v1/admin${path}`, {
    key: world.operatorKey,
    headers,
    ...(body !== undefined && { body }),
  });

const sources = { test: { name: 'Test list', url: 'https://prices.example' } };
interface Entry {
  readonly [field: string]: unknown;
}
/** Rates are given as input, or as input and output. */
const entry = (model: string, input: string | object, more: Entry = {}): Entry => ({
  model,
  provider: 'acme',
  source: 'test',
  as_of: '2026-11-15',
  rates: typeof input === 'string' ? { input_usd_per_million: input, output_usd_per_million: '10' } : input,
  ...more,
});
const update = async (models: readonly Entry[], more: object = {}) => {
  // Versions of different updates start at different times.
  world.clock.advanceSeconds(1);
  const answer = await admin('POST', '/price-updates', {
    catalog: { schema: 1, date: '2026-11-15', sources, models },
    ...more,
  });
  expect(answer.status, answer.text).toBe(200);
  return answer.json;
};
const priceOf = async (model: string) => (await admin('GET', `/models/${encodeURIComponent(model)}`)).json;
const inputOf = async (model: string) => (await priceOf(model)).input_usd_per_million;
const put = async (model: string, body: object) => {
  world.clock.advanceSeconds(1);
  const answer = await admin('PUT', `/models/${model}`, { output_usd_per_million: '10', ...body });
  expect(answer.status, answer.text).toBe(200);
};
const pricedAs = async (name: string) => {
  const found = await createPrices(world.db).find(org.id, name, world.clock.now().getTime());
  return found && { model: found.model, nanos: found.rates.inputNanosPerMillion };
};
const changes = async (query: string) => (await admin('GET', `/price-changes?${query}`)).json.data;
const pendingOf = async (model: string) => (await changes(`status=pending&model=${model}`))[0];
const decide = async (id: string, verb: string, body?: object) => {
  world.clock.advanceSeconds(1);
  return admin('POST', `/price-changes/${id}/${verb}`, body);
};

describe('an update', () => {
  test('adds models, changes prices as new versions, and repeating it changes nothing', async () => {
    const first = await update([
      entry('new-1', '1'),
      entry('new-2', '2', { capabilities: ['tools'], context_tokens: 9 }),
    ]);
    expect(first.counts).toEqual({ added: 2, changed: 0, pending: 0, kept: 0, skipped: 0, unchanged: 0 });
    expect(await priceOf('new-2')).toMatchObject({
      provider: 'acme',
      input_usd_per_million: '2',
      follows_updates: true,
      source: 'Test list, as of 2026-11-15',
      context_tokens: 9,
      capabilities: ['tools'],
    });

    const next = [entry('new-1', '1.25'), entry('new-2', '2')];
    const second = await update(next);
    expect(second.counts).toMatchObject({ added: 0, changed: 1, unchanged: 1 });
    expect(second.models).toEqual([
      expect.objectContaining({
        model: 'new-1',
        status: 'changed',
        rates: [{ rate: 'input_usd_per_million', before: '1', after: '1.25', change_percent: 25 }],
      }),
    ]);
    const price = await priceOf('new-1');
    expect(price.versions).toHaveLength(2);
    expect(price).toMatchObject({
      id: second.models[0].price_version,
      effective_from: second.effective_from,
    });
    expect(await update(next)).toMatchObject({ counts: { changed: 0, unchanged: 2 }, models: [] });
    expect((await priceOf('new-1')).versions).toHaveLength(2);
  });

  test('as a dry run answers the same and changes nothing', async () => {
    await update([entry('dry-1', '1')]);
    const list = [entry('dry-1', '1.1'), entry('dry-2', '1'), entry('dry-3', '1')];
    await put('dry-3', { input_usd_per_million: '7' });
    const planned = await update(list, { dry_run: true });
    expect(planned).toMatchObject({ dry_run: true, counts: { added: 1, changed: 1, kept: 1 } });
    expect(await inputOf('dry-1')).toBe('1');
    expect((await admin('GET', '/models/dry-2')).status).toBe(404);
    const applied = await update(list);
    expect(applied.counts).toEqual(planned.counts);
    const without = ({ price_version: _, ...one }: Entry) => one;
    expect(applied.models.map(without)).toEqual(planned.models.map(without));
  });

  test('a price update can be scheduled, and prices until then stay', async () => {
    await update([entry('later', '1')]);
    const start = new Date(world.clock.now().getTime() + 3_600_000).toISOString();
    const { models } = await update([entry('later', '1.2')], { effective_from: start });
    expect(await inputOf('later')).toBe('1');
    const { versions } = await priceOf('later');
    expect(versions[0]).toMatchObject({
      id: models[0].price_version,
      status: 'scheduled',
      effective_from: start,
    });
    // The list is compared with the price in force, not with the scheduled one.
    expect((await update([entry('later', '1')])).counts.unchanged).toBe(1);
    world.clock.advanceSeconds(3_601);
    expect(await inputOf('later')).toBe('1.2');
  });

  test('keeps rates that the list does not know, if it says so', async () => {
    const cached = { cached_input_usd_per_million: '0.5' };
    const rates = { input_usd_per_million: '1', output_usd_per_million: '10' };
    await update([entry('partial', { ...rates, ...cached })]);
    const list = [entry('partial', { ...rates, input_usd_per_million: '1.1' })];
    expect((await update(list, { keep_missing_rates: true })).counts.changed).toBe(1);
    expect(await priceOf('partial')).toMatchObject({ input_usd_per_million: '1.1', ...cached });
    expect((await update(list, { keep_missing_rates: true })).counts.unchanged).toBe(1);
    // Without it, cached tokens would be charged as input: more than twice as much.
    expect((await update(list)).counts.pending).toBe(1);
  });

  test('skips models whose billing prices cannot express', async () => {
    const { models } = await update([entry('unknown-billing', {})]);
    expect(models).toEqual([expect.objectContaining({ status: 'skipped', reason: 'no_price' })]);
  });

  test('a price update with a wrong list changes nothing and names every wrong field', async () => {
    const send = (catalog: object) => admin('POST', '/price-updates', { catalog });
    const { status, json } = await send({
      schema: 1,
      date: '2026-11-15',
      sources,
      models: [
        entry('fine', '1'),
        entry('x'.repeat(201), '1'),
        entry('wrong', { input_usd_per_million: '-1' }),
        {},
      ],
    });
    expect(status).toBe(422);
    expect(json.error.details.fields.map(({ field }: { field: string }) => field)).toEqual(
      expect.arrayContaining([
        'catalog.models[1].model',
        'catalog.models[2].rates.input_usd_per_million',
        'catalog.models[3].source',
      ]),
    );
    const semantic = await send({
      schema: 1,
      date: '2026-11-15',
      sources,
      models: [entry('fine', '1'), entry('fine', '2'), entry(' blank', '1', { source: 'toString' })],
    });
    expect(semantic.json.error.details.fields.map(({ field }: { field: string }) => field)).toEqual([
      'catalog.models[1].model',
      'catalog.models[2].model',
      'catalog.models[2].source',
    ]);
    expect((await send({ schema: 2, date: '2026-11-15', sources, models: [] })).status).toBe(422);
    expect((await admin('GET', '/models/fine')).status).toBe(404);
  });

  test('rejects dates that do not exist', async () => {
    const { status, json } = await admin('POST', '/price-updates', {
      catalog: {
        schema: 1,
        date: '2026-02-30',
        sources,
        models: [entry('dated', '1', { as_of: '2026-04-31', deprecated_on: '2027-02-29' })],
      },
    });
    expect(status).toBe(422);
    expect(json.error.details.fields).toMatchObject(
      ['catalog.date', 'catalog.models[0].as_of', 'catalog.models[0].deprecated_on'].map((field) => ({
        field,
        code: 'invalid_format',
      })),
    );
  });

  test('a price update is for operators only', async () => {
    const body = { catalog: { schema: 1, date: '2026-11-15', sources, models: [entry('a', '1')] } };
    const answer = await world.request('POST', '/v1/admin/price-updates', { key: org.ownerKey, body });
    expect([answer.status, answer.json.error.code]).toEqual([403, 'forbidden']);
  });

  test('a price update that fails before its commit leaves nothing behind', async () => {
    world.fault = (point, route) => {
      if (point === 'write.before_commit' && route === 'price_updates.create') {
        throw new Error('killed');
      }
    };
    const body = {
      catalog: {
        schema: 1,
        date: '2026-11-15',
        sources,
        models: [entry('half-1', '1'), entry('half-2', '1')],
      },
    };
    expect((await admin('POST', '/price-updates', body)).status).toBe(500);
    world.fault = undefined;
    expect((await admin('GET', '/models/half-1')).status).toBe(404);
    expect((await update(body.catalog.models)).counts.added).toBe(2);
  });

  test('price updates at the same time apply each list once', async () => {
    await update([entry('race', '1')]);
    world.clock.advanceSeconds(1);
    const body = {
      catalog: {
        schema: 1,
        date: '2026-11-15',
        sources,
        models: [entry('race', '1.2'), entry('race-2', '3')],
      },
    };
    const answers = await Promise.all(Array.from({ length: 4 }, () => admin('POST', '/price-updates', body)));
    const counts = answers.map(({ json }) => json.counts.added + json.counts.changed).sort();
    expect(counts).toEqual([0, 0, 0, 2]);
    expect((await priceOf('race')).versions).toHaveLength(2);
  });

  test('a price update with the shipped catalog finds nothing to do on a new installation', async () => {
    const fresh = await createWorld();
    try {
      const answer = await fresh.request('POST', '/v1/admin/price-updates', {
        key: fresh.operatorKey,
        body: { catalog: readCatalog() },
      });
      expect(answer.json.counts).toMatchObject({ added: 0, changed: 0, pending: 0, kept: 0 });
      expect(answer.json.counts.unchanged).toBeGreaterThan(300);
    } finally {
      await fresh.close();
    }
  });

  test('a price update with the shipped catalog adds modifiers and units to prices that release 0.1.0 inserted', async () => {
    const fresh = await createWorld();
    try {
      await fresh.db.query(
        'UPDATE model_prices SET modifiers = NULL, units = NULL, follows_updates = NULL, source = NULL',
        [],
      );
      const send = () =>
        fresh.request('POST', '/v1/admin/price-updates', {
          key: fresh.operatorKey,
          body: { catalog: readCatalog() },
        });
      const { counts } = (await send()).json;
      expect(counts).toMatchObject({ added: 0, pending: 0, kept: 0 });
      expect(counts.changed).toBeGreaterThan(150);
      const { json: sonnet } = await fresh.request('GET', '/v1/admin/models/claude-sonnet-4-5', {
        key: fresh.operatorKey,
      });
      expect(sonnet.modifiers).toContainEqual(
        expect.objectContaining({ tier: 'batch', input_usd_per_million: '1.5' }),
      );
      expect(sonnet.units).toMatchObject({ web_search: '0.01' });
      expect((await send()).json.counts).toMatchObject({ changed: 0, pending: 0 });
    } finally {
      await fresh.close();
    }
  });
});

describe('modifiers and units', () => {
  const rates = { input_usd_per_million: '2', output_usd_per_million: '10' };
  const listed = (model: string, batch: string, search: string) =>
    entry(model, rates, {
      tiers: { batch: { input_usd_per_million: batch } },
      regions: { eu: '1.1' },
      units: { web_search: search },
    });
  const costOf = async (model: string) => {
    const { json } = await world.request('POST', '/v1/runs', {
      key: org.ownerKey,
      body: {
        model,
        status: 'succeeded',
        input_tokens: 1_000_000,
        service_tier: 'batch',
        units: { web_search: 1 },
      },
    });
    return json.cost_usd;
  };

  test('modifiers and units of a list are applied, and runs are charged by them', async () => {
    expect((await update([listed('terms', '1', '0.01')])).counts.added).toBe(1);
    expect(await costOf('terms')).toBe('1.01');
    const { models } = await update([listed('terms', '1.2', '0.012')]);
    expect(models).toEqual([
      expect.objectContaining({
        status: 'changed',
        rates: [
          {
            rate: 'modifiers[tier=batch].input_usd_per_million',
            before: '1',
            after: '1.2',
            change_percent: 20,
          },
          { rate: 'units.web_search', before: '0.01', after: '0.012', change_percent: 20 },
        ],
      }),
    ]);
    expect(await costOf('terms')).toBe('1.212');
    expect((await update([listed('terms', '1.2', '0.012')])).counts.unchanged).toBe(1);
  });

  test.each([
    ['rate of a tier', listed('waits-tier', '1.6', '0.01')],
    ['unit price', listed('waits-unit', '1', '0.1')],
    ['factor of a region', { ...listed('waits-region', '1', '0.01'), regions: { eu: '2' } }],
    [
      'further tier',
      {
        ...listed('waits-new', '1', '0.01'),
        tiers: { batch: { input_usd_per_million: '1' }, priority: { input_usd_per_million: '4' } },
      },
    ],
    ['removed unit', { ...listed('waits-less', '1', '0.01'), units: {} }],
  ])('wait for an operator if they move too far: %s', async (_, changed) => {
    const model = String(changed.model);
    await update([listed(model, '1', '0.01')]);
    const before = await priceOf(model);
    expect((await update([changed])).counts).toMatchObject({ changed: 0, pending: 1 });
    expect(await priceOf(model)).toEqual(before);
    const { id } = await pendingOf(model);
    expect((await decide(id, 'approve')).status).toBe(200);
    expect((await update([changed])).counts).toMatchObject({ pending: 0, unchanged: 1 });
  });

  test('modifiers and units that the API would not take are rejected, with the model that has them', async () => {
    const send = (more: Entry) =>
      admin('POST', '/price-updates', {
        catalog: { schema: 1, date: '2026-11-15', sources, models: [entry('odd', rates, more)] },
      });
    const tiers = Object.fromEntries(Array.from({ length: 20 }, (__, at) => [`t${at}`, rates]));
    for (const more of [
      { regions: { eu: '1000' } },
      { tiers: { standard: rates } },
      { tiers, long_context: [{ above_input_tokens: 1, ...rates }] },
    ]) {
      const { status, json } = await send(more);
      expect([status, json.error.details.fields[0].field]).toEqual([422, 'catalog.models[0]']);
      expect(json.error.details.fields[0].message).toContain('modifiers');
    }
  });
});

describe('prices of operators', () => {
  test('prices of operators are kept, also if they equal the list when they are set', async () => {
    await update([entry('own', '1'), entry('same', '1')]);
    await put('own', { input_usd_per_million: '7' });
    await put('same', { input_usd_per_million: '1', provider: 'acme' });
    expect(await priceOf('same')).toMatchObject({ follows_updates: false });
    expect((await priceOf('same')).versions).toHaveLength(1);
    const { models } = await update([entry('own', '1.1'), entry('same', '1.1')]);
    expect(models.map(({ status, reason, price_version }: Entry) => [status, reason, price_version])).toEqual(
      [
        ['kept', 'operator_price', null],
        ['kept', 'operator_price', null],
      ],
    );
    expect([await inputOf('own'), await inputOf('same')]).toEqual(['7', '1']);
  });

  test('prices of operators are handed back to updates on request', async () => {
    await put('back', { input_usd_per_million: '2' });
    expect((await update([entry('back', '2.1')])).counts.kept).toBe(1);
    await put('back', { input_usd_per_million: '2', follows_updates: true });
    expect((await priceOf('back')).versions).toHaveLength(1);
    expect((await update([entry('back', '2.1')])).counts.changed).toBe(1);
    expect(await inputOf('back')).toBe('2.1');
  });

  test('prices of operators that begin later take over from an update, and stay', async () => {
    await update([entry('soon', '1')]);
    const start = new Date(world.clock.now().getTime() + 60_000).toISOString();
    await put('soon', { input_usd_per_million: '5', effective_from: start });
    expect((await update([entry('soon', '1.1')])).counts.changed).toBe(1);
    world.clock.advanceSeconds(61);
    expect(await inputOf('soon')).toBe('5');
    expect((await update([entry('soon', '1.2')])).counts.kept).toBe(1);
  });

  test('prices of operators that release 0.1.0 stored are kept, and its catalog prices are not', async () => {
    await update([entry('old-own', '1'), entry('old-catalog', '1')]);
    await world.db.query(
      `UPDATE model_prices SET follows_updates = NULL, source = NULL,
         created_at = CASE model WHEN 'old-catalog' THEN timestamptz '2020-01-01T00:00:00Z' ELSE created_at END
       WHERE model IN ('old-own', 'old-catalog')`,
      [],
    );
    const { models } = await update([entry('old-own', '1.1'), entry('old-catalog', '1.1')]);
    expect(models.map(({ model, status }: Entry) => [model, status])).toEqual([
      ['old-own', 'kept'],
      ['old-catalog', 'changed'],
    ]);
  });

  test('prices of operators also apply to other names of their model, which an update does not take away', async () => {
    await put('named', { input_usd_per_million: '3' });
    expect(await pricedAs('named-2026-01-01')).toEqual({ model: 'named', nanos: 3_000_000_000n });
    const { models } = await update([entry('named-2026-01-01', '3.1')]);
    expect(models[0]).toMatchObject({ status: 'kept', reason: 'name_of_operator_price', priced_as: 'named' });
    expect(await pricedAs('named-2026-01-01')).toMatchObject({ model: 'named' });

    await update([entry('discounted', '1')]);
    await admin('PUT', `/orgs/${org.id}/prices/discounted`, { discount_percent: '50' });
    expect((await update([entry('discounted-2026-01-01', '1.1')])).counts.kept).toBe(1);
    expect(await pricedAs('discounted-2026-01-01')).toEqual({ model: 'discounted', nanos: 500_000_000n });
    // The price of the model itself follows updates, and the discount follows it.
    expect((await update([entry('discounted', '1.2')])).counts.changed).toBe(1);
    expect(await pricedAs('discounted')).toEqual({ model: 'discounted', nanos: 600_000_000n });
  });
});

describe('names', () => {
  test('of new models are added, those that find a price already keep it', async () => {
    await update([entry('first', '1')]);
    const second = entry('second', '2', {
      aliases: ['second-alias', 'first-2026-02-02'],
      patterns: ['second:*'],
    });
    const { models } = await update([second]);
    expect(await pricedAs('second-alias')).toMatchObject({ model: 'second' });
    expect(await pricedAs('second:mine')).toMatchObject({ model: 'second' });
    // The list gives the name another price than it had, so it is treated as a change of that name.
    expect(models.map(({ model, status }: Entry) => [model, status])).toEqual([
      ['second', 'added'],
      ['first-2026-02-02', 'pending'],
    ]);
    expect(await pricedAs('first-2026-02-02')).toMatchObject({ model: 'first' });
    expect((await update([{ ...second, aliases: ['second-alias', 'third-name'] }])).counts).toMatchObject({
      unchanged: 1,
      added: 0,
    });
    expect(await pricedAs('third-name')).toMatchObject({ model: 'second' });
  });

  test('a dated model that the list merged into its undated one gets the new price', async () => {
    await update([entry('merged', '1'), entry('merged-2026-01-01', '1.4')]);
    const { models } = await update([entry('merged', '1.1', { aliases: ['merged-2026-01-01'] })]);
    expect(models.map(({ model, status }: Entry) => [model, status])).toEqual([
      ['merged', 'changed'],
      ['merged-2026-01-01', 'changed'],
    ]);
    expect(await inputOf('merged-2026-01-01')).toBe('1.1');
    // Of two models with the same alias, the first one sets its price.
    const both = { aliases: ['merged-2026-01-01', 'merged-2026-01-01'] };
    await update([entry('merged', '1.2', both), entry('merger', '1.3', both)]);
    expect(await inputOf('merged-2026-01-01')).toBe('1.2');
  });

  test('a name keeps its price if the list moves only the model that it stands for', async () => {
    await update([entry('leader', '1')]);
    expect(await pricedAs('leader-2026-01-01')).toMatchObject({ model: 'leader' });
    const list = [entry('leader-2026-01-01', '1'), entry('leader', '1.2'), entry('leader-2026-02-02', '1.2')];
    const { models } = await update(list);
    expect(models.map(({ model, status, priced_as }: Entry) => [model, status, priced_as])).toEqual([
      ['leader-2026-01-01', 'added', 'leader'],
      ['leader', 'changed', null],
    ]);
    expect(await pricedAs('leader-2026-01-01')).toEqual({
      model: 'leader-2026-01-01',
      nanos: 1_000_000_000n,
    });
    expect(await pricedAs('leader-2026-02-02')).toEqual({ model: 'leader', nanos: 1_200_000_000n });
    expect((await update(list)).models).toEqual([]);

    // Also if the model's own change waits, and is approved later.
    await update([entry('waiting', '1')]);
    const large = [entry('waiting', '9'), entry('waiting-2026-01-01', '1'), entry('waiting-2026-02-02', '9')];
    expect((await update(large)).counts).toMatchObject({ pending: 1, added: 1, unchanged: 1 });
    await decide((await pendingOf('waiting')).id, 'approve');
    expect((await update(large)).models).toEqual([]);
    expect(await pricedAs('waiting-2026-01-01')).toMatchObject({ nanos: 1_000_000_000n });
    expect(await pricedAs('waiting-2026-02-02')).toMatchObject({ nanos: 9_000_000_000n });
  });

  test('a name with the price of the model that it stands for needs no price of its own', async () => {
    await update([entry('plain', '1')]);
    expect(await update([entry('acme/plain', '1'), entry('openai/plain', '1')])).toMatchObject({
      counts: { added: 1, unchanged: 1 },
    });
  });
});

describe('a change of more than 50 %', () => {
  test('waits for an operator, once, and the price stays', async () => {
    await update([entry('jump', '1')]);
    const list = [entry('jump', '1.51')];
    const { counts, models } = await update(list);
    expect(counts).toMatchObject({ changed: 0, pending: 1 });
    const change = await pendingOf('jump');
    expect(change).toMatchObject({
      id: models[0].change_id,
      status: 'pending',
      priced_as: null,
      rates: [{ rate: 'input_usd_per_million', before: '1', after: '1.51', change_percent: 51 }],
      effective_from: null,
      source: 'Test list, as of 2026-11-15',
      decided_at: null,
    });
    expect(await inputOf('jump')).toBe('1');
    expect((await update(list)).models[0]).toMatchObject({ status: 'pending', change_id: change.id });
    expect(await changes('model=jump')).toHaveLength(1);

    const approved = await decide(change.id, 'approve', { reason: 'checked' });
    expect(approved.json).toMatchObject({ status: 'approved', decision_reason: 'checked' });
    expect(await priceOf('jump')).toMatchObject({
      id: approved.json.price_version,
      input_usd_per_million: '1.51',
      follows_updates: true,
    });
    const again = await decide(change.id, 'approve');
    expect([again.status, again.json.error.code]).toEqual([409, 'conflict']);
    expect((await decide(change.id, 'reject')).status).toBe(409);
    expect((await priceOf('jump')).versions).toHaveLength(2);
    expect((await update(list)).counts.unchanged).toBe(1);
  });

  test('can be applied at once if the operator says so', async () => {
    await update([entry('bold', '1')]);
    await update([entry('bold', '9')]);
    expect((await update([entry('bold', '9')], { apply_large_changes: true })).counts.changed).toBe(1);
    expect(await inputOf('bold')).toBe('9');
    expect(await pendingOf('bold')).toBeUndefined();
  });

  test('that was rejected is not proposed again, until the list or the price changes', async () => {
    await update([entry('no', '1')]);
    await update([entry('no', '3')]);
    const { id } = await pendingOf('no');
    expect((await decide(id, 'reject')).json).toMatchObject({ status: 'rejected', price_version: null });
    const { models } = await update([entry('no', '3')]);
    expect(models[0]).toMatchObject({ status: 'kept', reason: 'rejected' });
    expect((await update([entry('no', '4')])).counts.pending).toBe(1);
    expect((await update([entry('no', '1.2')])).counts.changed).toBe(1);
    expect(await pendingOf('no')).toBeUndefined();
    expect((await update([entry('no', '3')])).counts.pending).toBe(1);
  });

  test('is superseded by a newer list, and by an operator who sets the price', async () => {
    await update([entry('moving', '1')]);
    await update([entry('moving', '3')]);
    const first = await pendingOf('moving');
    await update([entry('moving', '4')]);
    const second = await pendingOf('moving');
    expect((await admin('GET', `/price-changes/${first.id}`)).json.status).toBe('superseded');
    expect((await decide(first.id, 'approve')).status).toBe(409);

    await put('moving', { input_usd_per_million: '2' });
    expect((await admin('GET', `/price-changes/${second.id}`)).json.status).toBe('superseded');
    expect((await decide(second.id, 'approve')).status).toBe(409);
    expect(await inputOf('moving')).toBe('2');

    await update([entry('calm', '1')]);
    await update([entry('calm', '3')]);
    await update([entry('calm', '1')]);
    expect(await pendingOf('calm')).toBeUndefined();
  });

  test('cannot be approved once another price is in force', async () => {
    await update([entry('overtaken', '1')]);
    await update([entry('overtaken', '3')]);
    const { id } = await pendingOf('overtaken');
    // As a process of release 0.1.0 sets prices: without superseding changes.
    await world.db.query(
      `INSERT INTO model_prices (model, id, input_nanos_per_million, effective_from, created_at)
       VALUES ('overtaken', 'prc_overtaken', 2000000000, $1, $1)`,
      [world.clock.now()],
    );
    const { status, json } = await decide(id, 'approve');
    expect([status, json.error.code]).toEqual([409, 'conflict']);
    expect((await decide(id, 'reject')).status).toBe(200);
  });

  test('of a name is approved only while the model that it stands for has the same price', async () => {
    await update([entry('base', '1')]);
    await update([entry('base-2026-01-01', '3')]);
    const change = await pendingOf('base-2026-01-01');
    expect(change.priced_as).toBe('base');
    await put('base', { input_usd_per_million: '1.2' });
    expect((await decide(change.id, 'approve')).status).toBe(409);
    expect(await pricedAs('base-2026-01-01')).toMatchObject({ model: 'base' });
  });

  test('starts when it is approved, or later if it is scheduled', async () => {
    await update([entry('planned', '1')]);
    const start = new Date(world.clock.now().getTime() + 3_600_000).toISOString();
    await update([entry('planned', '3')], { effective_from: start });
    const { id, effective_from } = await pendingOf('planned');
    expect(effective_from).toBe(start);
    await decide(id, 'approve');
    expect((await priceOf('planned')).versions[0]).toMatchObject({
      status: 'scheduled',
      effective_from: start,
    });

    await update([entry('late', '1')]);
    await update([entry('late', '3')], { effective_from: world.clock.now().toISOString() });
    const late = await pendingOf('late');
    world.clock.advanceSeconds(600);
    const { json } = await decide(late.id, 'approve');
    expect((await priceOf('late')).effective_from).toBe(json.decided_at);
  });

  test('is approved once by two operators at the same time', async () => {
    await update([entry('twice', '1')]);
    await update([entry('twice', '3')]);
    const { id } = await pendingOf('twice');
    const answers = await Promise.all(['approve', 'approve', 'reject'].map((verb) => decide(id, verb)));
    expect(answers.map(({ status }) => status).sort()).toEqual([200, 409, 409]);
  });

  test('that does not exist is not found', async () => {
    for (const [method, path] of [
      ['GET', '/price-changes/pch_none'],
      ['POST', '/price-changes/pch_none/approve'],
      ['POST', '/price-changes/pch_none/reject'],
    ] as const) {
      expect((await admin(method, path)).status, path).toBe(404);
    }
  });

  test('is announced to organizations that subscribed, once per update, and counted', async () => {
    const listener = await world.createOrg();
    const other = await world.createOrg();
    for (const [one, events] of [
      [listener, ['price.*']],
      [other, ['budget.*']],
    ] as const) {
      await world.request('POST', `/v1/orgs/${one.id}/webhooks`, {
        key: one.ownerKey,
        body: { url: 'https://receiver.example/', events },
      });
    }
    const eventsOf = ({ id }: TestOrg) =>
      world.db.query<{ data: { pending: number; changes: Entry[] } }>(
        "SELECT data FROM outbox WHERE tenant_id = $1 AND type = 'price.change_pending'",
        [id],
      );
    const many = (input: string) => Array.from({ length: 25 }, (_, index) => entry(`loud-${index}`, input));
    await update(many('1'));
    expect((await update(many('2'), { dry_run: true })).counts.pending).toBe(25);
    expect(await eventsOf(listener)).toEqual([]);
    await update(many('2'));
    await update(many('2'));
    const [event, ...more] = await eventsOf(listener);
    expect(more).toEqual([]);
    expect(event?.data.pending).toBe(25);
    expect(event?.data.changes).toHaveLength(20);
    expect(await eventsOf(other)).toEqual([]);
    const { text } = await world.request('GET', '/metrics');
    const [, pending] = /^svc_price_changes_pending (\d+)$/m.exec(text) ?? [];
    expect(Number(pending)).toBe((await changes('status=pending&limit=200')).length);
  });

  test('appears in the audit log when it is proposed, superseded, approved and rejected', async () => {
    await update([entry('audited', '1')]);
    await update([entry('audited', '3')]);
    await update([entry('audited', '4')]);
    const { id } = await pendingOf('audited');
    await decide(id, 'approve', { reason: 'true' });
    const { json } = await admin('GET', '/audit-log?limit=8');
    const entries = json.data.map(({ action, target, after }: Entry & { target: Entry; after: Entry }) => [
      action,
      target.kind,
      after.status,
    ]);
    expect(entries).toEqual(
      expect.arrayContaining([
        ['price_updates.create', 'model_price', 'in_force'],
        ['price_updates.create', 'price_change', 'pending'],
        ['price_updates.create', 'price_change', 'superseded'],
        ['price_changes.approve', 'price_change', 'approved'],
        ['price_changes.approve', 'model_price', 'in_force'],
      ]),
    );
  });
});

test('pending changes are listed by status and model, sorted, page by page', async () => {
  const all = await changes('limit=200');
  const sorted = (await changes('sort=model&limit=200')).map(({ model }: Entry) => model);
  expect(sorted).toEqual([...sorted].sort());
  expect(sorted).toHaveLength(all.length);
  const { json: page } = await admin('GET', '/price-changes?limit=2&sort=created_at');
  const { json: rest } = await admin(
    'GET',
    `/price-changes?limit=200&sort=created_at&cursor=${page.next_cursor}`,
  );
  expect([...page.data, ...rest.data].map(({ id }: Entry) => id)).toEqual(
    all.map(({ id }: Entry) => id).reverse(),
  );
  expect((await admin('GET', '/price-changes?status=open')).status).toBe(422);
});
