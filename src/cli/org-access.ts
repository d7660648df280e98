/** Access to an organization for commands that act in one: finds the organization, and creates a key for the duration of the command. */
import { loadConfig } from '../config/settings.ts';
import type { KeyScope } from '../contract/scopes.ts';
import { commandName } from './command-name.ts';
import { type CallApi, createApi, isRunning, operatorKey, serviceUrl } from './running-service.ts';
import { terminalText } from './terminal-text.ts';

export interface OrgClient {
  readonly api: CallApi;
  /** URL of the service, without a slash at the end. */
  readonly url: string;
  readonly operator: string;
  readonly orgId: string;
}

export interface OrgOptions {
  readonly org?: string;
  readonly url?: string;
}

/** Opens the organization. Throws if no service is running, or if it is ambiguous which organization is meant. */
export async function openOrg(
  { org, url: given }: OrgOptions,
  { createIfNone = false }: { readonly createIfNone?: boolean } = {},
): Promise<OrgClient> {
  const config = loadConfig();
  const url = serviceUrl(config, given);
  if (!(await isRunning(url))) {
    throw new Error(`no service at ${url}: start it, or pass its URL with --url`);
  }
  const api = createApi(url);
  const operator = await operatorKey(config);
  return { api, url, operator, orgId: org ?? (await onlyOrg(api, operator, createIfNone)) };
}

async function onlyOrg(api: CallApi, operator: string, createIfNone: boolean): Promise<string> {
  const { data } = await api<{ data: NamedOrg[] }>(
    operator,
    'GET',
    `/v1/admin/orgs?limit=${listedOrgsMax + 1}`,
  );
  const [first] = data;
  if (data.length > 1) {
    throw severalOrgs(data);
  }
  if (first !== undefined) {
    return first.id;
  }
  if (!createIfNone) {
    throw new Error(`the service has no organization: create one with \`${commandName()} init\``);
  }
  const created = await api<{ id: string }>(operator, 'POST', '/v1/admin/orgs', { name: 'My organization' });
  process.stderr.write(`created the organization ${created.id}\n`);
  return created.id;
}

interface NamedOrg {
  readonly id: string;
  readonly name: string;
}

const listedOrgsMax = 20;

/** Returns the error of a command that needs one organization. It lists the organizations to choose from. */
export function severalOrgs(orgs: readonly NamedOrg[]): Error {
  const lines = orgs.slice(0, listedOrgsMax).map(({ id, name }) => `${id}  ${terminalText(name)}`);
  const more = orgs.length > listedOrgsMax ? ['and more'] : [];
  return new Error(
    ['the service has several organizations: choose one with --org', ...lines, ...more].join('\n  '),
  );
}

/** Expiry of the key, in case the command is killed before it revokes it. */
const keyMinutes = 10;

/** Calls `work` with a temporary key of the organization and revokes the key afterwards. */
export async function withOrgKey<Result>(
  { api, operator, orgId }: OrgClient,
  scopes: readonly KeyScope[],
  work: (key: string) => Promise<Result>,
): Promise<Result> {
  const { id, secret } = await api<{ id: string; secret: string }>(
    operator,
    'POST',
    `/v1/admin/orgs/${orgId}/keys`,
    {
      name: 'command line',
      role: 'admin',
      scopes: [...scopes, 'keys:write'],
      expires_at: new Date(Date.now() + keyMinutes * 60_000).toISOString(),
    },
  );
  try {
    return await work(secret);
  } finally {
    await api(secret, 'DELETE', `/v1/orgs/${orgId}/keys/${id}`);
  }
}
