/**
 * The limits of each org as the kernel wants them, remembered until they change. While notices may be missing nothing
 * that was remembered is believed.
 */
import { type OrgLimits, orgLimits, runOnlyChecks } from '../../kernel/limits.ts';
import type { Database, Queryable } from '../../platform/db/database.ts';
import { onLimitsChange } from './change-notifications.ts';
import { selectLiveLimits, toLimit } from './limits.ts';

const cachedOrgsMax = 20_000;

export interface OrgLimitsCache {
  /** What is remembered and still true; undefined when it has to be read. */
  peek(orgId: string): OrgLimits | undefined;
  get(orgId: string): Promise<OrgLimits>;
  /** What a deciding transaction has read itself. */
  remember(limits: OrgLimits): void;
}

export function createOrgLimits(db: Database): OrgLimitsCache {
  const remembered = new Map<string, OrgLimits>();
  /** Those who ask for the same at the same time share the answer: many do at once after a change. */
  const reading = new Map<string, { limits: Promise<OrgLimits>; announcements: number }>();
  /** Counts announcements: what was read before one must not be remembered after it. */
  let announcements = 0;

  onLimitsChange(db, (orgId) => {
    announcements += 1;
    if (orgId === null) {
      remembered.clear();
    } else {
      remembered.delete(orgId);
    }
  });

  function peek(orgId: string): OrgLimits | undefined {
    return db.notificationsHealthy() ? remembered.get(orgId) : undefined;
  }

  function remember(limits: OrgLimits): void {
    if (remembered.size >= cachedOrgsMax) {
      remembered.clear();
    }
    remembered.set(limits.orgId, limits);
  }

  async function read(orgId: string, announcementsBefore: number): Promise<OrgLimits> {
    const limits = await readOrgLimits(db, orgId);
    if (announcements === announcementsBefore) {
      remember(limits);
    }
    return limits;
  }

  return {
    peek,
    remember,
    async get(orgId) {
      const known = peek(orgId);
      if (known !== undefined) {
        return known;
      }
      const underWay = reading.get(orgId);
      if (underWay?.announcements === announcements) {
        return underWay.limits;
      }
      const limits = read(orgId, announcements);
      reading.set(orgId, { limits, announcements });
      const done = () => {
        if (reading.get(orgId)?.limits === limits) {
          reading.delete(orgId);
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
  // The version first: limits that are newer than it only make the next look find another version.
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
    runOnlyChecks: runOnlyChecks.filter((gate) => org?.other_gates?.includes(gate)),
  });
}
