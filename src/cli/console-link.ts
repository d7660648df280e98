import { Command, Option } from 'commander';
import { loadConfig } from '../config/settings.ts';
import { orgRoles } from '../contract/scopes.ts';
import { createApi, isRunning, operatorKey, serviceUrl } from './running-service.ts';
import { print } from './with-database.ts';

/** Uses HTTP with the operator key, because the embedded database belongs to the running service. */
export function consoleLinkCommand(): Command {
  return new Command('console-link')
    .description(
      'Print a one-time link that signs in to the console of the running service. Valid for ten minutes.',
    )
    .option('--org <id>', "organization to sign in to (default: the operators' pages)")
    .addOption(new Option('--role <role>', 'role in that organization (default: owner)').choices(orgRoles))
    .option('--url <url>', 'URL of the service (default: from the settings)')
    .action(consoleLink);
}

interface ConsoleLinkOptions {
  readonly org?: string;
  readonly role?: string;
  readonly url?: string;
}

async function consoleLink({ org, role, url: given }: ConsoleLinkOptions): Promise<void> {
  if (org === undefined && role !== undefined) {
    throw new Error('--role requires --org');
  }
  const config = loadConfig();
  const url = serviceUrl(config, given);
  if (!(await isRunning(url))) {
    throw new Error(`no service at ${url}: start it, or pass its URL with --url`);
  }
  const body = { ...(org !== undefined && { org_id: org }), ...(role !== undefined && { role }) };
  const api = createApi(url);
  const link = await api<{ url: string }>(await operatorKey(config), 'POST', '/v1/admin/console-links', body);
  print(link.url);
}
