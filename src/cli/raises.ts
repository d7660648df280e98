/** `purser raise` and `purser request`: raise a limit of the running service for a while, or ask its administrators to do so. */
import { Command } from 'commander';
import { loadConfig } from '../config/settings.ts';
import { createApi, serviceUrl } from './running-service.ts';
import { needsTimezone, untilHelp, untilOf } from './until.ts';
import { print } from './with-database.ts';

interface RaiseOptions {
  readonly until: string;
  readonly reason: string;
  readonly for?: string;
  readonly org: string;
  readonly keyEnv: string;
  readonly url?: string;
}

export function raiseCommand(): Command {
  return withOptions(new Command('raise'))
    .description('Raise a budget, the spend cap or a customer limit for a while. The raise ends by itself.')
    .action(raise);
}

export function requestCommand(): Command {
  return withOptions(new Command('request'))
    .description('Ask the administrators to raise a limit for a while.')
    .action(request);
}

function withOptions(command: Command): Command {
  return command
    .argument('<limit>', 'id of the limit, such as the budget_id of a denial')
    .argument('<amount>', 'US dollars to add')
    .requiredOption('--until <time>', untilHelp)
    .requiredOption('--reason <text>', 'why')
    .option('--for <value>', 'only this value of a limit that counts each value (*), such as a member')
    .requiredOption('--org <id>', 'id of the organization')
    .option('--key-env <name>', 'variable with a key of the organization', 'PURSER_KEY')
    .option('--url <url>', 'URL of the service (default: from the settings)');
}

/** What both commands show of a raise or a request. */
interface RaiseAnswer {
  readonly id: string;
  readonly limit_name: string | null;
  readonly limit_kind: string;
  readonly amount_usd: string;
  readonly until: string;
}

async function raise(limitId: string, amount: string, options: RaiseOptions): Promise<void> {
  const { id, limit_name, limit_kind, amount_usd, until } = await post(
    raisesPath(limitId),
    {},
    amount,
    options,
  );
  print(`Raised ${limit_name ?? limit_kind} by $${amount_usd} until ${until} (${id}).`);
}

async function request(limitId: string, amount: string, options: RaiseOptions): Promise<void> {
  const answer = await post('raise-requests', { limit_id: limitId }, amount, options);
  const { id, limit_name, limit_kind, amount_usd, until } = answer;
  print(`Asked to raise ${limit_name ?? limit_kind} by $${amount_usd} until ${until} (${id}).`);
}

/** The prefix of its id says what a limit is. */
function raisesPath(limitId: string): string {
  const id = encodeURIComponent(limitId);
  if (limitId.startsWith('cap_')) {
    return 'spend-cap/raises';
  }
  return limitId.startsWith('clm_') ? `customer-limits/${id}/raises` : `budgets/${id}/raises`;
}

async function post(
  path: string,
  about: object,
  amount: string,
  options: RaiseOptions,
): Promise<RaiseAnswer> {
  const { org, until, reason, for: value, keyEnv, url } = options;
  const key = process.env[keyEnv];
  if (key === undefined || key === '') {
    throw new Error(`the variable ${keyEnv} is not set: it must have a key of the organization`);
  }
  const api = createApi(serviceUrl(loadConfig(), url));
  const base = `/v1/orgs/${encodeURIComponent(org)}`;
  const { timezone } = needsTimezone(until)
    ? await api<{ readonly timezone: string }>(key, 'GET', base)
    : { timezone: 'UTC' };
  return api<RaiseAnswer>(key, 'POST', `${base}/${path}`, {
    ...about,
    amount_usd: amount,
    until: untilOf(until, timezone, new Date()),
    reason,
    ...(value !== undefined && { scope_id: value }),
  });
}
