/** `purser connect`: connects the gateway of the running service to a provider. */
import { readFile } from 'node:fs/promises';
import { text } from 'node:stream/consumers';
import { Argument, Command, InvalidArgumentError } from 'commander';
import { kindNames, kindOf, type ProviderKind } from '../capabilities/integration/connections/index.ts';
import { shellVariable } from '../config/setting.ts';
import { secretFields } from '../platform/cloud-credentials/credential-source.ts';
import { isWellFormedKey } from '../platform/http/routes/key-format.ts';
import { commandName } from './command-name.ts';
import { openOrg, withOrgKey } from './org-access.ts';
import { print } from './with-database.ts';

const providers = kindNames.map((kind) => ({ kind, ...kindOf({ kind }) }));

const list = new Intl.ListFormat('en-GB');
const withoutUrl = providers.flatMap(({ commandName, defaultUrl }) =>
  defaultUrl === undefined ? [commandName] : [],
);

export function connectCommand(): Command {
  return new Command('connect')
    .description(
      "Connect the gateway of the running service to a provider, or replace the provider's key. Reads the key from standard input " +
        'unless an option names its source. Creates an organization if there is none.',
    )
    .addArgument(
      new Argument(
        '<provider>',
        'the provider; "compatible" is any other one with the API of OpenAI',
      ).choices(providers.map(({ commandName }) => commandName)),
    )
    .option('--key-env <name>', 'variable of this shell with the key; the key is stored encrypted')
    .option(
      '--service-env <name>',
      'variable of the service with the key, listed in SVC_GATEWAY_API_KEY_ENVS; the key is not stored',
    )
    .option(
      '--credentials <source>',
      'identity in a cloud instead of a key, such as web_identity, instance, assume_role, metadata, federation, managed_identity, static',
    )
    .option(
      '--credential <field=value>',
      'field of the credentials, such as role_arn=arn:aws:iam::123456789012:role/name; may be repeated. The value of a secret is ' +
        'env:NAME or file:PATH',
      addField,
    )
    .option(
      '--region <region>',
      'region of a cloud whose requests are signed, if the URL does not name it; with --project the location of Vertex AI',
    )
    .option('--project <id>', 'project of Google Cloud, for Vertex AI: instead of --base-url, with --region')
    .option('--base-url <url>', `URL of the API; required for ${list.format(withoutUrl)}`)
    .option('--name <name>', 'name of the connection (default: the provider)')
    .option('--models <list>', 'models separated by commas, such as gpt-*,o4-mini (default: all)', (names) =>
      names.split(',').filter((model) => model !== ''),
    )
    .option(
      '--deployment <name=model>',
      'model of a deployment of Azure, such as team-chat=gpt-4o, or of a profile of Bedrock by its ARN; may be repeated, also for an existing connection without its key',
      addDeployment,
    )
    .option('--org <id>', 'organization (default: the only one)')
    .option('--url <url>', 'URL of the service (default: from the settings)')
    .action(connect);
}

type DeploymentModels = Readonly<Record<string, string>>;

function addDeployment(text: string, before: DeploymentModels = {}): DeploymentModels {
  const at = text.lastIndexOf('=');
  if (at < 1 || at === text.length - 1) {
    throw new InvalidArgumentError('It must be a name and a model, such as team-chat=gpt-4o.');
  }
  return { ...before, [text.slice(0, at)]: text.slice(at + 1) };
}

type FieldOptions = Readonly<Record<string, string>>;

function addField(text: string, before: FieldOptions = {}): FieldOptions {
  const at = text.indexOf('=');
  if (at < 1 || at === text.length - 1) {
    throw new InvalidArgumentError('It must be a field and its value, such as role_arn=arn:aws:iam::…');
  }
  return { ...before, [text.slice(0, at)]: text.slice(at + 1) };
}

interface ConnectOptions {
  readonly credentials?: string;
  readonly credential?: FieldOptions;
  readonly region?: string;
  readonly project?: string;
  readonly keyEnv?: string;
  readonly serviceEnv?: string;
  readonly baseUrl?: string;
  readonly name?: string;
  readonly models?: string[];
  readonly deployment?: DeploymentModels;
  readonly org?: string;
  readonly url?: string;
}

async function connect(provider: string, options: ConnectOptions): Promise<void> {
  const { name = provider, models, deployment } = options;
  const { kind, account } = providers.find(({ commandName }) => commandName === provider) ?? {};
  const { baseUrl, region } = placeOf(options, account);
  const key = await keySource(options);
  const access = await openOrg(options, { createIfNone: true });
  const path = `/v1/orgs/${access.orgId}/connections`;
  const fields = {
    ...key,
    ...(region !== undefined && { region }),
    ...(baseUrl !== undefined && { base_url: baseUrl }),
    ...(models !== undefined && { models }),
  };
  const [verb, connection] = await withOrgKey(
    access,
    ['connections:read', 'connections:write'],
    async (secret) => {
      const { data } = await access.api<{ data: StoredConnection[] }>(
        secret,
        'GET',
        `${path}?name=${encodeURIComponent(name)}`,
      );
      const existing = data[0];
      if (existing === undefined) {
        const body = { name, kind, ...fields, deployment_models: deployment };
        return ['created', await access.api<ConnectionShown>(secret, 'POST', path, body)] as const;
      }
      if (existing.kind !== kind) {
        throw new Error(`the connection "${name}" is of the kind ${existing.kind}: choose another --name`);
      }
      return [
        'updated',
        await access.api<ConnectionShown>(secret, 'PATCH', `${path}/${existing.id}`, {
          ...fields,
          ...(deployment !== undefined && {
            deployment_models: { ...existing.deployment_models, ...deployment },
          }),
        }),
      ] as const;
    },
  );
  const source =
    connection.api_key_env ??
    (connection.credentials === null
      ? `a key that ends in ${connection.api_key_last_four ?? '…'}`
      : `the credentials \`${connection.credentials.source}\``);
  print(
    `${verb} the connection "${connection.name}" (${connection.id}): ${connection.base_url}, with ${source}`,
  );
  print(nextSteps(options));
}

/** Returns the base URL and the region. A project and its location are a base URL. */
function placeOf(
  { baseUrl, project, region }: ConnectOptions,
  account: ProviderKind['account'],
): Pick<ConnectOptions, 'baseUrl' | 'region'> {
  if (project === undefined) {
    return { ...(baseUrl !== undefined && { baseUrl }), ...(region !== undefined && { region }) };
  }
  if (account === undefined || baseUrl !== undefined || region === undefined) {
    throw new Error('--project is for Vertex AI, with --region and without --base-url');
  }
  return { baseUrl: account.urlOf(project, region) };
}

/** Returns the next commands, with the options for the organization and the service. */
function nextSteps({ org, url }: ConnectOptions): string {
  const place = `${org === undefined ? '' : ` --org ${org}`}${url === undefined ? '' : ` --url ${url}`}`;
  const [test, key] = ['gateway-test', 'gateway-key'].map((name) => `\`${commandName()} ${name}${place}\``);
  return `Next: ${test}, then ${key}.`;
}

interface StoredConnection {
  readonly id: string;
  readonly kind: string;
  readonly deployment_models: DeploymentModels;
}

interface ConnectionShown {
  readonly id: string;
  readonly name: string;
  readonly base_url: string;
  readonly api_key_last_four: string | null;
  readonly api_key_env: string | null;
  readonly credentials: { readonly source: string } | null;
}

interface KeySource {
  readonly api_key?: string;
  readonly api_key_env?: string;
  readonly credentials?: object;
}

const secretNames: ReadonlySet<string> = new Set(secretFields);

/** Secrets do not belong on a command line, which other users of the machine can see. */
async function credentialsOf(source: string, fields: FieldOptions = {}): Promise<object> {
  const { session_tags, ...others } = fields;
  const values: Record<string, unknown> = { source };
  for (const [field, value] of Object.entries(others)) {
    values[field] = secretNames.has(field) ? await secretOf(field, value) : value;
  }
  if (session_tags !== undefined) {
    values.session_tags = tagsOf(session_tags);
  }
  return values;
}

async function secretOf(field: string, reference: string): Promise<string> {
  const [, form, place = ''] = /^(env|file):(.+)$/.exec(reference) ?? [];
  if (form === undefined) {
    throw new Error(`${field} is a secret: write ${field}=env:NAME or ${field}=file:PATH`);
  }
  const value = form === 'file' ? (await readFile(place, 'utf8')).trim() : shellVariable(place);
  if (value === undefined || value === '') {
    throw new Error(`${place} has no value for ${field}`);
  }
  return value;
}

/** `team:search,stage:test`; `none`: not even the tags of Purser. */
function tagsOf(text: string): FieldOptions | null {
  return text === 'none'
    ? null
    : Object.fromEntries(
        text.split(',').map((tag) => {
          const at = tag.indexOf(':');
          if (at < 1) {
            throw new Error('session_tags must be `none`, or tags such as team:search, separated by commas');
          }
          return [tag.slice(0, at), tag.slice(at + 1)];
        }),
      );
}

async function keySource({
  keyEnv,
  serviceEnv,
  deployment,
  credentials,
  credential,
}: ConnectOptions): Promise<KeySource> {
  if (credentials !== undefined) {
    if ((keyEnv ?? serviceEnv) !== undefined) {
      throw new Error('use either a key or --credentials');
    }
    return { credentials: await credentialsOf(credentials, credential) };
  }
  if (credential !== undefined) {
    throw new Error('--credential needs --credentials');
  }
  if (keyEnv !== undefined && serviceEnv !== undefined) {
    throw new Error('use either --key-env or --service-env');
  }
  if (serviceEnv !== undefined) {
    return { api_key_env: serviceEnv };
  }
  const isOptional = deployment !== undefined && keyEnv === undefined;
  if (isOptional && process.stdin.isTTY) {
    return {};
  }
  if (keyEnv === undefined && process.stdin.isTTY) {
    process.stderr.write("Provider's key, then Enter and Ctrl-D:\n");
  }
  const key = keyEnv === undefined ? await text(process.stdin) : shellVariable(keyEnv);
  if (key === undefined || key.trim() === '') {
    if (isOptional) {
      return {};
    }
    throw new Error(
      keyEnv === undefined ? 'standard input has no key' : `${keyEnv} is not set in this shell`,
    );
  }
  if (isWellFormedKey(key.trim())) {
    throw new Error(`${keyEnv ?? 'standard input'} has a key of Purser: use the key of the provider`);
  }
  return { api_key: key.trim() };
}
