/**
 * `purser init`: from nothing to a first decision. It always speaks HTTP: to the service that runs, or where none does to
 * one of its own that lives as long as the command. What it prints is a shell script, to be pasted line by line.
 */
import { Command } from 'commander';
import { type Config, loadConfig } from '../config/settings.ts';
import { scopes } from '../contract/scopes.ts';
import { formatUsd, parseUsd } from '../kernel/money.ts';
import { createLog } from '../platform/log.ts';
import { answers, createApi, operatorKey, serviceUrl } from './running-service.ts';
import { print } from './with-database.ts';

export function initCommand(): Command {
  return new Command('init')
    .description(
      'Make an organization with an owner key and a daily cap, and print its first decisions as curl lines.',
    )
    .option('--name <name>', 'the name of the organization', 'My organization')
    .option('--timezone <zone>', 'its time zone, such as Europe/Berlin', 'UTC')
    .option('--cap <usd>', 'what its runs may cost in a day', '1')
    .option('--url <url>', 'where the service runs (default: as its settings say)')
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
    throw new Error('--cap has to be an amount of US dollars above 0, such as 2.50');
  }
  const config = loadConfig();
  const shownUrl = serviceUrl(config, url);
  const runs = await answers(shownUrl);
  if (!runs && url !== undefined) {
    throw new Error(`no service answers at ${shownUrl}`);
  }
  const service = runs ? undefined : await startOwn(config, shownUrl);
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
    print(script({ shownUrl, name, orgId: org.id, key: key.secret, capNanos, runs }));
  } finally {
    await service?.stop();
  }
}

interface Made {
  readonly shownUrl: string;
  readonly name: string;
  readonly orgId: string;
  readonly key: string;
  readonly capNanos: bigint;
  /** Whether there is a service to send the lines to. */
  readonly runs: boolean;
}

function script({ shownUrl, name, orgId, key, capNanos, runs }: Made): string {
  const cap = formatUsd(capNanos);
  const part = formatUsd((capNanos + 3n) / 4n);
  const decide = (usd: string) =>
    `curl -sS ${shownUrl}/v1/edge/decision -H 'Authorization: Bearer ${key}' -H 'Content-Type: application/json' ` +
    `-d '{"model": "gpt-4o", "estimated_cost_usd": "${usd}"}' -w '\\n'`;
  return [
    `# Made the organization ${name.replaceAll(/\s+/g, ' ')} (${orgId}) with a cap of ${cap} USD a day.`,
    '# Its owner key is in the lines below; it is not shown again.',
    ...(runs ? [] : ['# No service is running: start it with `npm start` before you send them.']),
    '',
    `# A call that may cost ${part} USD: allowed, and held until it is settled or 15 minutes are over.`,
    decide(part),
    '',
    `# One that may cost ${cap} USD on top of it: refused, before any money is spent.`,
    decide(cap),
  ].join('\n');
}

/** On a port that nobody else knows. The service is loaded only here: where one runs, another is not needed. */
async function startOwn(config: Config, expectedUrl: string) {
  const { startService } = await import('../server/service.ts');
  try {
    return await startService({
      config: { ...config, host: '127.0.0.1', port: 0 },
      log: createLog('silent'),
    });
  } catch (error) {
    const { message } = error as Error;
    throw new Error(`${message}\n        If it runs elsewhere than at ${expectedUrl}, say where with --url.`);
  }
}
