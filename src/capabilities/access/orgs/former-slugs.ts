/**
 * A slug that an org gave up is held for that org for a year: sign-in addresses contain the slug, so with it another org would
 * get the people who follow an old link. Whatever takes a slug writes it first and checks it then: by that time the one
 * who gives it up at the same moment has committed, since the slug is unique.
 */
import { type ApiError, apiError } from '../../../contract/api-error.ts';
import type { Queryable } from '../../../platform/db/database.ts';

const heldDays = 365;
/** More would let an org take many slugs from everybody else. */
const heldPerOrgMax = 20;

function heldSince(now: Date): Date {
  return new Date(now.getTime() - heldDays * 24 * 3_600_000);
}

export function refuseHeld(): ApiError {
  return apiError('conflict', 'The slug was given up by another organization less than a year ago.');
}

/** Whether it is held for another org than this one. */
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

/** Holds the old slug and takes the new one, under the lock of the org; refuses one that is held for another. */
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
    throw apiError('conflict', `An organization can give up ${heldPerOrgMax} slugs a year.`);
  }
}
