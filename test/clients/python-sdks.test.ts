import { createHash } from 'node:crypto';
import { afterAll, beforeAll, beforeEach, describe, expect, test } from 'vitest';
import { type ClientWorld, createClientWorld } from './client-world.ts';
import { pythonSdks } from './installed-clients.ts';
import { type PythonSdks, startPythonSdks } from './python-sdks.ts';

const python = await pythonSdks();

const openAiApis = ['chat', 'responses'] as const;
const calls = [
  ...openAiApis.map((api) => ({ sdk: 'openai', api, model: 'gpt-test' })),
  ...openAiApis.map((api) => ({ sdk: 'langchain', api, model: 'gpt-test' })),
  { sdk: 'anthropic', api: 'messages', model: 'claude-test' },
];
const embeddings = ['openai', 'langchain'].map((sdk) => ({ sdk, api: 'embeddings', model: 'embed-test' }));
/** The SDKs retry twice. */
const attempts = 3;
const answer = 'tok0 tok1 tok2 tok3 tok4 ';

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
    await world.gateway.cap('1000');
  });

  async function outcomeOf(call: (typeof calls | typeof embeddings)[number], mode: string) {
    const outcome = await sdks.call({ ...call, mode, url: world.url, key: world.gateway.key });
    expect(world.elsewhere).toEqual([]);
    return outcome;
  }

  describe.each(calls)('$sdk, $api', (call) => {
    test('a plain call gets the answer and is settled as the provider billed it', async () => {
      expect(await outcomeOf(call, 'plain')).toEqual({ text: answer });
      await world.expectBilled();
    });

    test('a stream gets the answer and is settled as the provider billed it', async () => {
      expect(await outcomeOf(call, 'stream')).toEqual({ text: answer });
      await world.expectBilled();
    });

    test('tools are passed on', async () => {
      world.gateway.provider.toolOf = () => ({ name: 'lookup', input: '{"q":"x"}' });
      expect(await outcomeOf(call, 'tools')).toEqual({ tools: ['lookup'] });
      await world.expectBilled();
    });

    test('a client that leaves a stream pays what the provider billed', async () => {
      world.gateway.provider.beforeChunk = () => new Promise((resolve) => setTimeout(resolve, 20));
      expect(await outcomeOf(call, 'abort')).toEqual({ left: true });
      await world.expectBilled();
    });

    test('a denial is one request with status 402, the code and the reset time', async () => {
      await world.gateway.cap('0.000001');
      const { error } = await outcomeOf(call, 'plain');
      expect(error).toMatchObject({ status: 402 });
      expect(error?.code ?? error?.message).toContain('spend_cap_exceeded');
      expect(error?.message).toMatch(/resets at \d{4}-\d{2}-\d{2}T/);
      expect(world.requests.map(({ status }) => status)).toEqual([402]);
      expect(world.gateway.provider.requests).toEqual([]);
    });

    test.each([429, 500])(
      'status %i of the provider reaches the client, and costs nothing',
      async (status) => {
        world.gateway.provider.fault = () => ({ status, retryAfter: '0' });
        const { error } = await outcomeOf(call, 'plain');
        expect(error).toMatchObject({ status });
        expect(world.requests).toHaveLength(attempts);
        const runs = await world.settledRuns();
        expect(runs.map((run) => [run.status, Number(run.cost_usd)])).toEqual(
          world.requests.map(() => ['failed', 0]),
        );
      },
    );

    test.each([429, 500])('a single status %i of the provider does not reach the client', async (status) => {
      const { provider } = world.gateway;
      provider.fault = () => (provider.requests.length === 1 ? { status, retryAfter: '0' } : undefined);
      expect(await outcomeOf(call, 'plain')).toEqual({ text: answer });
      expect(world.requests).toHaveLength(1);
      await world.expectBilled();
    });
  });

  test.each(calls.filter(({ sdk }) => sdk !== 'langchain'))(
    'the bytes of a stream are those of the provider, less the usage that was not requested: $sdk, $api',
    async (call) => {
      const { digest } = await outcomeOf(call, 'digest');
      const sent = world.gateway.provider.sent.at(-1)?.toString() ?? '';
      const usage = sent.split(/(?<=\n\n)/).find((event) => event.includes('"choices":[]')) ?? '';
      expect(usage !== '').toBe(call.api === 'chat');
      expect(digest).toBe(createHash('sha256').update(sent.replace(usage, '')).digest('hex'));
    },
  );

  describe.each(embeddings)('$sdk, embeddings', (call) => {
    test('a call gets its vectors and is settled as the provider billed it', async () => {
      expect(await outcomeOf(call, 'plain')).toEqual({ vectors: 2 });
      await world.expectBilled();
    });

    test('a denial is one request with status 402', async () => {
      await world.gateway.cap('0.000001');
      expect((await outcomeOf(call, 'plain')).error).toMatchObject({ status: 402 });
      expect(world.requests.map(({ status }) => status)).toEqual([402]);
      expect(world.gateway.provider.requests).toEqual([]);
    });

    test.each([429, 500])(
      'status %i of the provider reaches the client, and costs nothing',
      async (status) => {
        world.gateway.provider.fault = () => ({ status, retryAfter: '0' });
        expect((await outcomeOf(call, 'plain')).error).toMatchObject({ status });
        expect(world.requests).toHaveLength(attempts);
        expect((await world.settledRuns()).map(({ status: ended }) => ended)).toEqual(
          world.requests.map(() => 'failed'),
        );
      },
    );
  });
});
