import type { Objective } from '../../../kernel/routing.ts';
import { changeChannel } from '../../../platform/db/change-channel.ts';
import type { Queryable, Transaction } from '../../../platform/db/database.ts';
import { tableOf } from '../../../platform/db/table.ts';
import { type PageOf, selectPage } from '../../../platform/http/routes/list.ts';
import { type EvalFilters, evalSorts } from './schema.ts';

/** Notifies of changes of routing policies and eval results. */
export const routingChanged = changeChannel('routing_changed');

export interface EvalRow {
  readonly org_id: string;
  readonly id: string;
  readonly suite: string;
  readonly model: string;
  readonly score_millionths: bigint;
  readonly samples: bigint;
  readonly ran_at: Date;
  readonly source: string | null;
  readonly created_at: Date;
}

const evalColumns = 'org_id, id, suite, model, score_millionths, samples, ran_at, source, created_at';

export const { insert: insertEval, find: findEval } = tableOf<EvalRow>()('evals', {
  columns: evalColumns,
  key: ['org_id', 'id'],
});

export async function countEvals(tx: Transaction, orgId: string): Promise<number> {
  const [row] = await tx.query<{ count: bigint }>('SELECT count(*) AS count FROM evals WHERE org_id = $1', [
    orgId,
  ]);
  return Number(row?.count ?? 0);
}

/** Deletes all but the newest results of a suite and model. */
export async function deleteOldEvals(
  tx: Transaction,
  { org_id, suite, model }: Pick<EvalRow, 'org_id' | 'suite' | 'model'>,
  kept: number,
): Promise<void> {
  await tx.query(
    `DELETE FROM evals WHERE org_id = $1 AND id IN (
       SELECT id FROM evals WHERE org_id = $1 AND suite = $2 AND model = $3
        ORDER BY ran_at DESC, id DESC OFFSET $4)`,
    [org_id, suite, model, kept],
  );
}

/** Deletes a result and returns it; undefined if there was none. */
export async function deleteEval(
  tx: Transaction,
  orgId: string,
  evalId: string,
): Promise<EvalRow | undefined> {
  const [row] = await tx.query<EvalRow>(
    `DELETE FROM evals WHERE org_id = $1 AND id = $2 RETURNING ${evalColumns}`,
    [orgId, evalId],
  );
  return row;
}

const isNewest = `NOT EXISTS (
  SELECT 1 FROM evals n WHERE n.org_id = e.org_id AND n.suite = e.suite AND n.model = e.model
     AND (n.ran_at, n.id) > (e.ran_at, e.id))`;

export async function listEvals(
  db: Queryable,
  orgId: string,
  query: EvalFilters,
): Promise<PageOf<EvalRow & { readonly score: bigint }>> {
  return selectPage<EvalRow & { readonly score: bigint }>(db, {
    select: `SELECT ${evalColumns}, score FROM (SELECT *, score_millionths AS score FROM evals) AS e`,
    where: [
      ['org_id = ?', orgId],
      ['suite = ?', query.suite],
      ['model = ?', query.model],
      ['source = ?', query.source],
      [`(${isNewest}) = ?`, query.newest],
    ],
    sorts: evalSorts,
    defaultSort: '-ran_at',
    query,
  });
}

/** Returns the newest result of each model in the suite. */
export async function newestEvals(db: Queryable, orgId: string, suite: string): Promise<EvalRow[]> {
  return db.query<EvalRow>(
    `SELECT DISTINCT ON (model) ${evalColumns} FROM evals WHERE org_id = $1 AND suite = $2
      ORDER BY model, ran_at DESC, id DESC`,
    [orgId, suite],
  );
}

export interface RoutingPolicyRow {
  readonly org_id: string;
  readonly candidates: readonly string[];
  readonly fallbacks: readonly string[];
  readonly suite: string;
  readonly min_score_millionths: bigint;
  readonly min_samples: bigint;
  readonly max_age_days: bigint;
  readonly objective: Objective;
  /** Weights of cost, latency and quality, in this order. */
  readonly weights: readonly bigint[] | null;
  readonly created_at: Date;
  readonly updated_at: Date;
}

const policies = tableOf<RoutingPolicyRow>()('routing_policies', {
  columns: `org_id, candidates, fallbacks, suite, min_score_millionths, min_samples, max_age_days, objective, weights, created_at,
    updated_at`,
  key: ['org_id'],
});
export const { upsert: upsertRoutingPolicy, delete: deleteRoutingPolicy } = policies;

export async function findRoutingPolicy(
  db: Queryable,
  orgId: string,
  lock: 'lock' | 'read' = 'read',
): Promise<RoutingPolicyRow | undefined> {
  const row = await (lock === 'lock' ? policies.lock : policies.find)(db, orgId);
  // Converted, because drivers do not convert numbers inside arrays.
  return row && { ...row, weights: row.weights?.map(BigInt) ?? null };
}
