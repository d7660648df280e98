/** Names by which clouds call models: profiles, resources and locations have the price of the model there, or a higher one, or none. */
import { expect, test } from 'vitest';
import { useWorld } from '../../../../test/harness.ts';
import type { CalledAt } from '../../../kernel/model-hosts.ts';
import { createPrices, readCatalog } from './index.ts';

const world = useWorld();
const { models } = readCatalog();
const account = 'arn:aws:bedrock:us-east-1:123456789012';

async function ratesOf(name: string, at?: CalledAt) {
  const price = await createPrices(world.db).find('org_any', name, world.clock.now().getTime(), at);
  return price && [price.rates.inputNanosPerMillion, price.rates.outputNanosPerMillion];
}

const profiles = models.flatMap(({ model, provider, rates }) =>
  provider === 'bedrock' && /^(us|us-gov|eu|apac|au|jp|ca|global)\./.test(model) && rates !== undefined
    ? [model]
    : [],
);

test('a profile of Amazon Bedrock has the price of its geography by its name and by its resource name', async () => {
  expect(profiles.length).toBeGreaterThan(30);
  for (const name of profiles) {
    const expected = await ratesOf(name);
    expect(expected, name).toBeDefined();
    expect(await ratesOf(`${account}:inference-profile/${name}`), name).toEqual(expected);
    expect(await ratesOf(`bedrock/converse/${name}`), name).toEqual(expected);
    expect(await ratesOf(name, { provider: 'aws', region: 'us-east-1' }), name).toEqual(expected);
  }
});

test.each([
  `${account}:provisioned-model/abcdef123456`,
  `${account}:application-inference-profile/abcdef123456`,
  `${account}:custom-model/amazon.nova-lite-v1:0/abcdef123456`,
  `${account}:imported-model/abcdef123456`,
])('a resource of Amazon Bedrock that does not name its model has no price: %s', async (name) => {
  expect(await ratesOf(name)).toBeUndefined();
});

test('a model of Amazon Bedrock in a region without a price of its own costs no less than elsewhere', async () => {
  const foundation = 'anthropic.claude-sonnet-4-5-20250929-v1:0';
  const resource = `arn:aws:bedrock:eu-north-1::foundation-model/${foundation}`;
  const [elsewhere, there] = await Promise.all([ratesOf(foundation), ratesOf(resource)]);
  expect(there).toHaveLength(2);
  const isLower = there?.some((rate, index) => (rate ?? 0n) < (elsewhere?.[index] ?? 0n));
  expect(isLower).toBe(false);
});

test.each([
  ['azure/eu/gpt-4o', 'gpt-4o', 'eu'],
  ['azure/us/gpt-4o', 'gpt-4o', 'us'],
])('%s has the price of the data zone, also as the region of a call', async (name, model, region) => {
  const expected = await ratesOf(name);
  expect(expected).toBeDefined();
  expect(expected).not.toEqual(await ratesOf('gpt-4o'));
  expect(await ratesOf(model, { provider: 'azure_openai', region })).toEqual(expected);
});

test.each(['us-central1', 'europe-west1', 'global'])(
  'a resource of Vertex AI in %s has the price of its model',
  async (location) => {
    for (const [publisher, model] of [
      ['google', 'gemini-2.5-pro'],
      ['anthropic', 'claude-sonnet-4-5@20250929'],
    ]) {
      const expected = await ratesOf(`vertex_ai/${model}`);
      expect(expected, model).toBeDefined();
      const resource = `projects/p/locations/${location}/publishers/${publisher}/models/${model}`;
      expect(await ratesOf(resource), resource).toEqual(expected);
    }
  },
);
