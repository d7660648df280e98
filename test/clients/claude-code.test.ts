import type { ChildProcess } from 'node:child_process';
import { afterAll, beforeAll, beforeEach, describe, expect, test } from 'vitest';
import { eventually } from '../support/eventually.ts';
import { type ClientWorld, createClientWorld, type Program } from './client-world.ts';
import { claudeCode } from './installed-clients.ts';

const path = await claudeCode();
const answer = 'tok0 tok1 tok2 tok3 tok4';
/** Longest time from the end of a denial to the end of the program. */
const exitWithinMs = 2_000;

describe.skipIf(path === undefined)('Claude Code with another base URL and key', () => {
  let world: ClientWorld;
  beforeAll(async () => {
    world = await createClientWorld();
  });
  afterAll(() => world.close());
  beforeEach(async () => {
    world.reset();
    await world.gateway.cap('1000');
  });

  async function claude(more: Partial<Program> = {}, ...options: string[]) {
    const ended = await world.run({
      path: path as string,
      args: ['-p', 'Say hello', '--model', 'claude-test', ...options],
      env: {
        ANTHROPIC_BASE_URL: `${world.url}/anthropic`,
        ANTHROPIC_AUTH_TOKEN: world.gateway.key,
        // Telemetry and the search for updates.
        CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC: '1',
      },
      ...more,
    });
    expect(world.elsewhere).toEqual([]);
    return ended;
  }

  test('shows the answer, and its session names the chain of the run', async () => {
    const { code, stdout } = await claude();
    expect(stdout.trim()).toBe(answer);
    expect(code).toBe(0);
    const [request] = world.requests;
    const session = request?.headers['x-claude-code-session-id'];
    expect(session).toMatch(/^[0-9a-f-]{36}$/);
    expect(await world.settledRuns()).toMatchObject([{ status: 'succeeded', chain_id: session }]);
    await world.expectBilled();
  });

  test('accepts the key of the gateway as an API key', async () => {
    const env = {
      ANTHROPIC_BASE_URL: `${world.url}/anthropic`,
      ANTHROPIC_API_KEY: world.gateway.key,
      CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC: '1',
    };
    expect((await claude({ env })).stdout.trim()).toBe(answer);
    expect(world.requests[0]?.headers['x-api-key']).toBe(world.gateway.key);
  });

  test('uses tools: each request is a run of the same chain', async () => {
    const input = JSON.stringify({ command: 'echo tool-ran', description: 'Prints a word' });
    world.gateway.provider.toolOf = (body) =>
      JSON.stringify(body.messages).includes('tool_result') ? undefined : { name: 'Bash', input };
    const { stdout } = await claude({}, '--allowedTools', 'Bash(echo:*)');
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
    await claude({
      onStart(child) {
        program = child;
      },
    });
    expect(world.gateway.provider.bill).toMatchObject([{ outputTokens: 40 }]);
    await world.expectBilled();
  });

  test('makes one request when denied, ends within two seconds, and shows when the limit resets', async () => {
    await world.gateway.cap('0.000001');
    const { code, stdout, endedMs } = await claude();
    expect(code).toBe(1);
    expect(stdout).toMatch(/resets at \d{4}-\d{2}-\d{2}T/);
    expect(world.requests.map(({ status }) => status)).toEqual([402]);
    expect(endedMs - (world.requests[0]?.endedMs ?? 0)).toBeLessThan(exitWithinMs);
    expect(world.gateway.provider.requests).toEqual([]);
  });

  test('makes one request with a revoked key, and says so', async () => {
    const { world: api, org } = world.gateway;
    const { id, secret } = await api.mintKey(org, 'member', ['gateway:call']);
    await api.request('DELETE', `/v1/orgs/${org.id}/keys/${id}`, { key: org.ownerKey });
    const env = { ANTHROPIC_BASE_URL: `${world.url}/anthropic`, ANTHROPIC_AUTH_TOKEN: secret };
    const { stdout } = await claude({ env: { ...env, CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC: '1' } });
    expect(stdout).toContain('410');
    expect(world.requests.map(({ status }) => status)).toEqual([410]);
  });

  test.each([429, 500])(
    'repeats a call that the provider answered with %i, and pays once',
    async (status) => {
      // The gateway has attempts of its own. All of them fail, until the client has seen the status.
      world.gateway.provider.fault = () =>
        world.requests.some((request) => request.status === status) ? undefined : { status, retryAfter: '0' };
      const { stdout } = await claude();
      expect(stdout.trim()).toBe(answer);
      expect(world.requests.map((request) => request.status)).toEqual([status, 200]);
      const [first, second] = await world.settledRuns();
      expect([first?.status, Number(first?.cost_usd)]).toEqual(['failed', 0]);
      expect(second).toMatchObject({ status: 'succeeded' });
    },
  );
});
