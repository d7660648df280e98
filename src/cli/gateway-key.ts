/** `purser gateway-key`: creates a key for gateway calls, optionally with a budget, and prints how to use it in clients. */
import { Command, InvalidArgumentError } from 'commander';
import { clientEnvironment, clientSnippets } from '../contract/gateway-clients.ts';
import { type Period, periods } from '../kernel/windows.ts';
import { type OrgClient, openOrg, withOrgKey } from './org-access.ts';
import { print } from './with-database.ts';

export function gatewayKeyCommand(): Command {
  return new Command('gateway-key')
    .description(
      'Create a key for calls through the gateway and print the settings of Claude Code, Codex, Cursor and both SDKs.',
    )
    .option(
      '--member <name>',
      'person who spends with the key, such as amy; the budget counts all keys of this person',
    )
    .option(
      '--budget <amount/period>',
      `budget of the person or the key, such as 20/day; periods: ${periods.join(', ')}`,
      parseBudget,
    )
    .option('--name <name>', 'name of the key (default: "gateway" and the person)')
    .option('--env', 'print only the variables of the SDKs, for `eval "$(…)"`')
    .option('--org <id>', 'organization (default: the only one)')
    .option('--url <url>', 'URL of the service (default: from the settings)')
    .action(gatewayKey);
}

interface BudgetOption {
  readonly limitUsd: string;
  readonly period: Period;
}

interface GatewayKeyOptions {
  readonly member?: string;
  readonly budget?: BudgetOption;
  readonly name?: string;
  readonly env?: true;
  readonly org?: string;
  readonly url?: string;
}

function parseBudget(text: string): BudgetOption {
  const [, limitUsd, period] = /^(\d+(?:\.\d+)?)\/(\w+)$/.exec(text) ?? [];
  const known = periods.find((one) => one === period);
  if (limitUsd === undefined || known === undefined) {
    throw new InvalidArgumentError(
      `Must be an amount in US dollars and a period (${periods.join(', ')}), such as 20/day.`,
    );
  }
  return { limitUsd, period: known };
}

async function gatewayKey({ member, budget, name, env, ...options }: GatewayKeyOptions): Promise<void> {
  const access = await openOrg(options);
  const { api, operator, orgId, url } = access;
  if (budget !== undefined && member !== undefined) {
    // Set first, so that the key never exists without its budget.
    await setBudget(access, { scope_kind: 'member', scope_id: member }, budget);
  }
  const key = await api<{ id: string; secret: string }>(operator, 'POST', `/v1/admin/orgs/${orgId}/keys`, {
    name: name ?? (member === undefined ? 'gateway' : `gateway ${member}`),
    role: 'member',
    scopes: ['gateway:call'],
    ...(member !== undefined && {
      attribution: { member_id: member },
      attribution_locked: ['member_id'],
    }),
  });
  if (budget !== undefined && member === undefined) {
    await setBudget(access, { scope_kind: 'key', scope_id: key.id }, budget);
  }
  if (budget !== undefined) {
    process.stderr.write(`budget of ${member ?? 'the key'}: $${budget.limitUsd} per ${budget.period}\n`);
  }
  const shown = process.stdout.isTTY ? 'it is shown once:' : 'it is in the output, and is not shown again';
  process.stderr.write(`created the key ${key.id}; ${shown}\n`);
  print(env === true ? clientEnvironment(url, key.secret) : shellText(url, key.secret));
}

/**
 * Returns the snippets for a shell, with titles as comments. Snippets in other languages are left out, because the SDKs read their
 * environment variables.
 */
function shellText(url: string, key: string): string {
  return clientSnippets(url, key)
    .filter(({ language }) => language === 'sh' || language === 'text')
    .map(({ title, note, language, text }) => {
      const lines = language === 'sh' ? text : commented(text);
      return `${commented(note === undefined ? title : `${title}: ${note}`)}\n${lines}`;
    })
    .join('\n\n');
}

function commented(text: string): string {
  return text.replaceAll(/^/gm, '# ');
}

/** Sets the budget of a scope and period. Changes an existing one, so that repeating the command does not add another. */
async function setBudget(
  access: OrgClient,
  scope: { readonly scope_kind: string; readonly scope_id: string },
  { limitUsd, period }: BudgetOption,
): Promise<void> {
  const path = `/v1/orgs/${access.orgId}/budgets`;
  await withOrgKey(access, ['budgets:read', 'budgets:write'], async (secret) => {
    const query = new URLSearchParams({ ...scope, period, limit: '1' });
    const { data } = await access.api<{ data: { id: string }[] }>(secret, 'GET', `${path}?${query}`);
    const existing = data[0];
    if (existing === undefined) {
      const name = `Gateway: ${scope.scope_id}`.slice(0, 200);
      await access.api(secret, 'POST', path, { name, ...scope, period, limit_usd: limitUsd });
    } else {
      await access.api(secret, 'PATCH', `${path}/${existing.id}`, { limit_usd: limitUsd });
    }
  });
}
