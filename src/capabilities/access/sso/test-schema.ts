import { type Static, Type } from 'typebox';
import { orgRoles } from '../../../contract/scopes.ts';
import { choice, closed, id, nullable, timestamp } from '../../../platform/http/routes/schemas.ts';
import { PutSso, ssoKinds } from './schema.ts';
import { testStatuses } from './test-queries.ts';

const url = Type.String();

export const SsoEndpoints = closed({
  oidc: closed({
    login_url: url,
    redirect_url: Type.String({
      description: 'Redirect URI if the issuer announces `authorization_response_iss_parameter_supported`.',
    }),
    org_redirect_url: Type.String({
      description: 'Redirect URI for other issuers. Register both if in doubt.',
    }),
  }),
  saml: closed({
    login_url: url,
    sp_entity_id: Type.String({ description: 'Entity id of Purser, and the URL of its metadata.' }),
    acs_url: Type.String({ description: 'Assertion consumer service URL.' }),
  }),
});
export type SsoEndpoints = Static<typeof SsoEndpoints>;

export const CreateSsoTest = closed({
  settings: Type.Optional(
    Type.Object(PutSso.properties, {
      additionalProperties: false,
      description: 'Settings to test, as in `PUT …/sso`. Default: those in force.',
    }),
  ),
});
export type CreateSsoTest = Static<typeof CreateSsoTest>;

export const testOutcomes = ['allowed', 'refused', 'failed'] as const;

export const SsoTestResult = closed({
  outcome: choice(
    testOutcomes,
    '`allowed`: the sign-in would succeed. `refused`: the person may not sign in. `failed`: the answer of the ' +
      'identity provider cannot be used.',
  ),
  reason: nullable(Type.String({ description: 'Why it is refused or has failed.' })),
  detail: nullable(Type.String({ description: 'Technical cause of a failure.' })),
  subject: nullable(Type.String()),
  email: nullable(Type.String({ description: 'Only if it is verified.' })),
  name: nullable(Type.String()),
  groups: Type.Array(Type.String()),
  role: nullable(Type.String({ enum: [...orgRoles, null], description: 'The role after the sign-in.' })),
  member: nullable(
    Type.String({
      enum: ['existing', 'new', null],
      description: '`new`: the sign-in would create the member.',
    }),
  ),
  claims: Type.Unsafe<Record<string, unknown>>({
    type: 'object',
    description: 'Claims (OIDC) or attributes (SAML) by name, as the identity provider sent them.',
  }),
});
export type SsoTestResult = Static<typeof SsoTestResult>;

export const SsoTestView = closed({
  id,
  kind: choice(ssoKinds),
  status: choice(testStatuses, '`started`: a browser was sent to the identity provider.'),
  result: nullable(SsoTestResult),
  created_at: timestamp,
  expires_at: Type.String({ ...timestamp, description: 'The test, or its result, is deleted then.' }),
});
export type SsoTestView = Static<typeof SsoTestView>;

export const CreatedSsoTest = closed({
  ...SsoTestView.properties,
  start_url: Type.String({ description: 'Open it in a browser, once. It leads to the identity provider.' }),
});
