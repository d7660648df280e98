/** Forms of connections: new, edit, rotate the key, delete. */
import { actionScreen, formScreens } from '../../form-screens.ts';
import type { Field, Values } from '../../forms.ts';
import { html, type Part } from '../../html.ts';
import { pathOf } from '../../operations.ts';
import type { Responses } from '../../responses.ts';
import type { Screen, ScreenVisit, ShownKind } from '../../screen.ts';
import { gatewayPath } from './gateway-tabs.ts';

export const connectionPath = `${gatewayPath}/connections/{connection_id}`;

export type ConnectionResponse = Responses['connections.read'];

export function kindLabel({ connectionKinds }: ScreenVisit, { kind }: ConnectionResponse): string {
  return connectionKinds.find(({ name }) => name === kind)?.label ?? kind;
}

const nameField: Field = {
  name: 'name',
  label: 'Name',
  kind: 'text',
  required: true,
  placeholder: 'openai',
  help: 'Lower-case letters, digits, dots, dashes and underscores.',
};
const baseUrlField: Field = {
  name: 'base_url',
  label: 'Base URL',
  kind: 'url',
  placeholder: 'https://api.openai.com/v1',
};
const keyField: Field = {
  name: 'api_key',
  label: "Provider's API key",
  kind: 'secret',
  help: 'Stored encrypted, and never shown again.',
};
const keyVariableField: Field = {
  name: 'api_key_env',
  label: 'Environment variable with the key',
  kind: 'text',
  placeholder: 'OPENAI_API_KEY',
  help: html`Instead of the key. The operator must have listed it in <code>SVC_GATEWAY_API_KEY_ENVS</code>.`,
};
const regionField: Field = {
  name: 'region',
  label: 'Region',
  kind: 'text',
  placeholder: 'eu-west-1',
  whenEmpty: 'null',
  help: 'Of a cloud whose requests are signed, if the URL does not name it.',
};

const sourceLabels = {
  web_identity: 'Web identity: IRSA, EKS Pod Identity (AWS)',
  instance: 'Role of the container or instance (AWS)',
  assume_role: 'Role to assume (AWS)',
  metadata: 'Metadata server (Google)',
  federation: 'Workload identity federation (Google, Azure, OpenAI, Anthropic)',
  managed_identity: 'Managed identity (Azure)',
  environment: 'Environment of the service',
  static: 'Stored here, encrypted',
} as const;
const part = (name: string, label: string): Field => ({ name, label, kind: 'text' });
const secretPart = (name: string, label: string): Field => ({ name, label, kind: 'secret' });

/** The API says which fields a source of a kind takes. */
const credentialsField: Field = {
  name: 'credentials',
  label: 'Identity in a cloud, instead of a key',
  kind: 'group',
  help: html`All but stored ones use the identity of the service, which the operator must allow in <code>SVC_GATEWAY_CLOUD_IDENTITIES</code>.`,
  parts: [
    {
      name: 'source',
      label: 'Source',
      kind: 'select',
      options: [
        { value: '', label: 'None' },
        ...Object.entries(sourceLabels).map(([value, label]) => ({ value, label })),
      ],
    },
    part('role_arn', 'AWS: role'),
    part('external_id', 'AWS: external id'),
    part('access_key_id', 'AWS: access key id'),
    secretPart('secret_access_key', 'AWS: secret access key'),
    secretPart('session_token', 'AWS: session token'),
    part('audience', 'Google: provider of the workload identity pool'),
    part('service_account', 'Google: service account to impersonate'),
    secretPart('service_account_key', 'Google: service account key (JSON)'),
    part('tenant_id', 'Azure: tenant'),
    part('client_id', 'Azure: client id'),
    secretPart('client_secret', 'Azure: client secret'),
    part('identity_provider_id', 'OpenAI: identity provider'),
    part('service_account_id', 'OpenAI, Anthropic: service account'),
    part('federation_rule_id', 'Anthropic: federation rule'),
    part('organization_id', 'Anthropic: organization'),
    part('workspace_id', 'Anthropic: workspace'),
  ],
};
const timeoutLabels = [
  ['connect_ms', 'Connect (ms)'],
  ['first_byte_ms', 'First byte (ms)'],
  ['idle_ms', 'Between two parts (ms)'],
  ['total_ms', 'Total (ms)'],
] as const;
const routingFields: readonly Field[] = [
  {
    name: 'models',
    label: 'Models',
    kind: 'list',
    placeholder: 'gpt-*',
    help: html`One per line; <code>*</code> stands for any characters. Leave blank for every model.`,
  },
  {
    name: 'priority',
    label: 'Priority',
    kind: 'number',
    help: 'The lowest number is tried first. Default 100.',
  },
  {
    name: 'weight',
    label: 'Weight',
    kind: 'number',
    help: 'Share of the calls among connections of the same priority. Default 100.',
  },
  {
    name: 'timeouts',
    label: 'Timeouts',
    kind: 'group',
    parts: timeoutLabels.map(([name, label]) => ({ name, label, kind: 'number' })),
  },
  {
    name: 'headers',
    label: 'Additional headers',
    kind: 'lines',
    parts: [
      { name: 'name', label: 'Name', kind: 'text' },
      { name: 'value', label: 'Value', kind: 'text' },
    ],
  },
  {
    name: 'deployment_models',
    label: 'Models of deployments',
    kind: 'lines',
    help: 'For Azure, and for profiles of Bedrock by their ARN: these names have no price, so that calls are refused until you state their models.',
    parts: [
      { name: 'name', label: 'Deployment', kind: 'text' },
      { name: 'value', label: 'Model', kind: 'text' },
    ],
  },
];

function withDefaultUrl(kinds: readonly ShownKind[]): string {
  const labels = kinds.flatMap(({ label, hasDefaultUrl }) => (hasDefaultUrl ? [label] : []));
  return new Intl.ListFormat('en-GB').format(labels);
}

function urlHelp(kinds: readonly ShownKind[]): Part {
  const forms = kinds.flatMap(({ label, urlForm }) =>
    urlForm === undefined ? [] : [html` ${label}: <code>${urlForm}</code>.`],
  );
  return html`Leave blank for ${withDefaultUrl(kinds)}.${forms}`;
}

type NamedLine = { readonly name?: string; readonly value?: string };

const objectOf = (lines: readonly NamedLine[]) =>
  Object.fromEntries(lines.map(({ name = '', value = '' }) => [name, value]));

/** Headers and deployments are lines in the form, and objects in the API. */
function bodyFrom(body: Record<string, unknown>): object {
  const {
    models,
    headers = [],
    deployment_models: deployments = [],
    ...rest
  } = body as { models?: string[]; headers?: NamedLine[]; deployment_models?: NamedLine[] };
  return {
    ...rest,
    models: models === undefined || models.length === 0 ? null : models,
    headers: objectOf(headers),
    deployment_models: objectOf(deployments),
  };
}

function linesOf(field: string, values: Readonly<Record<string, string>>): [string, string][] {
  return Object.entries(values).flatMap(([name, value], index): [string, string][] => [
    [`${field}.${index}.name`, name],
    [`${field}.${index}.value`, value],
  ]);
}

function valuesFrom({ timeouts, headers, models, ...connection }: ConnectionResponse): Values {
  return {
    name: connection.name,
    base_url: connection.base_url,
    api_key_env: '',
    region: connection.region ?? '',
    models: models ?? [],
    priority: String(connection.priority),
    weight: String(connection.weight),
    ...Object.fromEntries(timeoutLabels.map(([name]) => [`timeouts.${name}`, String(timeouts[name])])),
    ...Object.fromEntries([
      ...linesOf('headers', headers),
      ...linesOf('deployment_models', connection.deployment_models),
    ]),
  };
}

export function keySource({ api_key_env, api_key_last_four, credentials }: ConnectionResponse): Part {
  if (credentials !== null) {
    return credentialsText(credentials);
  }
  return api_key_env === null
    ? html`<code>…${api_key_last_four ?? ''}</code>`
    : html`<code>$${api_key_env}</code>`;
}

function credentialsText(credentials: NonNullable<ConnectionResponse['credentials']>): Part {
  const { role_arn, service_account, audience, client_id, access_key_id } = credentials;
  const identity = role_arn ?? service_account ?? audience ?? client_id ?? access_key_id;
  return html`<code>${credentials.source}</code>${identity !== undefined && html` <code>${identity}</code>`}`;
}

/** Names the key to be replaced. Also makes the form of a deleted connection a 404 before anything is typed into it. */
async function currentKey(visit: ScreenVisit): Promise<Part> {
  const connection = await visit.api.get<'connections.read'>(apiPath(visit));
  return html`<p>Current key of <strong>${connection.name}</strong>: ${keySource(connection)}</p>`;
}

export const apiPath = ({ org, params }: ScreenVisit) =>
  org.path + pathOf('/connections/{connection_id}', params);

export const connectionFormScreens: readonly Screen[] = [
  ...formScreens({
    path: `${gatewayPath}/connections/new`,
    title: 'Create connection',
    intro: 'The gateway sends calls to this provider, with its key.',
    submit: 'Create connection',
    back: gatewayPath,
    fields: ({ connectionKinds }) => [
      nameField,
      {
        name: 'kind',
        label: 'Provider',
        kind: 'select',
        required: true,
        options: connectionKinds.map(({ name, label }) => ({ value: name, label })),
      },
      keyField,
      keyVariableField,
      credentialsField,
      { ...baseUrlField, help: urlHelp(connectionKinds) },
      regionField,
      ...routingFields,
    ],
    call: 'POST {org}/connections',
    body: bodyFrom,
    done: 'connection_created',
  }),
  ...formScreens({
    path: `${connectionPath}/edit`,
    title: 'Connection',
    submit: 'Save',
    back: connectionPath,
    fields: () => [
      nameField,
      {
        ...baseUrlField,
        required: true,
        help: 'A new URL needs the key again, so that a stored key cannot be sent elsewhere.',
      },
      { ...keyField, help: 'Leave blank to keep the current key. Rotate it instead for an overlap.' },
      { ...keyVariableField, help: 'Leave blank to keep the current source of the key.' },
      { ...credentialsField, help: 'Leave blank to keep the current source.' },
      regionField,
      ...routingFields,
    ],
    load: async (visit) => valuesFrom(await visit.api.get<'connections.read'>(apiPath(visit))),
    call: 'PATCH {org}/connections/{connection_id}',
    body: bodyFrom,
    done: 'saved',
  }),
  ...formScreens({
    path: `${connectionPath}/rotate`,
    title: 'Rotate key',
    intro: 'The new key is used from the next call.',
    submit: 'Rotate key',
    back: connectionPath,
    above: currentKey,
    fields: () => [
      keyField,
      keyVariableField,
      credentialsField,
      {
        name: 'overlap_seconds',
        label: 'Overlap (seconds)',
        kind: 'number',
        help: 'How long the old key may still be used if the provider refuses the new one. Default: one day.',
      },
    ],
    call: 'POST {org}/connections/{connection_id}/rotate',
    done: 'saved',
  }),
  actionScreen({
    path: `${connectionPath}/delete`,
    call: 'DELETE {org}/connections/{connection_id}',
    done: 'deleted',
    back: gatewayPath,
  }),
];
