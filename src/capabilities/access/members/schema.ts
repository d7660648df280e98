import { type Static, Type } from 'typebox';
import { formatMessage } from '../../../contract/format-message.ts';
import { orgRoles } from '../../../contract/scopes.ts';
import { listParameters, searchFilter } from '../../../platform/http/routes/list.ts';
import {
  choice,
  closed,
  id,
  name,
  nullable,
  partial,
  timestamp,
} from '../../../platform/http/routes/schemas.ts';

export const memberStatuses = ['invited', 'active', 'removed'] as const;
export type MemberStatus = (typeof memberStatuses)[number];

const email = Type.String({
  minLength: 3,
  maxLength: 254,
  pattern: '^[^\\s@<>"]+@[^\\s@<>"]+$',
  [formatMessage]: 'Must be an e-mail address.',
  examples: ['ada@example.com'],
  description: 'Stored in lowercase.',
});

export const MemberView = closed({
  id,
  name: Type.String(),
  email: nullable(Type.String()),
  role: choice(orgRoles),
  status: choice(memberStatuses),
  issuer: nullable(Type.String({ description: 'Issuer of the identity provider, after the first sign-in.' })),
  subject: nullable(Type.String({ description: 'Subject at the identity provider.' })),
  link_expires_at: nullable(
    Type.String({ format: 'date-time', description: 'Set while there is a sign-in link.' }),
  ),
  created_at: timestamp,
  updated_at: timestamp,
  joined_at: nullable(timestamp),
  last_sign_in_at: nullable(timestamp),
  removed_at: nullable(timestamp),
});
export type MemberView = Static<typeof MemberView>;

export const InvitedMember = closed({
  ...MemberView.properties,
  sign_in_url: nullable(
    Type.String({
      description:
        'One-time sign-in link. It is shown only once; unless it is e-mailed, send it to the person yourself. Null if ' +
        'the organization requires SSO.',
    }),
  ),
  emailed: Type.Boolean({
    description:
      'The invitation or link is sent to the e-mail address of the member. False if the deployment has no mail server, ' +
      'the member has no usable address, or within an hour the address got 5 of these e-mails or the organization sent 200.',
  }),
});
export type InvitedMember = Static<typeof InvitedMember>;

export const InviteMember = closed({
  email,
  name: Type.Optional(Type.String({ ...name, description: 'Default: the e-mail address.' })),
  role: choice(orgRoles),
});
export type InviteMember = Static<typeof InviteMember>;

export const PatchMember = partial({ name, role: choice(orgRoles) });
export type PatchMember = Static<typeof PatchMember>;

export const memberSorts = { created_at: 'timestamptz', name: 'text' } as const;
export const MemberFilters = listParameters(memberSorts, {
  status: Type.Optional(choice(memberStatuses, 'Default: all except removed members.')),
  role: Type.Optional(choice(orgRoles)),
  email: Type.Optional(Type.String({ minLength: 1, maxLength: 254 })),
  ...searchFilter('the name, email address or id'),
});
export type MemberFilters = Static<typeof MemberFilters>;
