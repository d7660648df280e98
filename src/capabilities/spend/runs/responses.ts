/** The provider's ids of responses that runs were recorded for: a response is recorded once, whoever reports it. */
import type { Posted } from '../../../ledger/posting.ts';
import type { Queryable, Transaction } from '../../../platform/db/database.ts';
import { isStorable } from '../../../platform/http/message/json-errors.ts';
import type { Job } from '../../../platform/jobs/jobs.ts';

export interface ResponseOfRun {
  readonly responseId: string | null | undefined;
  readonly runId: string;
}

const responseIdMax = 200;
/** Shorter ids repeat: some servers count, or draw a number of three digits. Those of providers have at least 20 characters. */
const responseIdMin = 16;

/** Returns true for an id that identifies a response. */
export function isResponseId(id: string): boolean {
  return id.length >= responseIdMin && id.length <= responseIdMax && isStorable(id);
}

/** Keeps the responses of runs. One that another run has stays with that run. */
export async function insertResponses(
  tx: Transaction,
  posted: readonly Posted<{ readonly response_id?: string | undefined }>[],
): Promise<void> {
  const named = posted.filter(({ posting }) => posting.run.response_id != null);
  if (named.length === 0) {
    return;
  }
  await tx.unanswered.query(
    `INSERT INTO run_responses (org_id, response_id, run_id, recorded_at)
     SELECT * FROM unnest($1::text[], $2::text[], $3::text[], $4::timestamptz[])
         AS given(org_id, response_id, run_id, recorded_at)
      ORDER BY org_id, response_id
     ON CONFLICT (org_id, response_id) DO NOTHING`,
    [
      named.map(({ orgId }) => orgId),
      named.map(({ posting }) => posting.run.response_id),
      named.map(({ posting }) => posting.runId),
      named.map(({ postedAtMs }) => new Date(postedAtMs)),
    ],
  );
}

/** Returns the ids of responses that other runs than the given ones were recorded for. */
export async function findForeignResponses(
  db: Queryable,
  orgId: string,
  responses: readonly ResponseOfRun[],
): Promise<ReadonlySet<string>> {
  const named = responses.filter(({ responseId }) => responseId != null);
  if (named.length === 0) {
    return new Set();
  }
  const rows = await db.query<{ readonly response_id: string }>(
    `SELECT there.response_id
       FROM unnest($2::text[], $3::text[]) AS given(response_id, run_id)
       JOIN run_responses there
         ON there.org_id = $1 AND there.response_id = given.response_id AND there.run_id <> given.run_id`,
    [orgId, named.map(({ responseId }) => responseId), named.map(({ runId }) => runId)],
  );
  return new Set(rows.map(({ response_id }) => response_id));
}

const keptDays = 30;
const deletedPerBatch = 5_000;

export function expiredResponsesJob(db: Queryable): Job {
  return {
    id: 'delete-old-run-responses',
    everyMs: 600_000,
    async runOnce() {
      const deleted = await db.query(
        `DELETE FROM run_responses WHERE (org_id, response_id) IN (
           SELECT org_id, response_id FROM run_responses
            WHERE recorded_at < now() - make_interval(days => $1) LIMIT $2
         ) RETURNING 1 AS one`,
        [keptDays, deletedPerBatch],
      );
      return deleted.length === deletedPerBatch;
    },
  };
}
