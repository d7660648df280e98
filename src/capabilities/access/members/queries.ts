import type { OrgRole } from '../../../contract/scopes.ts';
import type { Queryable, Transaction } from '../../../platform/db/database.ts';
import { tableOf } from '../../../platform/db/table.ts';
import {
  type Condition,
  type PageOf,
  searchCondition,
  selectPage,
} from '../../../platform/http/routes/list.ts';
import { memberAccessChanged } from '../tool-sign-ins/index.ts';
import { type MemberFilters, type MemberStatus, memberSorts } from './schema.ts';

export interface MemberRow {
  readonly org_id: string;
  readonly id: string;
  readonly name: string;
  readonly email: string | null;
  readonly role: OrgRole;
  readonly issuer: string | null;
  readonly subject: string | null;
  readonly link_digest: string | null;
  readonly link_expires_at: Date | null;
  readonly created_at: Date;
  readonly updated_at: Date;
  /** First sign-in; null if there was none. */
  readonly joined_at: Date | null;
  readonly last_sign_in_at: Date | null;
  readonly removed_at: Date | null;
}

const columns = `org_id, id, name, email, role, issuer, subject, link_digest, link_expires_at, created_at, updated_at, joined_at,
  last_sign_in_at, removed_at`;

const members = tableOf<MemberRow>()('members', { columns, key: ['org_id', 'id'] });
export const { find: findMember, lock: lockMember } = members;

/** Updates a member. Tools of the member notice it with their next request. */
export async function updateMember(tx: Transaction, member: MemberRow): Promise<void> {
  await members.update(tx, member);
  await memberAccessChanged.notify(tx, member.id);
}

/** Inserts a member. Returns false if another member has this address or identity. */
export async function insertMember(tx: Queryable, member: MemberRow): Promise<boolean> {
  const inserted = await tx.query(
    `INSERT INTO members (${columns}) VALUES (${members.placeholders}) ON CONFLICT DO NOTHING RETURNING 1 AS one`,
    members.valuesOf(member),
  );
  return inserted.length > 0;
}

/** Searches all tenants, because the link determines the tenant. */
export async function findByLink(db: Queryable, digest: string): Promise<MemberRow | undefined> {
  const [row] = await db.query<MemberRow>(`SELECT ${columns} FROM members WHERE link_digest = $1`, [digest]);
  return row;
}

/** Returns the latest member with this identity, who may have been removed. */
export async function findByIdentity(
  db: Queryable,
  orgId: string,
  issuer: string,
  subject: string,
): Promise<MemberRow | undefined> {
  const [row] = await db.query<MemberRow>(
    `SELECT ${columns} FROM members WHERE org_id = $1 AND issuer = $2 AND subject = $3
      ORDER BY removed_at DESC NULLS FIRST LIMIT 1`,
    [orgId, issuer, subject],
  );
  return row;
}

export async function findByEmail(
  db: Queryable,
  orgId: string,
  email: string,
): Promise<MemberRow | undefined> {
  const [row] = await db.query<MemberRow>(
    `SELECT ${columns} FROM members WHERE org_id = $1 AND email = $2 AND removed_at IS NULL`,
    [orgId, email],
  );
  return row;
}

/** Returns true if a member with one of these addresses was removed and not invited again. */
export async function wasRemoved(db: Queryable, orgId: string, emails: readonly string[]): Promise<boolean> {
  const removed = await db.query(
    `SELECT 1 AS one FROM members AS removed
      WHERE org_id = $1 AND email = ANY($2::text[]) AND removed_at IS NOT NULL
        AND NOT EXISTS (SELECT 1 FROM members AS invited
                         WHERE invited.org_id = $1 AND invited.email = removed.email AND invited.removed_at IS NULL)
      LIMIT 1`,
    [orgId, emails],
  );
  return removed.length > 0;
}

/**
 * Returns the ids of all memberships of the same people. A person who was removed and invited again has several. Ids that are not
 * of members are left out.
 */
export async function findMemberships(
  db: Queryable,
  orgId: string,
  memberIds: readonly string[],
): Promise<string[]> {
  const rows = await db.query<{ id: string }>(
    `WITH RECURSIVE person AS (
       SELECT id, email, issuer, subject FROM members WHERE org_id = $1 AND id = ANY($2)
       UNION
       SELECT other.id, other.email, other.issuer, other.subject
         FROM members AS other JOIN person
           ON other.email = person.email OR (other.issuer = person.issuer AND other.subject = person.subject)
        WHERE other.org_id = $1
     )
     SELECT id FROM person`,
    [orgId, memberIds],
  );
  return rows.map(({ id }) => id);
}

/** Returns true if the org has another owner who has joined. Must be called under the org's lock. */
export async function hasOtherOwner(tx: Queryable, { org_id, id }: MemberRow): Promise<boolean> {
  const others = await tx.query(
    `SELECT 1 AS one FROM members WHERE org_id = $1 AND id <> $2 AND role = 'owner' AND joined_at IS NOT NULL
        AND removed_at IS NULL LIMIT 1`,
    [org_id, id],
  );
  return others.length > 0;
}

/** Returns all members and invitations, oldest first. */
export async function selectMembers(db: Queryable, orgId: string): Promise<MemberRow[]> {
  return db.query<MemberRow>(
    `SELECT ${columns} FROM members WHERE org_id = $1 AND removed_at IS NULL ORDER BY created_at, id`,
    [orgId],
  );
}

export async function listMembers(
  db: Queryable,
  orgId: string,
  query: MemberFilters,
): Promise<PageOf<MemberRow>> {
  return selectPage<MemberRow>(db, {
    select: `SELECT ${columns} FROM members`,
    where: [
      ['org_id = ?', orgId],
      ['role = ?', query.role],
      ['email = ?', query.email?.toLowerCase()],
      searchCondition(['name', 'email', 'id'], query.search),
      statusCondition(query.status),
    ],
    sorts: memberSorts,
    defaultSort: '-created_at',
    query,
  });
}

function statusCondition(status: MemberStatus | undefined): Condition {
  switch (status) {
    case undefined:
      return ['(removed_at IS NULL) = ?', true];
    case 'removed':
      return ['(removed_at IS NOT NULL) = ?', true];
    case 'active':
      return ['(joined_at IS NOT NULL AND removed_at IS NULL) = ?', true];
    case 'invited':
      return ['(joined_at IS NULL AND removed_at IS NULL) = ?', true];
  }
}
