/** Life cycle of an organization: created, changed, suspended, reinstated. */
import { apiError, found } from '../../../contract/api-error.ts';
import { notifyLimitChanged, notifyLimitsChanged } from '../../../ledger/limits/change-notifications.ts';
import { isUniqueViolation, type Transaction } from '../../../platform/db/database.ts';
import type { Ids } from '../../../platform/ids.ts';
import { checkTimezone } from '../../../platform/time/time-zone.ts';
import { changeSlug, isHeldForAnother, refuseHeld } from './former-slugs.ts';
import { insertOrg, lockOrg, type OrgRow, orgChanged, updateOrg } from './queries.ts';
import type { CreateOrg, OrgView, PatchOrg } from './schema.ts';

export function viewOrg(org: OrgRow): OrgView {
  const { ip_allow_list: _, created_at, updated_at, ...rest } = org;
  return { ...rest, created_at: created_at.toISOString(), updated_at: updated_at.toISOString() };
}

export async function createOrg(tx: Transaction, ids: Ids, now: Date, body: CreateOrg): Promise<OrgRow> {
  const org: OrgRow = {
    id: ids.next('org'),
    name: body.name,
    slug: body.slug ?? slugOf(body.name),
    timezone: checkTimezone(body.timezone ?? 'UTC'),
    home_region: body.home_region ?? null,
    residency_mode: 'forward',
    on_unsettled: 'release',
    status: 'active',
    suspension_reason: null,
    ip_allow_list: [],
    created_at: now,
    updated_at: now,
  };
  // Ends with a part of the random id, so this slug is free.
  const other: OrgRow = { ...org, slug: `${org.slug}-${org.id.slice(-8)}` };
  const isInserted = await insertOrg(tx, org);
  if (isInserted && !(await isHeldForAnother(tx, org.slug, org.id, now))) {
    return org;
  }
  if (body.slug !== undefined) {
    throw isInserted ? refuseHeld() : apiError('conflict', 'The slug is taken.');
  }
  if (isInserted) {
    await refusingTakenSlug(updateOrg(tx, other));
  } else if (!(await insertOrg(tx, other))) {
    throw apiError('conflict', 'The slug is taken.');
  }
  return other;
}

export interface OrgChange {
  readonly before: OrgRow;
  readonly after: OrgRow;
}

export async function patchOrg(
  tx: Transaction,
  orgId: string,
  now: Date,
  patch: PatchOrg,
): Promise<OrgChange> {
  if (patch.timezone !== undefined) {
    checkTimezone(patch.timezone);
  }
  return changeOrg(tx, orgId, now, () => patch);
}

export async function suspendOrg(
  tx: Transaction,
  orgId: string,
  now: Date,
  reason?: string,
): Promise<OrgChange> {
  return changeOrg(tx, orgId, now, ({ status }) => {
    if (status === 'suspended') {
      throw apiError('conflict', 'The organization is already suspended.');
    }
    return { status: 'suspended', suspension_reason: reason ?? null };
  });
}

export async function reinstateOrg(tx: Transaction, orgId: string, now: Date): Promise<OrgChange> {
  return changeOrg(tx, orgId, now, ({ status }) => {
    if (status === 'active') {
      throw apiError('conflict', 'The organization is not suspended.');
    }
    return { status: 'active', suspension_reason: null };
  });
}

/** Reads, decides and writes under the row's lock. Notifies every process. */
export async function changeOrg(
  tx: Transaction,
  orgId: string,
  now: Date,
  decide: (org: OrgRow) => Partial<OrgRow>,
): Promise<OrgChange> {
  const before = found(await lockOrg(tx, orgId));
  const after: OrgRow = { ...before, ...decide(before), updated_at: now };
  await refusingTakenSlug(updateOrg(tx, after));
  if (before.slug !== after.slug) {
    await changeSlug(tx, orgId, { from: before.slug, to: after.slug }, now);
  }
  await orgChanged.notify(tx, orgId);
  if (before.timezone !== after.timezone) {
    // Another time zone moves the windows of the org's limits.
    await notifyLimitsChanged(tx, orgId);
  } else if (before.on_unsettled !== after.on_unsettled) {
    await notifyLimitChanged(tx, orgId);
  }
  return { before, after };
}

function slugOf(name: string): string {
  const slug = name
    .normalize('NFKD')
    .toLowerCase()
    .replaceAll(/[^a-z0-9]+/g, '-')
    .replaceAll(/^-+|-+$/g, '')
    .slice(0, 50)
    .replace(/-+$/, '');
  return slug === '' ? 'org' : slug;
}

async function refusingTakenSlug(statement: Promise<void>): Promise<void> {
  try {
    await statement;
  } catch (error) {
    throw isUniqueViolation(error, 'orgs_slug_unique') ? apiError('conflict', 'The slug is taken.') : error;
  }
}
