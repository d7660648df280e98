import { changeChannel } from '../../../platform/db/change-channel.ts';
import type { Queryable } from '../../../platform/db/database.ts';
import { tableOf } from '../../../platform/db/table.ts';

export const retentionPolicyChanged = changeChannel('retention');

export interface RetentionPolicyRow {
  readonly org_id: string;
  readonly runs_days: number | null;
  readonly content_days: number;
  readonly audit_days: number | null;
  readonly deliveries_days: number;
  readonly idempotency_days: number;
  readonly legal_hold: boolean;
  readonly created_at: Date;
  readonly updated_at: Date;
  /** Time since which deletion has failed; null: it has not failed, or has completed since. */
  readonly failing_since: Date | null;
  /** The kinds that failed, and when each will be retried. */
  readonly put_off: Postponed;
}
export type Postponed = Readonly<Partial<Record<DeletedKind, string>>>;
type RetentionSettingsRow = Omit<RetentionPolicyRow, 'failing_since' | 'put_off'>;

const settings =
  'org_id, runs_days, content_days, audit_days, deliveries_days, idempotency_days, legal_hold, created_at, updated_at';
const columns = `${settings}, failing_since, put_off` as const;

/** `lockPolicy` waits for the end of a deletion batch in progress. */
export const { find: findPolicy, lock: lockPolicy } = tableOf<RetentionPolicyRow>()('retention_policies', {
  columns,
  key: ['org_id'],
  json: ['put_off'],
});

export async function upsertPolicy(tx: Queryable, row: RetentionSettingsRow): Promise<void> {
  await tx.query(
    `INSERT INTO retention_policies (${settings}, next_run_at) VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $9)
     ON CONFLICT (org_id) DO UPDATE
       SET runs_days = excluded.runs_days, content_days = excluded.content_days, audit_days = excluded.audit_days,
           deliveries_days = excluded.deliveries_days, idempotency_days = excluded.idempotency_days,
           legal_hold = excluded.legal_hold, updated_at = excluded.updated_at, next_run_at = excluded.next_run_at,
           put_off = '{}'`,
    [
      row.org_id,
      row.runs_days,
      row.content_days,
      row.audit_days,
      row.deliveries_days,
      row.idempotency_days,
      row.legal_hold,
      row.created_at,
      row.updated_at,
    ],
  );
}

/** Returns the policy that is due, locked; policies that other processes hold are skipped. */
export async function claimDue(tx: Queryable, now: Date): Promise<RetentionPolicyRow | undefined> {
  const [row] = await tx.query<RetentionPolicyRow>(
    `SELECT ${columns} FROM retention_policies WHERE next_run_at <= $1 AND NOT legal_hold
      ORDER BY next_run_at LIMIT 1 FOR UPDATE SKIP LOCKED`,
    [now],
  );
  return row;
}

/** Sets the time of the next run, once all due deletions are complete or postponed. */
export async function scheduleNext(
  tx: Queryable,
  orgId: string,
  { at, putOff }: { readonly at: Date; readonly putOff: Postponed },
): Promise<void> {
  await tx.query(
    `UPDATE retention_policies SET next_run_at = $2, put_off = $3::jsonb,
            failing_since = CASE WHEN $3::jsonb = '{}' THEN NULL ELSE failing_since END
      WHERE org_id = $1`,
    [orgId, at, JSON.stringify(putOff)],
  );
}

/** A failed deletion and the time of its retry. Ignored if the policy was changed since: a change requests an immediate retry. */
interface Failure {
  readonly policy: RetentionPolicyRow;
  readonly now: Date;
  readonly until: Date;
}

/** Postpones the org until `until`, so that other orgs are processed first. */
export async function postpone(db: Queryable, { policy, now, until }: Failure): Promise<void> {
  await db.query(
    `UPDATE retention_policies SET next_run_at = $3, failing_since = coalesce(failing_since, $4)
      WHERE org_id = $1 AND updated_at = $2`,
    [policy.org_id, policy.updated_at, until, now],
  );
}

/** Postpones the kind until `until`, so that other kinds are deleted first. */
export async function postponeKind(
  db: Queryable,
  kind: DeletedKind,
  { policy, now, until }: Failure,
): Promise<void> {
  await db.query(
    `UPDATE retention_policies SET put_off = put_off || $3::jsonb, failing_since = coalesce(failing_since, $4)
      WHERE org_id = $1 AND updated_at = $2`,
    [policy.org_id, policy.updated_at, JSON.stringify({ [kind]: until.toISOString() }), now],
  );
}

export async function countFailing(db: Queryable): Promise<number> {
  const [row] = await db.query<{ count: number }>(
    'SELECT count(*)::int4 AS count FROM retention_policies WHERE failing_since IS NOT NULL AND NOT legal_hold',
    [],
  );
  return row?.count ?? 0;
}

export const deletedKinds = [
  'runs',
  'contents',
  'ledger_entries',
  'audit_entries',
  'support_access',
  'deliveries',
  'events',
] as const;
export type DeletedKind = (typeof deletedKinds)[number];

export interface RetentionRunRow extends Readonly<Record<DeletedKind, bigint>> {
  readonly org_id: string;
  readonly id: string;
  readonly started_at: Date;
  readonly finished_at: Date | null;
}

export const selectRuns = `SELECT org_id, id, started_at, finished_at, ${deletedKinds.join(', ')} FROM retention_runs`;

/** Returns the run in progress, or a new one. */
export async function openRun(tx: Queryable, orgId: string, id: string, now: Date): Promise<RetentionRunRow> {
  await tx.query(
    `INSERT INTO retention_runs (org_id, id, started_at) VALUES ($1, $2, $3)
     ON CONFLICT (org_id) WHERE finished_at IS NULL DO NOTHING`,
    [orgId, id, now],
  );
  const [row] = await tx.query<RetentionRunRow>(`${selectRuns} WHERE org_id = $1 AND finished_at IS NULL`, [
    orgId,
  ]);
  if (row === undefined) {
    throw new Error('retention run not found after it was created');
  }
  return row;
}

export async function addDeleted(
  tx: Queryable,
  { org_id, id }: RetentionRunRow,
  kind: DeletedKind,
  count: number,
): Promise<void> {
  await tx.query(`UPDATE retention_runs SET ${kind} = ${kind} + $3 WHERE org_id = $1 AND id = $2`, [
    org_id,
    id,
    BigInt(count),
  ]);
}

export async function finishRun(tx: Queryable, { org_id, id }: RetentionRunRow, now: Date): Promise<void> {
  await tx.query('UPDATE retention_runs SET finished_at = $3 WHERE org_id = $1 AND id = $2', [
    org_id,
    id,
    now,
  ]);
}

/** Deletes a run that deleted nothing, because such a run is not recorded. */
export async function deleteEmptyRun(tx: Queryable, { org_id, id }: RetentionRunRow): Promise<void> {
  await tx.query('DELETE FROM retention_runs WHERE org_id = $1 AND id = $2', [org_id, id]);
}

export async function findLastRun(db: Queryable, orgId: string): Promise<RetentionRunRow | undefined> {
  const [row] = await db.query<RetentionRunRow>(
    `${selectRuns} WHERE org_id = $1 ORDER BY started_at DESC, id DESC LIMIT 1`,
    [orgId],
  );
  return row;
}
