/**
 * `purser init`: creates everything that a first decision needs. It always uses HTTP: to the running service or, if there is none,
 * to a temporary one that runs as long as the command. The output is a shell script.
 */
import { Command } from 'commander';
import { loadConfig } from '../config/settings.ts';
import { scopes } from '../contract/scopes.ts';
import { formatUsd, parseUsd } from '../kernel/money.ts';
import { createApi, isRunning, operatorKey, serviceUrl } from './running-service.ts';
import { startTemporary } from './temporary-service.ts';
import { print } from './with-database.ts';

export function initCommand(): Command {
  return new Command('init')
    .description(
      'Create an organization with an owner key and a daily cap, and print curl commands for both kinds of checks: decisions and runs.',
    )
    .option('--name <name>', 'name of the organization', 'My organization')
    .option('--timezone <zone>', 'time zone, such as Europe/Berlin', 'UTC')
    .option('--cap <usd>', 'daily spend cap', '1')
    .option('--url <url>', 'URL of the service (default: from the settings)')
    .action(init);
}

interface InitOptions {
  readonly name: string;
  readonly timezone: string;
  readonly cap: string;
  readonly url?: string;
}

async function init({ name, timezone, cap, url }: InitOptions): Promise<void> {
  const capNanos = parseUsd(cap);
  if (capNanos === undefined || capNanos === 0n) {
    throw new Error('--cap must be an amount in US dollars above 0, such as 2.50');
  }
  const config = loadConfig();
  const shownUrl = serviceUrl(config, url);
  const serviceRuns = await isRunning(shownUrl);
  if (!serviceRuns && url !== undefined) {
    throw new Error(`no service at ${shownUrl}: start it, or omit --url`);
  }
  const service = serviceRuns ? undefined : await startTemporary(config, shownUrl);
  try {
    const api = createApi(service?.url ?? shownUrl);
    const operator = await operatorKey(config);
    const org = await api<{ id: string }>(operator, 'POST', '/v1/admin/orgs', { name, timezone });
    const key = await api<{ secret: string }>(operator, 'POST', `/v1/admin/orgs/${org.id}/keys`, {
      name: 'first owner',
      role: 'owner',
      scopes,
    });
    await api(key.secret, 'PUT', `/v1/orgs/${org.id}/spend-cap`, { cap_usd: cap });
    print(script({ shownUrl, name, orgId: org.id, key: key.secret, capNanos, serviceRuns }));
  } finally {
    await service?.stop();
  }
}

interface ScriptInput {
  readonly shownUrl: string;
  readonly name: string;
  readonly orgId: string;
  readonly key: string;
  readonly capNanos: bigint;
  /** True if a running service can receive the commands. */
  readonly serviceRuns: boolean;
}

function script({ shownUrl, name, orgId, key, capNanos, serviceRuns }: ScriptInput): string {
  const cap = formatUsd(capNanos);
  const part = formatUsd((capNanos + 3n) / 4n);
  const post = (path: string, body: string, after = `-w '\\n'`) =>
    `curl -sS ${shownUrl}/v1/${path} -H 'Authorization: Bearer ${key}' -H 'Content-Type: application/json' -d '${body}' ${after}`;
  const decide = (usd: string) =>
    post('edge/decision', `{"model": "gpt-4o", "estimated_cost_usd": "${usd}"}`);
  const start = post('runs', `{"model": "gpt-4o", "status": "running", "estimated_cost_usd": "${part}"}`, '');
  return [
    `# Created the organization ${name.replaceAll(/\s+/g, ' ')} (${orgId}) with a cap of ${cap} USD per day.`,
    '# The commands below contain its owner key, which is not shown again.',
    ...(serviceRuns ? [] : ['# No service is running: start it with `npm start` first.']),
    '',
    `# A call that may cost ${part} USD: allowed, and held until it is settled, or for 15 minutes.`,
    decide(part),
    '',
    `# Another call that may cost ${cap} USD: denied, before any money is spent.`,
    decide(cap),
    '',
    '# An edge decision checks spend limits only. An agent that also needs policies, safety, plans, chains and credits',
    '# starts a run, which makes every check, and completes it after the call.',
    `RUN=$(${start} | sed 's/^{"id":"\\([^"]*\\)".*/\\1/')`,
    post('runs/$RUN/complete', `{"cost_usd": "${part}"}`),
  ].join('\n');
}
