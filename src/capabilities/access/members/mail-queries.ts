/** Statements about sign-in links that wait to be sent by e-mail or were sent within the last hour. */
import type { Queryable } from '../../../platform/db/database.ts';

export interface MemberMailRow {
  readonly org_id: string;
  readonly id: string;
  readonly member_id: string;
  readonly sealed: Uint8Array;
  /** Digest of the link. Empty if the member signs in with SSO, because the message then has no link. */
  readonly link_digest: string;
  readonly attempt_count: number;
}

/**
 * Queues a message. Replaces waiting messages for the same member, whose links are no longer valid. A message that is being sent
 * stays, so that it is counted.
 */
export async function insertMail(
  tx: Queryable,
  { org_id, id, member_id, sealed, link_digest }: Omit<MemberMailRow, 'attempt_count'>,
  now: Date,
): Promise<void> {
  await tx.query(
    `DELETE FROM member_mails
      WHERE org_id = $1 AND member_id = $2 AND sent_at IS NULL AND leased_until IS NULL`,
    [org_id, member_id],
  );
  await tx.query(
    `INSERT INTO member_mails (org_id, id, member_id, sealed, link_digest, due_at, created_at)
     VALUES ($1, $2, $3, $4, $5, $6, $6)`,
    [org_id, id, member_id, sealed, link_digest, now],
  );
}

/** Counts the messages of an organization that are waiting or were sent since a time: all of them, and those to one address. */
export async function countMails(
  tx: Queryable,
  orgId: string,
  email: string,
  since: Date,
): Promise<{ readonly all: number; readonly toAddress: number }> {
  // Counted by address, because a person who is removed and invited again becomes another member.
  const [row] = await tx.query<{ all: bigint; own: bigint }>(
    `SELECT count(*) AS all, count(*) FILTER (WHERE member.email = $2) AS own
       FROM member_mails mail JOIN members member ON member.org_id = mail.org_id AND member.id = mail.member_id
      WHERE mail.org_id = $1 AND (mail.sent_at IS NULL OR mail.sent_at > $3)`,
    [orgId, email, since],
  );
  return { all: Number(row?.all ?? 0n), toAddress: Number(row?.own ?? 0n) };
}

/** Claims messages that are due. If their process dies, they are claimed again after the lease. */
export function claimMails(
  db: Queryable,
  at: Date,
  leaseSeconds: number,
  limit: number,
): Promise<MemberMailRow[]> {
  return db.query<MemberMailRow>(
    `UPDATE member_mails SET leased_until = now() + make_interval(secs => $2)
      WHERE (org_id, id) IN (
        SELECT org_id, id FROM member_mails
         WHERE sent_at IS NULL AND due_at <= $1 AND (leased_until IS NULL OR leased_until < now())
         ORDER BY due_at LIMIT $3 FOR UPDATE SKIP LOCKED)
     RETURNING org_id, id, member_id, sealed, link_digest, attempt_count`,
    [at, leaseSeconds, limit],
  );
}

export async function postponeMail(
  db: Queryable,
  { org_id, id }: Pick<MemberMailRow, 'org_id' | 'id'>,
  dueAt: Date,
): Promise<void> {
  await db.query(
    `UPDATE member_mails SET due_at = $3, attempt_count = attempt_count + 1, leased_until = NULL
      WHERE org_id = $1 AND id = $2`,
    [org_id, id, dueAt],
  );
}

/** Marks a message as sent. `sealed` replaces the encrypted link. */
export async function markMailSent(
  db: Queryable,
  { org_id, id }: Pick<MemberMailRow, 'org_id' | 'id'>,
  sealed: Uint8Array,
  at: Date,
): Promise<void> {
  await db.query('UPDATE member_mails SET sent_at = $3, sealed = $4 WHERE org_id = $1 AND id = $2', [
    org_id,
    id,
    at,
    sealed,
  ]);
}

export async function deleteSentMails(db: Queryable, before: Date): Promise<void> {
  await db.query('DELETE FROM member_mails WHERE sent_at <= $1', [before]);
}

export async function deleteMail(
  db: Queryable,
  { org_id, id }: Pick<MemberMailRow, 'org_id' | 'id'>,
): Promise<void> {
  await db.query('DELETE FROM member_mails WHERE org_id = $1 AND id = $2', [org_id, id]);
}
