import { Command, Option } from 'commander';
import { loadConfig } from '../config/settings.ts';
import { orgRoles } from '../contract/scopes.ts';
import { answers, createApi, operatorKey, serviceUrl } from './running-service.ts';
import { print } from './with-database.ts';

/**
 * Speaks HTTP to the service that runs, with the operator key: the embedded database belongs to that process, and a link is of
 * no use without one.
 */
export function consoleLinkCommand(): Command {
  return new Command('console-link')
    .description(
      'Print a link that signs in to the console of the running service, once, within ten minutes.',
    )
    .option('--org <id>', 'into this organization; without it to the pages of operators')
    .addOption(
      new Option('--role <role>', 'the role in that organization (default: owner)').choices(orgRoles),
    )
    .option('--url <url>', 'where the service runs (default: as its settings say)')
    .action(consoleLink);
}

interface ConsoleLinkOptions {
  readonly org?: string;
  readonly role?: string;
  readonly url?: string;
}

async function consoleLink({ org, role, url: given }: ConsoleLinkOptions): Promise<void> {
  if (org === undefined && role !== undefined) {
    throw new Error('--role is for a link into an organization: name it with --org');
  }
  const config = loadConfig();
  const url = serviceUrl(config, given);
  if (!(await answers(url))) {
    throw new Error(`no service answers at ${url}: start it, or say with --url where it runs`);
  }
  const body = { ...(org !== undefined && { org_id: org }), ...(role !== undefined && { role }) };
  const api = createApi(url);
  const link = await api<{ url: string }>(await operatorKey(config), 'POST', '/v1/admin/console-links', body);
  print(link.url);
}
