/** A real proxy of LiteLLM with `integrations/litellm`, in front of the mock provider. */
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { copyFile, mkdtemp, open, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { freePort } from '../support/free-port.ts';
import { liteLlm, liteLlmSettings } from '../support/litellm.ts';
import { client } from './installed-clients.ts';

const integration = fileURLToPath(new URL('../../integrations/litellm/purser_litellm.py', import.meta.url));

/** Returns the path of the program, or undefined if it cannot be installed here. */
export const liteLlmProgram = (): Promise<string | undefined> => client(liteLlm, 'bin/litellm');

export interface ProxyOptions {
  readonly providerUrl: string;
  readonly purserUrl: string;
  readonly purserKey: string;
  readonly failMode?: 'open' | 'closed';
  readonly workers?: number;
  /** The most output tokens of a call that sets none. */
  readonly defaultMaxOutputTokens?: number;
}

export interface LiteLlmProxy {
  readonly url: string;
  stop(): Promise<void>;
}

/** Keys are `team/user/alias`, so that each call can have an attribution of its own without LiteLLM's database. */
const customAuth = `from litellm.proxy._types import UserAPIKeyAuth, hash_token

async def authenticate(request, api_key):
    team, user, alias = api_key.split("/")
    return UserAPIKeyAuth(api_key=api_key, token=hash_token(api_key), key_alias=alias, team_id=team, team_alias=team, user_id=user)
`;

export async function startProxy(program: string, options: ProxyOptions): Promise<LiteLlmProxy> {
  const directory = await mkdtemp(join(tmpdir(), 'purser-litellm-'));
  const config = join(directory, 'config.yaml');
  await copyFile(integration, join(directory, 'purser_litellm.py'));
  await writeFile(join(directory, 'test_auth.py'), customAuth);
  // JSON is YAML.
  await writeFile(config, JSON.stringify(configOf(options)));
  const port = await freePort();
  const log = await open(join(directory, 'log'), 'a');
  const args = ['--config', config, '--host', '127.0.0.1', '--port', String(port)];
  // On a busy machine workers that start together are not ready within the five seconds that are the default.
  args.push('--num_workers', String(options.workers ?? 1), '--timeout_worker_healthcheck', '600');
  const child = spawn(program, args, {
    cwd: directory,
    env: {
      PATH: process.env.PATH ?? '',
      HOME: directory,
      ...liteLlmSettings,
      PURSER_URL: options.purserUrl,
      PURSER_KEY: options.purserKey,
      PURSER_FAIL_MODE: options.failMode ?? 'closed',
      PURSER_TIMEOUT_SECONDS: '60',
      PURSER_DEFAULT_MAX_OUTPUT_TOKENS: String(options.defaultMaxOutputTokens ?? 1_000),
    },
    stdio: ['ignore', log.fd, log.fd],
    // Its workers end with it.
    detached: true,
  });
  const url = `http://127.0.0.1:${port}`;
  while (!(await isReady(url))) {
    if (child.exitCode !== null) {
      throw new Error(`LiteLLM did not start:\n${await readFile(join(directory, 'log'), 'utf8')}`);
    }
    await new Promise((resolve) => setTimeout(resolve, 200));
  }
  return {
    url,
    async stop() {
      const ended = once(child, 'close');
      process.kill(-(child.pid ?? 0), 'SIGTERM');
      await ended;
      await log.close();
      await rm(directory, { recursive: true, force: true, maxRetries: 5 });
    },
  };
}

function configOf({ providerUrl }: ProxyOptions): object {
  const openAi = { api_key: 'provider', api_base: `${providerUrl}/v1` };
  const model = (name: string, provider: string, api: object) => ({
    model_name: name,
    litellm_params: { model: `${provider}/${name}`, ...api },
  });
  return {
    model_list: [
      model('gpt-test', 'openai', openAi),
      model('embed-test', 'openai', openAi),
      model('claude-test', 'anthropic', { api_key: 'provider', api_base: providerUrl }),
    ],
    litellm_settings: { callbacks: ['purser_litellm.purser'], num_retries: 2, request_timeout: 600 },
    router_settings: { retry_after: 0 },
    general_settings: { master_key: 'sk-master-key-of-the-tests', custom_auth: 'test_auth.authenticate' },
  };
}

const isReady = (url: string): Promise<boolean> =>
  fetch(`${url}/health/liveliness`).then(
    ({ ok }) => ok,
    () => false,
  );
