import { expect, test } from 'vitest';
import { connectionTo } from '../support/gateway-world.ts';
import type { ClientWorld } from './client-world.ts';
import { answer, testCodingAgent } from './coding-agent.ts';
import { claudeCode } from './installed-clients.ts';

function environment({ url }: ClientWorld) {
  return {
    ANTHROPIC_BASE_URL: `${url}/anthropic`,
    // Telemetry and the search for updates.
    CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC: '1',
  };
}

testCodingAgent(
  {
    name: 'Claude Code',
    path: await claudeCode(),
    start: (world, options) => ({
      args: ['-p', 'Say hello', '--model', 'claude-test', ...options],
      env: { ...environment(world), ANTHROPIC_AUTH_TOKEN: world.gateway.key },
    }),
    requestPath: /^\/anthropic\/v1\/messages(\?|$)/,
    sessionHeader: 'x-claude-code-session-id',
    tool: {
      name: 'Bash',
      input: JSON.stringify({ command: 'echo tool-ran', description: 'Prints a word' }),
      options: ['--allowedTools', 'Bash(echo:*)'],
      resultMark: 'tool_result',
    },
    // The clock of the gateway starts at noon, and the cap is one per day.
    denial: { status: 402, shownReset: ({ stdout }) => stdout, reset: /resets at 2026-11-16T00:00:00/ },
    // It requests the rest of the answer, which is denied.
    truncation: { statuses: [200, 402], shown: /402 .* resets at/ },
    withoutReasoning: ['--settings', JSON.stringify({ env: { MAX_THINKING_TOKENS: '0' } })],
  },
  ({ world, run }) => {
    test('accepts the key of the gateway as an API key', async () => {
      const env = { ...environment(world()), ANTHROPIC_API_KEY: world().gateway.key };
      expect((await run({ env })).stdout.trim()).toBe(answer);
      expect(world().requests[0]?.headers['x-api-key']).toBe(world().gateway.key);
    });

    test.each(['/vertex', '/vertex/v1'])('calls Vertex AI in its own mode for it, below %s', async (path) => {
      const { gateway, url } = world();
      const usual = gateway.connections;
      gateway.connections = [connectionTo(gateway.provider.url, 'vertex')];
      const env = {
        CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC: '1',
        CLAUDE_CODE_USE_VERTEX: '1',
        CLAUDE_CODE_SKIP_VERTEX_AUTH: '1',
        ANTHROPIC_VERTEX_BASE_URL: `${url}${path}`,
        ANTHROPIC_VERTEX_PROJECT_ID: 'any-project',
        CLOUD_ML_REGION: 'us-east5',
        ANTHROPIC_AUTH_TOKEN: gateway.key,
      };
      expect((await run({ env })).stdout.trim()).toBe(answer);
      expect(gateway.provider.requests[0]?.url).toMatch(/\/models\/claude-test:streamRawPredict$/);
      await world().expectBilled();
      gateway.connections = usual;
    });

    test('makes one request with a revoked key, and says so', async () => {
      const { world: api, org } = world().gateway;
      const { id, secret } = await api.mintKey(org, 'member', ['gateway:call']);
      await api.request('DELETE', `/v1/orgs/${org.id}/keys/${id}`, { key: org.ownerKey });
      const { stdout } = await run({ env: { ...environment(world()), ANTHROPIC_AUTH_TOKEN: secret } });
      expect(stdout).toContain('410');
      expect(world().requests.map(({ status }) => status)).toEqual([410]);
    });
  },
);
