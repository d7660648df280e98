/** The matrix of `src/gateway/client-matrix.test.ts` for the SDKs of Python. */
import { createHash } from 'node:crypto';
import { afterAll, beforeAll, beforeEach, describe, expect, test } from 'vitest';
import { formatUsd } from '../../src/kernel/money.ts';
import { connectionTo } from '../support/gateway-world.ts';
import { type ClientWorld, createClientWorld } from './client-world.ts';
import { pythonSdks } from './installed-clients.ts';
import { type Outcome, type PythonSdks, startPythonSdks } from './python-sdks.ts';

const python = await pythonSdks();

const openAiApis = ['chat', 'responses'] as const;
const streamed = [
  ...openAiApis.map((api) => ({ sdk: 'openai', api, model: 'gpt-test' })),
  ...openAiApis.map((api) => ({ sdk: 'langchain', api, model: 'gpt-test' })),
  { sdk: 'anthropic', api: 'messages', model: 'claude-test' },
];
const embeddings = ['openai', 'langchain'].map((sdk) => ({ sdk, api: 'embeddings', model: 'embed-test' }));
const calls = [...streamed, ...embeddings];
/** LangChain has no other helper than its stream. */
const withHelper = streamed.filter(({ sdk }) => sdk !== 'langchain');
/** The SDKs retry twice. */
const attempts = 3;
/** Short, and a time that gateway and SDKs wait for. */
const retryAfter = '0.001';

type Call = (typeof calls)[number];

describe.skipIf(python === undefined)('Python SDKs with another base URL and key', () => {
  let world: ClientWorld;
  let sdks: PythonSdks;
  beforeAll(async () => {
    world = await createClientWorld();
    sdks = startPythonSdks(python as string, world.environment);
  });
  afterAll(async () => {
    await sdks.stop();
    await world.close();
  });
  beforeEach(async () => {
    world.reset();
    world.gateway.provider.toolOf = (body) =>
      Array.isArray(body.tools) ? { name: 'lookup', input: '{"q":"x"}' } : undefined;
    await world.gateway.cap('1000');
  });

  async function through(call: Call, mode: string): Promise<Outcome> {
    const urls = { openai: `${world.url}/openai/v1`, anthropic: `${world.url}/anthropic` };
    const outcome = await sdks.call({ ...call, mode, urls, key: world.gateway.key });
    expect(world.elsewhere).toEqual([]);
    return outcome;
  }

  /** Makes a call at the provider itself, and forgets it there. */
  async function direct(call: Call, mode: string): Promise<Outcome> {
    const { provider } = world.gateway;
    const urls = { openai: `${provider.url}/v1`, anthropic: provider.url };
    const outcome = await sdks.call({ ...call, mode, urls, key: 'sk-own' });
    provider.requests.length = 0;
    provider.bill.length = 0;
    provider.sent.length = 0;
    return outcome;
  }

  /** Expects one request, and one run with the tokens and the cost that the provider has billed. */
  async function expectBilledOnce(): Promise<void> {
    expect(world.requests).toHaveLength(1);
    await world.expectBilled();
    const [billed] = world.gateway.provider.bill;
    const { inputTokens = 0, outputTokens = 0 } = billed ?? {};
    const cost = formatUsd(BigInt(inputTokens) * 1_000n + BigInt(outputTokens) * 10_000n);
    expect(await world.settledRuns()).toMatchObject([{ status: 'succeeded', cost_usd: cost, marks: [] }]);
  }

  async function expectAsProvided(call: Call, mode: string): Promise<Outcome> {
    const provided = await direct(call, mode);
    expect(provided.value).toBeDefined();
    expect(await through(call, mode)).toEqual(provided);
    await expectBilledOnce();
    return provided;
  }

  describe.each(calls)('$sdk, $api', (call) => {
    test('a plain call returns what the provider returns', async () => {
      await expectAsProvided(call, 'plain');
    });

    test('a denial is one request with status 402, the code and the reset time', async () => {
      await world.gateway.cap('0.000001');
      const { error } = await through(call, 'plain');
      expectDenied(error);
      expect(world.requests.map(({ status }) => status)).toEqual([402]);
      expect(world.gateway.provider.requests).toEqual([]);
      expect(await world.gateway.holds()).toBe(0);
    });

    test.each([429, 500])(
      'status %i of the provider, always, is what the client sees, and costs nothing',
      async (status) => {
        world.gateway.provider.fault = () => ({ status, retryAfter });
        const provided = await direct(call, 'plain');
        expect(await through(call, 'plain')).toEqual(provided);
        expect(provided.error).toMatchObject({ status });
        expect(world.requests).toHaveLength(attempts);
        expect(world.gateway.provider.requests).toHaveLength(attempts * 3);
        const runs = await world.settledRuns();
        expect(runs.map((run) => [run.status, Number(run.cost_usd)])).toEqual(
          world.requests.map(() => ['failed', 0]),
        );
      },
    );

    test.each([429, 500])('status %i of the provider, once, does not reach the client', async (status) => {
      const provided = await direct(call, 'plain');
      const { provider } = world.gateway;
      provider.fault = () => (provider.requests.length === 1 ? { status, retryAfter } : undefined);
      expect(await through(call, 'plain')).toEqual(provided);
      expect(provider.requests).toHaveLength(2);
      await expectBilledOnce();
    });
  });

  describe.each(streamed)('$sdk, $api, streamed', (call) => {
    test('a stream has the events of the provider', async () => {
      const { value } = await expectAsProvided(call, 'stream');
      expect(value).toHaveProperty('length');
    });

    test('tools are passed on, plain and streamed', async () => {
      expect(JSON.stringify(await expectAsProvided(call, 'tools'))).toContain('lookup');
      world.requests.length = 0;
      expect(JSON.stringify(await expectAsProvided(call, 'tools_stream'))).toContain('lookup');
    });

    test('a client that leaves a stream pays what the provider billed', async () => {
      world.gateway.provider.beforeChunk = () => new Promise((resolve) => setTimeout(resolve, 20));
      expect(await through(call, 'abort')).toEqual({ left: true });
      await expectBilledOnce();
      expect(world.gateway.provider.bill).toMatchObject([{ isComplete: true, outputTokens: 5 }]);
    });

    test('a denied stream is one request', async () => {
      await world.gateway.cap('0.000001');
      expectDenied((await through(call, 'stream')).error);
      expect(world.requests.map(({ status }) => status)).toEqual([402]);
      expect(world.gateway.provider.requests).toEqual([]);
    });

    test.each([429, 500])('status %i of the provider, once, does not reach the stream', async (status) => {
      const provided = await direct(call, 'stream');
      const { provider } = world.gateway;
      provider.fault = () => (provider.requests.length === 1 ? { status, retryAfter } : undefined);
      expect(await through(call, 'stream')).toEqual(provided);
      await expectBilledOnce();
    });
  });

  test.each([
    ['chat', 'plain'],
    ['chat', 'stream'],
    ['responses', 'plain'],
    ['embeddings', 'plain'],
  ])(
    'the Azure client with Purser as its endpoint gets what the provider returns: %s, %s',
    async (api, mode) => {
      const model = api === 'embeddings' ? 'embed-test' : 'gpt-test';
      const provided = await direct({ sdk: 'openai', api, model }, mode);
      const { connections, provider, key } = world.gateway;
      const baseUrl = `${provider.url}/openai/v1`;
      world.gateway.connections = [connectionTo('', 'azure_openai', { baseUrl, name: 'azure' })];
      const outcome = await sdks.call({ sdk: 'azure', api, model, mode, urls: { azure: world.url }, key });
      world.gateway.connections = connections;
      expect(outcome).toEqual(provided);
      expect(provider.requests.map(({ url }) => url)).toEqual([
        `/openai/v1/${api === 'chat' ? 'chat/completions' : api}`,
      ]);
      expect(world.elsewhere).toEqual([]);
      await expectBilledOnce();
    },
  );

  test.each(streamed)('a stream that outgrows its limit ends properly: $sdk, $api', async (call) => {
    const mode = call.sdk === 'anthropic' ? 'helper' : 'stream';
    await world.expectedHolds();
    await through(call, mode);
    await world.outgrowLimit(world.requests.at(-1)?.heldUsd ?? 0);
    const { value } = await through(call, mode);
    expect(JSON.stringify(Array.isArray(value) ? value.slice(-3) : value)).toMatch(
      /"finish_reason":"length"|"reason":"max_output_tokens"|"stop_reason":"max_tokens"/,
    );
    await world.expectTruncated();
  });

  test.each(streamed)('a stream that breaks off raises an exception: $sdk, $api', async (call) => {
    world.gateway.provider.outputOf = () => 50;
    world.gateway.provider.fault = () => ({ cutAfter: 20 });
    const { error } = await through(call, 'stream');
    expect(error?.message).toContain('The stream of the provider broke off.');
    expect(world.requests).toHaveLength(1);
    expect(await world.settledRuns()).toMatchObject([{ status: 'failed', marks: ['usage_estimated'] }]);
  });

  describe.each(withHelper)('$sdk, $api', (call) => {
    test('the stream helper of the SDK returns the same object, also with tools', async () => {
      await expectAsProvided(call, 'helper');
      world.requests.length = 0;
      await expectAsProvided(call, 'tools_helper');
    });

    test('the bytes of a stream are those of the provider, less the usage that was not requested', async () => {
      const { digest } = await through(call, 'digest');
      const sent = world.gateway.provider.sent.at(-1)?.toString() ?? '';
      const usage = sent.split(/(?<=\n\n)/).find((event) => event.includes('"choices":[]')) ?? '';
      expect(usage !== '').toBe(call.api === 'chat');
      expect(digest).toBe(createHash('sha256').update(sent.replace(usage, '')).digest('hex'));
    });
  });
});

function expectDenied(error: Outcome['error']): void {
  expect(error).toMatchObject({ class: 'APIStatusError', status: 402 });
  expect(error?.code ?? error?.message).toContain('spend_cap_exceeded');
  expect(error?.message).toMatch(/resets at \d{4}-\d{2}-\d{2}T/);
}
