import type { Queryable, Transaction } from '../../../platform/db/database.ts';
import { tableOf } from '../../../platform/db/table.ts';
import { type PageOf, selectPage } from '../../../platform/http/routes/list.ts';
import { type ApprovalFilters, type ApprovalState, approvalSorts } from './schema.ts';

/** The subject of an approval: a rule, a key, a model and an action. */
export interface ApprovalSubject {
  readonly orgId: string;
  readonly ruleId: string;
  readonly keyId: string;
  readonly model: string;
  /** Action of the run; empty if it has none. */
  readonly action: string;
}

export interface ApprovalRow {
  readonly org_id: string;
  readonly id: string;
  readonly state: ApprovalState;
  readonly rule_id: string;
  readonly rule_version: bigint;
  readonly rule_reason: string;
  readonly key_id: string;
  readonly model: string;
  readonly action: string;
  readonly attempted: string;
  readonly requested_at: Date;
  readonly expires_at: Date;
  readonly decided_at: Date | null;
  readonly decided_by: string | null;
  readonly decision_reason: string | null;
  readonly uses: bigint | null;
  readonly uses_left: bigint | null;
  readonly uses_made: bigint;
  readonly ended_at: Date | null;
  readonly ended_because: string | null;
}

const columns = `org_id, id, state, rule_id, rule_version, rule_reason, key_id, model, action, attempted, requested_at, expires_at,
  decided_at, decided_by, decision_reason, uses, uses_left, uses_made, ended_at, ended_because`;

const approvals = tableOf<ApprovalRow>()('approvals', { columns, key: ['org_id', 'id'] });
export const { find: findApproval, lock: lockApproval } = approvals;

const live = `state IN ('pending', 'approved')`;

/** Returns the pending or approved approval, of which there is at most one. `lock` prevents concurrent changes. */
export async function findLive(
  db: Queryable,
  { orgId, ruleId, keyId, model, action }: ApprovalSubject,
  lock: 'lock' | 'read' = 'read',
): Promise<ApprovalRow | undefined> {
  const [row] = await db.query<ApprovalRow>(
    `SELECT ${columns} FROM approvals
      WHERE org_id = $1 AND rule_id = $2 AND key_id = $3 AND model = $4 AND action = $5 AND ${live}
      ${lock === 'lock' ? 'FOR UPDATE' : ''}`,
    [orgId, ruleId, keyId, model, action],
  );
  return row;
}

/** Returns the approved approvals of the given rules, keys and models. */
export async function selectApproved(
  db: Queryable,
  orgId: string,
  subjects: readonly ApprovalSubject[],
): Promise<ApprovalRow[]> {
  return db.query<ApprovalRow>(
    `SELECT ${columns} FROM approvals
      WHERE org_id = $1 AND rule_id = ANY($2) AND key_id = ANY($3) AND model = ANY($4) AND state = 'approved'`,
    [
      orgId,
      subjects.map(({ ruleId }) => ruleId),
      subjects.map(({ keyId }) => keyId),
      subjects.map(({ model }) => model),
    ],
  );
}

/** Inserts an approval. Returns undefined if a concurrent request has created the same one. */
export async function insertPending(tx: Transaction, row: ApprovalRow): Promise<ApprovalRow | undefined> {
  const [inserted] = await tx.query<ApprovalRow>(
    `INSERT INTO approvals (${columns}) VALUES (${approvals.placeholders}) ON CONFLICT DO NOTHING RETURNING ${columns}`,
    approvals.valuesOf(row),
  );
  return inserted;
}

export async function updateDecision(tx: Transaction, row: ApprovalRow): Promise<void> {
  await tx.query(
    `UPDATE approvals SET state = $3, decided_at = $4, decided_by = $5, decision_reason = $6, expires_at = $7,
                          uses = $8, uses_left = $8, ended_at = $9
      WHERE org_id = $1 AND id = $2`,
    [
      row.org_id,
      row.id,
      row.state,
      row.decided_at,
      row.decided_by,
      row.decision_reason,
      row.expires_at,
      row.uses,
      row.ended_at,
    ],
  );
}

export interface Ended {
  readonly before: ApprovalRow;
  readonly after: ApprovalRow;
}

async function endLive(
  tx: Transaction,
  found: readonly ApprovalRow[],
  at: Date,
  because: 'time' | 'rule_changed',
): Promise<Ended[]> {
  const ended = found.map((before) => ({
    before,
    after: { ...before, state: 'expired', ended_at: at, ended_because: because } as const,
  }));
  if (ended.length > 0) {
    await tx.query(
      `UPDATE approvals SET state = 'expired', ended_at = $3, ended_because = $4
        WHERE org_id = ANY($1) AND (org_id, id) IN (SELECT unnest($1::text[]), unnest($2::text[]))`,
      [found.map(({ org_id }) => org_id), found.map(({ id }) => id), at, because],
    );
  }
  return ended;
}

export async function endOne(
  tx: Transaction,
  row: ApprovalRow,
  at: Date,
  because: 'time' | 'rule_changed',
): Promise<Ended[]> {
  return endLive(tx, [row], at, because);
}

/** Ends all approvals of a rule, for all its versions. */
export async function endOfRule(tx: Transaction, orgId: string, ruleId: string, at: Date): Promise<Ended[]> {
  const found = await tx.query<ApprovalRow>(
    `SELECT ${columns} FROM approvals WHERE org_id = $1 AND rule_id = $2 AND ${live} ORDER BY id FOR UPDATE`,
    [orgId, ruleId],
  );
  return endLive(tx, found, at, 'rule_changed');
}

/** Returns the orgs with expired approvals, longest expired first. */
export async function findOrgsWithOverdue(db: Queryable, at: Date, limit: number): Promise<string[]> {
  const rows = await db.query<{ org_id: string }>(
    `SELECT DISTINCT org_id FROM (
       SELECT org_id FROM approvals WHERE ${live} AND expires_at <= $1 ORDER BY expires_at LIMIT $2) AS overdue`,
    [at, limit],
  );
  return rows.map(({ org_id }) => org_id);
}

/** Ends expired approvals of these orgs. Rows that a concurrent decision has locked are skipped until the next run. */
export async function endOverdue(
  tx: Transaction,
  orgIds: readonly string[],
  at: Date,
  limit: number,
): Promise<Ended[]> {
  const found = await tx.query<ApprovalRow>(
    `SELECT ${columns} FROM approvals WHERE ${live} AND org_id = ANY($1) AND expires_at <= $2 ORDER BY expires_at LIMIT $3
        FOR UPDATE SKIP LOCKED`,
    [orgIds, at, limit],
  );
  return endLive(tx, found, at, 'time');
}

export async function listApprovals(
  db: Queryable,
  orgId: string,
  query: ApprovalFilters,
): Promise<PageOf<ApprovalRow>> {
  return selectPage<ApprovalRow>(db, {
    select: `SELECT ${columns} FROM approvals`,
    where: [
      ['org_id = ?', orgId],
      ['state = ?', query.state],
      ['rule_id = ?', query.rule_id],
      ['key_id = ?', query.key_id],
      ['model = ?', query.model],
      ['action = ?', query.action],
    ],
    sorts: approvalSorts,
    defaultSort: '-requested_at',
    query,
  });
}

export interface Usable {
  readonly id: string;
  readonly uses_left: bigint | null;
}

/** Locks the approvals, so that one transaction at a time counts their uses. */
export async function lockUsable(
  tx: Transaction,
  orgId: string,
  ids: readonly string[],
  at: Date,
): Promise<Usable[]> {
  return tx.query<Usable>(
    `SELECT id, uses_left FROM approvals
      WHERE org_id = $1 AND id = ANY($2) AND state = 'approved' AND expires_at > $3 ORDER BY id FOR UPDATE`,
    [orgId, ids, at],
  );
}

export async function countUses(
  tx: Transaction,
  orgId: string,
  approvalId: string,
  runIds: readonly string[],
  at: Date,
): Promise<ApprovalRow | undefined> {
  await tx.query(
    `INSERT INTO approval_uses (org_id, approval_id, run_id, used_at) SELECT $1, $2, unnest($3::text[]), $4`,
    [orgId, approvalId, runIds, at],
  );
  const [row] = await tx.query<ApprovalRow>(
    `UPDATE approvals SET uses_made = uses_made + $3, uses_left = uses_left - $3,
                          state = CASE WHEN uses_left = $3 THEN 'used' ELSE state END,
                          ended_at = CASE WHEN uses_left = $3 THEN $4::timestamptz ELSE ended_at END
      WHERE org_id = $1 AND id = $2 RETURNING ${columns}`,
    [orgId, approvalId, BigInt(runIds.length), at],
  );
  return row;
}

const shownRuns = 100;

export async function latestRuns(db: Queryable, orgId: string, approvalId: string): Promise<string[]> {
  const rows = await db.query<{ run_id: string }>(
    `SELECT run_id FROM approval_uses WHERE org_id = $1 AND approval_id = $2 ORDER BY run_id DESC LIMIT $3`,
    [orgId, approvalId, shownRuns],
  );
  return rows.map(({ run_id }) => run_id);
}
