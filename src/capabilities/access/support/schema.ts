import { type Static, Type } from 'typebox';
import { type KeyScope, scopes } from '../../../contract/scopes.ts';
import { listParameters } from '../../../platform/http/routes/list.ts';
import { choice, closed, id, nullable, reason, timestamp } from '../../../platform/http/routes/schemas.ts';

/**
 * Scopes that support sessions never get. With them, an operator could gain permanent access, approve its own grants, receive
 * events or call content after the grant has ended, or spend the organization's money at its providers.
 */
const neverGranted: readonly KeyScope[] = [
  'keys:write',
  'org:write',
  'webhooks:write',
  'connections:write',
  'gateway:call',
];
export const grantableScopes = scopes.filter((scope) => !neverGranted.includes(scope));

export const grantHoursMax = 8;

export const grantStatuses = ['pending', 'active', 'denied', 'expired', 'revoked'] as const;
export type GrantStatus = (typeof grantStatuses)[number];

export const GrantView = closed({
  id,
  org_id: id,
  scope: Type.Array(Type.String()),
  reason: Type.String(),
  status: choice(grantStatuses, '`pending`: the organization must approve it first.'),
  created_by: Type.String({ description: 'Key of the operator.' }),
  created_at: timestamp,
  expires_at: timestamp,
  needs_approval: Type.Boolean(),
  decided_by: nullable(Type.String({ description: 'Key of the organization that approved or denied it.' })),
  decided_at: nullable(timestamp),
  revoked_by: nullable(Type.String()),
  revoked_at: nullable(timestamp),
});
export type GrantView = Static<typeof GrantView>;

export const CreateGrant = closed({
  org_id: Type.String({ minLength: 1, maxLength: 100 }),
  scope: Type.Array(choice(grantableScopes) as ReturnType<typeof Type.Unsafe<KeyScope>>, {
    minItems: 1,
    maxItems: grantableScopes.length,
    uniqueItems: true,
    description:
      'Scopes of its sessions, which cannot be changed. `keys:write`, `org:write`, `webhooks:write` and ' +
      'operations that require an owner are never granted.',
  }),
  reason,
  expires_at: Type.String({
    format: 'date-time',
    description: `End of the grant, at most ${grantHoursMax} hours ahead.`,
    examples: ['2026-11-15T18:00:00Z'],
  }),
});
export type CreateGrant = Static<typeof CreateGrant>;

export const SupportSessionView = closed({
  id,
  grant_id: id,
  org_id: id,
  scope: Type.Array(Type.String()),
  operator_key_id: Type.String(),
  created_at: timestamp,
  expires_at: timestamp,
});
export type SupportSessionView = Static<typeof SupportSessionView>;

export const OpenedSession = closed({
  ...SupportSessionView.properties,
  token: Type.String({
    description: 'Use it as a bearer token. It is shown only once.',
  }),
});

const grantSorts = { created_at: 'timestamptz' } as const;
export const OwnGrantFilters = listParameters(grantSorts, {
  status: Type.Optional(choice(grantStatuses)),
});
export type OwnGrantFilters = Static<typeof OwnGrantFilters>;
export const GrantFilters = listParameters(grantSorts, {
  org_id: Type.Optional(Type.String({ minLength: 1, maxLength: 100 })),
  status: Type.Optional(choice(grantStatuses)),
});
export type GrantFilters = Static<typeof GrantFilters>;
export { grantSorts };

export const accessKinds = [
  'grant_created',
  'grant_approved',
  'grant_denied',
  'grant_revoked',
  'session_opened',
  'request',
] as const;
export type AccessKind = (typeof accessKinds)[number];

export const AccessEntry = closed({
  id,
  at: timestamp,
  kind: choice(accessKinds),
  grant_id: id,
  session_id: nullable(Type.String()),
  actor_id: Type.String({ description: 'Key of the operator or, for a decision, of the organization.' }),
  method: nullable(Type.String()),
  path: nullable(Type.String({ description: 'Path of the request, without its query.' })),
  operation: nullable(Type.String()),
  outcome: nullable(
    Type.String({
      description: '`allowed`: the grant permitted the request. `denied`: the request was rejected.',
    }),
  ),
  code: nullable(Type.String({ description: 'Error code of a denied request.' })),
  address: nullable(Type.String()),
  trace_id: nullable(Type.String()),
});
export type AccessEntry = Static<typeof AccessEntry>;

export const accessSorts = { at: 'timestamptz' } as const;
export const AccessFilters = listParameters(accessSorts, {
  kind: Type.Optional(choice(accessKinds)),
  grant_id: Type.Optional(Type.String({ minLength: 1, maxLength: 100 })),
  session_id: Type.Optional(Type.String({ minLength: 1, maxLength: 100 })),
  actor_id: Type.Optional(Type.String({ minLength: 1, maxLength: 100 })),
  outcome: Type.Optional(choice(['allowed', 'denied'])),
});
export type AccessFilters = Static<typeof AccessFilters>;

export const SettingsView = closed({
  allowed: Type.Boolean({ description: 'Whether operators can be granted support access.' }),
  approval_required: Type.Boolean({
    description: 'Whether an admin of the organization must approve each grant.',
  }),
});
export type SettingsView = Static<typeof SettingsView>;
