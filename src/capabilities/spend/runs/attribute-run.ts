/** The first stage of a run: applies the locked values of its key. Other values of the key are defaults for the scope. */
import type { Attribution } from '../../../contract/attribution.ts';
import { contradictedLock } from '../../../ledger/attribution.ts';
import { hasRun } from '../../../ledger/postings/ledger-writes.ts';
import type { Queryable } from '../../../platform/db/database.ts';
import type { Caller } from '../../../platform/http/routes/access.ts';
import type { CreateRun } from './schema.ts';

/**
 * Returns the field in which a new run contradicts a locked value. A repeated run stays valid, even if its key was locked to other
 * values since. Returns a promise only if that must be looked up.
 */
export function contradictedField(
  db: Queryable,
  { tenantId, attribution }: Caller,
  body: CreateRun,
): undefined | Promise<string | undefined> {
  const field = attribution && contradictedLock(body, attribution);
  return field === undefined ? undefined : unlessKnown(db, tenantId, body, field);
}

async function unlessKnown(
  db: Queryable,
  orgId: string,
  { external_id: externalId }: CreateRun,
  field: string,
): Promise<string | undefined> {
  return externalId !== undefined && (await hasRun(db, orgId, externalId)) ? undefined : field;
}

/** Returns the body without the fields that the key locks. */
export function withoutLocked<Body extends CreateRun>(
  body: Body,
  attribution: Attribution | undefined,
): Body {
  if (attribution === undefined || attribution.locked.length === 0) {
    return body;
  }
  const rest = { ...body };
  for (const field of attribution.locked) {
    if (field === 'tags') {
      const fixed = attribution.values.tags ?? {};
      const tags = Object.entries(body.tags ?? {}).filter(([name]) => !Object.hasOwn(fixed, name));
      rest.tags = Object.fromEntries(tags);
    } else {
      delete rest[field];
    }
  }
  return rest;
}
