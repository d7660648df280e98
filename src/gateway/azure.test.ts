import OpenAI, { AzureOpenAI } from 'openai';
import { afterAll, beforeAll, beforeEach, expect, test } from 'vitest';
import {
  connectionTo,
  createGatewayWorld,
  type GatewayWorld,
  providerKey,
} from '../../test/support/gateway-world.ts';

let gateway: GatewayWorld;
let openai: OpenAI;

beforeAll(async () => {
  gateway = await createGatewayWorld();
  openai = new OpenAI({ baseURL: `${gateway.url}/openai/v1`, apiKey: gateway.key });
});
afterAll(() => gateway.close());
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

test('the API version of the connection replaces that of the client, and other parameters stay', async () => {
  azure('/openai/deployments/gpt-test?api-version=2024-10-21');
  await openai.chat.completions.create(chat, { query: { 'api-version': '2020-01-01', trace: 'a b' } });
  await expectRequest('/openai/deployments/gpt-test/chat/completions?api-version=2024-10-21&trace=a+b');
});

test('the v1 API of Azure serves chat, responses and embeddings', async () => {
  azure('/openai/v1');
  await openai.responses.create({ model: 'gpt-test', input: 'Say hello' });
  await expectRequest('/openai/v1/responses');
  gateway.provider.requests.length = 0;
  gateway.world.clock.advanceSeconds(1);
  await openai.embeddings.create({ model: 'embed-test', input: 'one two' });
  await expectRequest('/openai/v1/embeddings');
});

test('the Azure client of the SDK can call responses; its paths of deployments are 404', async () => {
  azure('/openai/v1');
  const client = new AzureOpenAI({
    baseURL: `${gateway.url}/openai/v1`,
    apiKey: gateway.key,
    apiVersion: '2024-10-21',
  });
  await client.responses.create({ model: 'gpt-test', input: 'Say hello' });
  await expectRequest('/openai/v1/responses?api-version=2024-10-21');
  gateway.provider.requests.length = 0;
  const error = await client.chat.completions.create(chat).catch((raised) => raised);
  expect(error).toBeInstanceOf(OpenAI.NotFoundError);
  expect(error.message).toContain('/openai/v1/deployments/gpt-test/chat/completions');
  expect(gateway.provider.requests).toEqual([]);
});
