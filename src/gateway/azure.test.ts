import OpenAI, { AzureOpenAI } from 'openai';
import { beforeAll, beforeEach, expect, test } from 'vitest';
import { connectionTo, providerKey, useGatewayWorld } from '../../test/support/gateway-world.ts';

const gateway = useGatewayWorld();
let openai: OpenAI;

beforeAll(() => {
  openai = new OpenAI({ baseURL: `${gateway.url}/openai/v1`, apiKey: gateway.key });
});
beforeEach(() => {
  gateway.world.clock.advanceSeconds(1);
  gateway.provider.requests.length = 0;
});

const chat = { model: 'gpt-test', messages: [{ role: 'user' as const, content: 'Say hello' }] };

function azure(path: string): void {
  gateway.connections = [
    connectionTo('', 'azure_openai', { baseUrl: `${gateway.provider.url}${path}`, name: 'azure' }),
  ];
}

/** Expects that the key of the connection was the only credential, and that the run is exact. */
async function expectRequest(url: string): Promise<void> {
  const [request, ...more] = gateway.provider.requests;
  expect(more).toEqual([]);
  expect(request?.url).toBe(url);
  expect(request?.headers).toMatchObject({ 'api-key': providerKey });
  expect(request?.headers).not.toHaveProperty('authorization');
  expect(request?.headers).not.toHaveProperty('x-api-key');
  const [run] = await gateway.runs();
  expect(run).toMatchObject({ status: 'succeeded', marks: [], model: JSON.parse(request?.text ?? '').model });
}

test('a deployment in Azure is called at its path, with the API version and the key of the connection', async () => {
  azure('/openai/deployments/gpt-test?api-version=2024-10-21');
  await openai.chat.completions.create(chat);
  await expectRequest('/openai/deployments/gpt-test/chat/completions?api-version=2024-10-21');
  expect(JSON.parse(gateway.provider.requests[0]?.text ?? '')).toMatchObject({
    max_completion_tokens: 1_000,
  });
  gateway.provider.requests.length = 0;
  gateway.world.clock.advanceSeconds(1);
  const stream = openai.chat.completions.stream(chat);
  expect((await stream.finalChatCompletion()).choices[0]?.message.content).toBe('tok0 tok1 tok2 tok3 tok4 ');
  await expectRequest('/openai/deployments/gpt-test/chat/completions?api-version=2024-10-21');
});

test('the API version of the connection replaces that of the client, and only known parameters stay', async () => {
  azure('/openai/deployments/gpt-test?api-version=2024-10-21');
  await openai.chat.completions.create(chat, { query: { 'api-version': '2020-01-01', max_tokens: '9000' } });
  await expectRequest('/openai/deployments/gpt-test/chat/completions?api-version=2024-10-21');
  gateway.provider.requests.length = 0;
  gateway.world.clock.advanceSeconds(1);
  await openai.chat.completions.create(chat, { query: { model: 'gpt-expensive', beta: 'true' } });
  await expectRequest('/openai/deployments/gpt-test/chat/completions?beta=true&api-version=2024-10-21');
});

function azureClient(endpoint = gateway.url): AzureOpenAI {
  return new AzureOpenAI({ endpoint, apiKey: gateway.key, apiVersion: '2024-10-21', maxRetries: 0 });
}

test.each(['/openai/v1', '/openai/deployments/gpt-test?api-version=2025-01-01'])(
  'the Azure client with Purser as its endpoint calls a connection to %s, plain and streamed',
  async (path) => {
    azure(path);
    const [base, version] = path.split('?');
    const expected = `${base}/chat/completions${version === undefined ? '' : `?${version}`}`;
    const answer = await azureClient().chat.completions.create(chat);
    expect(answer.choices[0]?.message.content).toBe('tok0 tok1 tok2 tok3 tok4 ');
    await expectRequest(expected);
    gateway.provider.requests.length = 0;
    gateway.world.clock.advanceSeconds(1);
    const stream = azureClient().chat.completions.stream(chat);
    expect((await stream.finalChatCompletion()).choices[0]?.message.content).toBe(
      'tok0 tok1 tok2 tok3 tok4 ',
    );
    await expectRequest(expected);
  },
);

test('the Azure client calls embeddings by deployment, and responses, and lists models', async () => {
  azure('/openai/v1');
  await azureClient().embeddings.create({ model: 'embed-test', input: 'one two' });
  await expectRequest('/openai/v1/embeddings');
  gateway.provider.requests.length = 0;
  gateway.world.clock.advanceSeconds(1);
  await azureClient().responses.create({ model: 'gpt-test', input: 'Say hello' });
  await expectRequest('/openai/v1/responses');
  const models: string[] = [];
  for await (const { id } of azureClient().models.list()) {
    models.push(id);
  }
  expect(models).toContain('gpt-test');
});

test('the deployment in the path is the model that is called, priced and metered, whatever the body says', async () => {
  azure('/openai/v1');
  const client = new AzureOpenAI({
    endpoint: gateway.url,
    deployment: 'gpt-test',
    apiKey: gateway.key,
    apiVersion: '2024-10-21',
  });
  await client.chat.completions.create({ ...chat, model: 'a-model-without-a-price' });
  await expectRequest('/openai/v1/chat/completions');
  expect(JSON.parse(gateway.provider.requests[0]?.text ?? '').model).toBe('gpt-test');
  gateway.provider.requests.length = 0;
  gateway.world.clock.advanceSeconds(1);
  const { model: _, ...unnamed } = chat;
  const response = await fetch(`${gateway.url}/openai/deployments/gpt-test/chat/completions`, {
    method: 'POST',
    headers: { 'api-key': gateway.key, 'content-type': 'application/json' },
    body: JSON.stringify(unnamed),
  });
  expect(response.status).toBe(200);
  await expectRequest('/openai/v1/chat/completions');
});

test('the Azure client calls a connection by its name below /compat', async () => {
  azure('/openai/v1');
  await azureClient(`${gateway.url}/compat/azure`).chat.completions.create(chat);
  await expectRequest('/openai/v1/chat/completions');
  const error = await azureClient(`${gateway.url}/compat/other`)
    .chat.completions.create(chat)
    .catch((raised) => raised);
  expect(error).toBeInstanceOf(OpenAI.NotFoundError);
});

test('the Azure client reaches no connection of another kind', async () => {
  gateway.connections = [connectionTo(gateway.provider.url)];
  const error = await azureClient()
    .chat.completions.create(chat)
    .catch((raised) => raised);
  expect(error).toBeInstanceOf(OpenAI.NotFoundError);
  expect(error.code).toBe('model_not_found');
  expect(gateway.provider.requests).toEqual([]);
});

test('a denial reaches the Azure client as its own error', async () => {
  azure('/openai/v1');
  await gateway.cap('0.000000001');
  const error = await azureClient()
    .chat.completions.create(chat)
    .catch((raised) => raised);
  expect([error.status, gateway.provider.requests.length]).toEqual([402, 0]);
  await gateway.cap('100');
});

test.each([
  ['POST', '/openai/deployments/gpt-test/images/generations'],
  ['POST', '/openai/deployments/gpt-test/completions'],
  ['POST', '/openai/deployments//chat/completions'],
  ['GET', '/openai/deployments/gpt-test/chat/completions'],
  ['POST', '/openai/chat/completions'],
  ['POST', '/openai/v1/deployments/gpt-test/chat/completions'],
  ['POST', '/compat/azure/openai/audio/speech'],
])('%s %s is 404 in the format of OpenAI, and reaches no provider', async (method, path) => {
  azure('/openai/v1');
  const response = await fetch(`${gateway.url}${path}?api-version=2024-10-21`, {
    method,
    headers: { 'api-key': gateway.key, 'content-type': 'application/json' },
    ...(method === 'POST' && { body: JSON.stringify(chat) }),
  });
  expect(response.status).toBe(404);
  expect((await response.json()).error).toMatchObject({ code: 'not_found' });
  expect(gateway.provider.requests).toEqual([]);
});
