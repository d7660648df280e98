import { type Static, Type } from 'typebox';
import { formatMessage } from '../../../contract/format-message.ts';
import { orgRoles } from '../../../contract/scopes.ts';
import { choice, closed, name, nullable, timestamp } from '../../../platform/http/routes/schemas.ts';

export const ssoKinds = ['oidc', 'saml'] as const;
export type SsoKind = (typeof ssoKinds)[number];

const url = (example: string, description: string) =>
  Type.String({ minLength: 1, maxLength: 2_000, examples: [example], description });

const RoleMapping = Type.Array(
  closed({
    group: Type.String({ ...name, description: 'Name at the identity provider.' }),
    role: choice(orgRoles),
  }),
  {
    maxItems: 200,
    description:
      'Role that a group grants; the highest wins. If any mapping exists, groups determine the role at every ' +
      'sign-in.',
  },
);

const allowedEmailDomains = Type.Array(
  Type.String({
    minLength: 1,
    maxLength: 253,
    pattern: '^[^\\s@]+$',
    [formatMessage]: 'Must be a domain, such as example.com.',
    examples: ['example.com'],
  }),
  {
    maxItems: 100,
    description: 'Only people with an address in one of these domains can sign in. Empty: all.',
  },
);

const justInTime = Type.Boolean({
  description:
    'Whether a person becomes a member by signing in. Default true with SAML. With OIDC the default is true ' +
    'only if `allowed_email_domains` is set, or `role_mapping` with `default_role` null; otherwise anyone with ' +
    'an account at the issuer could join, so it must be enabled explicitly.',
});
const required = Type.Boolean({
  description:
    'Whether single sign-on is required: keys and invitation links no longer open console sessions. Keys still ' +
    'work with the API. Default false.',
});
const defaultRole = Type.Unsafe<(typeof orgRoles)[number] | null>({
  type: ['string', 'null'],
  enum: [...orgRoles, null],
  description: 'Role if no group grants one; null: the sign-in is rejected. Default `viewer`.',
});
const groupsAttribute = Type.String({
  minLength: 1,
  maxLength: 200,
  examples: ['groups'],
  description: 'Claim or attribute with the groups. Default `groups`.',
});

export const PutSso = closed({
  kind: Type.Optional(choice(ssoKinds, 'Default: derived from the other fields.')),
  issuer: Type.Optional(
    url('https://login.example.com', 'OIDC: issuer identifier, exactly as the provider states it.'),
  ),
  client_id: Type.Optional(Type.String({ minLength: 1, maxLength: 500, description: 'OIDC.' })),
  client_secret: Type.Optional(
    Type.String({
      minLength: 1,
      maxLength: 2_000,
      description:
        'OIDC. Write-only. If omitted, the previous secret is kept for the same issuer and client.',
    }),
  ),
  scope: Type.Optional(
    Type.String({
      minLength: 1,
      maxLength: 500,
      pattern: '^openid( [\\x21-\\x7e]+)*$',
      [formatMessage]: 'Must be scopes separated by single spaces, the first of them `openid`.',
      examples: ['openid email profile groups'],
      description: 'OIDC: requested scopes. Default `openid email profile`.',
    }),
  ),
  idp_entity_id: Type.Optional(
    url('https://idp.example.com/metadata', 'SAML: entity id of the identity provider.'),
  ),
  idp_sso_url: Type.Optional(
    url('https://idp.example.com/sso', 'SAML: sign-in URL of the identity provider (redirect binding).'),
  ),
  idp_certificate: Type.Optional(
    Type.String({
      minLength: 1,
      maxLength: 10_000,
      description: 'SAML: certificate that signs assertions, as PEM or base64.',
    }),
  ),
  groups_attribute: Type.Optional(groupsAttribute),
  role_mapping: Type.Optional(RoleMapping),
  default_role: Type.Optional(defaultRole),
  allowed_email_domains: Type.Optional(allowedEmailDomains),
  just_in_time: Type.Optional(justInTime),
  required: Type.Optional(required),
});
export type PutSso = Static<typeof PutSso>;

export const SsoView = closed({
  kind: choice(ssoKinds),
  issuer: nullable(Type.String()),
  client_id: nullable(Type.String()),
  client_secret_set: Type.Boolean(),
  scope: nullable(Type.String()),
  idp_entity_id: nullable(Type.String()),
  idp_sso_url: nullable(Type.String()),
  idp_certificate: nullable(Type.String()),
  groups_attribute: Type.String(),
  role_mapping: RoleMapping,
  default_role: defaultRole,
  allowed_email_domains: Type.Array(Type.String()),
  just_in_time: justInTime,
  required,
  login_url: Type.String({ description: 'Sign-in page of the organization.' }),
  redirect_url: nullable(
    Type.String({
      description:
        'OIDC: redirect URI if the issuer announces `authorization_response_iss_parameter_supported`.',
    }),
  ),
  org_redirect_url: nullable(
    Type.String({ description: 'OIDC: redirect URI for other issuers. Register both if in doubt.' }),
  ),
  sp_entity_id: nullable(
    Type.String({ description: 'SAML: entity id of Purser, and the URL of its metadata.' }),
  ),
  acs_url: nullable(Type.String({ description: 'SAML: assertion consumer service URL.' })),
  created_at: timestamp,
  updated_at: timestamp,
});
export type SsoView = Static<typeof SsoView>;
