import { type Static, Type } from 'typebox';
import { formatMessage } from '../../../contract/format-message.ts';
import { breakerPhases } from '../../../kernel/circuit-breaker.ts';
import { listParameters } from '../../../platform/http/routes/list.ts';
import { choice, closed, id, nullable, partial, timestamp } from '../../../platform/http/routes/schemas.ts';
import { failureReasons } from './connection.ts';
import { ConnectionCredentials, PublicCredentials } from './credentials-schema.ts';
import { headersMax } from './extra-headers.ts';
import { kindNames } from './kinds/index.ts';

export const modelsMax = 100;

const name = Type.String({
  minLength: 1,
  maxLength: 64,
  pattern: '^[a-z0-9][a-z0-9._-]*$',
  [formatMessage]:
    'Must be lowercase letters, digits, dots, hyphens and underscores, starting with a letter or digit.',
  description: 'Unique in the organization. Part of the path `/compat/{connection}/v1`.',
  examples: ['openai'],
});
const kind = choice(
  kindNames,
  'The API of the provider. `openai_compatible`: any provider with the API of OpenAI. `azure_openai`: the v1 API of Azure OpenAI, or one deployment. ' +
    '`vertex`: Vertex AI of Google Cloud, in one project and location. `bedrock`: Amazon Bedrock.',
);
const baseUrl = Type.String({
  minLength: 1,
  maxLength: 2_000,
  description:
    'URL of the API, as the SDK of the provider takes it: with `/v1` for the API of OpenAI, without a version for those of Anthropic, Google and Bedrock. ' +
    '`https`, without credentials, query and fragment. `http` and private addresses only if the deployment allows them. Required ' +
    'for `openai_compatible`, `azure_openai` (`https://{resource}.openai.azure.com/openai/v1`, or a deployment with its ' +
    '`?api-version=`) and `bedrock` (`https://bedrock-runtime.{region}.amazonaws.com`), and for `vertex` with project and location, or without both in ' +
    'express mode (`https://europe-west1-aiplatform.googleapis.com/projects/my-project/locations/europe-west1`). To change it, send the key too.',
  examples: ['https://api.openai.com/v1'],
});
const apiKey = Type.String({
  minLength: 1,
  maxLength: 4_000,
  pattern: '^[\\x21-\\x7e]+$',
  [formatMessage]: 'Must be ASCII characters without spaces and line breaks.',
  writeOnly: true,
  description: "The provider's key. It is stored encrypted and never returned.",
});
const apiKeyEnv = Type.String({
  minLength: 1,
  maxLength: 200,
  description:
    'Instead of `api_key`: name of an environment variable of the service. The operator must have listed it in ' +
    '`SVC_GATEWAY_API_KEY_ENVS`; its key is only sent to the URL that the operator allows.',
});
const region = Type.String({
  minLength: 1,
  maxLength: 64,
  pattern: '^[a-z0-9-]+$',
  [formatMessage]: 'Must be the name of a region, such as eu-west-1.',
  description: 'Region of a cloud whose requests are signed, if the URL does not name it.',
  examples: ['eu-west-1'],
});
const models = Type.Unsafe<string[] | null>({
  type: ['array', 'null'],
  items: { type: 'string', minLength: 1, maxLength: 200 },
  minItems: 1,
  maxItems: modelsMax,
  uniqueItems: true,
  description:
    'Models that the connection serves; `*` stands for any characters. Null: every model, but an `openai_compatible` connection ' +
    'then serves its own path `/compat/{connection}/v1` only.',
  examples: [['gpt-*', 'o4-mini']],
});
const priority = Type.Integer({
  minimum: 0,
  maximum: 1_000,
  description: 'Connections with a lower number are tried first.',
});
const weight = Type.Integer({
  minimum: 1,
  maximum: 1_000,
  description: 'Share of the calls among connections of the same priority.',
});
const headers = Type.Unsafe<Record<string, string>>({
  type: 'object',
  maxProperties: headersMax,
  propertyNames: { type: 'string', minLength: 1, maxLength: 100 },
  additionalProperties: { type: 'string', minLength: 1, maxLength: 1_000 },
  description:
    'Headers to add to each request, such as `openai-project`. Names are stored in lower case. Credentials and headers of the ' +
    'connection itself are rejected.',
  examples: [{ 'openai-project': 'proj_1' }],
});
const deploymentModels = Type.Unsafe<Record<string, string>>({
  type: 'object',
  maxProperties: modelsMax,
  propertyNames: { type: 'string', minLength: 1, maxLength: 200 },
  additionalProperties: { type: 'string', minLength: 1, maxLength: 200 },
  description:
    'Models of deployments, whose names have no price. A call is held at the price of this model, or of a more expensive one that has ' +
    'answered lately; the model that answers is charged. For `azure_openai`, and for profiles of `bedrock` by their ARN.',
  examples: [{ 'team-chat': 'gpt-4o' }],
});

function milliseconds(minimum: number, maximum: number, description: string) {
  return Type.Integer({ minimum, maximum, description });
}
const timeoutFields = {
  connect_ms: milliseconds(100, 60_000, 'Time to connect, including TLS.'),
  first_byte_ms: milliseconds(1_000, 1_800_000, 'Time until the response begins.'),
  idle_ms: milliseconds(1_000, 1_800_000, 'Time between two parts of the response.'),
  total_ms: milliseconds(1_000, 7_200_000, 'Time until the response ends.'),
};
const timeouts = partial(timeoutFields);
export const TimeoutsView = closed(timeoutFields);
export type TimeoutsView = Static<typeof TimeoutsView>;

export const defaultTimeouts: TimeoutsView = {
  connect_ms: 10_000,
  first_byte_ms: 600_000,
  idle_ms: 300_000,
  total_ms: 3_600_000,
};
export const defaultPriority = 100;
export const defaultWeight = 100;

export const BreakerView = closed({
  state: choice(
    breakerPhases,
    '`open`: failed too often, and is tried last. `half_open`: single calls try whether it works again.',
  ),
  consecutive_failures: Type.Integer(),
  retry_at: nullable(timestamp),
  last_failure: Type.Union(
    [
      closed({
        at: timestamp,
        reason: choice(
          failureReasons,
          '`status`: the provider answered with `status`. `key_unavailable`: the key cannot be decrypted, its variable is not set, it is a key of Purser, or no credential could be obtained.',
        ),
        status: nullable(Type.Integer()),
      }),
      Type.Null(),
    ],
    { description: 'Since the process started. Kept when the connection works again.' },
  ),
});
export type BreakerView = Static<typeof BreakerView>;

const viewed = {
  id,
  name: Type.String(),
  kind,
  base_url: Type.String(),
  api_key_last_four: nullable(
    Type.String({ description: 'Last characters of the key; null for a key of less than 12 characters.' }),
  ),
  api_key_env: nullable(Type.String()),
  api_key_set_at: timestamp,
  credentials: Type.Union([PublicCredentials, Type.Null()], {
    description: 'The credentials without their secrets. Null: the connection has a key.',
  }),
  region: nullable(region),
  previous_key_until: nullable(
    Type.String({
      format: 'date-time',
      description:
        'End of the time in which the previous key is used if the provider refuses the current one.',
    }),
  ),
  models,
  priority,
  weight,
  timeouts: TimeoutsView,
  headers: Type.Record(Type.String(), Type.String()),
  deployment_models: Type.Record(Type.String(), Type.String()),
  created_at: timestamp,
  updated_at: timestamp,
};

/** A connection without the state of its breaker, which belongs to one process. */
export const StoredConnectionView = closed(viewed);
export type StoredConnectionView = Static<typeof StoredConnectionView>;

/** The state of credentials in the process that answers. */
export const CredentialView = closed({
  is_failing: Type.Boolean({ description: 'Whether the last acquisition or renewal has failed.' }),
  renewed_at: nullable(timestamp),
  expires_at: nullable(timestamp),
  last_failure: Type.Union([closed({ at: timestamp, reason: Type.String() }), Type.Null()], {
    description: 'Kept when the renewal works again.',
  }),
});
export type CredentialView = Static<typeof CredentialView>;

export const ConnectionView = closed({
  ...viewed,
  formats: Type.Array(Type.String(), {
    description:
      'Wire formats that its provider speaks, of which each has calls below its own base URL of the gateway. `chat` of `anthropic`, `gemini` ' +
      'and `vertex` is for their own models.',
    examples: [['chat', 'messages']],
  }),
  breaker: BreakerView,
  credential_state: Type.Union([CredentialView, Type.Null()], {
    description: 'Since the process started. Null: the connection has a key.',
  }),
});
export type ConnectionView = Static<typeof ConnectionView>;

export const CreateConnection = closed({
  name,
  kind,
  base_url: Type.Optional(baseUrl),
  api_key: Type.Optional(apiKey),
  api_key_env: Type.Optional(apiKeyEnv),
  credentials: Type.Optional(ConnectionCredentials),
  region: Type.Optional(nullable(region)),
  models: Type.Optional(models),
  priority: Type.Optional(priority),
  weight: Type.Optional(weight),
  timeouts: Type.Optional(timeouts),
  headers: Type.Optional(headers),
  deployment_models: Type.Optional(deploymentModels),
});
export type CreateConnection = Static<typeof CreateConnection>;

/** The kind of a connection cannot be changed. */
export const PatchConnection = partial({
  name,
  base_url: baseUrl,
  api_key: apiKey,
  api_key_env: apiKeyEnv,
  credentials: ConnectionCredentials,
  region: nullable(region),
  models,
  priority,
  weight,
  timeouts,
  headers,
  deployment_models: deploymentModels,
});
export type PatchConnection = Static<typeof PatchConnection>;

export const overlapSecondsMax = 30 * 86_400;
export const overlapSecondsDefault = 86_400;

export const RotateConnectionKey = closed({
  api_key: Type.Optional(apiKey),
  api_key_env: Type.Optional(apiKeyEnv),
  credentials: Type.Optional(ConnectionCredentials),
  overlap_seconds: Type.Optional(
    Type.Integer({
      minimum: 0,
      maximum: overlapSecondsMax,
      default: overlapSecondsDefault,
      description:
        'How long the old key or credentials may still be used if the provider refuses the new one with 401 or 403. A key of an ' +
        'environment variable has no overlap.',
    }),
  ),
});
export type RotateConnectionKey = Static<typeof RotateConnectionKey>;

export const connectionSorts = { created_at: 'timestamptz', name: 'text', priority: 'int8' } as const;
export const ConnectionFilters = listParameters(connectionSorts, {
  kind: Type.Optional(kind),
  name: Type.Optional(Type.String({ minLength: 1, maxLength: 64 })),
});
export type ConnectionFilters = Static<typeof ConnectionFilters>;
