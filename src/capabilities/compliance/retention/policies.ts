/** The retention policy of an org, and the record of its deletions. */
import type { Queryable, Transaction } from '../../../platform/db/database.ts';
import { type PageOf, selectPage, viewPage } from '../../../platform/http/routes/list.ts';
import {
  deletedKinds,
  findLastRun,
  findPolicy,
  lockPolicy,
  type RetentionPolicyRow,
  type RetentionRunRow,
  retentionPolicyChanged,
  selectRuns,
  upsertPolicy,
} from './queries.ts';
import {
  defaults,
  type PutRetentionPolicy,
  type RetentionPolicyView,
  type RetentionRunFilters,
  type RetentionRunView,
  retentionRunSorts,
} from './schema.ts';

type RetentionProgress = Pick<RetentionPolicyView, 'failing_since' | 'failing' | 'last_run'>;
type RetentionSettings = Omit<RetentionPolicyView, keyof RetentionProgress>;

export function viewPolicy(
  row: Omit<RetentionPolicyRow, 'failing_since' | 'put_off'> | undefined,
): RetentionSettings {
  if (row === undefined) {
    return { ...defaults, updated_at: null };
  }
  const { runs_days, content_days, audit_days, deliveries_days, idempotency_days, legal_hold, updated_at } =
    row;
  return {
    runs_days,
    content_days,
    audit_days,
    deliveries_days,
    idempotency_days,
    legal_hold,
    updated_at: updated_at.toISOString(),
  };
}

export function viewRetentionRun(row: RetentionRunRow): RetentionRunView {
  return {
    id: row.id,
    started_at: row.started_at.toISOString(),
    finished_at: row.finished_at?.toISOString() ?? null,
    deleted: Object.fromEntries(
      deletedKinds.map((kind) => [kind, Number(row[kind])]),
    ) as RetentionRunView['deleted'],
  };
}

export interface PolicyChange {
  readonly before: RetentionSettings;
  readonly after: RetentionSettings;
  readonly progress: RetentionProgress;
}

/** Replaces the policy. Omitted fields get their default. Deletion starts soon after the change. */
export async function putPolicy(
  tx: Transaction,
  orgId: string,
  wanted: PutRetentionPolicy,
  now: Date,
): Promise<PolicyChange> {
  const before = await lockPolicy(tx, orgId);
  const row = {
    ...defaults,
    ...wanted,
    org_id: orgId,
    created_at: before?.created_at ?? now,
    updated_at: now,
  };
  await upsertPolicy(tx, row);
  await retentionPolicyChanged.notify(tx, orgId);
  return {
    before: viewPolicy(before),
    after: viewPolicy(row),
    progress: await findProgress(tx, orgId, await findPolicy(tx, orgId)),
  };
}

/** Returns the progress of deletion under the policy. */
export async function findProgress(
  db: Queryable,
  orgId: string,
  policy: RetentionPolicyRow | undefined,
): Promise<RetentionProgress> {
  const run = await findLastRun(db, orgId);
  return {
    failing_since: policy?.failing_since?.toISOString() ?? null,
    failing: deletedKinds.filter((kind) => policy?.put_off[kind] !== undefined),
    last_run: run === undefined ? null : viewRetentionRun(run),
  };
}

export async function listRetentionRuns(
  db: Queryable,
  orgId: string,
  query: RetentionRunFilters,
): Promise<PageOf<RetentionRunView>> {
  const page = selectPage<RetentionRunRow>(db, {
    select: selectRuns,
    where: [['org_id = ?', orgId]],
    sorts: retentionRunSorts,
    defaultSort: '-started_at',
    query,
  });
  return viewPage(page, viewRetentionRun);
}
