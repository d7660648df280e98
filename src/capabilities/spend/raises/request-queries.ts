import type { Queryable, Transaction } from '../../../platform/db/database.ts';
import { tableOf } from '../../../platform/db/table.ts';
import { type Condition, type PageOf, selectPage } from '../../../platform/http/routes/list.ts';
import { type RaiseRequestFilters, type RequestState, requestSorts } from './schema.ts';

export interface RequestRow {
  readonly org_id: string;
  readonly id: string;
  readonly limit_id: string;
  readonly value: string | null;
  readonly amount: bigint;
  readonly until: Date;
  readonly reason: string;
  /** A lapsed request is stored as `pending`. */
  readonly state: Exclude<RequestState, 'lapsed'>;
  readonly requested_by: string;
  readonly requested_at: Date;
  readonly decided_by: string | null;
  readonly decided_at: Date | null;
  readonly decision_reason: string | null;
  readonly raise_id: string | null;
}

const columns = `org_id, id, limit_id, value, amount, until, reason, state, requested_by, requested_at, decided_by, decided_at,
  decision_reason, raise_id`;
const requests = tableOf<RequestRow>()('raise_requests', { columns, key: ['org_id', 'id'] });

export const insertRequest = (tx: Transaction, row: RequestRow) => requests.insert(tx, row);
export const updateRequest = (tx: Transaction, row: RequestRow) => requests.update(tx, row);
export const findRequest = (db: Queryable, orgId: string, id: string) => requests.find(db, orgId, id);
export const lockRequest = (tx: Transaction, orgId: string, id: string) => requests.lock(tx, orgId, id);

/** Counts the pending requests of the requester: all, and those for the same value of the same limit. */
export async function countPending(
  tx: Transaction,
  { org_id, requested_by, limit_id, value }: RequestRow,
  now: Date,
): Promise<{ readonly all: number; readonly alike: number }> {
  const [counts] = await tx.query<{ all: number; alike: number }>(
    `SELECT count(*)::int4 AS all,
            (count(*) FILTER (WHERE limit_id = $3 AND value IS NOT DISTINCT FROM $4))::int4 AS alike
       FROM raise_requests WHERE org_id = $1 AND requested_by = $2 AND state = 'pending' AND until > $5`,
    [org_id, requested_by, limit_id, value, now],
  );
  return counts ?? { all: 0, alike: 0 };
}

export async function listRequests(
  db: Queryable,
  orgId: string,
  { state, ...query }: RaiseRequestFilters,
  now: Date,
): Promise<PageOf<RequestRow>> {
  return selectPage<RequestRow>(db, {
    select: `SELECT ${columns} FROM raise_requests`,
    where: [
      ['org_id = ?', orgId],
      ['limit_id = ?', query.limit_id],
      ['state = ?', state === 'lapsed' ? 'pending' : state],
      lapsing(state, now),
    ],
    sorts: requestSorts,
    defaultSort: '-requested_at',
    query,
  });
}

function lapsing(state: RequestState | undefined, now: Date): Condition {
  switch (state) {
    case 'pending':
      return ['until > ?', now];
    case 'lapsed':
      return ['until <= ?', now];
    default:
      return ['', undefined];
  }
}
