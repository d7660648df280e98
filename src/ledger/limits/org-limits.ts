/** Caches the limits of each org until they change. The cache is bypassed while notifications may have been missed. */
import { type OrgLimits, orgLimits, runOnlyChecks } from '../../kernel/limits.ts';
import type { Database, Queryable } from '../../platform/db/database.ts';
import { onLimitsChange } from './change-notifications.ts';
import { selectLiveLimits, toLimit } from './limits.ts';

const cachedOrgsMax = 20_000;

export interface OrgLimitsCache {
  /** Returns the cached limits; undefined if they must be loaded. */
  peek(orgId: string): OrgLimits | undefined;
  get(orgId: string): Promise<OrgLimits>;
  /** Caches limits that a ledger transaction has read itself. */
  set(limits: OrgLimits): void;
}

export function createOrgLimits(db: Database): OrgLimitsCache {
  const cache = new Map<string, OrgLimits>();
  /** Single-flight loads: many requests need the same limits right after a change. */
  const loads = new Map<string, { limits: Promise<OrgLimits>; notifications: number }>();
  /** Number of notifications received. Limits that were read before a notification must not be cached after it. */
  let notifications = 0;

  onLimitsChange(db, (orgId) => {
    notifications += 1;
    if (orgId === null) {
      cache.clear();
    } else {
      cache.delete(orgId);
    }
  });

  function peek(orgId: string): OrgLimits | undefined {
    return db.notificationsHealthy() ? cache.get(orgId) : undefined;
  }

  function set(limits: OrgLimits): void {
    if (cache.size >= cachedOrgsMax) {
      cache.clear();
    }
    cache.set(limits.orgId, limits);
  }

  async function read(orgId: string, notificationsBefore: number): Promise<OrgLimits> {
    const limits = await readOrgLimits(db, orgId);
    if (notifications === notificationsBefore) {
      set(limits);
    }
    return limits;
  }

  return {
    peek,
    set,
    async get(orgId) {
      const cached = peek(orgId);
      if (cached !== undefined) {
        return cached;
      }
      const inFlight = loads.get(orgId);
      if (inFlight?.notifications === notifications) {
        return inFlight.limits;
      }
      const limits = read(orgId, notifications);
      loads.set(orgId, { limits, notifications });
      const done = () => {
        if (loads.get(orgId)?.limits === limits) {
          loads.delete(orgId);
        }
      };
      limits.then(done, done);
      return limits;
    },
  };
}

interface OrgRow {
  readonly timezone: string;
  readonly version: bigint;
  readonly read_rpm: number | null;
  readonly other_gates: readonly string[] | null;
}

export async function readOrgLimits(db: Queryable, orgId: string): Promise<OrgLimits> {
  // The version is read first: limits newer than their version only cause another reload.
  const [org] = await db.query<OrgRow>(
    `SELECT orgs.timezone, coalesce(limits_version, 0) AS version, read_rpm, other_gates
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
    all: rows.map(toLimit),
    runOnlyChecks: runOnlyChecks.filter((check) => org?.other_gates?.includes(check)),
  });
}
