/** `purser demo`: creates an organization with weeks of realistic runs through the API of the running service. */
import { Command, InvalidArgumentError } from 'commander';
import { loadConfig } from '../config/settings.ts';
import { scopes } from '../contract/scopes.ts';
import { history } from '../demo/history.ts';
import { type DemoClient, setUp } from '../demo/setup.ts';
import { commandName } from './command-name.ts';
import { ApiRequestError, createApi, isRunning, operatorKey, serviceUrl } from './running-service.ts';
import { print } from './with-database.ts';

const slug = 'purser-demo';
const runsPerRequest = 5_000;
const days = 60;

function parsePositiveInteger(text: string): number {
  const number = Number(text);
  if (!Number.isSafeInteger(number) || number < 1) {
    throw new InvalidArgumentError('Must be an integer above 0.');
  }
  return number;
}

export function demoCommand(): Command {
  return new Command('demo')
    .description(
      `Create a demo organization with ${days} days of realistic runs, limits, denials and approvals.`,
    )
    .option('--runs <number>', 'number of runs', parsePositiveInteger, 20_000)
    .option('--seed <number>', 'seed of the random runs', parsePositiveInteger, 1)
    .option('--remove', 'remove the demo organization and its data')
    .option('--url <url>', 'URL of the service (default: from the settings)')
    .action(demo);
}

interface DemoOptions {
  readonly runs: number;
  readonly seed: number;
  readonly remove?: boolean;
  readonly url?: string;
}

async function demo({ runs, seed, remove, url: given }: DemoOptions): Promise<void> {
  const config = loadConfig();
  const url = serviceUrl(config, given);
  if (!(await isRunning(url))) {
    throw new Error(`no service at ${url}: start it, or pass its URL with --url`);
  }
  const operator = callerOf(url, await operatorKey(config));
  const { data } = await operator.call<{ data: { id: string }[] }>('GET', `/v1/admin/orgs?slug=${slug}`);
  const existing = data[0]?.id;
  if (remove === true) {
    await removeDemo(operator, existing);
  } else if (existing === undefined) {
    await createDemo(operator, url, { runs, seed });
  } else {
    throw new Error(`the demo already exists (${existing}): remove it first with --remove`);
  }
}

async function removeDemo(operator: DemoClient, orgId: string | undefined): Promise<void> {
  if (orgId === undefined) {
    print('No demo to remove.');
    return;
  }
  await operator.attempt('POST', `/v1/admin/orgs/${orgId}/suspend`);
  await operator.call('DELETE', `/v1/admin/orgs/${orgId}`);
  print(`Removed ${orgId}. Its data are being deleted.`);
}

async function createDemo(
  operator: DemoClient,
  url: string,
  { runs, seed }: Pick<DemoOptions, 'runs' | 'seed'>,
): Promise<void> {
  const now = new Date();
  const org = await operator.call<{ id: string }>('POST', '/v1/admin/orgs', { name: 'Demo', slug });
  const keyOf = async (name: string, role: string) => {
    const body = { name, role, scopes };
    const { secret } = await operator.call<{ secret: string }>('POST', `/v1/admin/orgs/${org.id}/keys`, body);
    return { secret, caller: callerOf(url, secret) };
  };
  const owner = await keyOf('demo owner', 'owner');
  const agent = await keyOf('demo agent', 'member');

  let batch: object[] = [];
  let sent = 0;
  const send = async () => {
    if (batch.length > 0) {
      await agent.caller.call('POST', '/v1/runs/bulk?enforcement=record', { runs: batch });
      sent += batch.length;
      batch = [];
      process.stderr.write(`${sent} of ${runs} runs\n`);
    }
  };
  for (const run of history({ seed, now, days, runs })) {
    batch.push(run);
    if (batch.length === runsPerRequest) {
      await send();
    }
  }
  await send();
  await setUp(org.id, { owner: owner.caller, agent: agent.caller }, now);
  print(
    [
      `Created ${org.id} with ${sent} runs over ${days} days. To see it:`,
      `  ${commandName()} console-link --org ${org.id}`,
      `  curl -sS '${url}/v1/orgs/${org.id}/usage?group_by=model' -H 'Authorization: Bearer ${owner.secret}'`,
      'To remove it:',
      `  ${commandName()} demo --remove`,
    ].join('\n'),
  );
}

function callerOf(url: string, key: string): DemoClient {
  const api = createApi(url);
  return {
    call: (method, path, body) => api(key, method, path, body),
    async attempt(method, path, body) {
      try {
        await api(key, method, path, body);
        return {};
      } catch (error) {
        if (!(error instanceof ApiRequestError)) {
          throw error;
        }
        return error.error;
      }
    },
  };
}
