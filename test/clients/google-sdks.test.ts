/** The SDKs of Google with another base URL and key, as their variables set them. */
import { execFile } from 'node:child_process';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { beforeEach, describe, expect, test } from 'vitest';
import { eventually } from '../support/eventually.ts';
import { codeIn } from '../support/format-samples.ts';
import { connectionTo, expectBilled, useGatewayWorld } from '../support/gateway-world.ts';
import { googleNodeSdk, googlePythonSdk } from './installed-clients.ts';

interface SdkOutcome {
  readonly value?: unknown;
  readonly status?: number;
  readonly message?: string;
  readonly details?: { readonly error: object };
}

const gateway = useGatewayWorld();
const run = promisify(execFile);
const script = (name: string) => join(import.meta.dirname, name);
const [node, python] = [await googleNodeSdk(), await googlePythonSdk()];
const programs = [
  { sdk: '@google/genai', command: node && [process.execPath, script('google-sdk.mjs'), node] },
  { sdk: 'google-genai', command: python && [python, script('google_sdk.py')] },
];
const sdks = programs.flatMap((program) =>
  (['gemini', 'vertex'] as const).map((kind) => ({ ...program, kind })),
);

/** The variables of each mode. A key of Vertex AI without a project is one of express mode. */
function variables(kind: 'gemini' | 'vertex'): Readonly<Record<string, string>> {
  return kind === 'gemini'
    ? { GOOGLE_GEMINI_BASE_URL: `${gateway.url}/gemini`, GEMINI_API_KEY: gateway.key }
    : {
        GOOGLE_GENAI_USE_VERTEXAI: 'true',
        GOOGLE_VERTEX_BASE_URL: `${gateway.url}/vertex`,
        GOOGLE_API_KEY: gateway.key,
      };
}

beforeEach(async () => {
  gateway.world.clock.advanceSeconds(1);
  gateway.provider.requests.length = 0;
  gateway.provider.bill.length = 0;
  await gateway.cap('1000');
});

describe.each(sdks)('$sdk, $kind', ({ command = [], kind }) => {
  beforeEach(() => {
    gateway.connections = [connectionTo(gateway.provider.url, kind)];
  });

  async function call(mode: string, model = 'gemini-test'): Promise<SdkOutcome> {
    const [program = '', ...fixed] = command;
    const env = { PATH: process.env.PATH, ...variables(kind) };
    const { stdout } = await run(program, [...fixed, mode, model], { env });
    return JSON.parse(stdout);
  }

  async function expectBilledOnce(model = 'gemini-test'): Promise<void> {
    await eventually(async () => expect(await gateway.holds()).toBe(0));
    expectBilled(gateway.provider, (await gateway.runs()).slice(0, 1), model);
  }

  const words = ['tok0 ', 'tok1 ', 'tok2 ', 'tok3 ', 'tok4 '];

  test.skipIf(command.length === 0).each<[string, unknown]>([
    ['plain', words.join('')],
    ['tools', [{ q: 'x' }]],
  ])('%s', async (mode, value) => {
    expect(await call(mode)).toEqual({ value });
    await expectBilledOnce();
  });

  test.skipIf(command.length === 0)('stream', async () => {
    const { value } = await call('stream');
    expect((value as (string | undefined)[]).filter((text) => text)).toEqual(words);
    await expectBilledOnce();
  });

  test.skipIf(command.length === 0)('embeddings, counted tokens and models', async () => {
    expect(await call('embeddings', 'embed-test')).toEqual({
      value: [
        [0.5, 0.25],
        [0.5, 0.25],
      ],
    });
    await expectBilledOnce('embed-test');
    expect((await call('count')).value).toBeGreaterThan(0);
    expect((await call('models')).value).toContain(
      kind === 'gemini' ? 'models/gemini-test' : 'publishers/google/models/gemini-test',
    );
  });

  test.skipIf(command.length === 0)('a denial is an error of the SDK, and is not repeated', async () => {
    await gateway.cap('0.000000001');
    for (const mode of ['plain', 'stream']) {
      const { status, message, details } = await call(mode);
      expect([status, codeIn(details?.error)]).toEqual([402, 'spend_cap_exceeded']);
      expect(message).toMatch(/resets at \d{4}-/);
    }
    expect(gateway.provider.requests).toEqual([]);
  });
});
