import type { Queryable } from '../../../platform/db/database.ts';
import { tableOf } from '../../../platform/db/table.ts';
import { type PageOf, selectPage } from '../../../platform/http/routes/list.ts';
import { type ScenarioChanges, type ScenarioFilters, scenarioSorts } from './scenario-schema.ts';

export interface ScenarioRow {
  readonly org_id: string;
  readonly id: string;
  readonly name: string;
  readonly description: string | null;
  readonly changes: ScenarioChanges;
  readonly created_at: Date;
  readonly updated_at: Date;
}

const columns = 'org_id, id, name, description, changes, created_at, updated_at';

const scenarios = tableOf<ScenarioRow>()('capacity_scenarios', {
  columns,
  key: ['org_id', 'id'],
  json: ['changes'],
});
export const { upsert: upsertScenario, delete: deleteScenario, find: findScenario } = scenarios;

export async function countScenarios(db: Queryable, orgId: string): Promise<number> {
  const [row] = await db.query<{ count: bigint }>(
    'SELECT count(*)::int8 AS count FROM capacity_scenarios WHERE org_id = $1',
    [orgId],
  );
  return Number(row?.count ?? 0n);
}

/** Finds by id or by name; a name that looks like an id does not occur by accident. */
export async function findScenarioNamed(
  db: Queryable,
  orgId: string,
  idOrName: string,
): Promise<ScenarioRow | undefined> {
  const [row] = await db.query<ScenarioRow>(
    `SELECT ${columns} FROM capacity_scenarios WHERE org_id = $1 AND (id = $2 OR name = $2)
      ORDER BY id = $2 DESC LIMIT 1`,
    [orgId, idOrName],
  );
  return row;
}

export async function listScenarios(
  db: Queryable,
  orgId: string,
  query: ScenarioFilters,
): Promise<PageOf<ScenarioRow>> {
  return selectPage<ScenarioRow>(db, {
    select: `SELECT ${columns} FROM capacity_scenarios`,
    where: [
      ['org_id = ?', orgId],
      ['name = ?', query.name],
    ],
    sorts: scenarioSorts,
    defaultSort: '-created_at',
    query,
  });
}

export interface DueOrg {
  readonly org_id: string;
  readonly after_group: string;
}

/**
 * Claims orgs with recent postings whose limits were not checked since `checkedBefore`. Of several concurrent
 * processes, one gets each org.
 */
export async function claimDueOrgs(
  db: Queryable,
  {
    now,
    bookedAfter,
    checkedBefore,
    limit,
  }: { now: Date; bookedAfter: Date; checkedBefore: Date; limit: number },
): Promise<DueOrg[]> {
  const due = await db.query<{ org_id: string }>(
    `SELECT posted.org_id
       FROM ledger_orgs posted LEFT JOIN forecast_checks checked ON checked.org_id = posted.org_id
      WHERE posted.last_at > $1 AND coalesce(checked.checked_at < $2, true)
        AND EXISTS (SELECT 1 FROM limits WHERE limits.org_id = posted.org_id AND limits.ended_at IS NULL)
      ORDER BY checked.checked_at NULLS FIRST, posted.org_id LIMIT $3`,
    [bookedAfter, checkedBefore, limit],
  );
  if (due.length === 0) {
    return [];
  }
  const orgIds = due.map(({ org_id }) => org_id);
  const known = await db.query<DueOrg>(
    `UPDATE forecast_checks SET checked_at = $2 WHERE org_id = ANY($1) AND checked_at < $3
     RETURNING org_id, after_group`,
    [orgIds, now, checkedBefore],
  );
  const added = await db.query<DueOrg>(
    `INSERT INTO forecast_checks (org_id, checked_at, after_group) SELECT unnest($1::text[]), $2, ''
     ON CONFLICT DO NOTHING RETURNING org_id, after_group`,
    [orgIds, now],
  );
  return [...known, ...added];
}

/** Stores the cursor of the next check, and when it is due: immediately if this check was incomplete. */
export async function saveCheck(
  tx: Queryable,
  orgId: string,
  afterGroup: string,
  checkedAt: Date,
): Promise<void> {
  await tx.query('UPDATE forecast_checks SET after_group = $2, checked_at = $3 WHERE org_id = $1', [
    orgId,
    afterGroup,
    checkedAt,
  ]);
}

/** Records the counters as reported; returns those that were not reported before. */
export async function insertReported(
  tx: Queryable,
  orgId: string,
  counterKeys: readonly string[],
  now: Date,
): Promise<string[]> {
  const fresh = await tx.query<{ counter_key: string }>(
    `INSERT INTO forecast_notices (org_id, counter_key, told_at) SELECT $1, unnest($2::text[]), $3
     ON CONFLICT DO NOTHING RETURNING counter_key`,
    [orgId, counterKeys, now],
  );
  return fresh.map(({ counter_key }) => counter_key);
}
