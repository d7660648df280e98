/** `Converse` of Amazon Bedrock: limits of the output in all places, prices of caches, tiers and ids, and what is refused. */
import { beforeEach, expect, test } from 'vitest';
import { eventually } from '../../test/support/eventually.ts';
import { connectionTo, useGatewayWorld } from '../../test/support/gateway-world.ts';

const gateway = useGatewayWorld();
const messages = [{ role: 'user', content: [{ text: 'Say hello.' }] }];
const path = (model: string, method = 'converse') => `/bedrock/model/${encodeURIComponent(model)}/${method}`;

beforeEach(async () => {
  const { provider } = gateway;
  gateway.world.clock.advanceSeconds(1);
  gateway.connections = [connectionTo(provider.url, 'bedrock')];
  provider.usageMembers = {};
  provider.outputOf = () => 5;
  for (const list of [provider.requests, provider.bill, provider.sent]) {
    list.length = 0;
  }
  await gateway.cap('1000');
});

const post = (url: string, body: object) =>
  fetch(`${gateway.url}${url}`, {
    method: 'POST',
    headers: { authorization: `Bearer ${gateway.key}`, 'content-type': 'application/json' },
    body: JSON.stringify(body),
  });
const call = (more: object, model = 'bedrock-test') => post(path(model), { messages, ...more });
const sent = () => JSON.parse(gateway.provider.requests[0]?.text ?? '{}');

async function lastRun() {
  await eventually(async () => expect(await gateway.holds()).toBe(0));
  return (await gateway.runs())[0];
}

test('the maximum is added, and lowered wherever it stands', async () => {
  await call({});
  expect(sent().inferenceConfig).toEqual({ maxTokens: 1_000 });
  gateway.provider.requests.length = 0;
  await call({
    inferenceConfig: { maxTokens: 40, temperature: 1 },
    additionalModelRequestFields: { max_tokens: 9_000, top_k: 3 },
  });
  expect(sent()).toMatchObject({
    inferenceConfig: { maxTokens: 40, temperature: 1 },
    additionalModelRequestFields: { max_tokens: 40, top_k: 3 },
  });
});

test.each([
  ['guardrailConfig', { guardrailConfig: { guardrailIdentifier: 'a', guardrailVersion: '1' } }],
  ['performanceConfig.latency', { performanceConfig: { latency: 'optimized' } }],
  ['promptVariables', { promptVariables: { a: { text: 'b' } } }],
  ['serviceTier.type', { serviceTier: 'priority' }],
  ['additionalModelRequestFields', { additionalModelRequestFields: [{ max_tokens: 9_000 }] }],
  ['InferenceConfig', { InferenceConfig: { maxTokens: 9_000 } }],
  ['inference_config', { inference_config: { maxTokens: 9_000 } }],
  ['inferenceConfig.MaxTokens', { inferenceConfig: { maxTokens: 5, MaxTokens: 9_000 } }],
  ['tool_config', { tool_config: { tools: [{ systemTool: { name: 'nova_grounding' } }] } }],
  [
    'additionalModelRequestFields.inferenceConfig.maxTokens',
    { additionalModelRequestFields: { inferenceConfig: { maxTokens: 9_000 } } },
  ],
])('%s is refused, and nothing is sent', async (name, more) => {
  const response = await call(more);
  expect([response.status, response.headers.get('x-amzn-errortype')]).toEqual([400, 'ValidationException']);
  expect(await response.json()).toMatchObject({ message: expect.stringContaining(`\`${name}\``) });
  expect(gateway.provider.requests).toEqual([]);
});

test('a name that is given twice is refused', async () => {
  const response = await fetch(`${gateway.url}${path('bedrock-test')}`, {
    method: 'POST',
    headers: { authorization: `Bearer ${gateway.key}` },
    body: '{"messages":[],"inferenceConfig":{"maxTokens":5,"maxTokens":9000}}',
  });
  expect(response.status).toBe(400);
  expect(gateway.provider.requests).toEqual([]);
});

test('a system tool without a price is refused', async () => {
  const toolConfig = { tools: [{ systemTool: { name: 'nova_grounding' } }] };
  const response = await call({ toolConfig });
  expect(response.status).toBe(400);
  expect(gateway.provider.requests).toEqual([]);
});

test.each([
  [
    'content in S3',
    [{ document: { format: 'pdf', name: 'a', source: { s3Location: { uri: 's3://a/b' } } } }],
  ],
  ['a document', [{ document: { format: 'pdf', name: 'a', source: { bytes: 'JVBERg==' } } }]],
  ['a video', [{ video: { format: 'mp4', source: { s3Location: { uri: 's3://a/b' } } } }]],
  ['audio', [{ audio: { format: 'mp3', source: { bytes: 'SUQz' } } }]],
  ['a block that is not known', [{ hologram: { uri: 'a' } }]],
])('%s is held as unseen input', async (_, content) => {
  gateway.settings = { ...gateway.settings, unseenInput: 'refuse' };
  const response = await call({ messages: [{ role: 'user', content }] });
  gateway.settings = { ...gateway.settings, unseenInput: 'hold' };
  expect([response.status, (await response.json()).code]).toEqual([400, 'unseen_input']);
});

test('an unknown field of the model is held as unseen input', async () => {
  gateway.settings = { ...gateway.settings, unseenInput: 'refuse' };
  const response = await call({ additionalModelRequestFields: { retrieval: { source: 'a' } } });
  gateway.settings = { ...gateway.settings, unseenInput: 'hold' };
  expect([response.status, (await response.json()).code]).toEqual([400, 'unseen_input']);
});

test('a cache has its rates for five minutes and an hour, in the geography of the profile', async () => {
  const model = 'us.anthropic.claude-sonnet-4-5-20250929-v1:0';
  gateway.provider.usageMembers = {
    inputTokens: 10,
    outputTokens: 5,
    cacheReadInputTokens: 1_000,
    cacheWriteInputTokens: 300,
    cacheDetails: [
      { ttl: '1h', inputTokens: 200 },
      { ttl: '5m', inputTokens: 100 },
    ],
    totalTokens: 1_315,
  };
  const cachePoint = { type: 'default', ttl: '1h' };
  await call({ system: [{ text: 'Be brief.' }, { cachePoint }], inferenceConfig: { maxTokens: 50 } }, model);
  const run = await lastRun();
  expect(run).toMatchObject({ model, status: 'succeeded', input_tokens: 1_310, output_tokens: 5 });
  // Per million tokens: $3.3 of input, $0.33 from the cache, $4.125 and $6.6 into it, $16.5 of output.
  const usd = (10 * 3.3 + 1_000 * 0.33 + 100 * 4.125 + 200 * 6.6 + 5 * 16.5) / 1e6;
  expect(Number(run?.cost_usd)).toBeCloseTo(usd, 12);
});

test('a tier costs what the response says that it was', async () => {
  const model = 'amazon.nova-pro-v1:0';
  const serviceTier = { type: 'priority' };
  await call({ serviceTier, inferenceConfig: { maxTokens: 50 } }, model);
  expect(await lastRun()).toMatchObject({ service_tier: 'priority', marks: [] });
  expect(sent().serviceTier).toEqual(serviceTier);
});

test('a direct call of a model whose format is not served is refused with the advice to converse', async () => {
  for (const method of ['invoke', 'invoke-with-response-stream']) {
    const response = await post(path('meta.llama3-3-70b-instruct-v1:0', method), {
      prompt: 'a',
      max_gen_len: 5,
    });
    expect([response.status, response.headers.get('x-amzn-errortype')]).toEqual([
      404,
      'ResourceNotFoundException',
    ]);
    expect((await response.json()).message).toContain('Use `Converse` instead.');
  }
  expect(gateway.provider.requests).toEqual([]);
});

test('other operations are not served', async () => {
  for (const url of [
    '/bedrock/async-invoke',
    path('bedrock-test', 'rerank'),
    '/bedrock/guardrail/a/version/1/apply',
  ]) {
    expect((await post(url, {})).status).toBe(404);
  }
  expect(gateway.provider.requests).toEqual([]);
});

test('the name of a model is called by the id of the geography of the connection, at its price', async () => {
  const calledAt = { provider: 'aws', region: 'eu-west-1' };
  gateway.connections = [connectionTo(gateway.provider.url, 'bedrock', { calledAt })];
  await call({ inferenceConfig: { maxTokens: 50 } }, 'nova-micro');
  expect(gateway.provider.requests[0]?.url).toContain('/model/eu.amazon.nova-micro-v1%3A0/converse');
  const run = await lastRun();
  const [billed] = gateway.provider.bill;
  expect(Number(run?.cost_usd) * 1e6).toBeCloseTo((billed?.inputTokens ?? 0) * 0.046 + 5 * 0.184, 6);
});
