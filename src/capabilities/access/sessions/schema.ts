import { type Static, Type } from 'typebox';
import { orgRoles } from '../../../contract/scopes.ts';
import { listParameters } from '../../../platform/http/routes/list.ts';
import { choice, closed, id, nullable, timestamp } from '../../../platform/http/routes/schemas.ts';

export const sessionMethods = ['key', 'link', 'invitation', 'oidc', 'saml'] as const;
export type SessionMethod = (typeof sessionMethods)[number];

export const sessionStatuses = ['active', 'expired', 'revoked'] as const;
export type SessionStatus = (typeof sessionStatuses)[number];

export const SessionView = closed({
  id,
  method: choice(sessionMethods, 'How it was opened.'),
  key_id: nullable(Type.String({ description: 'The key whose session it is.' })),
  member_id: nullable(Type.String({ description: 'The member whose session it is.' })),
  name: Type.String({ description: 'The name of that key or member.' }),
  role: choice([...orgRoles, 'operator']),
  address: Type.String({ description: 'Where it was opened from.' }),
  user_agent: Type.String({ description: 'What the browser called itself.' }),
  status: choice(sessionStatuses),
  current: Type.Boolean({ description: 'Whether it is the session that asks.' }),
  created_at: timestamp,
  last_seen_at: Type.String({ ...timestamp, description: 'Correct to the minute.' }),
  expires_at: Type.String({
    ...timestamp,
    description: 'When it is over if nothing more is done; while it is used this moves on, up to a limit.',
  }),
  ended_at: nullable(Type.String({ format: 'date-time', description: 'When it was ended by somebody.' })),
});
export type SessionView = Static<typeof SessionView>;

export const sessionSorts = { created_at: 'timestamptz', last_seen_at: 'timestamptz' } as const;
export const SessionFilters = listParameters(sessionSorts, {
  status: Type.Optional(choice(sessionStatuses)),
  method: Type.Optional(choice(sessionMethods)),
  key_id: Type.Optional(id),
  member_id: Type.Optional(id),
});
export type SessionFilters = Static<typeof SessionFilters>;
