/** Anthropic's SDK for Vertex AI with another base URL and key. */
import { execFile } from 'node:child_process';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { beforeEach, describe, expect, test } from 'vitest';
import type { ConnectionKind } from '../../src/capabilities/integration/connections/index.ts';
import { eventually } from '../support/eventually.ts';
import { connectionTo, expectBilled, useGatewayWorld } from '../support/gateway-world.ts';
import { anthropicVertexSdk } from './installed-clients.ts';

const gateway = useGatewayWorld();
const run = promisify(execFile);
const directory = await anthropicVertexSdk();
const kinds: readonly ConnectionKind[] = ['vertex', 'anthropic'];

beforeEach(async () => {
  gateway.world.clock.advanceSeconds(1);
  gateway.provider.requests.length = 0;
  gateway.provider.bill.length = 0;
  await gateway.cap('1000');
});

describe.skipIf(directory === undefined).each(kinds)('through a connection to %s', (kind) => {
  beforeEach(() => {
    gateway.connections = [connectionTo(gateway.provider.url, kind)];
  });

  async function call(mode: string): Promise<{ value?: unknown; status?: number; message?: string }> {
    const script = join(import.meta.dirname, 'anthropic-vertex.mjs');
    const env = {
      PATH: process.env.PATH,
      ANTHROPIC_VERTEX_BASE_URL: `${gateway.url}/vertex/v1`,
      PURSER_KEY: gateway.key,
    };
    const args = [script, directory as string, mode, 'claude-test'];
    return JSON.parse((await run(process.execPath, args, { env })).stdout);
  }

  test.each(['plain', 'stream'])('%s', async (mode) => {
    expect(await call(mode)).toEqual({ value: 'tok0 tok1 tok2 tok3 tok4 ' });
    await eventually(async () => expect(await gateway.holds()).toBe(0));
    expectBilled(gateway.provider, (await gateway.runs()).slice(0, 1), 'claude-test');
  });

  test('tokens are counted', async () => {
    expect((await call('count')).value).toBeGreaterThan(0);
  });

  test('a denial is an error of the SDK, and is not repeated', async () => {
    await gateway.cap('0.000000001');
    expect(await call('plain')).toMatchObject({
      status: 402,
      message: expect.stringMatching(/resets at \d{4}-/),
    });
    expect(gateway.provider.requests).toEqual([]);
  });
});
