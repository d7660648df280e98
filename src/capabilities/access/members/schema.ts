import { type Static, Type } from 'typebox';
import { orgRoles } from '../../../contract/scopes.ts';
import { listParameters } from '../../../platform/http/routes/list.ts';
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
  examples: ['ada@example.com'],
  description: 'Kept in lowercase.',
});

export const MemberView = closed({
  id,
  name: Type.String(),
  email: nullable(Type.String()),
  role: choice(orgRoles),
  status: choice(memberStatuses),
  issuer: nullable(Type.String({ description: 'Where the person signs in, once they have.' })),
  subject: nullable(Type.String({ description: 'Who the person is there.' })),
  link_expires_at: nullable(
    Type.String({ format: 'date-time', description: 'Set while there is a link that signs the person in.' }),
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
        'Signs the person in, once. It is shown this once: hand it over yourself, no mail is sent. Null where the ' +
        'org requires SSO: then the person signs in there.',
    }),
  ),
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
  status: Type.Optional(choice(memberStatuses, 'Default: those who are not removed.')),
  role: Type.Optional(choice(orgRoles)),
  email: Type.Optional(Type.String({ minLength: 1, maxLength: 254 })),
});
export type MemberFilters = Static<typeof MemberFilters>;
