import type { Queryable } from '../../../platform/db/database.ts';
import { type PageOf, selectPage } from '../../../platform/http/routes/list.ts';
import { type UsageFilters, usageSorts } from './schema.ts';

/** Calls of one key on one route. */
export interface Calls {
  readonly tenantId: string;
  readonly keyId: string;
  readonly route: string;
  readonly count: number;
  readonly firstAt: Date;
  readonly lastAt: Date;
}

/** Adds to the counts that other processes have written. */
export async function addCalls(db: Queryable, calls: readonly Calls[]): Promise<void> {
  await db.query(
    `INSERT INTO deprecated_route_calls AS there (tenant_id, key_id, route, calls, first_called_at, last_called_at)
     SELECT * FROM unnest($1::text[], $2::text[], $3::text[], $4::int8[], $5::timestamptz[], $6::timestamptz[])
     ON CONFLICT (tenant_id, key_id, route) DO UPDATE
        SET calls = there.calls + excluded.calls,
            first_called_at = least(there.first_called_at, excluded.first_called_at),
            last_called_at = greatest(there.last_called_at, excluded.last_called_at)`,
    [
      calls.map(({ tenantId }) => tenantId),
      calls.map(({ keyId }) => keyId),
      calls.map(({ route }) => route),
      calls.map(({ count }) => count),
      calls.map(({ firstAt }) => firstAt),
      calls.map(({ lastAt }) => lastAt),
    ],
  );
}

export interface CallsRow {
  readonly id: string;
  readonly route: string;
  readonly org_id: string | null;
  readonly org_name: string | null;
  readonly key_id: string;
  readonly key_name: string | null;
  readonly calls: bigint;
  readonly first_called_at: Date;
  readonly last_called_at: Date;
}

/** A key belongs to one org and has one row per route, so key and route together identify a row. */
export function selectCalls(db: Queryable, query: UsageFilters): Promise<PageOf<CallsRow>> {
  return selectPage<CallsRow>(db, {
    select: `SELECT * FROM (
        SELECT key_id || ' ' || route AS id, route, orgs.id AS org_id, orgs.name AS org_name,
               key_id, keys.name AS key_name, calls, first_called_at, last_called_at
          FROM deprecated_route_calls
          LEFT JOIN orgs ON orgs.id = tenant_id
          LEFT JOIN keys ON keys.id = key_id) AS calls`,
    where: [
      ['route = ?', query.route],
      ['org_id = ?', query.org_id],
    ],
    sorts: usageSorts,
    defaultSort: '-last_called_at',
    query,
  });
}
