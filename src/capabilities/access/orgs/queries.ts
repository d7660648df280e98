import type { Static } from 'typebox';
import type { OnUnsettled } from '../../../kernel/limits.ts';
import { changeChannel } from '../../../platform/db/change-channel.ts';
import type { Queryable } from '../../../platform/db/database.ts';
import { tableOf } from '../../../platform/db/table.ts';
import { type PageOf, searchCondition, selectPage } from '../../../platform/http/routes/list.ts';
import { type OrgFilters, orgSorts } from './schema.ts';

/** Notifies of changes of an org, because its status and IP allow-list are part of cached credentials. */
export const orgChanged = changeChannel('org_changed');

export type ResidencyMode = 'forward' | 'strict';

export interface OrgRow {
  readonly id: string;
  readonly name: string;
  readonly slug: string;
  readonly timezone: string;
  readonly home_region: string | null;
  /** Treatment of requests that arrive outside the home region. */
  readonly residency_mode: ResidencyMode;
  readonly on_unsettled: OnUnsettled;
  readonly status: 'active' | 'suspended';
  readonly suspension_reason: string | null;
  readonly ip_allow_list: readonly string[];
  readonly created_at: Date;
  readonly updated_at: Date;
}

const columns = `id, name, slug, timezone, home_region, residency_mode, status, suspension_reason, ip_allow_list, created_at, updated_at,
  on_unsettled`;

const orgs = tableOf<OrgRow>()('orgs', { columns, key: ['id'], where: 'removed_at IS NULL' });
export const { find: findOrg, lock: lockOrg } = orgs;

/** Returns the time of the database as text, which keeps the microseconds. */
async function databaseTime(db: Queryable): Promise<string> {
  const [row] = await db.query<{ now: string }>('SELECT clock_timestamp()::text AS now', []);
  return row?.now ?? '';
}

/**
 * Returns SQL for a strictly increasing time, because other regions treat the later version as newer. `now` is the parameter with
 * the database's time. Uses UTC, so that the sum does not depend on the session's time zone.
 */
function laterThanBefore(now: string): string {
  return `greatest(${now}::timestamptz, (directory_changed_at AT TIME ZONE 'UTC' + interval '1 microsecond') AT TIME ZONE 'UTC')`;
}

/** Inserts an org. Returns false if its slug is taken. */
export async function insertOrg(tx: Queryable, org: OrgRow): Promise<boolean> {
  const statement = `INSERT INTO orgs (${columns}, directory_changed_at) VALUES (${orgs.placeholders}, $13)
                     ON CONFLICT (slug) DO NOTHING RETURNING 1 AS one`;
  const changedAt = org.home_region === null ? null : await databaseTime(tx);
  const inserted = await tx.query(statement, [...orgs.valuesOf(org), changedAt]);
  return inserted.length > 0;
}

export async function findOrgBySlug(db: Queryable, slug: string): Promise<OrgRow | undefined> {
  const [row] = await db.query<OrgRow>(`SELECT ${columns} FROM orgs WHERE slug = $1 AND removed_at IS NULL`, [
    slug,
  ]);
  return row;
}

export async function updateOrg(tx: Queryable, org: OrgRow): Promise<void> {
  await tx.query(
    `UPDATE orgs SET name = $2, slug = $3, timezone = $4, home_region = $5, residency_mode = $6, status = $7,
                     suspension_reason = $8, ip_allow_list = $9, updated_at = $10, on_unsettled = $11,
                     directory_changed_at = CASE WHEN coalesce($5, home_region) IS NOT NULL THEN ${laterThanBefore('$12')}
                                                 ELSE directory_changed_at END
      WHERE id = $1`,
    [
      org.id,
      org.name,
      org.slug,
      org.timezone,
      org.home_region,
      org.residency_mode,
      org.status,
      org.suspension_reason,
      org.ip_allow_list,
      org.updated_at,
      org.on_unsettled,
      await databaseTime(tx),
    ],
  );
}

/** Marks a change for other regions, if the org has or had a home region. */
export async function touchDirectory(tx: Queryable, orgId: string): Promise<void> {
  await tx.query(
    `UPDATE orgs SET directory_changed_at = ${laterThanBefore('$2')} WHERE id = $1 AND directory_changed_at IS NOT NULL`,
    [orgId, await databaseTime(tx)],
  );
}

export async function listOrgs(db: Queryable, query: Static<typeof OrgFilters>): Promise<PageOf<OrgRow>> {
  return selectPage<OrgRow>(db, {
    select: `SELECT ${columns} FROM orgs`,
    where: [
      ['(removed_at IS NULL) = ?', true],
      ['status = ?', query.status],
      ['slug = ?', query.slug],
      ['name = ?', query.name],
      searchCondition(['name', 'slug', 'id'], query.search),
    ],
    sorts: orgSorts,
    defaultSort: '-created_at',
    query,
  });
}
