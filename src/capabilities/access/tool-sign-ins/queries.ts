import type { OrgRole } from '../../../contract/scopes.ts';
import { changeChannel } from '../../../platform/db/change-channel.ts';
import type { Queryable } from '../../../platform/db/database.ts';
import { tableOf } from '../../../platform/db/table.ts';
import { type Condition, type PageOf, selectPage } from '../../../platform/http/routes/list.ts';
import { type CredentialOrgRow, credentialOrgColumns } from '../keys/index.ts';
import type { EndReason, ToolSignInFilters, ToolSignInStatus } from './schema.ts';
import { toolSignInSorts } from './schema.ts';

/** Notifies of changes of a member or of their tool sign-ins, which are part of cached credentials. The payload is the id of the member. */
export const memberAccessChanged = changeChannel('member_access_changed');

export interface ToolSignInRow {
  readonly org_id: string;
  readonly id: string;
  readonly member_id: string;
  /** The console session in which it was approved, and how that session was opened. */
  readonly session_id: string;
  readonly method: string;
  readonly client_id: string;
  readonly address: string;
  readonly user_agent: string;
  readonly created_at: Date;
  readonly renewed_at: Date | null;
  readonly expires_at: Date;
  readonly ended_at: Date | null;
  readonly end_reason: EndReason | null;
}

/** A sign-in with the current state of its member and its org. */
export interface HeldToolSignInRow extends ToolSignInRow, CredentialOrgRow {
  /** Null if the member does not exist anymore. */
  readonly member_name: string | null;
  readonly member_role: OrgRole | null;
  readonly member_removed_at: Date | null;
}

export interface ToolTokenRow {
  readonly digest: string;
  readonly org_id: string;
  readonly sign_in_id: string;
  readonly kind: 'access' | 'refresh';
  readonly created_at: Date;
  readonly expires_at: Date;
  /** When the next tokens were issued for a refresh token. */
  readonly used_at: Date | null;
}

export const { insert: insertSignIn } = tableOf<ToolSignInRow>()('tool_sign_ins', {
  columns: `org_id, id, member_id, session_id, method, client_id, address, user_agent, created_at, renewed_at, expires_at, ended_at,
    end_reason`,
  key: ['org_id', 'id'],
});

export const {
  insert: insertToken,
  find: findToken,
  lock: lockToken,
} = tableOf<ToolTokenRow>()('tool_tokens', {
  columns: 'digest, org_id, sign_in_id, kind, created_at, expires_at, used_at',
  key: ['org_id', 'digest'],
});

/** Removed orgs are left out, so that their tokens end with them. */
const held = `
  SELECT s.*, m.name AS member_name, m.role AS member_role, m.removed_at AS member_removed_at, ${credentialOrgColumns}
    FROM tool_sign_ins s
    LEFT JOIN members m ON m.org_id = s.org_id AND m.id = s.member_id
    LEFT JOIN orgs o ON o.id = s.org_id AND o.removed_at IS NULL`;

export interface AccessTokenRow extends HeldToolSignInRow {
  readonly token_expires_at: Date;
}

/** Searches all tenants like `findKeyByDigest`, because the digest determines the tenant. */
export async function findAccessToken(db: Queryable, digest: string): Promise<AccessTokenRow | undefined> {
  const [row] = await db.query<AccessTokenRow>(
    `SELECT held.*, t.expires_at AS token_expires_at
       FROM tool_tokens t JOIN (${held}) AS held ON held.org_id = t.org_id AND held.id = t.sign_in_id
      WHERE t.digest = $1 AND t.kind = 'access'`,
    [digest],
  );
  return row;
}

export async function lockSignIn(
  tx: Queryable,
  orgId: string,
  signInId: string,
): Promise<HeldToolSignInRow | undefined> {
  const [row] = await tx.query<HeldToolSignInRow>(
    `${held} WHERE s.org_id = $1 AND s.id = $2 FOR UPDATE OF s`,
    [orgId, signInId],
  );
  return row;
}

/** The sign-ins that end together. */
export type EndedTogether =
  | { readonly memberId: string }
  | { readonly sessionId: string }
  | { readonly methods: readonly string[]; readonly exceptSessionId: string | undefined };

/** Locks and returns sign-ins that have no end yet. */
export async function lockSignIns(
  tx: Queryable,
  orgId: string,
  which: EndedTogether,
): Promise<HeldToolSignInRow[]> {
  const member = 'memberId' in which ? which.memberId : null;
  const session = 'sessionId' in which ? which.sessionId : null;
  const [methods, except] =
    'methods' in which ? [which.methods, which.exceptSessionId ?? null] : [null, null];
  return tx.query<HeldToolSignInRow>(
    `${held}
      WHERE s.org_id = $1 AND s.ended_at IS NULL AND s.member_id = coalesce($2, s.member_id)
        AND s.session_id = coalesce($3, s.session_id) AND ($4::text[] IS NULL OR s.method = ANY($4))
        AND s.session_id IS DISTINCT FROM $5
      ORDER BY s.id FOR UPDATE OF s`,
    [orgId, member, session, methods, except],
  );
}

export async function updateSignInEnd(
  tx: Queryable,
  { org_id, id, ended_at, end_reason }: ToolSignInRow,
): Promise<void> {
  await tx.query('UPDATE tool_sign_ins SET ended_at = $3, end_reason = $4 WHERE org_id = $1 AND id = $2', [
    org_id,
    id,
    ended_at,
    end_reason,
  ]);
}

export async function updateRenewal(
  tx: Queryable,
  { org_id, id, renewed_at, expires_at }: ToolSignInRow,
): Promise<void> {
  await tx.query('UPDATE tool_sign_ins SET renewed_at = $3, expires_at = $4 WHERE org_id = $1 AND id = $2', [
    org_id,
    id,
    renewed_at,
    expires_at,
  ]);
}

export async function useToken(tx: Queryable, { org_id, digest }: ToolTokenRow, now: Date): Promise<void> {
  await tx.query('UPDATE tool_tokens SET used_at = $3 WHERE org_id = $1 AND digest = $2', [
    org_id,
    digest,
    now,
  ]);
}

export interface ToolSignInListing {
  readonly orgId: string;
  /** Only lists sign-ins of this member; undefined: of all. */
  readonly memberId: string | undefined;
  readonly now: Date;
}

export async function listSignIns(
  db: Queryable,
  { orgId, memberId, now }: ToolSignInListing,
  query: ToolSignInFilters,
): Promise<PageOf<HeldToolSignInRow>> {
  return selectPage<HeldToolSignInRow>(db, {
    select: `SELECT * FROM (${held}) AS held`,
    where: [
      ['org_id = ?', orgId],
      ['member_id = ?', memberId],
      ['member_id = ?', query.member_id],
      ...statusConditions(query.status, now),
    ],
    sorts: toolSignInSorts,
    defaultSort: '-created_at',
    query,
  });
}

/** Returns conditions with the same precedence as `signInStatus`: ended, then expired. */
function statusConditions(status: ToolSignInStatus | undefined, now: Date): Condition[] {
  const isEnded = '(ended_at IS NOT NULL OR member_removed_at IS NOT NULL)';
  switch (status) {
    case undefined:
      return [];
    case 'ended':
      return [[`${isEnded} = ?`, true]];
    case 'expired':
      return [
        [`${isEnded} = ?`, false],
        ['expires_at <= ?', now],
      ];
    case 'active':
      return [
        [`${isEnded} = ?`, false],
        ['expires_at > ?', now],
      ];
  }
}
