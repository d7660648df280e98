/** Modifiers and unit prices over HTTP. */
import { expect, test } from 'vitest';
import { useOrg, useWorld } from '../../../../test/harness.ts';

const world = useWorld();
const org = useOrg(world);

const admin = (method: string, path: string, body?: unknown) =>
  world.request(method, `/v1/admin${path}`, { key: world.operatorKey, ...(body !== undefined && { body }) });
const put = (model: string, more: object) =>
  admin('PUT', `/models/${model}`, { input_usd_per_million: '2', output_usd_per_million: '8', ...more });
const batch = { tier: 'batch', input_usd_per_million: '1.00', output_usd_per_million: '4' };

test('amounts of modifiers and units are normalized, and a price that is in force creates no version', async () => {
  const price = { modifiers: [batch, { region: 'eu', multiplier: '1.10' }], units: { page: '0.0040' } };
  const { json } = await put('normalized', price);
  expect(json.modifiers).toEqual([
    { tier: 'batch', input_usd_per_million: '1', output_usd_per_million: '4' },
    { region: 'eu', multiplier: '1.1' },
  ]);
  expect(json.units).toEqual({ page: '0.004' });
  expect((await put('normalized', price)).json.id).toBe(json.id);
  expect((await put('normalized', { ...price, units: { page: '0.005' } })).json.id).not.toBe(json.id);
  const swapped = { ...price, units: { page: '0.005' }, modifiers: [...price.modifiers].reverse() };
  await put('normalized', swapped);
  const { json: read } = await admin('GET', '/models/normalized');
  expect(read.versions).toHaveLength(3);
  expect(read.modifiers[0]).toEqual({ region: 'eu', multiplier: '1.1' });
});

test('a price that is put without modifiers and units has none', async () => {
  await put('reset', { modifiers: [batch], units: { page: '1' } });
  world.clock.advanceSeconds(1);
  expect((await put('reset', { modifiers: null, units: null })).json).toMatchObject({
    modifiers: [],
    units: {},
  });
});

test.each([
  [[{ multiplier: '2' }], 'modifiers[0] required'],
  [[batch, { tier: 'flex' }], 'modifiers[1].multiplier required'],
  [[{ ...batch, multiplier: '2' }], 'modifiers[0].multiplier invalid_value'],
  [[{ ...batch, tier: 'standard' }], 'modifiers[0].tier invalid_value'],
  [[{ ...batch, cache_write_ttl: '1h' }], 'modifiers[0].input_usd_per_million invalid_value'],
  [[{ ...batch, cache_write_ttl: '5m' }], 'modifiers[0].cache_write_ttl invalid_value'],
  [[{ tier: 'Batch', multiplier: '2' }], 'modifiers[0].tier invalid_format'],
  [[{ tier: 'batch', multiplier: '1000' }], 'modifiers[0].multiplier invalid_format'],
  [[{ tier: 'batch', multiplier: 2 }], 'modifiers[0].multiplier invalid_type'],
  [[{ tier: 'batch', multiplier: '-1' }], 'modifiers[0].multiplier invalid_format'],
  [[{ above_input_tokens: 0, multiplier: '2' }], 'modifiers[0].above_input_tokens out_of_range'],
  [[{ hour: 3, multiplier: '2' }], 'modifiers[0].hour unknown_field'],
  [Array.from({ length: 33 }, () => batch), 'modifiers too_many'],
])('modifiers %j are rejected', async (modifiers, expected) => {
  for (const path of ['/models/rejected', `/orgs/${org.id}/prices/rejected`]) {
    const answer = await admin('PUT', path, { input_usd_per_million: '2', modifiers });
    expect(answer.status).toBe(422);
    const fields: { field: string; code: string }[] = answer.json.error.details.fields;
    expect(fields.map(({ field, code }) => `${field} ${code}`)).toContain(expected);
  }
});

test.each([
  [{ Page: '1' }, 422],
  [{ 'tool:': '1' }, 422],
  [{ page: '-1' }, 422],
  [{ page: 1 }, 422],
  [Object.fromEntries(Array.from({ length: 65 }, (_, index) => [`u${index}`, '1'])), 422],
  [{ 'tool:my.tool/v2-x': '0' }, 200],
])('units %j are %i', async (units, status) => {
  expect((await put('units', { units })).status).toBe(status);
});

test("an org's discount applies to modifiers and units, and its own rates replace them", async () => {
  const terms = {
    modifiers: [batch, { region: 'eu', multiplier: '1.1' }],
    units: { page: '0.01' },
  };
  await put('discounted', terms);
  const orgPath = `/orgs/${org.id}/prices/discounted`;
  const refused = await admin('PUT', orgPath, { discount_percent: '10', ...terms });
  expect(refused.json.error.details.fields.map(({ field }: { field: string }) => field)).toEqual([
    'modifiers',
    'units',
  ]);
  await admin('PUT', orgPath, { discount_percent: '10' });
  const shown = async () =>
    (await world.request('GET', '/v1/models?model=discounted', { key: org.ownerKey })).json.data[0];
  expect(await shown()).toMatchObject({
    input_usd_per_million: '1.8',
    modifiers: [
      { tier: 'batch', input_usd_per_million: '0.9', output_usd_per_million: '3.6' },
      { region: 'eu', multiplier: '1.1' },
    ],
    units: { page: '0.009' },
  });
  const resolved = await world.request('GET', '/v1/models/resolve?model=discounted', { key: org.ownerKey });
  expect(resolved.json.units).toEqual({ page: '0.009' });
  world.clock.advanceSeconds(1);
  await admin('PUT', orgPath, { input_usd_per_million: '1', units: { second: '0.1' } });
  expect(await shown()).toMatchObject({ source: 'org', modifiers: [], units: { second: '0.1' } });
});
