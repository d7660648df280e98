/** `credentials` of a connection, in requests and responses. */
import { type Static, type TStringOptions, Type } from 'typebox';
import { formatMessage } from '../../../contract/format-message.ts';
import { awsSources } from '../../../platform/cloud-credentials/aws/index.ts';
import { azureSources } from '../../../platform/cloud-credentials/azure/index.ts';
import { anthropicSources } from '../../../platform/cloud-credentials/exchanges/anthropic.ts';
import { openAiSources } from '../../../platform/cloud-credentials/exchanges/openai.ts';
import { googleSources } from '../../../platform/cloud-credentials/google/index.ts';
import { choice, closed, nullable } from '../../../platform/http/routes/schemas.ts';

/** Names of credential sources. The same name may stand for different sources in two clouds. */
export const sourceNames = [
  ...new Set(
    [awsSources, googleSources, azureSources, openAiSources, anthropicSources].flatMap((sources) =>
      Object.keys(sources),
    ),
  ),
].sort();

const source = choice(
  sourceNames,
  'Where the credentials come from. `static`: from the fields of this object, stored encrypted. AWS: `web_identity` (IAM role of a Kubernetes ' +
    'service account, EKS Pod Identity), `instance` (role of a container or instance), `assume_role`, `environment`. Google: `federation`, ' +
    '`metadata`, `environment`. Azure: `federation` (workload identity), `managed_identity`, `environment`. OpenAI and Anthropic: `federation`. ' +
    'All but `static` use an identity of the service, which the operator must allow in `SVC_GATEWAY_CLOUD_IDENTITIES`.',
);
const inHeader = {
  pattern: '^[\\x21-\\x7e]+$',
  [formatMessage]: 'Must be ASCII characters without spaces and line breaks.',
};
const line = (maxLength: number, description: string, more: TStringOptions = {}) =>
  Type.Optional(Type.String({ minLength: 1, maxLength, ...more, description }));
const secret = (maxLength: number, description: string, more: TStringOptions = {}) =>
  line(maxLength, `${description} Stored encrypted and never returned.`, { ...more, writeOnly: true });

export const ConnectionCredentials = closed({
  source,
  role_arn: line(600, 'AWS: the role that `assume_role` assumes.'),
  external_id: line(
    1_224,
    'AWS: the external id for a role that the keys of this object assume. If the service assumes it, it is the id of the organization.',
  ),
  session_tags: Type.Optional(
    Type.Unsafe<Readonly<Record<string, string>> | null>({
      type: ['object', 'null'],
      maxProperties: 40,
      propertyNames: { type: 'string', minLength: 1, maxLength: 128 },
      additionalProperties: { type: 'string', maxLength: 256 },
      description:
        'AWS: tags of the session of a role, besides `purser-org` and `purser-connection`. The role must allow `sts:TagSession`. Null: no tags.',
    }),
  ),
  access_key_id: line(128, 'AWS: id of the access key for `static` and `assume_role`.', inHeader),
  audience: line(400, 'Google: provider of the workload identity pool for `federation`.'),
  subject: Type.Optional(
    choice(
      ['token_file', 'aws'] as const,
      'Google: what `federation` exchanges. `token_file`, the default: the token of the service for `google` in ' +
        '`SVC_GATEWAY_IDENTITY_TOKEN_FILES`. `aws`: the identity of the service at AWS.',
    ),
  ),
  service_account: line(320, 'Google: e-mail address of a service account to impersonate.'),
  tenant_id: line(128, 'Azure: tenant. For `federation` by default that of the service.'),
  client_id: line(128, 'Azure: application, or client id of a managed identity that the user has created.'),
  identity_provider_id: line(200, 'OpenAI: the workload identity provider.'),
  service_account_id: line(200, 'OpenAI and Anthropic: the service account.'),
  federation_rule_id: line(200, 'Anthropic: the federation rule.'),
  organization_id: line(200, 'Anthropic: the organization.'),
  workspace_id: line(200, 'Anthropic: the workspace, if the rule has several.'),
  secret_access_key: secret(256, 'AWS: the secret access key.', inHeader),
  session_token: secret(8_000, 'AWS: the session token of temporary keys.', inHeader),
  service_account_key: secret(10_000, 'Google: the JSON of a key of a service account, as text.'),
  client_secret: secret(1_000, 'Azure: a secret of the application.'),
  client_certificate: secret(
    30_000,
    'Azure: PEM with a certificate of the application and its RSA private key.',
  ),
});
export type ConnectionCredentials = Static<typeof ConnectionCredentials>;

const text = Type.Optional(Type.String());

/** Without the secrets. */
export const PublicCredentials = closed({
  source: choice(sourceNames),
  role_arn: text,
  external_id: text,
  session_tags: Type.Optional(nullable(Type.Record(Type.String(), Type.String()))),
  access_key_id: text,
  audience: text,
  subject: text,
  service_account: text,
  tenant_id: text,
  client_id: text,
  identity_provider_id: text,
  service_account_id: text,
  federation_rule_id: text,
  organization_id: text,
  workspace_id: text,
});
export type PublicCredentials = Static<typeof PublicCredentials>;
