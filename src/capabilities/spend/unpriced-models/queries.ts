import { changeChannel } from '../../../platform/db/change-channel.ts';
import type { Queryable } from '../../../platform/db/database.ts';
import { type PageOf, selectPage } from '../../../platform/http/routes/list.ts';
import { type OnUnpriced, type RateColumns, rateColumns } from '../models/index.ts';
import {
  type UnpricedModelFilters,
  type UnpricedTotalFilters,
  unpricedModelSorts,
  unpricedTotalSorts,
} from './schema.ts';

export const unpricedPolicyChanged = changeChannel('unpriced_policy_changed');

export interface UnpricedPolicyRow extends RateColumns {
  readonly org_id: string;
  /** Version number. The highest version of an org is in force. */
  readonly version: number;
  readonly id: string;
  readonly on_unpriced: OnUnpriced;
  readonly created_at: Date;
}

const policyColumns = ['org_id', 'version', 'id', 'on_unpriced', ...rateColumns, 'created_at'] as const;

/** Returns the policy; undefined if the org has never set one. */
export async function findUnpricedPolicy(
  db: Queryable,
  orgId: string,
): Promise<UnpricedPolicyRow | undefined> {
  const [row] = await db.query<UnpricedPolicyRow>(
    `SELECT ${policyColumns.join()} FROM unpriced_policies WHERE org_id = $1 ORDER BY version DESC LIMIT 1`,
    [orgId],
  );
  return row;
}

/** Returns a version of the policy, even if it is no longer in force. */
export async function findUnpricedPolicyVersion(
  db: Queryable,
  orgId: string,
  policyId: string,
): Promise<UnpricedPolicyRow | undefined> {
  const [row] = await db.query<UnpricedPolicyRow>(
    `SELECT ${policyColumns.join()} FROM unpriced_policies WHERE org_id = $1 AND id = $2`,
    [orgId, policyId],
  );
  return row;
}

export async function insertUnpricedPolicy(tx: Queryable, row: UnpricedPolicyRow): Promise<void> {
  await tx.query(
    `INSERT INTO unpriced_policies (${policyColumns.join()})
     VALUES (${policyColumns.map((_, index) => `$${index + 1}`).join()})`,
    policyColumns.map((column) => row[column]),
  );
}

export interface UnpricedModelRow {
  readonly id: string;
  readonly model: string;
  readonly runs: bigint;
  readonly repriced_runs: bigint;
  readonly input_tokens: bigint;
  readonly output_tokens: bigint;
  readonly first_used_at: Date;
  readonly last_used_at: Date;
}

export async function listUnpricedModels(
  db: Queryable,
  orgId: string,
  query: UnpricedModelFilters,
): Promise<PageOf<UnpricedModelRow>> {
  return selectPage<UnpricedModelRow>(db, {
    select: `SELECT id, model, runs, repriced_runs, input_tokens, output_tokens, first_used_at, last_used_at
               FROM (SELECT *, model AS id FROM unpriced_models) AS listed`,
    where: [
      ['org_id = ?', orgId],
      ['model = ?', query.model],
      ['last_used_at >= ?', query.used_since === undefined ? undefined : new Date(query.used_since)],
    ],
    sorts: unpricedModelSorts,
    defaultSort: '-last_used_at',
    query,
  });
}

/** Uses of a model in one batch of postings. */
export interface ModelUse {
  readonly orgId: string;
  readonly model: string;
  runs: bigint;
  inputTokens: bigint;
  outputTokens: bigint;
  readonly atMs: number;
}

export interface CountedUse {
  readonly org_id: string;
  readonly model: string;
  /** Number of all uses so far, including these. */
  readonly runs: bigint;
  /** Time of the last use before these; null if there was none. */
  readonly used_before: Date | null;
}

/** Returns SQL that caps a sum at the largest JSON number, because a larger sum must not reject runs. */
const bounded = (sum: string) => `least(${sum}, ${Number.MAX_SAFE_INTEGER})::int8`;

/** Adds the uses to the counts of their models. Each model must occur only once in `uses`. */
export async function addUses(tx: Queryable, uses: readonly ModelUse[]): Promise<CountedUse[]> {
  const names = [uses.map(({ orgId }) => orgId), uses.map(({ model }) => model)];
  const before = await tx.query<{ org_id: string; model: string; last_used_at: Date }>(
    `SELECT m.org_id, m.model, m.last_used_at
       FROM unnest($1::text[], $2::text[]) AS used(org_id, model)
       JOIN unpriced_models m ON m.org_id = used.org_id AND m.model = used.model
      WHERE m.org_id = ANY($1)`,
    names,
  );
  const counted = await tx.query<Omit<CountedUse, 'used_before'>>(
    `INSERT INTO unpriced_models AS m
            (org_id, model, runs, input_tokens, output_tokens, first_used_at, last_used_at)
     SELECT org_id, model, runs, ${bounded('input_tokens')}, ${bounded('output_tokens')}, at, at
       FROM unnest($1::text[], $2::text[], $3::int8[], $4::int8[], $5::int8[], $6::timestamptz[])
              AS u(org_id, model, runs, input_tokens, output_tokens, at)
      ORDER BY org_id, model
     ON CONFLICT (org_id, model) DO UPDATE SET runs = m.runs + excluded.runs,
       input_tokens = ${bounded('m.input_tokens + excluded.input_tokens')},
       output_tokens = ${bounded('m.output_tokens + excluded.output_tokens')},
       last_used_at = greatest(m.last_used_at, excluded.last_used_at)
     RETURNING m.org_id, m.model, m.runs`,
    [
      ...names,
      uses.map(({ runs }) => runs),
      uses.map(({ inputTokens }) => inputTokens),
      uses.map(({ outputTokens }) => outputTokens),
      uses.map(({ atMs }) => new Date(atMs)),
    ],
  );
  return counted.map(({ org_id, model, runs }) => ({
    org_id,
    model,
    runs,
    used_before: before.find((one) => one.org_id === org_id && one.model === model)?.last_used_at ?? null,
  }));
}

/** Keeps only the `most` recently used models of an org, because their names come from callers. */
export async function dropOldest(tx: Queryable, orgId: string, most: number): Promise<void> {
  await tx.query(
    `DELETE FROM unpriced_models WHERE org_id = $1 AND model IN
       (SELECT model FROM unpriced_models WHERE org_id = $1 ORDER BY last_used_at DESC, model OFFSET $2)`,
    [orgId, most],
  );
}

export async function countRepriced(tx: Queryable, orgId: string, model: string): Promise<void> {
  await tx.query(
    'UPDATE unpriced_models SET repriced_runs = repriced_runs + 1 WHERE org_id = $1 AND model = $2',
    [orgId, model],
  );
}

export interface UnpricedModelTotalRow extends UnpricedModelRow {
  readonly orgs: bigint;
}

/** Returns the sums over all orgs. A page only reads the rows of its models, through the index on `model`. */
export async function listUnpricedModelTotals(
  db: Queryable,
  query: UnpricedTotalFilters,
): Promise<PageOf<UnpricedModelTotalRow>> {
  return selectPage<UnpricedModelTotalRow>(db, {
    select: `SELECT * FROM (
               SELECT model AS id, model, count(*) AS orgs, sum(runs)::int8 AS runs,
                      sum(repriced_runs)::int8 AS repriced_runs, ${bounded('sum(input_tokens)')} AS input_tokens,
                      ${bounded('sum(output_tokens)')} AS output_tokens, min(first_used_at) AS first_used_at,
                      max(last_used_at) AS last_used_at
                 FROM unpriced_models GROUP BY model) AS listed`,
    where: [['model = ?', query.model]],
    sorts: unpricedTotalSorts,
    defaultSort: 'model',
    query,
  });
}
