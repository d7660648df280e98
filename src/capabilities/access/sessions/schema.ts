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
  method: choice(sessionMethods, 'How the session was opened.'),
  key_id: nullable(Type.String({ description: 'The key that holds the session.' })),
  member_id: nullable(Type.String({ description: 'The member who holds the session.' })),
  name: Type.String({ description: 'Name of that key or member.' }),
  role: choice([...orgRoles, 'operator']),
  address: Type.String({ description: 'Address that the session was opened from.' }),
  user_agent: Type.String({ description: 'User agent of the browser.' }),
  status: choice(sessionStatuses),
  current: Type.Boolean({ description: 'Whether this is the session of the request.' }),
  created_at: timestamp,
  last_seen_at: Type.String({ ...timestamp, description: 'Accurate to a minute.' }),
  expires_at: Type.String({
    ...timestamp,
    description: 'When the session ends without further use. Use extends it, up to a limit.',
  }),
  ended_at: nullable(Type.String({ format: 'date-time', description: 'When the session was ended.' })),
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
