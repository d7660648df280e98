import { afterAll, beforeAll, expect, test } from 'vitest';
import { createWorld, type World } from '../../../../test/harness.ts';
import { createPrices, seedModelCapabilities, seedModels } from './index.ts';
import { seeds } from './seed.ts';
import { capabilitySeeds } from './seed-capabilities.ts';

let world: World;
beforeAll(async () => {
  world = await createWorld();
});
afterAll(() => world.close());

const admin = (method: string, path: string, body?: unknown) =>
  world.request(method, `/v1/admin${path}`, { key: world.operatorKey, ...(body !== undefined && { body }) });

test('every seed is a valid price, and models are unique', async () => {
  expect(new Set(seeds.map(({ model }) => model)).size).toBe(seeds.length);
  for (const { provider, model, rates } of seeds) {
    const answer = await admin('PUT', `/models/${encodeURIComponent(`try ${model}`)}`, {
      provider,
      ...rates,
    });
    expect(answer.status, model).toBe(200);
    expect(answer.json).toMatchObject({ provider, ...rates });
  }
});

test('seeds are inserted once, and never overwrite the price of an operator', async () => {
  // Like the service, a test world starts with the seeds, so they are removed first.
  await world.db.query('DELETE FROM model_prices', []);
  const own = await admin('PUT', '/models/gpt-4o', { input_usd_per_million: '7' });
  const prices = createPrices(world.db);
  expect(await prices.find('org_any', 'gpt-5', world.clock.now().getTime())).toBeUndefined();

  const written = await Promise.all([seedModels(world.db), seedModels(world.db), seedModels(world.db)]);
  expect(written.reduce((sum, one) => sum + one, 0)).toBe(seeds.length - 1);
  expect(await seedModels(world.db)).toBe(0);

  const { json } = await admin('GET', '/models/gpt-4o');
  expect(json).toMatchObject(own.json);
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
  expect(seeded.json.id).toMatch(/^prc_[0-9a-hjkmnp-tv-z]{26}$/);
  const found = await prices.find('org_any', 'gpt-5', world.clock.now().getTime());
  expect(found?.versionId).toBe(seeded.json.id);

  await admin('PUT', '/models/gpt-5', { input_usd_per_million: '1' });
  await seedModels(world.db);
  expect((await admin('GET', '/models/gpt-5')).json).toMatchObject({
    provider: 'openai',
    input_usd_per_million: '1',
  });
});

test('every seeded model has valid capabilities, which are inserted once', async () => {
  expect(capabilitySeeds.map(({ model }) => model).sort()).toEqual(seeds.map(({ model }) => model).sort());
  for (const { model, ...capabilities } of capabilitySeeds) {
    const { status, json } = await admin('PUT', `/models/${encodeURIComponent(`can ${model}`)}`, {
      input_usd_per_million: '1',
      ...capabilities,
    });
    expect([status, json], model).toMatchObject([200, capabilities]);
  }
  await world.db.query("DELETE FROM model_facts WHERE model = 'gpt-5'", []);
  await admin('PUT', '/models/gpt-4o', { input_usd_per_million: '7', context_tokens: 1 });
  expect(await seedModelCapabilities(world.db, world.clock.now())).toBe(1);
  expect((await admin('GET', '/models/gpt-4o')).json.context_tokens).toBe(1);
  expect((await admin('GET', '/models/gpt-5')).json.context_tokens).toBe(400_000);
});
