/** Gemini CLI with another base URL and key, through a connection to the Gemini API and through one to Vertex AI. */
import { mkdir, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { afterAll, beforeAll, beforeEach, describe, expect, test } from 'vitest';
import type { ConnectionKind } from '../../src/capabilities/integration/connections/index.ts';
import { connectionTo } from '../support/gateway-world.ts';
import { type ClientWorld, createClientWorld } from './client-world.ts';
import { geminiCli } from './installed-clients.ts';

const program = await geminiCli();
const kinds: readonly ConnectionKind[] = ['gemini', 'vertex'];
const settings = {
  security: { auth: { selectedType: 'gemini-api-key' } },
  privacy: { usageStatisticsEnabled: false },
  general: { enableAutoUpdate: false },
};

describe.skipIf(program === undefined).each(kinds)('through a connection to %s', (kind) => {
  let world: ClientWorld;
  beforeAll(async () => {
    world = await createClientWorld();
  });
  afterAll(() => world.close());
  beforeEach(async () => {
    world.reset();
    world.gateway.connections = [connectionTo(world.gateway.provider.url, kind)];
    await world.gateway.cap('1000');
  });

  const run = () =>
    world.run({
      path: process.execPath,
      args: [program as string, '--skip-trust', '-m', 'gemini-test', '-p', 'Say hello'],
      env: { GOOGLE_GEMINI_BASE_URL: `${world.url}/gemini`, GEMINI_API_KEY: world.gateway.key },
      async prepare(home) {
        await mkdir(join(home, '.gemini'));
        await writeFile(join(home, '.gemini', 'settings.json'), JSON.stringify(settings));
      },
    });

  test('shows the answer, and each request is paid as the provider billed it', async () => {
    expect((await run()).stdout).toContain('tok0 tok1 tok2 tok3 tok4');
    expect(world.requests.map(({ url }) => url)).toContain(
      '/gemini/v1beta/models/gemini-test:streamGenerateContent?alt=sse',
    );
    await world.expectBilled();
  });

  test('ends when it is denied, with the time of the reset', async () => {
    await world.gateway.cap('0.000001');
    const { stdout, stderr } = await run();
    expect(stdout + stderr).toMatch(/resets at \d{4}-/);
    expect(world.gateway.provider.requests).toEqual([]);
  });
});
