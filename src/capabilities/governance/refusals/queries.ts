import type { Queryable } from '../../../platform/db/database.ts';
import { tableOf } from '../../../platform/db/table.ts';
import { type PageOf, selectPage } from '../../../platform/http/routes/list.ts';
import { type RecordedCode, type RefusalFilters, refusalSorts } from './schema.ts';

export interface RefusalRow {
  readonly org_id: string;
  readonly id: string;
  readonly code: RecordedCode;
  readonly message: string;
  readonly operation: string;
  readonly key_id: string;
  readonly model: string | null;
  readonly action: string | null;
  readonly workflow: string | null;
  readonly customer_id: string | null;
  readonly details: Record<string, unknown>;
  /** Id of the denying limit. Null if no single limit denied, or in entries of release 0.1.0. */
  readonly limit_id: string | null;
  /** Trace ids of the first denied requests. Null in entries of release 0.1.0. */
  readonly trace_ids: readonly string[] | null;
  readonly count: bigint;
  readonly first_at: Date;
  readonly last_at: Date;
}

const columns = `org_id, id, code, message, operation, key_id, model, action, workflow, customer_id, details, count, first_at, last_at,
  limit_id, trace_ids`;

export const { find: findRefusal } = tableOf<RefusalRow>()('refusals', {
  columns,
  key: ['org_id', 'id'],
  json: ['details'],
});

export async function insertRefusals(db: Queryable, rows: readonly RefusalRow[]): Promise<void> {
  await db.query(
    `INSERT INTO refusals (${columns})
     SELECT org_id, id, code, message, operation, key_id, model, action, workflow, customer_id, details, count, first_at,
            last_at, limit_id, ARRAY(SELECT jsonb_array_elements_text(trace_ids))
       FROM unnest($1::text[], $2::text[], $3::text[], $4::text[], $5::text[], $6::text[], $7::text[], $8::text[],
                   $9::text[], $10::text[], $11::jsonb[], $12::int8[], $13::timestamptz[], $14::timestamptz[],
                   $15::text[], $16::jsonb[])
         AS entry (${columns})
     ON CONFLICT DO NOTHING`,
    [
      rows.map((row) => row.org_id),
      rows.map((row) => row.id),
      rows.map((row) => row.code),
      rows.map((row) => row.message),
      rows.map((row) => row.operation),
      rows.map((row) => row.key_id),
      rows.map((row) => row.model),
      rows.map((row) => row.action),
      rows.map((row) => row.workflow),
      rows.map((row) => row.customer_id),
      rows.map((row) => JSON.stringify(row.details)),
      rows.map((row) => row.count),
      rows.map((row) => row.first_at),
      rows.map((row) => row.last_at),
      rows.map((row) => row.limit_id),
      // Encoded as JSON, because an array of arrays must be rectangular.
      rows.map((row) => JSON.stringify(row.trace_ids)),
    ],
  );
}

/** Deletes all but the latest entries of each org. All orgs must belong to one group. */
export async function deleteBeyond(db: Queryable, orgIds: readonly string[], kept: number): Promise<void> {
  await db.query(
    `DELETE FROM refusals USING unnest($1::text[]) AS org (id)
      WHERE refusals.org_id = org.id AND refusals.org_id = ANY($1)
        AND refusals.id <= (SELECT beyond.id FROM refusals AS beyond WHERE beyond.org_id = org.id AND beyond.org_id = ANY($1)
                             ORDER BY beyond.id DESC OFFSET $2 LIMIT 1)`,
    [orgIds, kept],
  );
}

export function listRefusals(
  db: Queryable,
  orgId: string,
  query: RefusalFilters,
): Promise<PageOf<RefusalRow>> {
  return selectPage<RefusalRow>(db, {
    select: `SELECT ${columns} FROM refusals`,
    where: [
      ['org_id = ?', orgId],
      ['code = ?', query.code],
      ['operation = ?', query.operation],
      ['key_id = ?', query.key_id],
      ['model = ?', query.model],
      ['action = ?', query.action],
      ['workflow = ?', query.workflow],
      ['customer_id = ?', query.customer_id],
      // Entries of release 0.1.0 only have a budget in their details.
      [`coalesce(limit_id, details ->> 'budget_id') = ?`, query.limit_id],
      [`details ->> 'rule_id' = ?`, query.rule_id],
      ['? = ANY(trace_ids)', query.trace_id?.toLowerCase()],
      ['last_at >= ?', query.from],
      ['first_at < ?', query.to],
    ],
    sorts: refusalSorts,
    defaultSort: '-last_at',
    query,
  });
}

/** Returns the denied requests of a time range by error code, most frequent first. */
export async function sumRefusals(
  db: Queryable,
  orgId: string,
  from: Date,
  to: Date,
): Promise<{ readonly code: RecordedCode; readonly requests: number }[]> {
  const rows = await db.query<{ code: RecordedCode; requests: bigint }>(
    `SELECT code, sum(count)::int8 AS requests FROM refusals
      WHERE org_id = $1 AND last_at >= $2 AND last_at < $3 GROUP BY code ORDER BY 2 DESC, 1`,
    [orgId, from, to],
  );
  return rows.map(({ code, requests }) => ({ code, requests: Number(requests) }));
}
