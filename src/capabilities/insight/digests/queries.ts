import type { Queryable } from '../../../platform/db/database.ts';

export interface DigestOrg {
  readonly id: string;
  readonly timezone: string;
}

/** Returns those of these organizations that exist, with their time zones. */
export function selectOrgs(db: Queryable, orgIds: readonly string[]): Promise<DigestOrg[]> {
  return db.query<DigestOrg>(
    'SELECT id, timezone FROM orgs WHERE id = ANY($1) AND removed_at IS NULL ORDER BY id',
    [orgIds],
  );
}

/** Returns the digests of these organizations that were emitted since a date. */
export function selectEmitted(
  db: Queryable,
  orgIds: readonly string[],
  since: Date,
): Promise<{ readonly org_id: string; readonly due_on: string }[]> {
  return db.query(
    `SELECT org_id, due_on::text AS due_on FROM weekly_digests WHERE org_id = ANY($1) AND due_on >= $2::timestamptz::date`,
    [orgIds, since],
  );
}

/** Returns false if another process was first. */
export async function insertEmitted(
  tx: Queryable,
  digest: {
    readonly orgId: string;
    readonly dueOn: string;
    readonly eventId: string;
    readonly now: Date;
  },
): Promise<boolean> {
  const rows = await tx.query(
    `INSERT INTO weekly_digests (org_id, due_on, event_id, created_at) VALUES ($1, $2::text::date, $3, $4)
     ON CONFLICT DO NOTHING RETURNING 1 AS one`,
    [digest.orgId, digest.dueOn, digest.eventId, digest.now],
  );
  return rows.length > 0;
}
