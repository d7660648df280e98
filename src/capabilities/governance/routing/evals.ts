/** Eval results: the score of a model in a suite. The newest result of each suite and model counts; older ones are history. */
import { apiError, found, invalidField } from '../../../contract/api-error.ts';
import type { Queryable, Transaction } from '../../../platform/db/database.ts';
import type { Ids } from '../../../platform/ids.ts';
import { lockOrg } from '../../access/orgs/index.ts';
import {
  countEvals,
  deleteEval,
  deleteOldEvals,
  type EvalRow,
  findEval,
  insertEval,
  routingChanged,
} from './queries.ts';
import type { CreateEval, EvalView } from './schema.ts';
import { millionthsOf, scoreOf } from './scores.ts';

const resultsPerOrgMax = 50_000;
/** Maximum number of stored results per suite and model. */
const resultsKept = 100;
const futureToleranceMs = 5 * 60_000;

export function viewEval(row: EvalRow): EvalView {
  return {
    id: row.id,
    suite: row.suite,
    model: row.model,
    score: scoreOf(row.score_millionths),
    samples: Number(row.samples),
    ran_at: row.ran_at.toISOString(),
    source: row.source,
    created_at: row.created_at.toISOString(),
  };
}

export async function recordEval(
  tx: Transaction,
  { ids, orgId, now }: { readonly ids: Ids; readonly orgId: string; readonly now: Date },
  body: CreateEval,
): Promise<EvalRow> {
  const ranAt = body.ran_at === undefined ? now : new Date(body.ran_at);
  if (ranAt.getTime() > now.getTime() + futureToleranceMs) {
    throw invalidField('ran_at', 'out_of_range', 'Must not be more than five minutes in the future.');
  }
  await lockOrg(tx, orgId);
  if ((await countEvals(tx, orgId)) >= resultsPerOrgMax) {
    throw apiError('conflict', `The organization already has the maximum of ${resultsPerOrgMax} results.`);
  }
  const row: EvalRow = {
    org_id: orgId,
    id: ids.next('evl'),
    suite: body.suite,
    model: body.model,
    score_millionths: millionthsOf(body.score),
    samples: BigInt(body.samples),
    ran_at: ranAt,
    source: body.source ?? null,
    created_at: now,
  };
  await insertEval(tx, row);
  await deleteOldEvals(tx, row, resultsKept);
  await routingChanged.notify(tx, orgId);
  return row;
}

/** Deletes a result. If it was the newest of its suite and model, the previous one counts again. */
export async function removeEval(tx: Transaction, orgId: string, evalId: string): Promise<EvalRow> {
  const row = found(await deleteEval(tx, orgId, evalId));
  await routingChanged.notify(tx, orgId);
  return row;
}

export async function requireEval(db: Queryable, orgId: string, evalId: string): Promise<EvalRow> {
  return found(await findEval(db, orgId, evalId));
}
