/**
 * Reserves a former slug for its org for a year. Sign-in URLs contain the slug, so another org with the same slug would receive
 * people who follow an old link. A new slug is written before it is checked: by then a concurrent transaction that gives it up has
 * committed, because slugs are unique.
 */
import { type ApiError, apiError } from '../../../contract/api-error.ts';
import type { Queryable } from '../../../platform/db/database.ts';

const heldDays = 365;
/** Maximum number of reserved slugs per org, so that no org can block many slugs. */
const heldPerOrgMax = 20;

function heldSince(now: Date): Date {
  return new Date(now.getTime() - heldDays * 24 * 3_600_000);
}

export function refuseHeld(): ApiError {
  return apiError(
    'conflict',
    'Another organization used this slug less than a year ago. Choose another slug.',
  );
}

/** Returns true if the slug is reserved for another org. */
export async function isHeldForAnother(
  tx: Queryable,
  slug: string,
  orgId: string,
  now: Date,
): Promise<boolean> {
  const held = await tx.query(
    'SELECT 1 AS one FROM former_slugs WHERE slug = $1 AND former_org <> $2 AND given_up_at > $3',
    [slug, orgId, heldSince(now)],
  );
  return held.length > 0;
}

export async function holdSlug(tx: Queryable, slug: string, orgId: string, now: Date): Promise<void> {
  await tx.query(
    `INSERT INTO former_slugs (slug, former_org, given_up_at) VALUES ($1, $2, $3)
     ON CONFLICT (slug) DO UPDATE SET former_org = excluded.former_org, given_up_at = excluded.given_up_at`,
    [slug, orgId, now],
  );
}

/**
 * Reserves the old slug and releases the new one, which must be written before. Throws if the new slug is reserved for another org.
 * Must be called under the org's lock.
 */
export async function changeSlug(
  tx: Queryable,
  orgId: string,
  { from, to }: { readonly from: string; readonly to: string },
  now: Date,
): Promise<void> {
  if (await isHeldForAnother(tx, to, orgId, now)) {
    throw refuseHeld();
  }
  await tx.query('DELETE FROM former_slugs WHERE slug = $1 OR (former_org = $2 AND given_up_at <= $3)', [
    to,
    orgId,
    heldSince(now),
  ]);
  await holdSlug(tx, from, orgId, now);
  const held = await tx.query('SELECT 1 AS one FROM former_slugs WHERE former_org = $1 LIMIT $2', [
    orgId,
    heldPerOrgMax + 1,
  ]);
  if (held.length > heldPerOrgMax) {
    throw apiError('conflict', `The slug can be changed at most ${heldPerOrgMax} times a year.`);
  }
}
