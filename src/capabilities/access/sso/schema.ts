import { type Static, Type } from 'typebox';
import { orgRoles } from '../../../contract/scopes.ts';
import { choice, closed, name, nullable, timestamp } from '../../../platform/http/routes/schemas.ts';

export const ssoKinds = ['oidc', 'saml'] as const;
export type SsoKind = (typeof ssoKinds)[number];

const url = (example: string, description: string) =>
  Type.String({ minLength: 1, maxLength: 2_000, examples: [example], description });

const RoleMapping = Type.Array(
  closed({
    group: Type.String({ ...name, description: 'As the identity provider calls it.' }),
    role: choice(orgRoles),
  }),
  {
    maxItems: 200,
    description:
      'The role that a group gives; of several the highest. Where there is any, the groups decide at every sign-in.',
  },
);

const allowedEmailDomains = Type.Array(
  Type.String({ minLength: 1, maxLength: 253, pattern: '^[^\\s@]+$', examples: ['example.com'] }),
  { maxItems: 100, description: 'Only people with an address in one of these may sign in. Empty: all.' },
);

const justInTime = Type.Boolean({
  description:
    'Whether somebody who is no member yet becomes one by signing in. Default true with SAML. With OIDC it is true where ' +
    '`allowed_email_domains` are named, or `role_mapping` with `default_role` null; else anybody with an account at the ' +
    'issuer would get in, so that has to be asked for.',
});
const required = Type.Boolean({
  description:
    'Whether people have to sign in this way: keys and invitation links then open no session of the console. Keys ' +
    'still call the API. Default false.',
});
const defaultRole = Type.Unsafe<(typeof orgRoles)[number] | null>({
  type: ['string', 'null'],
  enum: [...orgRoles, null],
  description: 'The role where no group gives one; null: then nobody gets in. Default `viewer`.',
});
const groupsAttribute = Type.String({
  minLength: 1,
  maxLength: 200,
  examples: ['groups'],
  description: 'The claim or attribute that names the groups. Default `groups`.',
});

export const PutSso = closed({
  kind: Type.Optional(choice(ssoKinds, 'Default: told by the fields.')),
  issuer: Type.Optional(url('https://login.example.com', 'OIDC: the issuer, exactly as it calls itself.')),
  client_id: Type.Optional(Type.String({ minLength: 1, maxLength: 500, description: 'OIDC.' })),
  client_secret: Type.Optional(
    Type.String({
      minLength: 1,
      maxLength: 2_000,
      description: 'OIDC. Never answered. Left out: the one before stays, for the same issuer and client.',
    }),
  ),
  scope: Type.Optional(
    Type.String({
      minLength: 1,
      maxLength: 500,
      pattern: '^openid( [\\x21-\\x7e]+)*$',
      examples: ['openid email profile groups'],
      description: 'OIDC: what is asked for. Default `openid email profile`.',
    }),
  ),
  idp_entity_id: Type.Optional(
    url('https://idp.example.com/metadata', 'SAML: what the identity provider calls itself.'),
  ),
  idp_sso_url: Type.Optional(url('https://idp.example.com/sso', 'SAML: where people are sent, by redirect.')),
  idp_certificate: Type.Optional(
    Type.String({
      minLength: 1,
      maxLength: 10_000,
      description: 'SAML: what assertions are signed with, as PEM or base64.',
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
  login_url: Type.String({ description: 'Where people of the org sign in.' }),
  redirect_url: nullable(
    Type.String({
      description:
        'OIDC: the redirect URI where the issuer announces `authorization_response_iss_parameter_supported`.',
    }),
  ),
  org_redirect_url: nullable(
    Type.String({ description: 'OIDC: the redirect URI with any other issuer. Register both if in doubt.' }),
  ),
  sp_entity_id: nullable(
    Type.String({ description: 'SAML: what Purser calls itself; also the address of its metadata.' }),
  ),
  acs_url: nullable(Type.String({ description: 'SAML: where assertions are posted to.' })),
  created_at: timestamp,
  updated_at: timestamp,
});
export type SsoView = Static<typeof SsoView>;
