import { insertMany, type Queryable, type Transaction } from '../../../platform/db/database.ts';
import { tableOf } from '../../../platform/db/table.ts';
import { type PageOf, selectPage } from '../../../platform/http/routes/list.ts';
import type { Block, Criteria, WaitingOrg } from './blocks.ts';
import type { BenchmarkFigures } from './figures.ts';
import { type CohortFilters, cohortSorts } from './schema.ts';

export interface ParticipantRow {
  readonly enabled: boolean;
  readonly industry: string | null;
  readonly size_band: string | null;
  readonly updated_at: Date;
}

export async function findParticipant(db: Queryable, orgId: string): Promise<ParticipantRow | undefined> {
  const [row] = await db.query<ParticipantRow>(
    'SELECT enabled, industry, size_band, updated_at FROM benchmark_participants WHERE org_id = $1',
    [orgId],
  );
  return row;
}

export async function putParticipant(tx: Transaction, orgId: string, row: ParticipantRow): Promise<void> {
  await tx.query(
    `INSERT INTO benchmark_participants (org_id, enabled, industry, size_band, updated_at) VALUES ($1, $2, $3, $4, $5)
     ON CONFLICT (org_id) DO UPDATE SET enabled = excluded.enabled, industry = excluded.industry,
       size_band = excluded.size_band, updated_at = excluded.updated_at`,
    [orgId, row.enabled, row.industry, row.size_band, row.updated_at],
  );
}

/**
 * Deletes the figures but keeps the row: its block must be known to be incomplete, and the org must not enter twice.
 */
export async function eraseFigures(tx: Transaction, orgId: string): Promise<void> {
  await tx.query('UPDATE benchmark_members SET figures = NULL WHERE org_id = $1', [orgId]);
}

export interface CohortRow {
  readonly id: string;
  readonly org_id: string;
  readonly name: string;
  readonly industry: string | null;
  readonly size_band: string | null;
  readonly created_at: Date;
}

const cohortColumns = 'id, org_id, name, industry, size_band, created_at';

/** Returns false if the org has reached the limit. Concurrent inserts may exceed it by a few. */
export async function insertCohort(tx: Transaction, row: CohortRow, most: number): Promise<boolean> {
  const inserted = await tx.query(
    `INSERT INTO benchmark_cohorts (${cohortColumns})
     SELECT $1, $2, $3, $4, $5, $6 WHERE (SELECT count(*) FROM benchmark_cohorts WHERE org_id = $2) < $7
     RETURNING 1 AS one`,
    [row.id, row.org_id, row.name, row.industry, row.size_band, row.created_at, most],
  );
  return inserted.length > 0;
}

export const { find: findCohort } = tableOf<CohortRow>()('benchmark_cohorts', {
  columns: cohortColumns,
  key: ['org_id', 'id'],
});

/** Returns the deleted row. Of two concurrent deletions, one finds nothing. */
export async function deleteCohort(
  tx: Transaction,
  orgId: string,
  id: string,
): Promise<CohortRow | undefined> {
  const [row] = await tx.query<CohortRow>(
    `DELETE FROM benchmark_cohorts WHERE org_id = $1 AND id = $2 RETURNING ${cohortColumns}`,
    [orgId, id],
  );
  return row;
}

export function listCohorts(db: Queryable, orgId: string, query: CohortFilters): Promise<PageOf<CohortRow>> {
  return selectPage<CohortRow>(db, {
    select: `SELECT ${cohortColumns} FROM benchmark_cohorts`,
    where: [['org_id = ?', orgId]],
    sorts: cohortSorts,
    defaultSort: '-created_at',
    query,
  });
}

/** Lets no other transaction form blocks of this week until this one ends. Deletes the blocks of earlier weeks. */
export async function lockWeek(tx: Transaction, week: Date): Promise<void> {
  await tx.query('INSERT INTO benchmark_weeks (week) VALUES ($1) ON CONFLICT DO NOTHING', [week]);
  await tx.query('SELECT week FROM benchmark_weeks WHERE week = $1 FOR UPDATE', [week]);
  await tx.query('DELETE FROM benchmark_members WHERE week < $1', [week]);
  await tx.query('DELETE FROM benchmark_weeks WHERE week < $1', [week]);
}

const waitingFrom = `
  FROM benchmark_participants p JOIN orgs o ON o.id = p.org_id
 WHERE p.enabled AND o.status = 'active'
   AND ($2::text IS NULL OR p.industry = $2) AND ($3::text IS NULL OR p.size_band = $3)
   AND EXISTS (SELECT 1 FROM usage_days u WHERE u.org_id = p.org_id AND u.day >= $4 AND u.requests > 0)
   AND NOT EXISTS (SELECT 1 FROM benchmark_members m WHERE m.org_id = p.org_id AND m.week = $1)`;

export interface WaitingParticipants {
  readonly week: Date;
  /** Orgs without usage since this time are skipped: they have nothing to contribute. */
  readonly since: Date;
  readonly wanted: Criteria;
  readonly most: number;
}

export async function countWaiting(
  db: Queryable,
  { week, since, wanted, most }: WaitingParticipants,
): Promise<number> {
  const rows = await db.query(`SELECT 1 AS one ${waitingFrom} LIMIT $5`, [
    week,
    wanted.industry,
    wanted.sizeBand,
    since,
    most,
  ]);
  return rows.length;
}

/** Returns waiting orgs, in a different order each week. They cannot leave before the transaction ends. */
export async function findWaiting(
  tx: Transaction,
  { week, since, wanted, most }: WaitingParticipants,
): Promise<WaitingOrg[]> {
  const rows = await tx.query<{ org_id: string; industry: string | null; size_band: string | null }>(
    `SELECT p.org_id, p.industry, p.size_band ${waitingFrom} ORDER BY md5(p.org_id || $6) LIMIT $5`,
    [week, wanted.industry, wanted.sizeBand, since, most, week.toISOString()],
  );
  // An update that changes nothing locks them: on a distributed database `FOR SHARE` takes the rows of one shard only.
  const locked = await tx.query<{ org_id: string }>(
    'UPDATE benchmark_participants SET enabled = enabled WHERE org_id = ANY($1) AND enabled RETURNING org_id',
    [rows.map(({ org_id }) => org_id)],
  );
  const taking = new Set(locked.map(({ org_id }) => org_id));
  return rows
    .filter(({ org_id }) => taking.has(org_id))
    .map(({ org_id, industry, size_band }) => ({ orgId: org_id, industry, sizeBand: size_band }));
}

export async function insertMembers(
  tx: Transaction,
  week: Date,
  blocks: readonly Block[],
  figuresOf: (orgId: string) => BenchmarkFigures | undefined,
): Promise<void> {
  await insertMany(
    tx,
    'benchmark_members',
    {
      org_id: 'text',
      week: 'timestamptz',
      block: 'text',
      industry: 'text',
      size_band: 'text',
      figures: 'jsonb',
    },
    blocks.flatMap(({ industry, sizeBand, orgIds }) =>
      orgIds.map((org_id) => ({
        org_id,
        week,
        // A block is named after its first org, which is in no other block of the week.
        block: orgIds[0],
        industry,
        size_band: sizeBand,
        figures: figuresOf(org_id) ?? null,
      })),
    ),
  );
}

export interface BlockMember {
  readonly orgId: string;
  readonly block: string;
  readonly criteria: Criteria;
  /** Null if the org no longer contributes. */
  readonly figures: BenchmarkFigures | null;
}

/** Returns the members of a week; orgs that left or are suspended have no figures. */
export async function findMembers(db: Queryable, week: Date): Promise<BlockMember[]> {
  const rows = await db.query<{
    org_id: string;
    block: string;
    industry: string | null;
    size_band: string | null;
    figures: BenchmarkFigures | null;
  }>(
    `SELECT m.org_id, m.block, m.industry, m.size_band,
            CASE WHEN p.enabled AND o.status = 'active' THEN m.figures END AS figures
       FROM benchmark_members m
       LEFT JOIN benchmark_participants p ON p.org_id = m.org_id
       LEFT JOIN orgs o ON o.id = m.org_id
      WHERE m.week = $1`,
    [week],
  );
  return rows.map(({ org_id, block, industry, size_band, figures }) => ({
    orgId: org_id,
    block,
    criteria: { industry, sizeBand: size_band },
    figures,
  }));
}
