/** Vertex AI through the gateway: paths that its clients call, what selects the bill, and what Google charges there besides the Gemini API. */
import { beforeAll, beforeEach, describe, expect, test } from 'vitest';
import { eventually } from '../../test/support/eventually.ts';
import { codeIn } from '../../test/support/format-samples.ts';
import {
  connectionTo,
  expectBilled,
  providerKey,
  useGatewayWorld,
} from '../../test/support/gateway-world.ts';
import type { Connection } from '../capabilities/integration/connections/index.ts';
import type { Fields } from '../kernel/providers/fields.ts';

const gateway = useGatewayWorld();
const account = '/projects/test-project/locations/europe-west1';
const contents = [{ role: 'user', parts: [{ text: 'Say hello' }] }];
const google = '/v1/projects/other-project/locations/us-central1/publishers/google/models';

beforeEach(async () => {
  gateway.world.clock.advanceSeconds(1);
  const { provider } = gateway;
  gateway.connections = [connectionTo(provider.url, 'vertex')];
  provider.fault = undefined;
  provider.outputOf = () => 5;
  provider.reportsEmbeddings = true;
  provider.requests.length = 0;
  provider.bill.length = 0;
  provider.sent.length = 0;
  await gateway.cap('1000');
});

function post(path: string, body: object = { contents }, headers: Record<string, string> = {}) {
  return fetch(`${gateway.url}/vertex${path}`, {
    method: 'POST',
    headers: { authorization: `Bearer ${gateway.key}`, 'content-type': 'application/json', ...headers },
    body: JSON.stringify(body),
  });
}

async function lastRuns() {
  await eventually(async () => expect(await gateway.holds()).toBe(0));
  return (await gateway.runs()).slice(0, 1);
}

const urls = () => gateway.provider.requests.map(({ url }) => url);

async function refusal(response: Response) {
  const { error } = (await response.json()) as { error: Fields };
  return { status: response.status, code: codeIn(error), message: error.message };
}

test.each([
  [google, 'v1'],
  ['/v1beta1/projects/other-project/locations/global/publishers/google/models', 'v1beta1'],
  ['/v1/projects/example.com:other/locations/global/publishers/google/models', 'v1'],
  ['/v1beta1/publishers/google/models', 'v1beta1'],
  ['/projects/p/locations/l/publishers/google/models', 'v1'],
  ['/publishers/google/models', 'v1'],
])('calls below %s are made in the project and location of the connection', async (path, version) => {
  const models = `/${version}${account}/publishers/google/models`;
  for (const [called, expected] of [
    ['gemini-test:generateContent', 'gemini-test:generateContent'],
    ['gemini-test:streamGenerateContent', 'gemini-test:streamGenerateContent?alt=sse'],
    ['gemini-test:streamGenerateContent?alt=sse&key=x', 'gemini-test:streamGenerateContent?alt=sse'],
  ] as const) {
    gateway.provider.requests.length = 0;
    gateway.provider.bill.length = 0;
    gateway.world.clock.advanceSeconds(1);
    const response = await post(`${path}/${called}`);
    expect(response.status).toBe(200);
    await response.text();
    expect(urls()).toEqual([`${models}/${expected}`]);
    expectBilled(gateway.provider, await lastRuns(), 'gemini-test');
  }
  expect((await post(`${path}/gemini-test:countTokens`)).status).toBe(200);
  expect(urls().at(-1)).toBe(`${models}/gemini-test:countTokens`);
});

describe('a connection of express mode', () => {
  const express = (apiKey: string): Connection =>
    connectionTo('', 'vertex', {
      baseUrl: gateway.provider.url,
      credential: () => ({ type: 'key', key: apiKey }),
    });

  test.each([
    ['AQ.Ab8RN6-key', { 'x-goog-api-key': 'AQ.Ab8RN6-key' }],
    ['AIzaSy-key', { 'x-goog-api-key': 'AIzaSy-key' }],
    ['ya29.token', { authorization: 'Bearer ya29.token' }],
  ])('calls models without a project, and sends the key %s where it belongs', async (key, expected) => {
    gateway.connections = [express(key)];
    expect((await post(`${google}/gemini-test:generateContent`)).status).toBe(200);
    expect(urls()).toEqual(['/v1/publishers/google/models/gemini-test:generateContent']);
    const { authorization, 'x-goog-api-key': apiKey } = gateway.provider.requests[0]?.headers ?? {};
    expect({ authorization, 'x-goog-api-key': apiKey }).toEqual({
      authorization: undefined,
      'x-goog-api-key': undefined,
      ...expected,
    });
  });
});

test('a key in the query or in a header of Google is that of the caller, and is not forwarded', async () => {
  const path = `/vertex${google}/gemini-test:generateContent`;
  const body = JSON.stringify({ contents });
  for (const [query, headers] of [
    [`?key=${gateway.key}`, {}],
    ['', { 'x-goog-api-key': gateway.key, 'x-goog-user-project': 'other-project' }],
  ] as const) {
    gateway.provider.requests.length = 0;
    const response = await fetch(`${gateway.url}${path}${query}`, { method: 'POST', headers, body });
    expect(response.status).toBe(200);
    const [request] = gateway.provider.requests;
    expect(request?.headers.authorization).toBe(`Bearer ${providerKey}`);
    expect(JSON.stringify([request?.url, request?.headers])).not.toContain(gateway.key);
    expect(request?.headers).not.toHaveProperty('x-goog-user-project');
  }
});

test.each(['v1', 'v1beta', 'v1alpha'])(
  'a client of the Gemini API is served by Vertex AI: %s',
  async (version) => {
    const response = await fetch(`${gateway.url}/gemini/${version}/models/gemini-test:generateContent`, {
      method: 'POST',
      headers: { 'x-goog-api-key': gateway.key },
      body: JSON.stringify({ contents }),
    });
    expect(response.status).toBe(200);
    const called = version === 'v1' ? 'v1' : 'v1beta1';
    expect(urls()).toEqual([`/${called}${account}/publishers/google/models/gemini-test:generateContent`]);
  },
);

test('calls of Vertex AI reach no connection of another kind', async () => {
  gateway.connections = [connectionTo(gateway.provider.url, 'gemini')];
  expect(await refusal(await post(`${google}/gemini-test:generateContent`))).toMatchObject({
    status: 404,
    code: 'model_not_found',
  });
});

const model = 'gemini-test:generateContent';
test.each<[string, string]>([
  [`${google}/imagen-4.0-generate-001:predict`, 'embeddings of text alone'],
  [`${google}/multimodalembedding@001:predict`, 'embeddings of text alone'],
  [`${google}/veo-3.0-generate-001:predictLongRunning`, 'not charged by tokens'],
  ['/v1/projects/p/locations/l/endpoints/1234567890:generateContent', 'an endpoint or a tuned model'],
  ['/v1/projects/p/locations/l/endpoints/1234567890:rawPredict', 'an endpoint or a tuned model'],
  [`/v1/projects/p/locations/l/models/${model}`, 'an endpoint or a tuned model'],
  ['/v1/projects/p/locations/l/publishers/ai21/models/jamba-1.5:rawPredict', 'models of this publisher'],
  ['/v1/projects/p/locations/l/publishers/google/models/gemini-test:batchEmbedContents', ''],
  ['/v1/projects/p/locations/l/cachedContents', ''],
  ['/v1/projects/p/locations/l/batchPredictionJobs', ''],
  [`/v1/projects/p/locations/l/publishers/google/models/..%2F..%2F${model}`, ''],
  [`/v1/projects/p/locations/l/publishers/google/models/projects%2Fq%2F${model}`, ''],
  ['/v1/projects/p/locations/l/publishers/google/models/a/b:generateContent', ''],
  ['/v1/projects/p/locations/l/publishers/google/models/..:generateContent', ''],
  [`/v1/projects/p/locations/l/publishers%2Fgoogle/models/${model}`, ''],
  [`/v1/projects/p%2Flocations/l/publishers/google/models/${model}`, ''],
  [`/v1/projects/p/locations/l/projects/q/locations/m/publishers/google/models/${model}`, ''],
  [`/v2/projects/p/locations/l/publishers/google/models/${model}`, ''],
  ['/v1/projects/p/locations/l/publishers/google/models/gemini-test%3AgenerateContent', ''],
  ['/v1/projects/p/locations/l/publishers/google/models/gemini-test;x:generateContent', ''],
])('%s is refused in the format, and reaches no provider', async (path, reason) => {
  const { status, code, message } = await refusal(await post(path));
  expect([status, code]).toEqual([404, 'not_found']);
  expect(message).toContain(`The gateway does not serve POST /vertex${path}.`.slice(0, 150));
  expect(message).toContain(reason);
  expect(urls()).toEqual([]);
});

test.each<Fields>([
  { generationConfig: { routingConfig: { manualMode: { modelName: 'gemini-expensive' } } } },
  { generation_config: { routing_config: { autoMode: {} } } },
  { generationConfig: { modelSelectionConfig: { featureSelectionPreference: 'PRIORITIZE_QUALITY' } } },
  { generationConfig: { modelConfig: {} } },
  { modelSelectionConfig: {} },
  { model: 'projects/q/locations/l/publishers/google/models/gemini-test' },
])('a body that selects the model or the project is refused: %j', async (more) => {
  const response = await post(`${google}/gemini-test:generateContent`, { contents, ...more });
  expect(await refusal(response)).toMatchObject({ status: 400, code: 'invalid_value' });
  expect(urls()).toEqual([]);
});

test('embeddings by `predict` are charged by the tokens of all predictions, or by an upper bound', async () => {
  const path = `${google}/embed-test:predict`;
  const instances = ['The harbour at night.', 'Ships'].map((content) => ({
    content,
    task_type: 'CLUSTERING',
  }));
  const response = await post(path, { instances, parameters: { outputDimensionality: 2 } });
  expect(response.status).toBe(200);
  expect(urls()).toEqual([`/v1${account}/publishers/google/models/embed-test:predict`]);
  expectBilled(gateway.provider, await lastRuns(), 'embed-test');
  gateway.provider.reportsEmbeddings = false;
  gateway.world.clock.advanceSeconds(1);
  expect((await post(path, { instances })).status).toBe(200);
  const [run] = await lastRuns();
  expect(run?.marks).toEqual(['usage_estimated']);
  expect(run?.input_tokens).toBeGreaterThanOrEqual(gateway.provider.bill[1]?.inputTokens ?? 0);
});

test('the list of models has those of Google, in the form of Vertex AI', async () => {
  const list = (path: string) =>
    fetch(`${gateway.url}/vertex${path}`, { headers: { authorization: `Bearer ${gateway.key}` } });
  const listed = await list('/v1beta1/publishers/google/models');
  const { publisherModels } = (await listed.json()) as { publisherModels: { name: string }[] };
  const names = publisherModels.map(({ name }) => name);
  expect(names).toContain('publishers/google/models/gemini-test');
  expect(names).not.toContain('publishers/google/models/claude-test');
  const one = await list('/v1beta1/publishers/google/models/gemini-test');
  expect(await one.json()).toMatchObject({ name: 'publishers/google/models/gemini-test' });
});

describe('what Google charges on Vertex AI', () => {
  beforeAll(async () => {
    const { status } = await gateway.world.request('PUT', '/v1/admin/models/gemini-3-test', {
      key: gateway.world.operatorKey,
      body: {
        provider: 'google',
        input_usd_per_million: '1',
        output_usd_per_million: '10',
        context_tokens: 10_000,
        units: { web_search: '0.014', enterprise_web_search: '0.045', retrieval: '0.0025' },
        modifiers: [
          { tier: 'priority', input_usd_per_million: '4', output_usd_per_million: '40' },
          { tier: 'flex', multiplier: '0.5' },
          { region: 'europe-west1', multiplier: '1.1' },
        ],
      },
    });
    expect(status).toBeLessThan(300);
  });

  const usage = { promptTokenCount: 1_000, candidatesTokenCount: 100, totalTokenCount: 1_100 };

  async function runOf(usageMetadata: Fields, more: Fields = {}, groundingMetadata?: Fields) {
    const answer = {
      candidates: [{ content: { parts: [{ text: 'Hello.' }] }, finishReason: 'STOP', groundingMetadata }],
      usageMetadata,
      modelVersion: 'gemini-3-test',
    };
    gateway.provider.fault = () => ({ status: 200, body: JSON.stringify(answer) });
    // Content by name is held at the context, so that the usage is covered, as results of tools are.
    const body = { contents, ...('tools' in more ? {} : { cachedContent: 'cachedContents/1' }), ...more };
    const response = await post(`${google}/gemini-3-test:generateContent`, body);
    expect(response.status).toBe(200);
    await response.text();
    const [run] = await lastRuns();
    expect(Number(response.headers.get('x-svc-held-usd'))).toBeGreaterThanOrEqual(Number(run?.cost_usd));
    return run;
  }

  test.each<[string, string]>([
    ['ON_DEMAND', '0.0022'],
    ['ON_DEMAND_FLEX', '0.0011'],
    ['ON_DEMAND_OFFPEAK', '0.0022'],
    ['PROVISIONED_THROUGHPUT', '0.0022'],
  ])('the traffic type %s has its rates in the region of the connection', async (trafficType, cost_usd) => {
    expect(await runOf({ ...usage, trafficType })).toMatchObject({ cost_usd, marks: [] });
  });

  test('priority traffic has its rates', async () => {
    const run = await runOf({ ...usage, trafficType: 'ON_DEMAND_PRIORITY' }, { serviceTier: 'priority' });
    expect(run).toMatchObject({ cost_usd: '0.0088', marks: [] });
  });

  test('a connection whose header selects priority traffic is held at its rates', async () => {
    const headers = { 'x-vertex-ai-llm-shared-request-type': 'priority' };
    gateway.connections = [connectionTo(gateway.provider.url, 'vertex', { headers })];
    expect(await runOf({ ...usage, trafficType: 'ON_DEMAND_PRIORITY' })).toMatchObject({
      cost_usd: '0.0088',
      marks: [],
    });
    expect(gateway.provider.requests[0]?.headers).toMatchObject(headers);
  });

  const found = { webSearchQueries: ['harbour', 'ships'] };
  test.each<[string, Fields, Fields, string]>([
    ['Google Search', { googleSearch: {} }, found, '0.0302'],
    ['the search for enterprises', { enterpriseWebSearch: {} }, found, '0.0922'],
    ['both', { googleSearch: {}, enterpriseWebSearch: {} }, found, '0.0922'],
    [
      'data of the customer',
      { retrieval: { vertexAiSearch: {} } },
      { retrievalQueries: ['a', 'b'] },
      '0.0072',
    ],
    ['data of the customer, always searched', { retrieval: { externalApi: {} } }, {}, '0.0047'],
  ])('a tool that searches %s', async (_, tool, grounding, cost_usd) => {
    expect(await runOf(usage, { tools: [tool] }, grounding)).toMatchObject({ cost_usd, marks: [] });
  });

  test.each(['parallelAiSearch', 'exaAiSearch', 'timeTravel'])(
    'the tool %s without a price is refused',
    async (tool) => {
      const response = await post(`${google}/gemini-3-test:generateContent`, {
        contents,
        tools: [{ [tool]: {} }],
      });
      expect(await refusal(response)).toMatchObject({ status: 400, code: 'tool_without_price' });
    },
  );
});

describe('Claude on Vertex AI', () => {
  const messages = [{ role: 'user', content: 'Say hello' }];
  const body = { anthropic_version: 'vertex-2023-10-16', max_tokens: 50, messages };
  const claude = '/projects/any/locations/global/publishers/anthropic/models';
  const claudeAt = `/v1${account}/publishers/anthropic/models`;
  const received = () => JSON.parse(gateway.provider.requests[0]?.text ?? '') as Fields;

  const messagesPath = (path: string, more: object = body, headers: Record<string, string> = {}) =>
    fetch(`${gateway.url}/anthropic${path}`, {
      method: 'POST',
      headers: { 'x-api-key': gateway.key, 'anthropic-version': '2023-06-01', ...headers },
      body: JSON.stringify(more),
    });

  beforeAll(async () => {
    for (const [model, input] of [
      ['claude-sonnet-4-5', '1'],
      ['vertex_ai/claude-sonnet-4-5', '2'],
    ] as const) {
      const { status } = await gateway.world.request('PUT', `/v1/admin/models/${encodeURIComponent(model)}`, {
        key: gateway.world.operatorKey,
        body: { provider: 'any', input_usd_per_million: input, output_usd_per_million: '10' },
      });
      expect(status).toBeLessThan(300);
    }
  });

  test.each([`/v1${claude}`, claude])(
    'is called as its clients do below %s, plain and streamed',
    async (path) => {
      for (const [method, stream] of [
        ['rawPredict', undefined],
        ['streamRawPredict', true],
        ['streamRawPredict', undefined],
      ] as const) {
        gateway.provider.requests.length = 0;
        gateway.provider.bill.length = 0;
        gateway.world.clock.advanceSeconds(1);
        const response = await post(`${path}/claude-test:${method}`, { ...body, stream });
        expect(response.status).toBe(200);
        await response.text();
        expect(urls()).toEqual([`${claudeAt}/claude-test:${method}`]);
        expect(received()).toEqual(stream === undefined ? body : { ...body, stream });
        expectBilled(gateway.provider, await lastRuns(), 'claude-test');
      }
    },
  );

  test('serves clients of the Messages API, under the id of Vertex AI and at its price', async () => {
    const more = { model: 'claude-sonnet-4-5-20250929', max_tokens: 50, messages };
    for (const stream of [undefined, true]) {
      gateway.provider.requests.length = 0;
      gateway.world.clock.advanceSeconds(1);
      const response = await messagesPath(
        '/v1/messages?beta=true',
        { ...more, stream },
        { 'anthropic-beta': 'fine-grained-tool-streaming-2025-05-14' },
      );
      expect(response.status).toBe(200);
      await response.text();
      const method = stream ? 'streamRawPredict' : 'rawPredict';
      expect(urls()).toEqual([`${claudeAt}/claude-sonnet-4-5@20250929:${method}`.replace('@', '%40')]);
      const { model: _, ...sent } = more;
      expect(received()).toEqual({
        ...sent,
        ...(stream && { stream }),
        ...{ anthropic_version: 'vertex-2023-10-16' },
      });
      const { headers } = gateway.provider.requests[0] ?? { headers: {} };
      expect(headers).toMatchObject({ 'anthropic-beta': 'fine-grained-tool-streaming-2025-05-14' });
      expect(headers).not.toHaveProperty('anthropic-version');
      const [run] = await lastRuns();
      const { inputTokens = 0 } = gateway.provider.bill.at(-1) ?? {};
      expect(Number(run?.cost_usd)).toBeCloseTo((inputTokens * 2 + 50) / 1e6, 9);
    }
  });

  test('a call that was held at the rates of a region is charged at those of the connection that served it', async () => {
    const { status } = await gateway.world.request('PUT', '/v1/admin/models/claude-regional', {
      key: gateway.world.operatorKey,
      body: {
        provider: 'anthropic',
        input_usd_per_million: '1',
        output_usd_per_million: '10',
        modifiers: [{ region: 'regional', multiplier: '3' }],
      },
    });
    expect(status).toBeLessThan(300);
    const { url } = gateway.provider;
    const anywhere = connectionTo(url, 'anthropic');
    const regional = connectionTo(url, 'vertex');
    for (const [connections, factor, region] of [
      [[anywhere, regional], 1, 'global'],
      [[regional, anywhere], 3, 'europe-west1'],
      [[anywhere], 1, null],
    ] as const) {
      gateway.connections = [...connections];
      gateway.provider.bill.length = 0;
      gateway.world.clock.advanceSeconds(1);
      const response = await messagesPath('/v1/messages', {
        model: 'claude-regional',
        max_tokens: 50,
        messages,
      });
      expect(response.status).toBe(200);
      const [run] = await lastRuns();
      const { inputTokens = 0 } = gateway.provider.bill[0] ?? {};
      expect(Number(run?.cost_usd)).toBeCloseTo((factor * (inputTokens + 50)) / 1e6, 9);
      expect(run?.region).toBe(region);
    }
  });

  test('a client of Vertex AI is served by Anthropic', async () => {
    gateway.connections = [connectionTo(gateway.provider.url, 'anthropic')];
    const path = `${claude}/claude-sonnet-4-5@20250929:streamRawPredict`;
    const response = await post(path, { ...body, anthropic_version: 'vertex-2023-10-16' });
    expect(response.status).toBe(200);
    await response.text();
    expect(urls()).toEqual(['/v1/messages']);
    const { anthropic_version: _, ...sent } = body;
    expect(received()).toEqual({ ...sent, model: 'claude-sonnet-4-5-20250929', stream: true });
    expect(gateway.provider.requests[0]?.headers).toMatchObject({ 'anthropic-version': '2023-06-01' });
  });

  test('tokens are counted without a run, for clients of either API and at either provider', async () => {
    const before = (await gateway.runs()).length;
    const toCount = { model: 'claude-sonnet-4-5@20250929', messages };
    const ours = () => post(`${claude}/count-tokens:rawPredict`, { ...toCount, anthropic_version: 'x' });
    const theirs = () =>
      messagesPath('/v1/messages/count_tokens', { ...toCount, model: 'claude-sonnet-4-5' });
    for (const count of [ours, theirs]) {
      expect(await (await count()).json()).toEqual({ input_tokens: expect.any(Number) });
      expect(urls()).toEqual([`${claudeAt}/count-tokens:rawPredict`]);
      expect(received()).toEqual({ ...toCount, anthropic_version: 'vertex-2023-10-16' });
      gateway.provider.requests.length = 0;
    }
    gateway.connections = [connectionTo(gateway.provider.url, 'anthropic')];
    await ours();
    expect(urls()).toEqual(['/v1/messages/count_tokens']);
    expect(received()).toEqual({ ...toCount, model: 'claude-sonnet-4-5-20250929' });
    expect((await gateway.runs()).length).toBe(before);
  });

  test('a body whose stream is not that of the method is refused', async () => {
    for (const [method, stream] of [
      ['rawPredict', true],
      ['streamRawPredict', false],
    ]) {
      const response = await post(`${claude}/claude-test:${method}`, { ...body, stream });
      const { error } = (await response.json()) as { error: Fields };
      expect([response.status, codeIn(error)]).toEqual([400, 'invalid_value']);
    }
    expect(urls()).toEqual([]);
  });

  test('a model in the body is not called', async () => {
    const response = await post(`${claude}/claude-test:rawPredict`, { ...body, model: 'claude-expensive' });
    expect(response.status).toBe(200);
    expect(received()).not.toHaveProperty('model');
    expect(await lastRuns()).toMatchObject([{ model: 'claude-test' }]);
  });
});
