/** `purser gateway-test`: makes one small call through the gateway for each connected provider, and reports the result. */
import { performance } from 'node:perf_hooks';
import { Command } from 'commander';
import {
  type ConnectionKind,
  kindOf,
  type ProviderKind,
} from '../capabilities/integration/connections/index.ts';
import { callFormats } from '../kernel/providers/formats.ts';
import { commandName } from './command-name.ts';
import { openOrg, withOrgKey } from './org-access.ts';
import { print } from './with-database.ts';

export function gatewayTestCommand(): Command {
  return new Command('gateway-test')
    .description(
      'Make one small call through the gateway to each provider that is connected. Costs a fraction of a cent. Fails if a call fails.',
    )
    .option('--connection <name>', 'use the provider and the models of this connection only')
    .option('--model <name>', 'model to call (default: a small one of the provider)')
    .option('--org <id>', 'organization (default: the only one)')
    .option('--url <url>', 'URL of the service (default: from the settings)')
    .action(gatewayTest);
}

interface GatewayTestOptions {
  readonly connection?: string;
  readonly model?: string;
  readonly org?: string;
  readonly url?: string;
}

interface TestedConnection {
  readonly name: string;
  readonly kind: ConnectionKind;
  readonly models: readonly string[] | null;
}

const callTimeoutMs = 60_000;
const maxOutputTokens = 16;

async function gatewayTest({ connection: wanted, model, ...options }: GatewayTestOptions): Promise<void> {
  const access = await openOrg(options);
  const failed = await withOrgKey(access, ['connections:read', 'gateway:call'], async (key) => {
    const query = new URLSearchParams({ sort: 'priority', limit: '200', ...(wanted && { name: wanted }) });
    const { data } = await access.api<{ data: TestedConnection[] }>(
      key,
      'GET',
      `/v1/orgs/${access.orgId}/connections?${query}`,
    );
    if (data.length === 0) {
      throw new Error(
        wanted === undefined
          ? `no connections yet: create one with \`${commandName()} connect\``
          : `no connection "${wanted}"`,
      );
    }
    let failures = 0;
    for (const target of targetsOf(data, model)) {
      const { ok, line } = await tested(access.url, key, target);
      print(line);
      failures += ok ? 0 : 1;
    }
    return failures;
  });
  if (failed > 0) {
    throw new Error(`${failed} of the calls failed`);
  }
}

interface TestTarget {
  /** Name of the connection. For several connections among which the gateway chooses, it is their kind. */
  readonly label: string;
  readonly path: string;
  readonly model: string | undefined;
  readonly bodyOf: ProviderKind['test']['bodyOf'];
}

/** Returns the targets. Connections that would be tested by the same call are one target. */
function targetsOf(connections: readonly TestedConnection[], givenModel: string | undefined): TestTarget[] {
  const targets = connections.map((connection): TestTarget => {
    const model =
      givenModel ?? connection.models?.find((one) => !one.includes('*')) ?? kindOf(connection).test.model;
    return { ...placeOf(connection), model };
  });
  return targets.filter(
    ({ path, model }, index) =>
      targets.findIndex((other) => other.path === path && other.model === model) === index,
  );
}

interface TargetResult {
  readonly ok: boolean;
  readonly line: string;
}

async function tested(
  url: string,
  key: string,
  { label, path, model, bodyOf }: TestTarget,
): Promise<TargetResult> {
  if (model === undefined) {
    return { ok: false, line: `${label}: choose a model with --model` };
  }
  const startedMs = performance.now();
  try {
    const response = await fetch(url + path.replace('{model}', encodeURIComponent(model)), {
      method: 'POST',
      headers: { authorization: `Bearer ${key}`, 'content-type': 'application/json' },
      body: JSON.stringify(bodyOf(model, 'Reply with OK.', maxOutputTokens)),
      signal: AbortSignal.timeout(callTimeoutMs),
    });
    const answer = await response.text();
    const ms = Math.round(performance.now() - startedMs);
    const shown = (header: string) => response.headers.get(header) ?? '–';
    return response.ok
      ? {
          ok: true,
          line: `${label}: ${shown('x-svc-model')} answered in ${ms} ms, cost $${shown('x-svc-cost-usd')}, run ${shown('x-svc-run-id')}`,
        }
      : {
          ok: false,
          line: `${label}: ${model} returned ${response.status} after ${ms} ms: ${messageIn(answer)}`,
        };
  } catch (error) {
    return { ok: false, line: `${label}: ${(error as Error).message}` };
  }
}

function placeOf({ kind, name }: TestedConnection): Omit<TestTarget, 'model'> {
  const { path, bodyOf } = kindOf({ kind }).test;
  return path === undefined
    ? { label: name, path: `/compat/${name}/v1${callFormats.chat.path}`, bodyOf }
    : { label: kind, path, bodyOf };
}

/** Returns the message of an error response. OpenAI, Anthropic and Purser all have it at `error.message`. */
function messageIn(text: string): string {
  try {
    const answer = JSON.parse(text) as { message?: unknown; error?: { message?: unknown } };
    const { message } = answer.error ?? answer;
    if (typeof message === 'string') {
      return message;
    }
  } catch {
    // Not JSON: the text itself is shown.
  }
  return text.slice(0, 200);
}
