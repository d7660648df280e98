/** Plans, applies and exports configurations of the running service, with the operator key or a key of one organization. */
import type {
  AppliedConfiguration,
  ConfigurationPlan,
  ExportedConfiguration,
} from '../../capabilities/integration/configuration/index.ts';
import { loadConfig } from '../../config/settings.ts';
import { severalOrgs } from '../org-access.ts';
import { type CallApi, createApi, isRunning, operatorKey, serviceUrl } from '../running-service.ts';
import { senderOf } from './secret-files.ts';

export interface ServiceFlags {
  /** Id of the organization. */
  readonly org?: string;
  readonly url?: string;
  /** Variable with a key of the organization, which is used instead of the operator key. */
  readonly keyEnv?: string;
}

export interface ApplyFlags {
  readonly prune?: true;
  readonly force?: true;
}

export interface ConfigurationService {
  readonly url: string;
  /** The callers to which the service replays a response: all operators, or one key. */
  readonly sender: string;
  /** Returns the path and query of the request that applies a configuration, provided that the changes are still those of the plan. */
  applyPath(flags: ApplyFlags, planDigest: string): string;
  plan(configuration: object, flags: ApplyFlags): Promise<ConfigurationPlan>;
  /** Applies a configuration. Sends the request again if its response is lost; it is applied at most once. */
  apply(path: string, configuration: object, idempotencyKey: string): Promise<AppliedConfiguration>;
  export(orgId: string): Promise<ExportedConfiguration>;
  /** Returns all organizations. Only for operators. */
  orgs(): Promise<readonly ListedOrg[]>;
  /** True with the operator key. Each configuration must then contain the slug of its organization. */
  readonly isOperator: boolean;
}

export async function openConfigurationService(options: ServiceFlags): Promise<ConfigurationService> {
  const config = loadConfig();
  const url = serviceUrl(config, options.url);
  if (!(await isRunning(url))) {
    throw new Error(`no service at ${url}: start it, or pass its URL with --url`);
  }
  const api = createApi(url);
  const isOperator = options.keyEnv === undefined;
  const key = options.keyEnv === undefined ? await operatorKey(config) : keyFrom(options.keyEnv);
  if (!isOperator && options.org === undefined) {
    throw new Error('a key of an organization needs --org with the id of the organization');
  }
  const base = isOperator ? '/v1/admin/configuration' : `/v1/orgs/${options.org}/configuration`;
  return {
    url,
    sender: isOperator ? 'operator' : senderOf(key),
    isOperator,
    applyPath: (flags, planDigest) => `${base}?${queryOf(flags, planDigest)}`,
    plan: (configuration, flags) => api(key, 'POST', `${base}/plan?${queryOf(flags)}`, configuration),
    apply: (path, configuration, idempotencyKey) =>
      api(key, 'POST', path, configuration, { 'idempotency-key': idempotencyKey }),
    export: (orgId) =>
      api(
        key,
        'GET',
        isOperator ? `/v1/admin/orgs/${orgId}/configuration` : `/v1/orgs/${orgId}/configuration`,
      ),
    orgs: () => listOrgs(api, key),
  };
}

function keyFrom(variable: string): string {
  const key = process.env[variable];
  if (key === undefined || key === '') {
    throw new Error(`the variable ${variable} is not set`);
  }
  return key;
}

function queryOf({ prune, force }: ApplyFlags, planDigest?: string): URLSearchParams {
  return new URLSearchParams({
    ...(prune && { prune: 'true' }),
    ...(force && { force: 'true' }),
    ...(planDigest !== undefined && { plan_digest: planDigest }),
  });
}

interface ListedOrg {
  readonly id: string;
  readonly slug: string;
  readonly name: string;
}

interface OrgPage {
  readonly data: readonly ListedOrg[];
  readonly next_cursor: string | null;
}

async function listOrgs(api: CallApi, key: string): Promise<ListedOrg[]> {
  const orgs: ListedOrg[] = [];
  let cursor: string | null = null;
  do {
    const query = new URLSearchParams({ limit: '100', ...(cursor !== null && { cursor }) });
    const page: OrgPage = await api<OrgPage>(key, 'GET', `/v1/admin/orgs?${query}`);
    orgs.push(...page.data);
    cursor = page.next_cursor;
  } while (cursor !== null);
  return orgs;
}

/** Returns the organization with the given id or slug. Without one, returns the only organization of the service. */
export async function findOrg(service: ConfigurationService, given: string | undefined): Promise<ListedOrg> {
  const orgs = await service.orgs();
  const found = given === undefined ? orgs[0] : orgs.find(({ id, slug }) => id === given || slug === given);
  if (found === undefined) {
    throw new Error(
      given === undefined ? 'the service has no organization' : `there is no organization ${given}`,
    );
  }
  if (given === undefined && orgs.length > 1) {
    throw severalOrgs(orgs);
  }
  return found;
}
