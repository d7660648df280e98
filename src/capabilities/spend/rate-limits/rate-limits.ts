/** The rate limits of an org: its reads per minute and its policies. They are replaced as a whole. */
import type { LimitKind } from '../../../kernel/limits.ts';
import { notifyLimitsChanged } from '../../../ledger/limits/change-notifications.ts';
import { lockOrgLimits } from '../../../ledger/limits/limit-changes.ts';
import {
  endLimit,
  findLimits,
  insertLimit,
  type LimitRow,
  listLimits,
  newLimit,
  updateLimit,
} from '../../../ledger/limits/limits.ts';
import type { Queryable, Transaction } from '../../../platform/db/database.ts';
import type { PageOf } from '../../../platform/http/routes/list.ts';
import type { Ids } from '../../../platform/ids.ts';
import { checkPolicies, type PolicyColumns, policyColumns, policyIdentity, viewPolicy } from './policies.ts';
import { type PutRateLimits, policySorts, type RateLimitsView, type RatePolicyFilters } from './schema.ts';

const policyKinds = ['rate', 'quota'] as const satisfies LimitKind[];

/** Returns the policies sorted by name; the order in the PUT has no meaning. */
export async function readRateLimits(db: Queryable, orgId: string): Promise<RateLimitsView> {
  const [rows, read_rpm] = await Promise.all([findLimits(db, orgId, policyKinds), findReadRpm(db, orgId)]);
  const policies = rows.map(viewPolicy).sort((a, b) => (a.name < b.name ? -1 : 1));
  return { read_rpm, policies };
}

export interface RateLimitsChange {
  readonly before: RateLimitsView;
  readonly after: RateLimitsView;
}

export async function putRateLimits(
  tx: Transaction,
  ids: Ids,
  now: Date,
  orgId: string,
  { read_rpm = null, policies = [] }: PutRateLimits,
): Promise<RateLimitsChange> {
  checkPolicies(policies);
  await lockOrgLimits(tx, orgId);
  const before = await readRateLimits(tx, orgId);
  if (read_rpm !== before.read_rpm) {
    await upsertReadRpm(tx, orgId, read_rpm);
  }
  const existing = await findLimits(tx, orgId, policyKinds);
  const rows = new Map(existing.map((row) => [policyIdentity(viewPolicy(row)), row]));
  for (const policy of policies) {
    const columns = policyColumns(policy);
    const identity = policyIdentity(policy);
    const row = rows.get(identity);
    rows.delete(identity);
    if (row === undefined) {
      await insertLimit(tx, newLimit({ org_id: orgId, id: ids.next('rlp'), ...columns }, now));
    } else if (differs(row, columns)) {
      await updateLimit(tx, { ...row, ...columns, updated_at: now });
    }
  }
  for (const row of rows.values()) {
    await endLimit(tx, row, now);
  }
  return { before, after: await readRateLimits(tx, orgId) };
}

function differs(row: LimitRow, { window_seconds, capacity, burst }: PolicyColumns): boolean {
  return row.window_seconds !== window_seconds || row.capacity !== capacity || row.burst !== burst;
}

export async function findReadRpm(db: Queryable, orgId: string): Promise<number | null> {
  const [row] = await db.query<{ read_rpm: number | null }>(
    'SELECT read_rpm FROM org_rate_limits WHERE org_id = $1',
    [orgId],
  );
  return row?.read_rpm ?? null;
}

async function upsertReadRpm(tx: Transaction, orgId: string, readRpm: number | null): Promise<void> {
  await tx.query(
    `INSERT INTO org_rate_limits (org_id, read_rpm) VALUES ($1, $2)
     ON CONFLICT (org_id) DO UPDATE SET read_rpm = excluded.read_rpm`,
    [orgId, readRpm],
  );
  await notifyLimitsChanged(tx, orgId);
}

export async function listPolicies(
  db: Queryable,
  orgId: string,
  query: RatePolicyFilters,
): Promise<PageOf<LimitRow>> {
  return listLimits(db, {
    orgId,
    kind: query.kind ?? policyKinds,
    where: [[`CASE WHEN window_seconds IS NULL THEN 'concurrent' ELSE unit END = ?`, query.unit]],
    sorts: policySorts,
    defaultSort: '-created_at',
    query,
  });
}
