import { expect, test } from 'vitest';
import { useWorld } from '../../../../test/harness.ts';
import { hostOfName } from '../../../kernel/model-names.ts';
import { type Catalog, type CatalogModel, readCatalog } from './catalog.ts';
import { priceOf } from './catalog-price.ts';
import { createPrices, seedModels } from './index.ts';

const world = useWorld();

const catalog = readCatalog();
const priced = catalog.models.filter((one) => priceOf(one) !== undefined);

const admin = (method: string, path: string, body?: unknown) =>
  world.request(method, `/v1/admin${path}`, { key: world.operatorKey, ...(body !== undefined && { body }) });
const seed = (from?: Catalog) => seedModels(world.db, world.clock.now(), from);
const pricedAs = async (name: string) =>
  (await createPrices(world.db).find('org_any', name, world.clock.now().getTime()))?.model;

test('every model of the catalog has a source, a date, and valid unique names', () => {
  expect(catalog.schema).toBe(1);
  expect(catalog.date).toMatch(/^\d{4}-\d{2}-\d{2}$/);
  const names = catalog.models.flatMap(({ model, aliases = [] }) => [model, ...aliases]);
  expect(new Set(names).size).toBe(names.length);
  for (const { model, source, as_of, deprecated_on } of catalog.models) {
    expect(catalog.sources[source]?.url, model).toMatch(/^https:/);
    expect(as_of <= catalog.date, model).toBe(true);
    expect(deprecated_on ?? catalog.date, model).toMatch(/^\d{4}-\d{2}-\d{2}$/);
  }
  // A routing policy of `*` may match at most 500 models; those of hosts do not count.
  expect(priced.filter(({ model }) => hostOfName(model) === null).length).toBeLessThan(450);
});

test('every amount of the catalog is a decimal that prices can express', () => {
  const amounts = (value: unknown): unknown[] =>
    typeof value === 'object' && value !== null ? Object.values(value).flatMap(amounts) : [value];
  for (const { model, rates, tiers, long_context, units } of catalog.models) {
    for (const amount of amounts([rates, tiers, long_context, units]).filter(
      (one) => typeof one !== 'number',
    )) {
      expect(amount ?? '0', model).toMatch(/^\d{1,9}(\.\d{1,9})?$/);
    }
  }
});

test('every model of the catalog gets a price that the API accepts', async () => {
  expect(priced.length).toBe(catalog.models.length);
  // Validation of one request is expensive, so only the prices with most terms are put.
  const complex = [...priced].sort((a, b) => termsOf(b) - termsOf(a)).slice(0, 5);
  for (const entry of complex) {
    const { status, json } = await admin('PUT', '/models/catalog-copy', priceOf(entry));
    expect([status, json.modifiers.length], entry.model).toEqual([200, priceOf(entry)?.modifiers?.length]);
  }
});

const termsOf = (entry: CatalogModel) => priceOf(entry)?.modifiers?.length ?? 0;

test('the rates of the longest context win, in whatever order the source has them', () => {
  const entry = (long_context: NonNullable<CatalogModel['long_context']>): CatalogModel => ({
    model: 'm',
    provider: 'p',
    source: 's',
    as_of: catalog.date,
    rates: {
      input_usd_per_million: '1',
      cache_write_usd_per_million: '2',
      cache_write_1h_usd_per_million: '4',
    },
    tiers: { priority: { input_usd_per_million: '2' } },
    long_context,
  });
  const long = { above_input_tokens: 128_000, input_usd_per_million: '2', cache_write_usd_per_million: '4' };
  const longer = {
    above_input_tokens: 512_000,
    input_usd_per_million: '3',
    cache_write_usd_per_million: '6',
  };
  expect(priceOf(entry([longer, long]))).toEqual(priceOf(entry([long, longer])));
  const thresholds = priceOf(entry([longer, long]))?.modifiers?.map((one) => one.above_input_tokens ?? 0);
  expect(thresholds).toEqual([0, 128_000, 128_000, 512_000, 512_000, 0, 128_000, 512_000]);
});

test('prices are inserted once, and never change one that exists', async () => {
  // Like the service, a test world starts with the catalog, so its prices are removed first.
  await world.db.query('DELETE FROM model_prices', []);
  const own = await admin('PUT', '/models/gpt-4o', { input_usd_per_million: '7' });
  const inserted = await Promise.all([seed(), seed(), seed()]);
  expect(inserted.reduce((sum, one) => sum + one, 0)).toBe(priced.length - 1);
  expect(await seed()).toBe(0);

  const { json } = await admin('GET', '/models/gpt-4o');
  expect(json.versions.map(({ id }: { id: string }) => id)).toEqual([own.json.id]);
  const seeded = await admin('GET', '/models/gpt-5');
  expect(seeded.json).toMatchObject({
    provider: 'openai',
    status: 'in_force',
    input_usd_per_million: '1.25',
    cached_input_usd_per_million: '0.125',
    output_usd_per_million: '10',
    effective_from: '2020-01-01T00:00:00.000Z',
  });
  // Release 0.1.0 wrote the same id, which its runs reference.
  expect(seeded.json.id).toMatch(/^prc_[0-9a-hjkmnp-tv-z]{26}$/);
});

test('a newer catalog adds models and names, and keeps prices, capabilities and names of operators', async () => {
  const entry = (model: string, more: object) => ({
    model,
    provider: 'acme',
    source: 'litellm',
    as_of: '2027-01-01',
    rates: { input_usd_per_million: '1' },
    ...more,
  });
  const next = (date: string, ...models: ReturnType<typeof entry>[]): Catalog => ({
    ...catalog,
    date,
    models,
  });
  await seed(next('2027-01-01', entry('cat-1', { aliases: ['kitten'], context_tokens: 10 })));
  expect(await pricedAs('kitten')).toBe('cat-1');

  const twice = entry('cat-1', {
    aliases: ['kitty'],
    context_tokens: 20,
    rates: { input_usd_per_million: '2' },
  });
  await seed(next('2027-02-01', twice, entry('cat-2', { patterns: ['cat-2:*'] })));
  expect(await pricedAs('kitty')).toBe('cat-1');
  expect(await pricedAs('kitten')).toBeUndefined();
  expect(await pricedAs('cat-2:mine')).toBe('cat-2');
  expect((await admin('GET', '/models/cat-1')).json).toMatchObject({
    input_usd_per_million: '1',
    context_tokens: 10,
    aliases: ['kitty'],
  });

  // An older release that starts again does not bring its names back.
  await seed(next('2027-01-01', entry('cat-1', { aliases: ['kitten'] })));
  expect(await pricedAs('kitten')).toBeUndefined();

  await admin('PUT', '/models/dog', { input_usd_per_million: '1', aliases: ['kitty'] });
  expect(await pricedAs('kitty')).toBe('dog');
  await admin('PUT', '/models/cat-1', { input_usd_per_million: '1', aliases: [] });
  await seed(next('2027-03-01', entry('cat-1', { aliases: ['pussycat'] })));
  expect(await pricedAs('pussycat')).toBeUndefined();
  await admin('PUT', '/models/cat-1', { input_usd_per_million: '1', aliases: null });
  expect(await pricedAs('pussycat')).toBe('cat-1');
});
