import type { Queryable } from '../../../platform/db/database.ts';
import { tableOf } from '../../../platform/db/table.ts';
import { type PageOf, selectPage } from '../../../platform/http/routes/list.ts';
import { type TopUpFilters, topUpSorts } from './schema.ts';

export interface AccountRow {
  /** Id of the limit, even while it is disabled; null if there never was one. */
  readonly limit_id: string | null;
  readonly enabled: boolean;
  readonly topped_up_nanos: bigint;
}

export async function findAccount(db: Queryable, orgId: string): Promise<AccountRow> {
  const [row] = await db.query<AccountRow>(
    `SELECT (SELECT id FROM limits WHERE org_id = $1 AND kind = 'prepaid' ORDER BY created_at, id LIMIT 1) AS limit_id,
            coalesce((SELECT enabled FROM prepaid_accounts WHERE org_id = $1), false) AS enabled,
            (SELECT coalesce(sum(amount_nanos), 0)::int8 FROM prepaid_top_ups WHERE org_id = $1) AS topped_up_nanos`,
    [orgId],
  );
  return row ?? { limit_id: null, enabled: false, topped_up_nanos: 0n };
}

export async function upsertAccount(tx: Queryable, orgId: string, enabled: boolean): Promise<void> {
  await tx.query(
    `INSERT INTO prepaid_accounts (org_id, enabled) VALUES ($1, $2)
     ON CONFLICT (org_id) DO UPDATE SET enabled = excluded.enabled`,
    [orgId, enabled],
  );
}

export interface TopUpRow {
  readonly org_id: string;
  readonly id: string;
  readonly amount_nanos: bigint;
  readonly reference: string | null;
  readonly created_at: Date;
}

const columns = 'org_id, id, amount_nanos, reference, created_at';

export const { insert: insertTopUp } = tableOf<TopUpRow>()('prepaid_top_ups', {
  columns,
  key: ['org_id', 'id'],
});

export async function listTopUps(
  db: Queryable,
  orgId: string,
  query: TopUpFilters,
): Promise<PageOf<TopUpRow>> {
  return selectPage<TopUpRow>(db, {
    select: `SELECT ${columns} FROM prepaid_top_ups`,
    where: [
      ['org_id = ?', orgId],
      ['reference = ?', query.reference],
    ],
    sorts: topUpSorts,
    defaultSort: '-created_at',
    query,
  });
}
