import type { ChildProcess } from 'node:child_process';
import { mkdir, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { afterAll, beforeAll, beforeEach, describe, expect, test } from 'vitest';
import { eventually } from '../support/eventually.ts';
import { type ClientWorld, createClientWorld, type Program } from './client-world.ts';
import { codex } from './installed-clients.ts';

const path = await codex();
const answer = 'tok0 tok1 tok2 tok3 tok4';
/** Longest time from the end of a denial to the end of the program. */
const exitWithinMs = 2_000;

/** Telemetry, updates, and what it downloads for plugins. */
const quiet = `check_for_update_on_startup = false
[analytics]
enabled = false
[features]
plugins = false
apps = false
`;

/** The lines that `purser gateway-key` prints. */
function ownProvider(url: string): string {
  return `model_provider = "purser"
${quiet}
[model_providers.purser]
name = "Purser"
base_url = "${url}/openai/v1"
env_key = "PURSER_KEY"
wire_api = "responses"
`;
}

describe.skipIf(path === undefined)('Codex with another base URL and key', () => {
  let world: ClientWorld;
  beforeAll(async () => {
    world = await createClientWorld();
  });
  afterAll(() => world.close());
  beforeEach(async () => {
    world.reset();
    await world.gateway.cap('1000');
  });

  async function run(config = ownProvider(world.url), more: Partial<Program> = {}, ...options: string[]) {
    const ended = await world.run({
      path: path as string,
      args: ['exec', '--skip-git-repo-check', '--model', 'gpt-test', ...options, 'Say hello'],
      env: { PURSER_KEY: world.gateway.key },
      async prepare(home) {
        await mkdir(join(home, '.codex'));
        await writeFile(join(home, '.codex/config.toml'), config);
      },
      ...more,
    });
    expect(world.elsewhere).toEqual([]);
    return ended;
  }

  test('shows the answer, and its session names the chain of the run', async () => {
    const { code, stdout } = await run();
    expect(stdout.trim()).toBe(answer);
    expect(code).toBe(0);
    expect(world.requests.map(({ method, url }) => `${method} ${url}`)).toEqual([
      'POST /openai/v1/responses',
    ]);
    const session = world.requests[0]?.headers['session-id'];
    expect(session).toMatch(/^[0-9a-f-]{36}$/);
    expect(await world.settledRuns()).toMatchObject([{ status: 'succeeded', chain_id: session }]);
    await world.expectBilled();
  });

  test('with its own provider and another URL, falls back from WebSockets at once', async () => {
    const config = `openai_base_url = "${world.url}/openai/v1"\n${quiet}`;
    const { stdout } = await run(config, { env: { CODEX_API_KEY: world.gateway.key } });
    expect(stdout.trim()).toBe(answer);
    const upgrades = world.requests.filter(({ headers }) => headers.upgrade === 'websocket');
    expect(upgrades.map(({ status }) => status)).toEqual([426]);
    expect(world.requests.filter(({ method }) => method === 'POST')).toHaveLength(1);
  });

  test('uses tools: each request is a run of the same chain', async () => {
    const input = JSON.stringify({ cmd: 'echo tool-ran' });
    world.gateway.provider.toolOf = (body) =>
      JSON.stringify(body.input).includes('function_call_output')
        ? undefined
        : { name: 'exec_command', input };
    const options = ['--dangerously-bypass-approvals-and-sandbox'];
    const { stdout } = await run(ownProvider(world.url), {}, ...options);
    expect(stdout.trim()).toBe(answer);
    expect(world.gateway.provider.requests.at(-1)?.text).toContain('tool-ran');
    await world.expectBilled();
    const [first, second] = await world.settledRuns();
    expect(second?.chain_id).toBe(first?.chain_id);
  });

  test('an interrupted stream is paid as the provider billed it', async () => {
    let program: ChildProcess | undefined;
    world.gateway.provider.outputOf = () => 40;
    world.gateway.provider.beforeChunk = async (index) => {
      if (index === 10) {
        await eventually(async () => expect(world.requests[0]?.status).toBe(200));
        program?.kill('SIGINT');
        await eventually(async () => expect(world.requests[0]?.endedMs).toBeDefined());
      }
    };
    await run(ownProvider(world.url), {
      onStart(child) {
        program = child;
      },
    });
    expect(world.gateway.provider.bill).toMatchObject([{ outputTokens: 40 }]);
    await world.expectBilled();
  });

  test('makes one request when denied, ends within two seconds, and shows when the limit resets', async () => {
    await world.gateway.cap('0.000001');
    const { code, stderr, endedMs } = await run();
    expect(code).toBe(1);
    expect(stderr).toMatch(/hit your usage limit.* at .*\d+:\d+ [AP]M/);
    expect(world.requests.map(({ status }) => status)).toEqual([429]);
    expect(endedMs - (world.requests[0]?.endedMs ?? 0)).toBeLessThan(exitWithinMs);
    expect(world.gateway.provider.requests).toEqual([]);
  });

  test.each([429, 500])(
    'repeats a call that the provider answered with %i, and pays once',
    async (status) => {
      // The gateway has attempts of its own. All of them fail, until the client has seen the status.
      world.gateway.provider.fault = () =>
        world.requests.some((request) => request.status === status) ? undefined : { status, retryAfter: '0' };
      const { stdout } = await run();
      expect(stdout.trim()).toBe(answer);
      expect(world.requests.map((request) => request.status)).toEqual([status, 200]);
      const [first, second] = await world.settledRuns();
      expect([first?.status, Number(first?.cost_usd)]).toEqual(['failed', 0]);
      expect(second).toMatchObject({ status: 'succeeded' });
    },
  );
});
