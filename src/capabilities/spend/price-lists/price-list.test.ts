/** Excerpts of public price lists, with the figures that they had. */
import { readFileSync } from 'node:fs';
import { describe, expect, test } from 'vitest';
import { InvalidPriceList, type PriceListOptions, readPriceList } from './index.ts';

const asOf = '2026-11-16';
const read = (list: object, options: Partial<PriceListOptions> = {}) =>
  readPriceList(JSON.stringify(list), { asOf, ...options });
const namesOf = (list: object, options: Partial<PriceListOptions> = {}) =>
  read(list, options).catalog.models.map(({ model }) => model);
const messageOf = (text: string, options: Partial<PriceListOptions> = {}): string => {
  try {
    readPriceList(text, { asOf, ...options });
  } catch (error) {
    expect(error).toBeInstanceOf(InvalidPriceList);
    return (error as Error).message;
  }
  throw new Error('the list was accepted');
};

const litellm = {
  sample_spec: { litellm_provider: 'one of many', input_cost_per_token: 0, max_input_tokens: 'words' },
  fallback_generalizations: { rules: [] },
  'gpt-4o': {
    cache_read_input_token_cost: 1.25e-6,
    cache_read_input_token_cost_priority: 2.125e-6,
    input_cost_per_token: 2.5e-6,
    input_cost_per_token_batches: 1.25e-6,
    input_cost_per_token_priority: 4.25e-6,
    litellm_provider: 'openai',
    max_input_tokens: 128_000,
    max_output_tokens: 16_384,
    mode: 'chat',
    output_cost_per_token: 1e-5,
    output_cost_per_token_batches: 5e-6,
    output_cost_per_token_priority: 1.7e-5,
    source: 'https://developers.openai.com/api/docs/pricing',
    supports_function_calling: true,
    supports_response_schema: true,
    supports_vision: true,
  },
  'gpt-4o-2024-08-06': {
    cache_read_input_token_cost: 1.25e-6,
    input_cost_per_token: 2.5e-6,
    litellm_provider: 'openai',
    mode: 'chat',
    output_cost_per_token: 1e-5,
  },
  'gpt-4o-2024-05-13': {
    input_cost_per_token: 5e-6,
    litellm_provider: 'openai',
    mode: 'chat',
    output_cost_per_token: 1.5e-5,
  },
  'claude-sonnet-4-5': {
    cache_creation_input_token_cost: 3.75e-6,
    cache_creation_input_token_cost_above_1hr: 6e-6,
    cache_read_input_token_cost: 3e-7,
    input_cost_per_token: 3e-6,
    deprecation_date: '2026-11-30',
    litellm_provider: 'anthropic',
    mode: 'chat',
    output_cost_per_token: 1.5e-5,
  },
  'gemini/gemini-2.5-pro': {
    input_cost_per_token: 1.25e-6,
    input_cost_per_token_above_200k_tokens: 2.5e-6,
    litellm_provider: 'gemini',
    mode: 'chat',
    output_cost_per_token: 1e-5,
    output_cost_per_token_above_200k_tokens: 1.5e-5,
  },
  'whisper-1': { input_cost_per_second: 0.0001, litellm_provider: 'openai', mode: 'audio_transcription' },
  'gemini/experiment': { input_cost_per_token: 0, litellm_provider: 'gemini', output_cost_per_token: 0 },
  'novita/gpt-4o': { input_cost_per_token: 1e-6, litellm_provider: 'novita', output_cost_per_token: 1e-6 },
  'azure/gpt-4o': { input_cost_per_token: 2.75e-6, litellm_provider: 'azure', output_cost_per_token: 1.1e-5 },
};

const modelsDev = {
  anthropic: {
    id: 'anthropic',
    models: {
      'claude-sonnet-4-5': {
        id: 'claude-sonnet-4-5',
        reasoning: true,
        tool_call: true,
        modalities: { input: ['text', 'image', 'pdf'], output: ['text'] },
        cost: { input: 3, output: 15, cache_read: 0.3, cache_write: 3.75, reasoning: 15 },
        limit: { context: 200_000, output: 64_000 },
      },
    },
  },
  google: {
    id: 'google',
    models: {
      'gemini-2.5-pro': {
        structured_output: true,
        tool_call: { supported: true },
        modalities: { input: ['text', 'audio'], output: ['text', 'image'] },
        cost: {
          input: 1.25,
          output: 10,
          cache_read: 0.31,
          context_over_200k: { input: 2.5, output: 15 },
        },
        limit: { context: 1_048_576, output: 65_536 },
      },
    },
  },
  openai: {
    id: 'openai',
    models: {
      'gpt-5.5': {
        cost: {
          input: 5,
          output: 30,
          tiers: [{ input: 10, output: 45, tier: { type: 'context', size: 272_000 } }],
          context_over_200k: { input: 10, output: 45 },
        },
      },
      'by-the-hour': {
        cost: { input: 1, output: 2, tiers: [{ input: 3, tier: { type: 'time', size: 9 } }] },
      },
      'priced-reasoning': { cost: { input: 1, output: 2, reasoning: 8 } },
      'for-nothing': { cost: { input: 0, output: 0 } },
      'without-cost': {},
    },
  },
  groq: { id: 'groq', models: { 'llama-3.3-70b-versatile': { cost: { input: 0.59, output: 0.79 } } } },
};

describe('LiteLLM', () => {
  test('a price list of LiteLLM is detected, and its entries become entries of the catalog', () => {
    const { format, catalog, skipped } = read(litellm);
    expect([format, catalog.schema, catalog.date]).toEqual(['litellm', 1, asOf]);
    expect(skipped).toEqual({ other_provider: 1, free: 1 });
    expect(catalog.models.find(({ model }) => model === 'gpt-4o')).toEqual({
      model: 'gpt-4o',
      provider: 'openai',
      aliases: ['gpt-4o-2024-08-06'],
      source: 'litellm',
      as_of: asOf,
      source_url: 'https://developers.openai.com/api/docs/pricing',
      rates: {
        input_usd_per_million: '2.5',
        cached_input_usd_per_million: '1.25',
        output_usd_per_million: '10',
      },
      tiers: {
        batch: { input_usd_per_million: '1.25', output_usd_per_million: '5' },
        priority: {
          input_usd_per_million: '4.25',
          cached_input_usd_per_million: '2.125',
          output_usd_per_million: '17',
        },
      },
      context_tokens: 128_000,
      max_output_tokens: 16_384,
      capabilities: ['json', 'tools', 'vision'],
    });
    expect(catalog.models.find(({ model }) => model === 'claude-sonnet-4-5')).toMatchObject({
      rates: { cache_write_usd_per_million: '3.75', cache_write_1h_usd_per_million: '6' },
      deprecated_on: '2026-11-30',
    });
    expect(catalog.models.find(({ model }) => model === 'gemini-2.5-pro')).toMatchObject({
      provider: 'google',
      long_context: [
        { above_input_tokens: 200_000, input_usd_per_million: '2.5', output_usd_per_million: '15' },
      ],
    });
  });

  test('a dated name with other prices stays a model of its own', () => {
    expect(namesOf(litellm)).toEqual([
      'gpt-4o',
      'gpt-4o-2024-05-13',
      'claude-sonnet-4-5',
      'gemini-2.5-pro',
      'whisper-1',
      'azure/gpt-4o',
    ]);
  });

  test('hosts and, on request, other providers are imported with the prefix in their names', () => {
    expect(namesOf(litellm, { providers: ['azure'] })).toEqual(['azure/gpt-4o']);
    expect(namesOf(litellm, { providers: ['novita'] })).toEqual(['novita/gpt-4o']);
    expect(messageOf(JSON.stringify(litellm), { providers: ['nobody'] })).toMatch(
      /no models of these providers/,
    );
  });

  test.each([
    ['2.5e-6', 'Must be a number of at least 0'],
    [-1e-6, 'Must be a number of at least 0'],
    [3, 'Must be at most 1000000 US dollars'],
  ])('a price of %j is rejected with its entry and field', (wrong, message) => {
    const list = { ...litellm, 'gpt-4o': { ...litellm['gpt-4o'], input_cost_per_token_batches: wrong } };
    expect(messageOf(JSON.stringify(list))).toContain(`gpt-4o: input_cost_per_token_batches: ${message}`);
  });

  test('a mode with the name of a built-in member adds no capability', () => {
    const { catalog } = read({ ...litellm, 'gpt-4o': { ...litellm['gpt-4o'], mode: 'constructor' } });
    expect(catalog.models.find(({ model }) => model === 'gpt-4o')?.capabilities).toEqual([
      'json',
      'tools',
      'vision',
    ]);
  });

  test('an entry that is not an object is rejected', () => {
    expect(messageOf(JSON.stringify({ ...litellm, 'gpt-9': [] }))).toContain('gpt-9: Must be an object.');
  });
});

describe('models.dev', () => {
  test('a price list of models.dev is detected, and its entries become entries of the catalog', () => {
    const { format, catalog, skipped } = read(modelsDev);
    expect(format).toBe('models.dev');
    expect(skipped).toEqual({ other_provider: 1, free: 2, not_expressible: 2 });
    expect(catalog.models).toEqual([
      {
        model: 'claude-sonnet-4-5',
        provider: 'anthropic',
        source: 'models.dev',
        as_of: asOf,
        source_url: 'https://models.dev',
        rates: {
          input_usd_per_million: '3',
          cached_input_usd_per_million: '0.3',
          cache_write_usd_per_million: '3.75',
          output_usd_per_million: '15',
        },
        context_tokens: 200_000,
        max_output_tokens: 64_000,
        capabilities: ['reasoning', 'tools', 'vision'],
      },
      expect.objectContaining({
        model: 'gemini-2.5-pro',
        long_context: [
          { above_input_tokens: 200_000, input_usd_per_million: '2.5', output_usd_per_million: '15' },
        ],
        capabilities: ['audio', 'images', 'json', 'tools'],
      }),
      expect.objectContaining({
        model: 'gpt-5.5',
        long_context: [
          { above_input_tokens: 272_000, input_usd_per_million: '10', output_usd_per_million: '45' },
        ],
      }),
    ]);
  });

  test('other providers are imported on request, with a prefix', () => {
    expect(namesOf(modelsDev, { providers: ['groq'] })).toEqual(['groq/llama-3.3-70b-versatile']);
  });

  test('a wrong price is rejected with its entry and field', () => {
    const list = {
      openai: { models: { 'gpt-5.5': { cost: { input: 5, tiers: [{ input: null, output: 'x' }] } } } },
    };
    expect(messageOf(JSON.stringify(list))).toContain(
      'openai: models.gpt-5.5.cost.tiers[0].output: Must be a number of at least 0.',
    );
    expect(messageOf(JSON.stringify({ openai: { models: { a: { cost: 3 } } } }))).toContain(
      'openai: models.a.cost: Must be an object.',
    );
  });
});

describe('the catalog of a release', () => {
  const text = readFileSync(new URL('../../../../assets/catalog.json', import.meta.url), 'utf8');
  const catalog = JSON.parse(text);

  test('passes as it is', () => {
    const list = readPriceList(text, { asOf: 'unused' });
    expect(list).toMatchObject({ format: 'purser', catalog });
    expect(namesOf(catalog, { providers: ['cohere'] }).length).toBeGreaterThan(3);
  });

  test('another schema, and wrong fields, are rejected with the name of the entry', () => {
    expect(messageOf(JSON.stringify({ ...catalog, schema: 2 }))).toContain('its schema is 2');
    const [first, ...rest] = catalog.models;
    const wrong = { ...first, rates: { input_usd_per_million: 1 }, colour: 'red' };
    const message = messageOf(JSON.stringify({ ...catalog, models: [wrong, ...rest] }));
    expect(message).toContain(`${first.model}: rates.input_usd_per_million: `);
    expect(message).toContain(`${first.model}: colour: `);
    expect(messageOf(JSON.stringify({ ...catalog, models: [] }))).toContain('models: ');
  });
});

test.each([
  ['', /not complete, valid JSON/],
  [JSON.stringify(litellm).slice(0, -1), /not complete, valid JSON/],
  ['[]', /must be a JSON object/],
  ['{}', /format is none of purser, litellm, models.dev/],
  ['{"a": {"price": 1}}', /format is none of/],
])('a file that is no price list is rejected: %s', (text, message) => {
  expect(messageOf(text)).toMatch(message);
});

test('the format can be given, and then nothing is detected', () => {
  expect(messageOf('{}', { format: 'litellm' })).toMatch(/no models of these providers/);
  expect(messageOf(JSON.stringify(modelsDev), { format: 'purser' })).toMatch(/its schema is undefined/);
});

test('more models than an update takes are rejected, and the message says what to do', () => {
  const many = Object.fromEntries(
    Array.from({ length: 3_001 }, (_, index) => [
      `model-${index}`,
      { litellm_provider: 'openai', input_cost_per_token: 1e-6 },
    ]),
  );
  expect(messageOf(JSON.stringify(many))).toMatch(/3001 models.*at most 3000: select fewer providers/);
});
