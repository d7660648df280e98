/** Provider ids of responses for which runs were recorded. A response is recorded once, even if several emitters report it. */
import type { Posted } from '../../../ledger/posting.ts';
import type { Queryable, Transaction } from '../../../platform/db/database.ts';
import { deleteBatch } from '../../../platform/db/delete-batch.ts';
import { isStorable } from '../../../platform/http/message/json-errors.ts';
import type { Job } from '../../../platform/jobs/jobs.ts';

export interface ResponseOfRun {
  readonly responseId: string | null | undefined;
  readonly runId: string;
}

const responseIdMax = 200;
/**
 * Minimum length of an id that is unique. Shorter ids repeat, because some servers count or use random numbers of three digits. Ids
 * of providers have at least 20 characters.
 */
const responseIdMin = 16;

/** Returns true for an id that identifies a response. */
export function isResponseId(id: string): boolean {
  return id.length >= responseIdMin && id.length <= responseIdMax && isStorable(id);
}

/** The owner of a response of a gateway call: the member of the calling key, otherwise the whole organization. */
export interface ResponseOwner {
  readonly keyId: string;
  readonly memberId: string | null;
}

/**
 * Stores the responses of runs. A response that belongs to another run stays with it. Only gateway calls have an owner, because
 * anyone can report any id by telemetry.
 */
export async function insertResponses(
  tx: Transaction,
  posted: readonly Posted<{ readonly response_id?: string | undefined; readonly key_id: string }>[],
): Promise<void> {
  const named = posted.filter(({ posting }) => posting.run.response_id != null);
  if (named.length === 0) {
    return;
  }
  await tx.pipelined.query(
    `INSERT INTO run_responses AS there (org_id, response_id, run_id, recorded_at, key_id, member_id)
     SELECT DISTINCT ON (org_id, response_id) *
       FROM unnest($1::text[], $2::text[], $3::text[], $4::timestamptz[], $5::text[], $6::text[])
         AS given(org_id, response_id, run_id, recorded_at, key_id, member_id)
      ORDER BY org_id, response_id, key_id
     ON CONFLICT (org_id, response_id) DO UPDATE SET key_id = excluded.key_id, member_id = excluded.member_id
      WHERE there.key_id IS NULL AND excluded.key_id IS NOT NULL`,
    [
      named.map(({ orgId }) => orgId),
      named.map(({ posting }) => posting.run.response_id),
      named.map(({ posting }) => posting.runId),
      named.map(({ postedAtMs }) => new Date(postedAtMs)),
      named.map(({ posting: { kind, run } }) => (kind === 'record' ? null : run.key_id)),
      named.map(({ posting: { kind }, scope }) => (kind === 'record' ? null : scope.member_id)),
    ],
  );
}

/** Returns the owner of a response; undefined if it was not created by a gateway call, or is too old. */
export async function findResponseOwner(
  db: Queryable,
  orgId: string,
  responseId: string,
): Promise<ResponseOwner | undefined> {
  const [row] = await db.query<{ readonly key_id: string; readonly member_id: string | null }>(
    `SELECT key_id, member_id FROM run_responses
      WHERE org_id = $1 AND response_id = $2 AND key_id IS NOT NULL`,
    [orgId, responseId],
  );
  return row && { keyId: row.key_id, memberId: row.member_id };
}

/** Returns the ids of responses that belong to runs other than the given ones. */
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

/**
 * Stores the ids of reports that enclose the recorded ones, next to the responses. If an enclosing report arrives later, its call
 * is known to have a run.
 */
export async function insertOuterReports(
  tx: Transaction,
  orgId: string,
  reports: readonly { readonly outerId: string | undefined; readonly runId: string }[],
): Promise<void> {
  const named = reports.filter(({ outerId }) => outerId !== undefined);
  if (named.length === 0) {
    return;
  }
  await tx.query(
    `INSERT INTO run_responses (org_id, response_id, run_id, recorded_at)
     SELECT DISTINCT ON (response_id) $1, response_id, run_id, now()
       FROM unnest($2::text[], $3::text[]) AS given(response_id, run_id)
      ORDER BY response_id
     ON CONFLICT (org_id, response_id) DO NOTHING`,
    [orgId, named.map(({ outerId }) => outerId), named.map(({ runId }) => runId)],
  );
}

export function expiredResponsesJob(db: Queryable): Job {
  return {
    id: 'delete-old-run-responses',
    everyMs: 600_000,
    runOnce: () =>
      deleteBatch(db, {
        table: 'run_responses',
        key: 'org_id, response_id',
        where: "recorded_at < now() - interval '30 days'",
        limit: 5_000,
      }),
  };
}
