/** Settings and variables about the clouds that this service runs on. */
import { listOf } from './parsers.ts';

export interface CloudSurroundings {
  readonly identities: readonly {
    readonly orgId: string | undefined;
    readonly identity: string | undefined;
  }[];
  readonly variables: Readonly<Record<string, string | undefined>>;
}

/** The variables by which the clouds tell a program its identity, as their documentation names them. */
const cloudVariables = [
  'AWS_ACCESS_KEY_ID',
  'AWS_SECRET_ACCESS_KEY',
  'AWS_SESSION_TOKEN',
  'AWS_REGION',
  'AWS_DEFAULT_REGION',
  'AWS_ROLE_ARN',
  'AWS_ROLE_SESSION_NAME',
  'AWS_WEB_IDENTITY_TOKEN_FILE',
  'AWS_ENDPOINT_URL_STS',
  'AWS_CONTAINER_CREDENTIALS_RELATIVE_URI',
  'AWS_CONTAINER_CREDENTIALS_FULL_URI',
  'AWS_CONTAINER_AUTHORIZATION_TOKEN',
  'AWS_CONTAINER_AUTHORIZATION_TOKEN_FILE',
  'AWS_EC2_METADATA_DISABLED',
  'AWS_EC2_METADATA_SERVICE_ENDPOINT',
  'AWS_EC2_METADATA_SERVICE_ENDPOINT_MODE',
  'GOOGLE_APPLICATION_CREDENTIALS',
  'GCE_METADATA_HOST',
  'AZURE_AUTHORITY_HOST',
  'AZURE_TENANT_ID',
  'AZURE_CLIENT_ID',
  'AZURE_CLIENT_SECRET',
  'AZURE_CLIENT_CERTIFICATE_PATH',
  'AZURE_FEDERATED_TOKEN_FILE',
  'AZURE_POD_IDENTITY_AUTHORITY_HOST',
  'IDENTITY_ENDPOINT',
  'IDENTITY_HEADER',
  'ANTHROPIC_IDENTITY_TOKEN_FILE',
] as const;

export function cloudVariablesOf(env: NodeJS.ProcessEnv): CloudSurroundings['variables'] {
  return Object.fromEntries(cloudVariables.map((name) => [name, env[name] || undefined]));
}

/** Ids, not slugs: a slug may pass to another organization. */
export function parseCloudIdentities(value: string): CloudSurroundings['identities'] {
  return listOf(value).map((entry) => {
    const [, org, identity] = /^(\*|org_[A-Za-z0-9]+)(?:=(\S+))?$/.exec(entry) ?? [];
    if (org === undefined) {
      throw new Error(
        'ids of organizations or `*`, each with or without `=` and an identity, separated by commas',
      );
    }
    return { orgId: org === '*' ? undefined : org, identity };
  });
}

const acceptors = ['google', 'azure', 'openai', 'anthropic'];

export function parseTokenFiles(value: string): ReadonlyMap<string, string> {
  return new Map(
    listOf(value).map((entry) => {
      const [, name = '', path = ''] = /^([a-z]+)=(\/.+)$/.exec(entry) ?? [];
      if (!acceptors.includes(name)) {
        throw new Error(
          `${acceptors.join(', ')}, each with \`=\` and the absolute path of a file, separated by commas`,
        );
      }
      return [name, path];
    }),
  );
}
