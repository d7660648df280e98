import { type Static, Type } from 'typebox';
import { listParameters } from '../../../platform/http/routes/list.ts';
import { choice, closed, id, nullable, timestamp } from '../../../platform/http/routes/schemas.ts';

export const toolSignInStatuses = ['active', 'expired', 'ended'] as const;
export type ToolSignInStatus = (typeof toolSignInStatuses)[number];

export const endReasons = [
  'ended',
  'signed_out',
  'session_ended',
  'member_removed',
  'sso_changed',
  'refresh_token_reused',
] as const;
export type EndReason = (typeof endReasons)[number];

export const ToolSignInView = closed({
  id,
  member_id: Type.String(),
  member_name: Type.String(),
  client_id: Type.String({
    description:
      'The id that the tool stated, such as `purser-cli`. Empty if it stated none, like Claude Code.',
  }),
  address: Type.String({ description: 'Address that the tool signed in from.' }),
  user_agent: Type.String({ description: 'User agent of the tool.' }),
  session_id: Type.String({ description: 'The console session in which the sign-in was approved.' }),
  status: choice(toolSignInStatuses),
  created_at: timestamp,
  renewed_at: nullable(
    Type.String({
      format: 'date-time',
      description: 'When the tool last got a token. Null if it never got one.',
    }),
  ),
  expires_at: Type.String({ ...timestamp, description: 'When the person must sign in again.' }),
  ended_at: nullable(timestamp),
  end_reason: Type.Unsafe<EndReason | null>({ type: ['string', 'null'], enum: [...endReasons, null] }),
});
export type ToolSignInView = Static<typeof ToolSignInView>;

export const toolSignInSorts = { created_at: 'timestamptz' } as const;
export const ToolSignInFilters = listParameters(toolSignInSorts, {
  status: Type.Optional(choice(toolSignInStatuses)),
  member_id: Type.Optional(id),
});
export type ToolSignInFilters = Static<typeof ToolSignInFilters>;
