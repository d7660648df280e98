/** Cache of the limits of each org, in the form that the kernel uses. */
import { type OnUnsettled, type OrgLimits, orgLimits, runOnlyChecks } from '../../kernel/limits.ts';
import { NotifiedCache } from '../../platform/cache/notified-cache.ts';
import type { Database, Queryable } from '../../platform/db/database.ts';
import { onLimitsChange } from './change-notifications.ts';
import { selectLiveLimits, toRaisableLimit } from './limits.ts';

const cachedOrgsMax = 20_000;

export interface OrgLimitsCache {
  /** Returns the cached limits, or undefined if they must be loaded. */
  peek(orgId: string): OrgLimits | undefined;
  get(orgId: string): Promise<OrgLimits>;
  /** Caches limits that a deciding transaction has read. */
  set(limits: OrgLimits): void;
}

export function createOrgLimits(db: Database): OrgLimitsCache {
  const cache = new NotifiedCache(db, {
    maxEntries: cachedOrgsMax,
    onChange: onLimitsChange,
    load: (orgId) => readOrgLimits(db, orgId),
    // Many callers need the limits of an org at once. Sharing is safe, because a deciding transaction on PostgreSQL verifies their
    // version.
    shareLoadsWhenUnhealthy: true,
  });
  return {
    peek: (orgId) => cache.peek(orgId),
    get: async (orgId) => cache.get(orgId),
    set: (limits) => cache.set(limits.orgId, limits),
  };
}

interface OrgLimitsRow {
  readonly timezone: string;
  readonly version: bigint;
  readonly read_rpm: number | null;
  readonly other_gates: readonly string[] | null;
  /** Null if the org was removed. */
  readonly on_unsettled: OnUnsettled | null;
}

export async function readOrgLimits(db: Queryable, orgId: string): Promise<OrgLimits> {
  // The version is read first. If the limits are newer than the version, they are only loaded once more.
  const [org] = await db.query<OrgLimitsRow>(
    `SELECT orgs.timezone, coalesce(limits_version, 0) AS version, read_rpm, other_gates,
            CASE WHEN orgs.removed_at IS NULL THEN on_unsettled END AS on_unsettled
       FROM orgs LEFT JOIN ledger_orgs ON ledger_orgs.org_id = orgs.id LEFT JOIN org_rate_limits ON org_rate_limits.org_id = orgs.id
      WHERE orgs.id = $1`,
    [orgId],
  );
  const rows = await selectLiveLimits(db, orgId);
  return orgLimits({
    orgId,
    version: org?.version ?? 0n,
    timezone: org?.timezone ?? 'UTC',
    readRpm: org?.read_rpm ?? null,
    all: rows.map(toRaisableLimit),
    runOnlyChecks: runOnlyChecks.filter((check) => org?.other_gates?.includes(check)),
    onUnsettled: org?.on_unsettled ?? 'release',
  });
}
