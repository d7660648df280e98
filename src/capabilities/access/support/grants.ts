/**
 * Life cycle of a support grant: an operator creates it, the org approves it if it requires approval, it is used through sessions,
 * and it ends. The access of a grant never changes; more access requires a new grant.
 */
import { apiError, found, invalidField } from '../../../contract/api-error.ts';
import type { EventType } from '../../../contract/events.ts';
import type { Queryable, Transaction } from '../../../platform/db/database.ts';
import { generateKey, keyDigest } from '../../../platform/http/routes/key-format.ts';
import { changeOf } from '../../../platform/http/routes/outcomes.ts';
import type { Change, HandlerContext } from '../../../platform/http/routes/route.ts';
import type { Ids } from '../../../platform/ids.ts';
import { lockOrg } from '../orgs/index.ts';
import {
  countSessions,
  findGrant,
  findSettings,
  type GrantRow,
  insertAccess,
  insertGrant,
  insertSession,
  lockOpenGrants,
  type SupportSessionRow,
  updateFate,
  upsertSettings,
} from './queries.ts';
import {
  type AccessKind,
  type CreateGrant,
  type GrantStatus,
  type GrantView,
  grantHoursMax,
  type SettingsView,
  type SupportSessionView,
} from './schema.ts';

const hourMs = 3_600_000;
const sessionsPerGrantMax = 100;
/** The middle part of tokens, where keys have the environment. */
export const tokenEnvironment = 'support';

/** The actor of an action, its time, and the address and trace id of its request. */
export type ActionContext = Pick<HandlerContext, 'caller' | 'now' | 'address' | 'traceId'>;

export function grantStatus(grant: GrantRow, now: Date): GrantStatus {
  if (grant.revoked_at !== null) {
    return 'revoked';
  }
  if (grant.approved === false) {
    return 'denied';
  }
  if (grant.expires_at <= now) {
    return 'expired';
  }
  return grant.needs_approval && grant.approved === null ? 'pending' : 'active';
}

export function viewGrant(grant: GrantRow, now: Date): GrantView {
  const { approved: _, created_at, expires_at, decided_at, revoked_at, scope, ...rest } = grant;
  return {
    ...rest,
    scope: [...scope],
    status: grantStatus(grant, now),
    created_at: created_at.toISOString(),
    expires_at: expires_at.toISOString(),
    decided_at: decided_at?.toISOString() ?? null,
    revoked_at: revoked_at?.toISOString() ?? null,
  };
}

export function viewSession(session: SupportSessionRow, grant: GrantRow): SupportSessionView {
  return {
    id: session.id,
    grant_id: session.grant_id,
    org_id: session.org_id,
    scope: [...grant.scope],
    operator_key_id: session.operator_key_id,
    created_at: session.created_at.toISOString(),
    expires_at: grant.expires_at.toISOString(),
  };
}

export async function createGrant(
  tx: Transaction,
  ids: Ids,
  context: ActionContext,
  body: CreateGrant,
): Promise<GrantRow> {
  const { now, caller } = context;
  const expiresAt = new Date(body.expires_at);
  if (expiresAt <= now || expiresAt.getTime() > now.getTime() + grantHoursMax * hourMs) {
    throw invalidField(
      'expires_at',
      'out_of_range',
      `Must be in the future, at most ${grantHoursMax} hours ahead.`,
    );
  }
  if ((await lockOrg(tx, body.org_id)) === undefined) {
    throw invalidField('org_id', 'invalid_value', 'Organization not found.');
  }
  const settings = await findSettings(tx, body.org_id);
  if (!settings.allowed) {
    throw apiError('conflict', 'The organization has forbidden support access.');
  }
  const grant: GrantRow = {
    org_id: body.org_id,
    id: ids.next('sgr'),
    scope: body.scope,
    reason: body.reason,
    created_by: caller.keyId,
    created_at: now,
    expires_at: expiresAt,
    needs_approval: settings.approval_required,
    approved: null,
    decided_at: null,
    decided_by: null,
    revoked_at: null,
    revoked_by: null,
  };
  await insertGrant(tx, grant);
  await note(tx, ids, context, 'grant_created', grant);
  return grant;
}

/** Transition of a grant to another status. */
export interface Move {
  readonly before: GrantRow;
  readonly after: GrantRow;
}

export async function decideGrant(
  tx: Transaction,
  ids: Ids,
  context: ActionContext,
  { orgId, grantId, approved }: { orgId: string; grantId: string; approved: boolean },
): Promise<Move> {
  const before = await requireGrant(tx, orgId, grantId);
  const status = grantStatus(before, context.now);
  if (status !== 'pending') {
    throw apiError('conflict', `The grant is not pending. Its status is ${status}.`);
  }
  const after: GrantRow = { ...before, approved, decided_at: context.now, decided_by: context.caller.keyId };
  await updateFate(tx, after);
  await note(tx, ids, context, approved ? 'grant_approved' : 'grant_denied', after);
  return { before, after };
}

/** Revokes a grant, for an operator (`orgId` null) or the org. Has no effect on a revoked or denied grant, so it can be repeated. */
export async function revokeGrant(
  tx: Transaction,
  ids: Ids,
  context: ActionContext,
  { orgId, grantId }: { orgId: string | null; grantId: string },
): Promise<Move | undefined> {
  const before = await requireGrant(tx, orgId, grantId);
  const isOver = before.revoked_at !== null || before.approved === false;
  return isOver ? undefined : revoke(tx, ids, context, before);
}

async function revoke(tx: Transaction, ids: Ids, context: ActionContext, before: GrantRow): Promise<Move> {
  const after: GrantRow = { ...before, revoked_at: context.now, revoked_by: context.caller.keyId };
  await updateFate(tx, after);
  await note(tx, ids, context, 'grant_revoked', after);
  return { before, after };
}

export interface Opened {
  readonly session: SupportSessionRow;
  readonly grant: GrantRow;
  readonly token: string;
}

export async function openSession(
  tx: Transaction,
  ids: Ids,
  context: ActionContext,
  grantId: string,
): Promise<Opened> {
  const grant = await requireGrant(tx, null, grantId);
  const status = grantStatus(grant, context.now);
  if (status !== 'active') {
    throw apiError(
      'conflict',
      status === 'pending'
        ? 'The organization has not approved the grant yet.'
        : `The status of the grant is ${status}.`,
    );
  }
  if ((await countSessions(tx, grant.org_id, grant.id)) >= sessionsPerGrantMax) {
    throw apiError('conflict', `The limit of ${sessionsPerGrantMax} sessions per grant is reached.`);
  }
  const token = generateKey(tokenEnvironment);
  const session: SupportSessionRow = {
    org_id: grant.org_id,
    id: ids.next('sse'),
    grant_id: grant.id,
    digest: keyDigest(token),
    operator_key_id: context.caller.keyId,
    created_at: context.now,
  };
  await insertSession(tx, session);
  await note(tx, ids, context, 'session_opened', grant, session.id);
  return { session, grant, token };
}

export interface SettingsChange {
  readonly before: SettingsView;
  readonly revoked: readonly Move[];
}

/** Replaces the settings. Forbidding support access ends all open grants. */
export async function putSettings(
  tx: Transaction,
  ids: Ids,
  context: ActionContext,
  orgId: string,
  settings: SettingsView,
): Promise<SettingsChange> {
  await lockOrg(tx, orgId);
  const before = await findSettings(tx, orgId);
  await upsertSettings(tx, orgId, settings, context.now);
  const revoked: Move[] = [];
  for (const grant of settings.allowed ? [] : await lockOpenGrants(tx, orgId, context.now)) {
    revoked.push(await revoke(tx, ids, context, grant));
  }
  return { before, revoked };
}

async function requireGrant(tx: Transaction, orgId: string | null, grantId: string): Promise<GrantRow> {
  return found(await findGrant(tx, orgId, grantId, 'lock'));
}

/** Adds an entry to the org's log of support access. */
async function note(
  tx: Transaction,
  ids: Ids,
  { caller, now, address, traceId }: ActionContext,
  kind: AccessKind,
  grant: GrantRow,
  sessionId: string | null = null,
): Promise<void> {
  await insertAccess(tx, {
    org_id: grant.org_id,
    id: ids.next('sac'),
    at: now,
    kind,
    grant_id: grant.id,
    session_id: sessionId,
    actor_id: caller.keyId,
    method: null,
    path: null,
    operation: null,
    outcome: null,
    code: null,
    address,
    trace_id: traceId,
  });
}

/** Returns the audit entry and the event of a change, for the org. */
export function grantChange(
  { before, after }: Partial<Move> & Pick<Move, 'after'>,
  now: Date,
  event: EventType,
): Change {
  const views = { before: before && viewGrant(before, now), after: viewGrant(after, now) };
  return changeOf('support_grant', after, views, event);
}

/** Returns true if the org admits operators without approval. Only then may they enter without a grant. */
export async function admitsWithoutApproval(tx: Queryable, orgId: string): Promise<boolean> {
  const { allowed, approval_required } = await findSettings(tx, orgId);
  return allowed && !approval_required;
}
