/**
 * Gateways of others, installed into a folder outside the repository and run with one process each, as the service is. Each is configured as
 * its documentation advises for production, without logging of requests and without retries.
 */
import { spawn } from 'node:child_process';
import { openSync, readFileSync } from 'node:fs';
import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { setTimeout as pause } from 'node:timers/promises';
import { freePort } from '../../test/support/free-port.ts';
import { liteLlm, liteLlmSettings } from '../../test/support/litellm.ts';
import { install, type Tool } from '../../test/support/tool-cache.ts';
import { owned, type ServerProcess, server, temporaryDirectory } from '../processes.ts';

export interface GatewayServer extends ServerProcess {
  readonly headers: Readonly<Record<string, string>>;
}

/** Reason why a peer does not take part. */
export interface Absent {
  readonly missing: string;
}

const startWithinMs = 120_000;
export const portkeyVersion = '1.15.2';

/** Portkey's gateway: the provider's address and key come with each request. It has no budgets. */
export async function startPortkey(providerPort: number): Promise<GatewayServer | Absent> {
  // Newer versions of its server library fail all streams (github.com/Portkey-AI/gateway/issues/1389).
  const overrides = { '@hono/node-server': '1.13.8' };
  const packages = [`@portkey-ai/gateway@${portkeyVersion}`];
  const installed = await install({ name: 'portkey', from: 'npm', packages, overrides });
  if ('missing' in installed) {
    return installed;
  }
  const program = join(installed.directory, 'node_modules/@portkey-ai/gateway/build/start-server.js');
  const port = await freePort();
  const started = await start(process.execPath, [program, `--port=${port}`, '--headless'], port, {
    NODE_ENV: 'production',
  });
  return {
    ...started,
    headers: {
      authorization: 'Bearer provider',
      'x-portkey-provider': 'openai',
      'x-portkey-custom-host': `http://127.0.0.1:${providerPort}/v1`,
    },
  };
}

const liteLlmKey = 'sk-key-of-the-bench';

/**
 * Budgets of LiteLLM that work without its database:
 * - `key`: the budget of a key. LiteLLM keeps keys in PostgreSQL through Prisma, whose engine can be downloaded from Prisma's own server
 *   alone. Custom authentication returns the same key object with the same budget, and LiteLLM's checks and reservations run on it.
 * - `provider`: the budget of a provider, checked when a deployment is chosen.
 */
export type LiteLlmBudget = { readonly of: 'key' | 'provider'; readonly usd: number };

export interface LiteLlmOptions {
  readonly budget?: LiteLlmBudget;
  readonly tool?: Tool;
  /** A model of Anthropic that is called instead of one of OpenAI. */
  readonly anthropicModel?: string;
}

export async function startLiteLlm(
  providerPort: number,
  { budget, tool = liteLlm, anthropicModel }: LiteLlmOptions = {},
): Promise<GatewayServer | Absent> {
  const installed = await install(tool);
  if ('missing' in installed) {
    return installed;
  }
  const directory = temporaryDirectory();
  const config = join(directory, 'config.yaml');
  // JSON is YAML.
  await writeFile(config, JSON.stringify(liteLlmConfig(providerPort, budget, anthropicModel)));
  if (budget?.of === 'key') {
    await writeFile(join(directory, 'bench_auth.py'), customAuth(budget.usd));
  }
  const port = await freePort();
  const options = ['--config', config, '--host', '127.0.0.1', '--port', String(port), '--num_workers', '1'];
  const started = await start(join(installed.directory, 'bin/litellm'), options, port, liteLlmSettings);
  return { ...started, headers: { authorization: `Bearer ${liteLlmKey}` } };
}

function liteLlmConfig(
  providerPort: number,
  budget: LiteLlmBudget | undefined,
  anthropicModel: string | undefined,
): object {
  const address = `http://127.0.0.1:${providerPort}`;
  const model =
    anthropicModel === undefined
      ? { model: 'openai/gpt-4o', api_base: `${address}/v1` }
      : { model: `anthropic/${anthropicModel}`, api_base: address };
  const ofProvider = { openai: { budget_limit: budget?.usd, time_period: '1d' } };
  return {
    model_list: [
      { model_name: anthropicModel ?? 'gpt-4o', litellm_params: { ...model, api_key: 'provider' } },
    ],
    litellm_settings: { num_retries: 0, request_timeout: 600 },
    ...(budget?.of === 'provider' && { router_settings: { provider_budget_config: ofProvider } }),
    general_settings: {
      master_key: budget?.of === 'key' ? 'sk-master-of-the-bench' : liteLlmKey,
      ...(budget?.of === 'key' && {
        custom_auth: 'bench_auth.authenticate',
        custom_auth_run_common_checks: true,
      }),
    },
  };
}

function customAuth(usd: number): string {
  return `from litellm.proxy._types import UserAPIKeyAuth, hash_token

async def authenticate(request, api_key):
    return UserAPIKeyAuth(api_key=api_key, token=hash_token(api_key), key_alias="bench", max_budget=${usd}, spend=0.0)
`;
}

export async function start(
  command: string,
  args: readonly string[],
  port: number,
  settings: Readonly<Record<string, string>>,
): Promise<ServerProcess> {
  const logFile = join(temporaryDirectory(), 'peer.log');
  const log = openSync(logFile, 'a');
  const env = { ...process.env, ...settings };
  const child = owned(spawn(command, args, { env, stdio: ['ignore', log, log] }));
  const deadline = Date.now() + startWithinMs;
  while (!(await answers(port))) {
    if (child.exitCode !== null || Date.now() > deadline) {
      throw new Error(`${command} did not start:\n${readFileSync(logFile, 'utf8').slice(-4_000)}`);
    }
    await pause(100);
  }
  return server(child, port);
}

/** Any response will do: the peers have different paths. */
async function answers(port: number): Promise<boolean> {
  return fetch(`http://127.0.0.1:${port}/`).then(
    () => true,
    () => false,
  );
}
