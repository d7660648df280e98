/** The Gemini API through the gateway: what its clients send besides the requests of the conformance suite, and what Google charges. */
import { setTimeout } from 'node:timers/promises';
import { beforeAll, beforeEach, describe, expect, test } from 'vitest';
import { eventually } from '../../test/support/eventually.ts';
import { codeIn } from '../../test/support/format-samples.ts';
import {
  connectionTo,
  expectBilled,
  providerKey,
  useGatewayWorld,
} from '../../test/support/gateway-world.ts';
import type { Fields } from '../kernel/providers/fields.ts';

const gateway = useGatewayWorld();
const usualSettings = () => ({ ...gateway.settings, hold: 'worst_case' }) as const;

beforeEach(async () => {
  gateway.world.clock.advanceSeconds(1);
  gateway.settings = usualSettings();
  const { provider } = gateway;
  gateway.connections = [connectionTo(provider.url, 'gemini')];
  provider.fault = undefined;
  provider.beforeChunk = undefined;
  provider.outputOf = () => 5;
  provider.usageMembers = {};
  provider.requests.length = 0;
  provider.bill.length = 0;
  provider.sent.length = 0;
  await gateway.cap('1000');
});

const text = 'Say hello';
const contents = [{ role: 'user', parts: [{ text }] }];
const models = '/gemini/v1beta/models';

function post(
  path: string,
  body: object,
  headers: Record<string, string> = { 'x-goog-api-key': gateway.key },
) {
  return fetch(`${gateway.url}${path}`, {
    method: 'POST',
    headers: { 'content-type': 'application/json', ...headers },
    body: JSON.stringify(body),
  });
}

const call = (body: Fields, method = 'generateContent') => post(`${models}/gemini-test:${method}`, body);

async function lastRuns() {
  await eventually(async () => expect(await gateway.holds()).toBe(0));
  return (await gateway.runs()).slice(0, 1);
}

/** The body that the provider has received. */
const received = () => JSON.parse(gateway.provider.requests[0]?.text ?? '') as Fields;

async function refusal(response: Response) {
  const { error } = (await response.json()) as { error: Fields };
  return { status: response.status, code: codeIn(error), message: error.message };
}

/** The data of the events that the provider has sent. */
const chunksSent = () =>
  (gateway.provider.sent[0]?.toString() ?? '')
    .split('\n\n')
    .slice(0, -1)
    .map((event) => JSON.parse(event.slice('data: '.length)));

test('a key in the query is that of the caller, and is not forwarded', async () => {
  const { key } = gateway;
  for (const [method, query] of [
    ['generateContent', `?key=${key}`],
    ['streamGenerateContent', `?alt=sse&key=${key}&maxOutputTokens=9000`],
  ] as const) {
    const response = await post(`${models}/gemini-test:${method}${query}`, { contents }, {});
    expect(response.status).toBe(200);
    await response.text();
  }
  expect(gateway.provider.requests.map(({ url }) => url)).toEqual([
    '/v1beta/models/gemini-test:generateContent',
    '/v1beta/models/gemini-test:streamGenerateContent?alt=sse',
  ]);
  for (const { headers } of gateway.provider.requests) {
    expect(headers['x-goog-api-key']).toBe(providerKey);
    expect(JSON.stringify(headers)).not.toContain(key);
  }
  expect(
    (await post(`${models}/gemini-test:generateContent?key=svc_live_wrong`, { contents }, {})).status,
  ).toBe(401);
  expect((await post(`/openai/v1/chat/completions?key=${key}`, {}, {})).status).toBe(401);
});

test('headers that select another price or hide parts of the response are not forwarded', async () => {
  const headers = {
    'x-goog-fieldmask': 'candidates.content',
    'x-goog-encode-response-if-executable': 'base64',
    'x-vertex-ai-llm-shared-request-type': 'priority',
    'x-amzn-bedrock-service-tier': 'priority',
  };
  const client = { 'x-goog-api-key': gateway.key, 'x-goog-api-client': 'google-genai-sdk/1.30.0' };
  const response = await post(
    `${models}/gemini-test:generateContent`,
    { contents },
    { ...client, ...headers },
  );
  expect(response.status).toBe(200);
  const sent = gateway.provider.requests[0]?.headers ?? {};
  expect(Object.keys(headers).filter((name) => name in sent)).toEqual([]);
  expect(sent['x-goog-api-client']).toBe(client['x-goog-api-client']);
});

test('a stream without `alt=sse` is a JSON array with the chunks of the provider', async () => {
  const response = await call({ contents }, 'streamGenerateContent');
  expect(response.headers.get('content-type')).toBe('application/json; charset=UTF-8');
  expect(await response.json()).toEqual(chunksSent());
  expectBilled(gateway.provider, await lastRuns(), 'gemini-test');
});

test('an array has no events that are not JSON', async () => {
  gateway.provider.fault = () => ({ endAfter: 3, with: 'data: oops {\n\n: a comment\n\ndata: [DONE]\n\n' });
  const response = await call({ contents }, 'streamGenerateContent');
  expect(await response.json()).toHaveLength(3);
});

test('an array whose stream breaks off ends with an error', async () => {
  gateway.provider.fault = () => ({ cutAfter: 3 });
  const elements = (await (await call({ contents }, 'streamGenerateContent')).json()) as Fields[];
  expect(elements).toHaveLength(4);
  expect(elements.at(-1)?.error).toMatchObject({ code: 503, status: 'UNAVAILABLE' });
  expect(codeIn(elements.at(-1)?.error)).toBe('stream_interrupted');
});

test('an array whose hold cannot grow ends as if its maximum were reached', async () => {
  gateway.settings = { ...gateway.settings, hold: 'paced' };
  gateway.provider.outputOf = () => 20_000;
  gateway.provider.beforeChunk = () => setTimeout(1);
  await gateway.capAbove(0.075);
  const response = await call(
    { contents, generationConfig: { maxOutputTokens: 30_000 } },
    'streamGenerateContent',
  );
  const elements = (await response.json()) as { candidates: Fields[] }[];
  expect(elements.at(-1)?.candidates).toMatchObject([{ finishReason: 'MAX_TOKENS' }]);
  expect(await lastRuns()).toMatchObject([
    { status: 'succeeded', marks: expect.arrayContaining(['truncated']) },
  ]);
});

test('the maximum is written where the request has its settings, in either spelling', async () => {
  for (const [given, sent] of [
    [{}, { generationConfig: { maxOutputTokens: 1_000 } }],
    [
      { generationConfig: { temperature: 0 } },
      { generationConfig: { maxOutputTokens: 1_000, temperature: 0 } },
    ],
    [{ generation_config: { top_k: 3 } }, { generation_config: { maxOutputTokens: 1_000, top_k: 3 } }],
    [{ generation_config: { max_output_tokens: 60 } }, { generation_config: { max_output_tokens: 60 } }],
  ]) {
    gateway.provider.requests.length = 0;
    expect((await call({ contents, ...given })).status).toBe(200);
    expect(received()).toEqual({ contents, ...sent });
  }
});

test('each candidate may have the maximum', async () => {
  await gateway.capAbove(0.02);
  const config = (candidateCount: number) => ({
    generationConfig: { maxOutputTokens: 1_000, candidateCount },
  });
  expect((await call({ contents, ...config(1) })).status).toBe(200);
  expect(await refusal(await call({ contents, ...config(8) }))).toMatchObject({ code: 'spend_cap_exceeded' });
  expect(await refusal(await call({ contents, generation_config: { candidate_count: 8 } }))).toMatchObject({
    status: 402,
  });
});

test.each<[string, object, string]>([
  ['settings in two spellings', { generationConfig: {}, generation_config: {} }, 'invalid_value'],
  ['a tier in two spellings', { serviceTier: 'flex', service_tier: 'priority' }, 'invalid_value'],
  ['another spelling of the maximum', { generationConfig: { 'max-output-tokens': 9 } }, 'invalid_value'],
  ['a maximum that is no number', { generationConfig: { maxOutputTokens: '9' } }, 'invalid_value'],
  ['another model', { model: 'models/gemini-other' }, 'invalid_value'],
  ['a tool that is not known', { tools: [{ timeTravel: {} }] }, 'tool_without_price'],
  ['a search without a price', { tools: [{ googleSearch: {} }] }, 'tool_without_price'],
])('%s is refused', async (_, more, code) => {
  expect(await refusal(await call({ contents, ...more }))).toMatchObject({ status: 400, code });
  expect(gateway.provider.requests).toEqual([]);
});

test.each<[string, object]>([
  ['a file by its URI', { contents: [{ parts: [{ fileData: { fileUri: 'https://youtu.be/1' } }] }] }],
  ['a file by its URI in snake_case', { contents: { parts: [{ file_data: { file_uri: 'files/1' } }] } }],
  ['cached content', { cachedContent: 'cachedContents/1' }],
  ['audio', { contents: [{ parts: [{ inlineData: { mimeType: 'audio/wav', data: 'AAAA' } }] }] }],
  [
    'media of two types',
    {
      contents: [
        { parts: [{ inlineData: { mimeType: 'image/png', mime_type: 'video/mp4', data: 'AAAA' } }] },
      ],
    },
  ],
  ['a part that is not known', { contents: [{ parts: [{ hologram: { uri: 'x' } }] }] }],
])('%s is unseen input', async (_, more) => {
  gateway.settings = { ...gateway.settings, unseenInput: 'refuse' };
  expect(await refusal(await call({ contents, ...more }))).toMatchObject({
    status: 400,
    code: 'unseen_input',
  });
  expect((await call({ contents })).status).toBe(200);
  gateway.settings = { ...gateway.settings, unseenInput: 'hold' };
  expect((await call({ contents, ...more })).status).toBe(200);
});

test('a batch of embeddings is charged by its usage, and by an upper bound without one', async () => {
  const path = `${models}/embed-test:batchEmbedContents`;
  const one = { model: 'models/embed-test', content: { parts: [{ text: 'A text about the harbour.' }] } };
  expect((await post(path, { requests: [one, one] })).status).toBe(200);
  expectBilled(gateway.provider, await lastRuns(), 'embed-test');
  gateway.provider.reportsEmbeddings = false;
  gateway.world.clock.advanceSeconds(1);
  expect((await post(path, { requests: [one, one] })).status).toBe(200);
  const [run] = await lastRuns();
  expect(run?.marks).toEqual(['usage_estimated']);
  expect(run?.input_tokens).toBeGreaterThanOrEqual(gateway.provider.bill[1]?.inputTokens ?? 0);
  gateway.provider.reportsEmbeddings = true;
  const other = { ...one, model: 'models/embed-expensive' };
  expect(await refusal(await post(path, { requests: [one, other] }))).toMatchObject({
    code: 'invalid_value',
  });
});

test('the provider is called in the version of the client', async () => {
  const response = await post('/gemini/v1/models/gemini-test:generateContent', { contents });
  expect(response.status).toBe(200);
  expect(gateway.provider.requests.map(({ url }) => url)).toEqual(['/v1/models/gemini-test:generateContent']);
  expect((await fetch(`${gateway.url}/gemini/v1/models?key=${gateway.key}`)).status).toBe(200);
});

test('one model is shown as in the list', async () => {
  const show = (path: string) => fetch(`${gateway.url}${path}?key=${gateway.key}`);
  const listed = (await (await show(models)).json()) as { models: { name: string }[] };
  const shown = await show(`${models}/gemini-test`);
  expect(await shown.json()).toEqual(listed.models.find(({ name }) => name === 'models/gemini-test'));
  for (const name of ['claude-test', 'gemini-unknown']) {
    expect(await refusal(await show(`${models}/${name}`))).toMatchObject({
      status: 404,
      code: 'model_not_found',
    });
  }
});

describe('a model that the gateway chooses', () => {
  const chosen = (response: Response) => response.headers.get('x-svc-model');
  const policy = (candidates: string[]) =>
    gateway.world.request('PUT', `/v1/orgs/${gateway.org.id}/routing-policy`, {
      key: gateway.org.ownerKey,
      body: {
        candidates,
        suite: 'any',
        min_score: 0,
        max_age_days: 30,
        objective: 'cost',
        fallbacks: candidates,
      },
    });

  beforeAll(async () => {
    for (const model of ['gemini-cheap', 'embed-cheap']) {
      const { status } = await gateway.world.request('PUT', `/v1/admin/models/${model}`, {
        key: gateway.world.operatorKey,
        body: { provider: 'google', input_usd_per_million: '0.1', output_usd_per_million: '1' },
      });
      expect(status).toBeLessThan(300);
    }
  });

  test('replaces `purser/auto` in the path and in the body', async () => {
    expect((await policy(['gemini-cheap'])).status).toBe(200);
    for (const more of [{}, { model: 'purser/auto' }, { model: 'models/purser/auto' }]) {
      gateway.provider.requests.length = 0;
      gateway.world.clock.advanceSeconds(1);
      const response = await post(`${models}/purser/auto:generateContent`, { contents, ...more });
      expect([response.status, chosen(response)]).toEqual([200, 'gemini-cheap']);
      expect(gateway.provider.requests[0]?.url).toBe('/v1beta/models/gemini-cheap:generateContent');
      expect(received().model).toBe('model' in more ? 'models/gemini-cheap' : undefined);
      expect(await lastRuns()).toMatchObject([{ model: 'gemini-cheap', marks: [] }]);
    }
  });

  test('is a cheaper one for `fallback`, and `fit` lowers the maximum of the requested one', async () => {
    expect((await policy(['gemini-test', 'gemini-cheap'])).status).toBe(200);
    const config = { contents, generation_config: { max_output_tokens: 1_000 } };
    const limited = (onLimit: string) =>
      post(`${models}/gemini-test:streamGenerateContent?alt=sse`, config, {
        'x-goog-api-key': gateway.key,
        'x-svc-on-limit': onLimit,
      });
    await gateway.capAbove(0.005);
    const fallback = await limited('fallback');
    expect([fallback.status, chosen(fallback)]).toEqual([200, 'gemini-cheap']);
    await fallback.text();
    expect(gateway.provider.requests[0]?.url).toBe(
      '/v1beta/models/gemini-cheap:streamGenerateContent?alt=sse',
    );
    expect(await lastRuns()).toMatchObject([{ model: 'gemini-cheap', marks: [] }]);
    gateway.provider.requests.length = 0;
    gateway.world.clock.advanceSeconds(1);
    await gateway.capAbove(0.005);
    const fit = await limited('fit');
    expect([fit.status, chosen(fit)]).toEqual([200, 'gemini-test']);
    await fit.text();
    const { max_output_tokens: max } = received().generation_config as { max_output_tokens: number };
    expect(max).toBeGreaterThan(0);
    expect(max).toBeLessThan(500);
    expect(await lastRuns()).toMatchObject([{ model: 'gemini-test' }]);
  });

  test('is the cheapest by the output that a call without a maximum may have', async () => {
    for (const [model, input, output] of [
      ['gemini-cheap-input', '0.01', '100'],
      ['gemini-cheap-output', '0.5', '1'],
    ] as const) {
      const put = await gateway.world.request('PUT', `/v1/admin/models/${model}`, {
        key: gateway.world.operatorKey,
        body: {
          provider: 'google',
          input_usd_per_million: input,
          output_usd_per_million: output,
          // Less than the default of the org, which does not exclude a model.
          max_output_tokens: 500,
        },
      });
      expect(put.status).toBeLessThan(300);
      const evaluated = await gateway.world.request('POST', `/v1/orgs/${gateway.org.id}/evals`, {
        key: gateway.org.ownerKey,
        body: { suite: 'any', model, score: 1, samples: 100 },
      });
      expect(evaluated.status).toBeLessThan(300);
    }
    expect((await policy(['gemini-cheap-input', 'gemini-cheap-output'])).status).toBe(200);
    for (const config of [{}, { maxOutputTokens: 400 }]) {
      gateway.world.clock.advanceSeconds(1);
      const body = { contents, generationConfig: config };
      const response = await post(`${models}/purser/auto:generateContent`, body);
      expect([response.status, chosen(response)]).toEqual([200, 'gemini-cheap-output']);
    }
  });

  test('is that of each request of a batch', async () => {
    expect((await policy(['embed-cheap'])).status).toBe(200);
    const requests = (model: string) => [
      { model: `models/${model}`, content: { parts: [{ text }] } },
      { content: { parts: [{ text }] } },
      { model, content: { parts: [{ text }] } },
    ];
    const response = await post(`${models}/purser/auto:batchEmbedContents`, {
      requests: requests('purser/auto'),
    });
    expect([response.status, chosen(response)]).toEqual([200, 'embed-cheap']);
    expect(gateway.provider.requests[0]?.url).toBe('/v1beta/models/embed-cheap:batchEmbedContents');
    const sent = received().requests as { model?: string }[];
    expect(sent.map(({ model }) => model)).toEqual(['models/embed-cheap', undefined, 'models/embed-cheap']);
  });
});

test('tokens are counted without a run, and the list has the models of Google', async () => {
  const before = (await gateway.runs()).length;
  const counted = await call({ contents }, 'countTokens');
  expect(await counted.json()).toEqual({ totalTokens: expect.any(Number) });
  expect(gateway.provider.requests.map(({ url }) => url)).toEqual(['/v1beta/models/gemini-test:countTokens']);
  expect((await gateway.runs()).length).toBe(before);
  const listed = await fetch(`${gateway.url}${models}?key=${gateway.key}`);
  const { models: names } = (await listed.json()) as { models: { name: string }[] };
  expect(names.map(({ name }) => name)).toContain('models/gemini-test');
  expect(names.map(({ name }) => name)).not.toContain('models/claude-test');
});

describe('what Google charges', () => {
  beforeAll(async () => {
    const price = {
      provider: 'google',
      input_usd_per_million: '1',
      cached_input_usd_per_million: '0.1',
      output_usd_per_million: '10',
      audio_input_usd_per_million: '3',
      audio_output_usd_per_million: '20',
      context_tokens: 300_000,
      modifiers: [
        { above_input_tokens: 200_000, input_usd_per_million: '2', output_usd_per_million: '20' },
        { tier: 'priority', input_usd_per_million: '4', output_usd_per_million: '40' },
      ],
    };
    for (const [model, web_search] of [
      ['gemini-2.5-test', '0.035'],
      ['gemini-3-test', '0.014'],
    ]) {
      const body = { ...price, units: { web_search, maps_query: '0.025' } };
      const { status } = await gateway.world.request('PUT', `/v1/admin/models/${model}`, {
        key: gateway.world.operatorKey,
        body,
      });
      expect(status).toBeLessThan(300);
    }
  });

  const usage = { promptTokenCount: 1_000, candidatesTokenCount: 100, totalTokenCount: 1_100 };
  const answer = (usageMetadata: Fields, groundingMetadata?: Fields, model = 'gemini-2.5-test') => ({
    candidates: [
      { content: { parts: [{ text: 'Hello.' }] }, finishReason: 'STOP', index: 0, groundingMetadata },
    ],
    usageMetadata,
    modelVersion: model,
  });

  /** Makes a call that the provider answers so, and returns its run. */
  async function runOf(answered: object, more: Fields = {}, model = 'gemini-2.5-test') {
    gateway.provider.fault = () => ({ status: 200, body: JSON.stringify(answered) });
    const response = await post(`${models}/${model}:generateContent`, { contents, ...more });
    expect(response.status).toBe(200);
    await response.text();
    const [run] = await lastRuns();
    expect(Number(response.headers.get('x-svc-held-usd'))).toBeGreaterThanOrEqual(Number(run?.cost_usd));
    return run;
  }

  test.each<[string, Fields, Fields]>([
    [
      'thoughts are output in addition to the candidates',
      { ...usage, thoughtsTokenCount: 50, totalTokenCount: 1_150 },
      { input_tokens: 1_000, output_tokens: 150, cost_usd: '0.0025' },
    ],
    [
      'output that only the total counts',
      { ...usage, totalTokenCount: 1_150 },
      { output_tokens: 150, cost_usd: '0.0025' },
    ],
    [
      'cached content is a part of the prompt',
      { ...usage, cachedContentTokenCount: 600 },
      { input_tokens: 1_000, cached_input_tokens: 600, cost_usd: '0.00146' },
    ],
    [
      'results of tools are input in addition to the prompt',
      { ...usage, toolUsePromptTokenCount: 500, totalTokenCount: 1_600 },
      { input_tokens: 1_500, output_tokens: 100, cost_usd: '0.0025' },
    ],
    [
      'audio has rates of its own',
      {
        ...usage,
        promptTokensDetails: [
          { modality: 'TEXT', tokenCount: 900 },
          { modality: 'AUDIO', tokenCount: 100 },
        ],
        candidatesTokensDetails: [{ modality: 'AUDIO', tokenCount: 40 }],
      },
      { input_tokens: 1_000, output_tokens: 100, cost_usd: '0.0026' },
    ],
    [
      'audio in cached content is charged as audio',
      {
        ...usage,
        cachedContentTokenCount: 600,
        promptTokensDetails: [{ modality: 'AUDIO', tokenCount: 100 }],
        cacheTokensDetails: [{ modality: 'AUDIO', tokenCount: 100 }],
      },
      { cached_input_tokens: 500, cost_usd: '0.00175' },
    ],
    [
      'a long context has the rates above its size',
      { promptTokenCount: 250_000, candidatesTokenCount: 100, totalTokenCount: 250_100 },
      { cost_usd: '0.502' },
    ],
    ['a tier that the usage names', { ...usage, serviceTier: 'PRIORITY' }, { cost_usd: '0.008' }],
  ])('%s', async (_, usageMetadata, expected) => {
    const isLong = Number(usageMetadata.promptTokenCount) > 200_000;
    const long = { contents: [{ parts: [{ text: 'word '.repeat(300_000) }] }] };
    const { serviceTier } = usageMetadata;
    // Content by name is held at the context, so that the usage is covered.
    const run = await runOf(
      answer(usageMetadata),
      isLong ? long : { cachedContent: 'caches/1', serviceTier },
    );
    expect(run).toMatchObject(expected);
  });

  test('searches that cached content may offer are held', async () => {
    const heldFor = async (more: Fields, model = 'gemini-3-test') => {
      const response = await post(`${models}/${model}:generateContent`, { contents, ...more });
      expect(response.status).toBe(200);
      return Number(response.headers.get('x-svc-held-usd'));
    };
    const searching = await heldFor({ tools: [{ googleSearch: {} }, { googleMaps: {} }] });
    for (const name of ['cachedContent', 'cached_content']) {
      expect(await heldFor({ [name]: 'cachedContents/1' })).toBeGreaterThanOrEqual(searching);
    }
    // A model without a price for searches is held as before.
    expect((await call({ contents, cachedContent: 'cachedContents/1' })).status).toBe(200);
    gateway.world.clock.advanceSeconds(1);
    const queries = ['harbour', 'ships', 'quay'];
    const run = await runOf(
      answer(usage, { webSearchQueries: queries }, 'gemini-3-test'),
      { cachedContent: 'cachedContents/1' },
      'gemini-3-test',
    );
    expect(run).toMatchObject({ cost_usd: '0.044', marks: [] });
  });

  test('a tier is held at its rates also beside an empty one in the other spelling', async () => {
    const path = `${models}/gemini-2.5-test:generateContent`;
    const heldFor = async (tiers: Fields) =>
      (await post(path, { contents, generationConfig: { maxOutputTokens: 500 }, ...tiers })).headers.get(
        'x-svc-held-usd',
      );
    const priority = await heldFor({ serviceTier: 'priority' });
    expect(Number(priority)).toBeGreaterThan(Number(await heldFor({})) * 1.5);
    for (const tiers of [
      { serviceTier: 'priority', service_tier: null },
      { serviceTier: null, service_tier: 'priority' },
    ]) {
      expect(Number(await heldFor(tiers))).toBeGreaterThanOrEqual(Number(priority));
    }
  });

  test('each kind of usage has its part of the cost, and the run the names of its provider', async () => {
    const audio = (tokenCount: number) => [{ modality: 'AUDIO', tokenCount }];
    const usageMetadata = {
      promptTokenCount: 1_000,
      cachedContentTokenCount: 600,
      toolUsePromptTokenCount: 500,
      candidatesTokenCount: 100,
      thoughtsTokenCount: 50,
      totalTokenCount: 1_650,
      promptTokensDetails: audio(100),
      candidatesTokensDetails: audio(40),
    };
    const found = { webSearchQueries: ['harbour', 'ships'], groundingChunks: [{ maps: {} }] };
    const summary = await runOf(
      answer(usageMetadata, found, 'gemini-3-test'),
      { tools: [{ googleSearch: {} }, { googleMaps: {} }] },
      'gemini-3-test',
    );
    const { json } = await gateway.world.request('GET', `/v1/runs/${summary?.id}`, {
      key: gateway.org.ownerKey,
    });
    const parts = (json.cost_parts as { kind: string; cost_usd: string }[]).map(
      ({ kind, cost_usd }) => [kind, cost_usd] as const,
    );
    expect(Object.fromEntries(parts)).toEqual({
      input: '0.0008',
      cached_input: '0.00006',
      audio_input: '0.0003',
      output: '0.0006',
      reasoning: '0.0005',
      audio_output: '0.0008',
      'unit:web_search': '0.028',
      'unit:maps_query': '0.025',
    });
    expect(json).toMatchObject({
      provider: 'google',
      model: 'gemini-3-test',
      input_tokens: 1_500,
      output_tokens: 150,
      cost_usd: '0.05606',
      units: { web_search: 2, maps_query: 1 },
      marks: [],
    });
  });

  test('a prompt that is blocked costs its input', async () => {
    const { candidatesTokenCount: _, ...input } = { ...usage, totalTokenCount: 1_000 };
    const blocked = { promptFeedback: { blockReason: 'SAFETY' }, usageMetadata: input };
    const run = await runOf(blocked, { cachedContent: 'cachedContents/1' });
    expect(run).toMatchObject({ status: 'succeeded', output_tokens: 0, cost_usd: '0.001', marks: [] });
  });

  const queries = { webSearchQueries: ['harbour', '', 'ships', 'harbour'], searchEntryPoint: {} };
  test.each<[string, string, Fields, Fields, string]>([
    ['a grounded prompt, once', 'gemini-2.5-test', { googleSearch: {} }, queries, '0.037'],
    ['each query', 'gemini-3-test', { google_search: {} }, queries, '0.03'],
    ['nothing, if it did not search', 'gemini-3-test', { googleSearch: {} }, {}, '0.002'],
    ['a map', 'gemini-2.5-test', { googleMaps: {} }, { groundingChunks: [{ maps: {} }] }, '0.027'],
    [
      'no page that the prompt names',
      'gemini-3-test',
      { urlContext: {} },
      { groundingChunks: [{ web: {} }] },
      '0.002',
    ],
    ['no execution of code', 'gemini-3-test', { codeExecution: {} }, {}, '0.002'],
  ])('a tool: %s', async (_, model, tool, grounding, cost_usd) => {
    const run = await runOf(answer(usage, grounding, model), { tools: [tool] }, model);
    expect(run).toMatchObject({ cost_usd, marks: [] });
  });

  test('a grounded stream counts the queries of all its chunks', async () => {
    const chunk = (webSearchQueries: string[], finishReason?: string) => ({
      ...answer(usage, { webSearchQueries }, 'gemini-3-test'),
      candidates: [
        { content: { parts: [{ text: 'a' }] }, finishReason, groundingMetadata: { webSearchQueries } },
      ],
    });
    const events = [chunk(['one']), chunk(['one', 'two']), chunk(['three'], 'STOP')];
    gateway.provider.fault = () => ({
      endAfter: 0,
      with: events.map((event) => `data: ${JSON.stringify(event)}\r\n\r\n`).join(''),
    });
    const path = `${models}/gemini-3-test:streamGenerateContent?alt=sse`;
    await (await post(path, { contents, tools: [{ googleSearch: {} }] })).text();
    expect(await lastRuns()).toMatchObject([{ cost_usd: '0.044', marks: [] }]);
  });
});

test('other methods and paths are refused', async () => {
  for (const path of [
    `${models}/gemini-test:batchGenerateContent`,
    `${models}/gemini-test:predict`,
    '/gemini/v1beta/interactions',
    '/gemini/v1beta/cachedContents',
    '/gemini/v1gamma/models/gemini-test:generateContent',
  ]) {
    expect(await refusal(await post(path, { contents }))).toMatchObject({
      status: 404,
      message: `The gateway does not serve POST ${path}.`,
    });
  }
});
