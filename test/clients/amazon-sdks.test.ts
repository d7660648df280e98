/** The SDKs of AWS with another endpoint and key, as their variables set them: with a bearer token, and signed. */
import { execFile } from 'node:child_process';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { beforeEach, describe, expect, test } from 'vitest';
import { eventually } from '../support/eventually.ts';
import { connectionTo, expectBilled, useGatewayWorld } from '../support/gateway-world.ts';
import { amazonNodeSdk, amazonPythonSdk } from './installed-clients.ts';

interface SdkOutcome {
  readonly value?: unknown;
  readonly name?: string;
  readonly message?: string;
  readonly status?: number;
}

const gateway = useGatewayWorld();
const run = promisify(execFile);
const script = (name: string) => join(import.meta.dirname, name);
const [node, python] = [await amazonNodeSdk(), await amazonPythonSdk()];
const commands = [
  {
    sdk: '@aws-sdk/client-bedrock-runtime',
    command: node && [process.execPath, script('amazon-sdk.mjs'), node],
  },
  { sdk: 'boto3', command: python && [python, script('amazon_sdk.py')] },
];
const bearer = (key: string) => ({ AWS_BEARER_TOKEN_BEDROCK: key });
const signing = (key: string) => ({ AWS_ACCESS_KEY_ID: key, AWS_SECRET_ACCESS_KEY: 'any' });
const sdks = commands.flatMap(({ sdk, command = [] }) => [
  // boto3 sends bearer tokens over TLS only.
  ...(sdk === 'boto3' ? [] : [{ sdk, command, by: 'a bearer token', credentials: bearer }]),
  { sdk, command, by: 'a signature', credentials: signing },
]);

beforeEach(async () => {
  gateway.world.clock.advanceSeconds(1);
  gateway.connections = [connectionTo(gateway.provider.url, 'bedrock')];
  gateway.provider.requests.length = 0;
  gateway.provider.bill.length = 0;
  await gateway.cap('1000');
});

describe.each(sdks)('$sdk, by $by', ({ command, credentials }) => {
  async function call(mode: string): Promise<SdkOutcome> {
    const [program = '', ...fixed] = command;
    const env = {
      PATH: process.env.PATH,
      AWS_ENDPOINT_URL_BEDROCK_RUNTIME: `${gateway.url}/bedrock`,
      AWS_REGION: 'us-east-1',
      AWS_DEFAULT_REGION: 'us-east-1',
      AWS_EC2_METADATA_DISABLED: 'true',
      ...credentials(gateway.key),
    };
    const { stdout } = await run(program, [...fixed, mode, 'bedrock-test'], { env });
    return JSON.parse(stdout);
  }

  const words = ['tok0 ', 'tok1 ', 'tok2 ', 'tok3 ', 'tok4 '];

  test.skipIf(command.length === 0).each<[string, unknown]>([
    ['plain', words.join('')],
    ['stream', words],
    ['tools', [{ q: 'x' }]],
    ['invoke', words.join('')],
    ['invoke-stream', words],
  ])('%s', async (mode, value) => {
    expect(await call(mode)).toEqual({ value });
    await eventually(async () => expect(await gateway.holds()).toBe(0));
    expectBilled(gateway.provider, (await gateway.runs()).slice(0, 1), 'bedrock-test');
  });

  test.skipIf(command.length === 0)('counted tokens', async () => {
    expect((await call('count')).value).toBeGreaterThan(0);
  });

  test.skipIf(command.length === 0)('a denial is an error of the SDK', async () => {
    await gateway.cap('0.000000001');
    for (const mode of ['plain', 'stream', 'invoke']) {
      const { name, message, status } = await call(mode);
      expect([name, status]).toEqual(['ServiceQuotaExceededException', 402]);
      expect(message).toMatch(/resets at \d{4}-/);
    }
    expect(gateway.provider.requests).toEqual([]);
  });
});
