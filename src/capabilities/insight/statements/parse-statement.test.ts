/** Files of providers, read into lines. */
import { describe, expect, test } from 'vitest';
import {
  anthropicPages,
  focusColumns,
  focusCsv,
  focusRow,
  openAiPages,
  openAiUsagePage,
} from '../../../../test/support/statement-files.ts';
import type { ApiError } from '../../../contract/api-error.ts';
import { completed } from '../../../platform/sliced-work.ts';
import { matchingName } from './model-names.ts';
import { parseAmount } from './page-fields.ts';
import { digestOf, parseStatement, type StatementFile } from './parse-statement.ts';
import { uncomparedReason } from './statement-source.ts';

const now = new Date('2026-11-15T12:00:00Z');
const day = '2026-11-01';
const parse = (file: StatementFile) => completed(parseStatement(file, now));

function errorOf(file: StatementFile): string {
  try {
    parse(file);
  } catch (error) {
    const [field] = ((error as ApiError).details as { fields: { field: string; message: string }[] }).fields;
    return `${field?.field}: ${field?.message}`;
  }
  return 'none';
}

const cost = { day, item: 'gpt-4o-2024-08-06, cached input', project: 'proj_a', usd: 0.1 };
const used = {
  day,
  model: 'gpt-4o-2024-08-06',
  project: 'proj_a',
  key: 'key_a',
  input: 300,
  cached: 100,
  output: 20,
};

interface Page {
  readonly data: object[];
}

/** A page of OpenAI with one time bucket, without results. */
const emptyPage = (on: string) => ({
  object: 'page',
  data: [
    {
      object: 'bucket',
      start_time: Date.parse(on) / 1_000,
      end_time: Date.parse(on) / 1_000 + 86_400,
      results: [],
    },
  ],
  has_more: false,
});

describe('OpenAI', () => {
  test('reads the model, the kind of tokens and the amount from a line item', () => {
    const parsed = parse({ pages: openAiPages([cost], [used]) });
    expect(parsed).toMatchObject({
      provider: 'openai',
      sources: ['openai_costs', 'openai_usage'],
      periodStart: day,
      periodEnd: '2026-11-02',
      hasTokens: true,
      decimals: 2,
    });
    expect(parsed.lines).toMatchObject([
      { model: 'gpt-4o-2024-08-06', kind: 'cached_input', project: 'proj_a', usdNanos: 100_000_000n },
      { keyId: 'key_a', tokens: { uncached_input: 200n, cached_input: 100n, cache_write: 0n, output: 20n } },
    ]);
  });

  test.each([
    ['time buckets', emptyPage('2026-11-02')],
    ['nothing', { ...emptyPage(day), data: [] }],
  ])('accepts a last page with %s and no results', (_, last) => {
    const [costs, usage] = openAiPages([cost], [used]);
    const { lines } = parse({ pages: [last, { ...costs, has_more: true }, usage] as object[] });
    expect(lines).toHaveLength(2);
  });

  test('subtracts tokens written to the cache from the input', () => {
    const page = openAiUsagePage(day, 'completions', {
      model: 'gpt-4o',
      input_tokens: 1_000,
      input_cached_tokens: 300,
      input_cache_write_tokens: 200,
      output_tokens: 10,
    });
    const { lines } = parse({ pages: [...openAiPages([cost], []), page] });
    expect(lines.at(-1)?.tokens).toEqual({
      uncached_input: 500n,
      cached_input: 300n,
      cache_write: 200n,
      output: 10n,
    });
  });

  test.each([
    ['embeddings', 'text-embedding-3-small'],
    ['moderations', 'omni-moderation-latest'],
  ])('reads the input tokens of %s', (report, model) => {
    const result = {
      model,
      project_id: 'proj_a',
      api_key_id: 'key_a',
      input_tokens: 700,
      num_model_requests: 3,
    };
    const parsed = parse({ pages: [...openAiPages([cost], []), openAiUsagePage(day, report, result)] });
    expect(parsed).toMatchObject({ sources: ['openai_costs', `openai_${report}`], hasTokens: true });
    expect(parsed.lines[1]).toMatchObject({
      model,
      project: 'proj_a',
      keyId: 'key_a',
      tokens: { uncached_input: 700n, output: 0n },
    });
  });

  test.each([
    [
      'images',
      { images: 2, num_model_requests: 2, size: '1024x1024', source: 'image.generation', model: 'dall-e-3' },
    ],
    ['audio_speeches', { characters: 45, num_model_requests: 1, model: 'tts-1' }],
    ['audio_transcriptions', { seconds: 10, num_model_requests: 1, model: 'whisper-1' }],
    ['vector_stores', { usage_bytes: 1_024, project_id: null }],
    ['code_interpreter_sessions', { num_sessions: 1, project_id: null }],
    ['file_searches', { num_requests: 1, vector_store_id: 'vs_a' }],
    ['web_searches', { num_requests: 2, num_model_requests: 1, model: 'gpt-4o', context_level: 'low' }],
  ])('accepts usage of %s, whose quantities are not compared', (report, result) => {
    const costs = openAiPages([cost], []);
    const earlier = openAiUsagePage('2026-10-01', report, result);
    const parsed = parse({ pages: [...costs, earlier, openAiUsagePage('2026-10-01', report, result)] });
    expect(parsed.sources).toEqual(['openai_costs', `openai_${report}`].toSorted());
    expect(parsed).toMatchObject({ periodStart: day, hasTokens: false });
    expect(parsed.lines).toEqual(parse({ pages: costs }).lines);
    expect(uncomparedReason(`openai_${report}`)).toMatch(/\.$/);
  });

  test('accepts a usage report that is not known yet', () => {
    const page = openAiUsagePage(day, 'videos', { seconds: 8 });
    expect(parse({ pages: [...openAiPages([cost], []), page] }).sources).toEqual([
      'openai_costs',
      'openai_other',
    ]);
  });

  test.each([
    ['dall-e-3, 1024x1024 standard', 'dall-e-3'],
    ['web search tool calls, high', 'web search tool calls, high'],
  ])('reads the model of the line item %s', (item, model) => {
    expect(parse({ pages: openAiPages([{ ...cost, item }], []) }).lines).toMatchObject([{ model, kind: '' }]);
  });

  test.each([
    ['its data alone', (page: Page) => [{ data: page.data }]],
    ['one of its time buckets', (page: Page) => page.data],
  ])('reads a page that is %s', (_, bare) => {
    const pages = openAiPages([cost, { ...cost, day: '2026-11-02' }], [used]) as Page[];
    expect(parse({ pages: pages.flatMap(bare) })).toEqual(parse({ pages }));
  });

  test('keeps the name of a charge that is not for tokens', () => {
    const [line] = parse({ pages: openAiPages([{ ...cost, item: 'web search tool calls' }], []) }).lines;
    expect(line).toMatchObject({ model: 'web search tool calls', kind: '' });
  });

  test('a statement of OpenAI has one digest for any order of pages, and another for another amount', () => {
    const pages = openAiPages([cost], [used]);
    const digest = digestOf(parse({ pages }));
    expect(digestOf(parse({ pages: pages.toReversed() }))).toBe(digest);
    expect(digestOf(parse({ pages: openAiPages([{ ...cost, usd: 0.2 }], [used]) }))).not.toBe(digest);
  });

  test.each([
    [
      'a time bucket without times',
      [{ results: [] }],
      'pages[0]: A time bucket must have `start_time` or `starting_at`.',
    ],
    ['no page', [{}], 'pages[0]: This is not a page of a cost or usage report that is supported.'],
    [
      'two providers',
      [...openAiPages([cost], []), ...anthropicPages(day)],
      'pages[2]: All pages must be from one provider.',
    ],
    [
      'usage alone',
      openAiPages([], [used]),
      'pages: The costs are missing. A usage report has no amounts to compare.',
    ],
    [
      'the same page twice',
      [...openAiPages([cost], []), ...openAiPages([cost], [])],
      'pages[2].data[0]: This time bucket appears twice.',
    ],
    [
      'pages without the last',
      openAiPages([cost], []).map((page) => ({ ...page, has_more: true })),
      'pages: The last page of openai_costs is missing: every page has `has_more`.',
    ],
    [
      'pages without the last, with another report that is empty',
      [
        ...openAiPages([cost], []).map((page) => ({ ...page, has_more: true })),
        emptyPage('2026-10-31'),
        emptyPage(day),
      ],
      'pages: The last page of openai_costs is missing: every page has `has_more`.',
    ],
    [
      'costs that are not grouped',
      openAiPages([{ ...cost, item: '' }], []),
      'pages[0].data[0].results[0].line_item: Request the costs with `group_by=line_item`, or group the export by line item.',
    ],
    [
      'an amount that is none',
      openAiPages([{ ...cost, usd: 'ten' }], []),
      'pages[0].data[0].results[0].amount.value: Must be an amount.',
    ],
    [
      'a cost without an amount',
      openAiPages([cost], []).map((page) =>
        JSON.parse(JSON.stringify(page).replace(/"amount":\{[^}]*\}/, '"amount":null')),
      ),
      'pages[0].data[0].results[0].amount: Must be an object.',
    ],
    [
      'a fraction of a token',
      openAiPages([cost], [{ ...used, output: 1.5 }]),
      'pages[1].data[0].results[0].output_tokens: Must be a count of tokens.',
    ],
    [
      'the future',
      openAiPages([{ ...cost, day: '2026-11-16' }], []),
      'pages[0].data[0]: The time bucket starts in the future.',
    ],
    [
      'more dollars than can be stored',
      openAiPages([{ ...cost, usd: '9000000000' }], []),
      'pages[0].data[0].results[0]: The amounts or tokens of the statement add up to more than can be stored.',
    ],
    ['nothing', openAiPages([], []), 'pages: The statement has no lines.'],
  ])('rejects %s', (_, pages, message) => {
    expect(errorOf({ pages })).toBe(message);
  });
});

describe('Anthropic', () => {
  test('reads time buckets without a page', () => {
    const pages = anthropicPages(day) as Page[];
    expect(parse({ pages: pages.flatMap(({ data }) => data) })).toEqual(parse({ pages }));
  });

  test('reads amounts in cents and tokens by kind', () => {
    const { lines, provider, sources } = parse({ pages: anthropicPages(day) });
    expect({ provider, sources }).toEqual({
      provider: 'anthropic',
      sources: ['anthropic_cost', 'anthropic_usage'],
    });
    expect(lines.map(({ model, kind, usdNanos }) => [model, kind, usdNanos])).toEqual([
      ['claude-sonnet-4-20250514', 'uncached_input', 3_000_000_000n],
      ['claude-sonnet-4-20250514', 'cached_input', 150_000_000n],
      ['claude-sonnet-4-20250514', 'cache_write', 750_000_000n],
      ['claude-sonnet-4-20250514', 'output', 7_505_000_000n],
      ['Web Search Usage', '', 200_000_000n],
      ['claude-sonnet-4-20250514', '', 0n],
    ]);
    expect(lines.at(-1)?.tokens).toEqual({
      uncached_input: 1_000_000n,
      cached_input: 500_000n,
      cache_write: 200_000n,
      output: 500_000n,
    });
  });
});

describe('FOCUS', () => {
  test('reads amounts, quantities in millions and quoted cells', () => {
    const parsed = parse({
      csv: focusCsv([focusRow(), focusRow({ ChargeCategory: 'Tax', BilledCost: '-0.01' })]),
    });
    expect(parsed).toMatchObject({ provider: 'openai', sources: ['focus'], hasTokens: true, decimals: 2 });
    expect(parsed.lines).toMatchObject([
      {
        model: 'gpt-4o',
        project: 'proj_a',
        kind: 'uncached_input',
        usdNanos: 1_250_000_000n,
        tokens: { uncached_input: 500_000n },
      },
      { model: 'tax', kind: '', usdNanos: -10_000_000n },
    ]);
  });

  test.each([
    ['Tokens', 500_000n],
    [' 1K tokens ', 500_000_000n],
    ['1,000 Tokens', 500_000_000n],
    ['million-tokens', 500_000_000_000n],
    ['Requests', 0n],
    [`${' '.repeat(100_000)}x`, 0n],
    ['1'.repeat(100_000), 0n],
  ])('reads a quantity in the unit %j', (ConsumedUnit, tokens) => {
    const { lines } = parse({ csv: focusCsv([focusRow({ ConsumedUnit, ConsumedQuantity: '500000' })]) });
    expect(lines[0]?.tokens.uncached_input).toBe(tokens);
  });

  test('reads the tokens of each kind from the columns of an export of Purser', () => {
    const columns = ['x_UncachedInputTokens', 'x_CachedInputTokens', 'x_CacheWriteTokens', 'x_OutputTokens'];
    const rows = [
      [...focusRow(), '1', '2', '3', '4'],
      [...focusRow({ ChargeCategory: 'Adjustment', BilledCost: '-0.5' }), '0', '0', '0', '0'],
    ];
    const parsed = parse({ csv: focusCsv(rows, [...focusColumns, ...columns]) });
    expect(parsed.lines).toMatchObject([
      {
        model: 'gpt-4o',
        kind: '',
        tokens: { uncached_input: 1n, cached_input: 2n, cache_write: 3n, output: 4n },
        usdNanos: 750_000_000n,
      },
    ]);
    const wrong = focusCsv([[...focusRow(), '1', '2', '-3', '4']], [...focusColumns, ...columns]);
    expect(errorOf({ csv: wrong })).toMatch(/csv\[2\]\.x_CacheWriteTokens: .*whole number of tokens/);
  });

  test('reads the provider, the model and the kind of tokens from the columns of FOCUS 1.4', () => {
    const columns = [
      ...focusColumns.map((name) => name.replace(/^Provider/, 'ServiceProvider')),
      'SkuPriceDetails',
    ];
    const details = [
      { TokenCacheAction: 'Uncached', TokenDirection: 'Input' },
      { TokenCacheAction: 'Read', TokenDirection: 'Input' },
      { TokenCacheAction: 'Write', TokenDirection: 'Input' },
      { TokenDirection: 'Output' },
    ];
    const rows = details.map((one) => [
      ...focusRow({ SkuId: 'gpt-4o:kind', SkuMeter: 'Tokens' }),
      JSON.stringify({ ModelId: 'gpt-4o', ...one }),
    ]);
    const { provider, lines } = parse({ csv: focusCsv(rows, columns) });
    expect(provider).toBe('openai');
    expect(lines.map(({ model, kind, tokens }) => [model, kind, kind !== '' && tokens[kind]])).toEqual([
      ['gpt-4o', 'uncached_input', 500_000n],
      ['gpt-4o', 'cached_input', 500_000n],
      ['gpt-4o', 'cache_write', 500_000n],
      ['gpt-4o', 'output', 500_000n],
    ]);
  });

  test.each([
    ['the name of a built-in member', { TokenDirection: 'Input', TokenCacheAction: 'constructor' }],
    ['a model that cannot be stored', { TokenDirection: 'Input', ModelId: 'gpt\u0000' }],
    ['a model that is not Unicode', { TokenDirection: 'Input', ModelId: 'gpt\ud800' }],
  ])('takes no meaning from %s in the properties for AI', (_, details) => {
    const row = [...focusRow({ SkuId: 'gpt-4o' }), JSON.stringify(details)];
    const { lines } = parse({ csv: focusCsv([row], [...focusColumns, 'SkuPriceDetails']) });
    expect(lines).toMatchObject([{ model: 'gpt-4o', kind: 'uncached_input' }]);
  });

  test('reads a negative quantity of a correction', () => {
    const columns = [...focusColumns, 'ChargeClass'];
    const negative = focusRow({ ConsumedQuantity: '-0.5', BilledCost: '-1.25' });
    const { lines } = parse({ csv: focusCsv([[...negative, 'Correction']], columns) });
    expect(lines).toMatchObject([{ tokens: { uncached_input: -500_000n }, usdNanos: -1_250_000_000n }]);
    expect(errorOf({ csv: focusCsv([[...negative, '']], columns) })).toMatch(/whole number of tokens/);
  });

  test.each([
    [
      'a missing column',
      focusCsv([], ['BilledCost']),
      /csv\[1\]: Line 1: These columns are missing: BillingCurrency, .*/,
    ],
    [
      'another currency',
      focusCsv([focusRow(), focusRow({ BillingCurrency: 'EUR' })]),
      /csv\[3\]\.BillingCurrency: Line 3: .*USD\./,
    ],
    ['an amount that is none', focusCsv([focusRow({ BilledCost: '1,5' })]), /csv\[2\]\.BilledCost/],
    [
      'a line that is too short',
      `${focusCsv([focusRow()])}\r\n1,USD`,
      /csv\[3\]: Line 3: There are 2 cells, but 12 columns\./,
    ],
    [
      'a quote that does not end',
      `${focusCsv([focusRow()])}\r\n"1,USD`,
      /csv\[3\]: Line 3: A quoted cell does not end\./,
    ],
    [
      'a time without offset',
      focusCsv([focusRow({ ChargePeriodStart: '2026-11-01 00:00' })]),
      /csv\[2\]\.ChargePeriodStart/,
    ],
    ['a part of a token', focusCsv([focusRow({ ConsumedQuantity: '0.0000001' })]), /whole number of tokens/],
    ['two providers', focusCsv([focusRow(), focusRow({ ProviderName: 'Other' })]), /csv\[3\]\.ProviderName/],
    [
      'a name of a provider that is too long',
      focusCsv([focusRow({ ProviderName: 'p'.repeat(201) })]),
      /csv\[2\]\.ProviderName: .*at most 200 characters/,
    ],
    [
      'a category that FOCUS does not have',
      focusCsv([focusRow({ ChargeCategory: 'c'.repeat(10_000) })]),
      /csv\[2\]\.ChargeCategory: .*must be one of Usage, /,
    ],
    ['no line', focusCsv([]), /csv: The statement has no lines\./],
  ])('rejects %s', (_, csv, message) => {
    expect(errorOf({ csv })).toMatch(message);
  });

  test('a statement in FOCUS is sent instead of pages, not with them', () => {
    expect(errorOf({})).toBe('pages: Send either `pages` or `csv`.');
    expect(errorOf({ csv: 'a', pages: [] })).toBe('pages: Send either `pages` or `csv`.');
  });
});

test.each([
  ['0.06', 60_000_000n, 2],
  ['0.8958740000000000', 895_874_000n, 6],
  ['1.5e-7', 150n, 8],
  ['0.0000000005', 1n, 9],
  ['-12', -12_000_000_000n, 0],
  ['0E-6176', 0n, 0],
])('parses the amount %s', (text, nanos, decimals) => {
  expect(parseAmount(text)).toEqual({ nanos, decimals });
});

test.each([
  ['gpt-4o-2024-08-06', 'gpt-4o'],
  ['openai/gpt-4o', 'gpt-4o'],
  ['us.anthropic.claude-sonnet-4-20250514-v1:0', 'claude-sonnet-4'],
  ['claude-sonnet-4@20250514', 'claude-sonnet-4'],
  ['models/gemini-2.5-pro', 'gemini-2.5-pro'],
  ['gpt-4o-mini', 'gpt-4o-mini'],
])('matches %s as %s', (model, name) => {
  expect(matchingName(model)).toBe(name);
});
