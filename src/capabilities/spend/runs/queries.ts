import { apiError } from '../../../contract/api-error.ts';
import { forEachName, type LabelDimension, labelDimensions } from '../../../contract/run-dimensions.ts';
import { readParts, sumOfParts } from '../../../kernel/cost-parts.ts';
import type { Debit } from '../../../kernel/credits.ts';
import type { Hold } from '../../../ledger/holds/hold.ts';
import { createsRun, type Posted } from '../../../ledger/posting.ts';
import type { PaidSoFar } from '../../../ledger/postings/existing-records.ts';
import { insertEach, type Queryable, senderOf, type Transaction } from '../../../platform/db/database.ts';
import { insertResponses } from './responses.ts';
import type { RunStatus } from './schema.ts';

export interface RunRow extends Readonly<Record<LabelDimension, string | null>> {
  readonly org_id: string;
  readonly charged_at: Date;
  readonly id: string;
  readonly external_id: string | null;
  readonly status: RunStatus;
  readonly key_id: string;
  readonly model: string;
  /** The model that served the call. Null if it was not reported, or is `model` itself. */
  readonly served_model: string | null;
  readonly tags: Readonly<Record<string, string>> | null;
  readonly parent_run_id: string | null;
  readonly depth: number;
  readonly input_tokens: bigint;
  readonly cached_input_tokens: bigint;
  /** Includes `cache_write_1h_tokens`. */
  readonly cache_write_tokens: bigint;
  readonly output_tokens: bigint;
  readonly service_tier: string | null;
  readonly region: string | null;
  readonly cache_write_1h_tokens: bigint | null;
  readonly units: Readonly<Record<string, number>> | null;
  readonly cost_nanos: bigint | null;
  readonly adjusted_nanos: bigint;
  readonly uncovered_nanos: bigint;
  readonly value_nanos: bigint | null;
  readonly latency_ms: bigint | null;
  readonly price_version: string | null;
  /** The model of the used price; null if no price was used. */
  readonly priced_as: string | null;
  readonly started_at: Date;
  readonly finished_at: Date | null;
  readonly content: string | null;
  readonly metadata: Readonly<Record<string, unknown>> | null;
  readonly decision_id: string | null;
  readonly marks: readonly Posted['marks'][number][];
  /** Names of the detectors that flagged the content; null if none did. */
  readonly flagged_by: readonly string[] | null;
  readonly created_at: Date;
}

/** Columns of a run that do not follow from the posting itself. Kept small, because a bulk request creates thousands of drafts. */
export type RunDraft = Pick<
  RunRow,
  | 'external_id'
  | 'status'
  | 'key_id'
  | 'model'
  | 'served_model'
  | 'parent_run_id'
  | 'started_at'
  | 'finished_at'
  | 'content'
  | 'flagged_by'
  | 'metadata'
  | 'priced_as'
  | 'service_tier'
  | 'region'
  | 'cache_write_1h_tokens'
  | 'units'
> & {
  /** The provider's id of the response, if it is known. It is stored in another table (`responses.ts`). */
  readonly response_id?: string | undefined;
  /** For an adjustment: the sum of earlier adjustments that was known when it was computed. */
  readonly adjustedBefore?: bigint;
  /**
   * For an adjustment: the sum including this one. Set when it is posted, because other adjustments may be posted before it, even
   * in its batch.
   */
  adjustedAfter?: bigint;
  /** For an adjustment that prices the run: the price version before. */
  readonly priceVersionBefore?: string | null;
};

/** Returns the name of the model that determines the price: the one that served the run. */
export function pricedName({ model, served_model }: Pick<RunRow, 'model' | 'served_model'>): string {
  return served_model ?? model;
}

const columns = {
  org_id: 'text',
  charged_at: 'timestamptz',
  id: 'text',
  external_id: 'text',
  status: 'text',
  key_id: 'text',
  model: 'text',
  served_model: 'text',
  ...forEachName(labelDimensions, 'text' as const),
  tags: 'jsonb',
  parent_run_id: 'text',
  depth: 'int4',
  input_tokens: 'int8',
  cached_input_tokens: 'int8',
  cache_write_tokens: 'int8',
  output_tokens: 'int8',
  service_tier: 'text',
  region: 'text',
  cache_write_1h_tokens: 'int8',
  units: 'jsonb',
  cost_nanos: 'int8',
  adjusted_nanos: 'int8',
  uncovered_nanos: 'int8',
  value_nanos: 'int8',
  latency_ms: 'int8',
  price_version: 'text',
  priced_as: 'text',
  started_at: 'timestamptz',
  finished_at: 'timestamptz',
  content: 'text',
  metadata: 'jsonb',
  decision_id: 'text',
  marks: 'text[]',
  flagged_by: 'text[]',
  created_at: 'timestamptz',
} as const satisfies Record<keyof RunRow, string>;

export const columnNames = Object.keys(columns).join(', ');

/** Returns the row of a posted run. Not for corrections, which only post the difference. */
export function postedRow(posted: Posted<RunDraft>): RunRow {
  const { posting, scope, charged } = posted;
  const { run, usage } = posting;
  const model = scope.model ?? run.model;
  // All fields are listed, because spreading an object of this size costs more than the rest of a posting.
  return {
    org_id: posted.orgId,
    charged_at: new Date(posted.chargedAtMs),
    id: posting.runId,
    external_id: run.external_id,
    status: run.status,
    key_id: run.key_id,
    model,
    // A run may name another model than its decision, but counts as the decision's model.
    served_model: run.served_model ?? (run.model === model ? null : run.model),
    provider: scope.provider,
    action: scope.action,
    workflow: scope.workflow,
    deployment: scope.deployment,
    department: scope.department,
    team: scope.team,
    customer_id: scope.customer_id,
    chain_id: scope.chain_id,
    member_id: scope.member_id,
    project: scope.project,
    tags: scope.tags,
    parent_run_id: run.parent_run_id,
    depth: posting.depth,
    input_tokens: usage.inputTokens,
    cached_input_tokens: usage.cachedInputTokens,
    cache_write_tokens: usage.cacheWriteTokens,
    output_tokens: usage.outputTokens,
    service_tier: run.service_tier,
    region: run.region,
    cache_write_1h_tokens: run.cache_write_1h_tokens,
    units: run.units,
    cost_nanos: charged === null ? null : posting.amounts.usd,
    adjusted_nanos: 0n,
    uncovered_nanos: charged?.uncovered ?? 0n,
    value_nanos: usage.valueNanos,
    latency_ms: usage.latencyMs,
    price_version: posting.priceVersion,
    priced_as: run.priced_as,
    started_at: run.started_at,
    finished_at: run.finished_at,
    content: run.content,
    metadata: run.metadata,
    decision_id: posting.decisionId,
    marks: posted.marks,
    flagged_by: run.flagged_by,
    created_at: new Date(posted.postedAtMs),
  };
}

/** Returns those of the `external_id`s that runs have. */
export async function findExternalIds(
  db: Queryable,
  orgId: string,
  externalIds: readonly string[],
): Promise<ReadonlySet<string>> {
  if (externalIds.length === 0) {
    return new Set();
  }
  const rows = await db.query<{ readonly external_id: string }>(
    'SELECT external_id FROM run_identities WHERE org_id = $1 AND external_id = ANY($2)',
    [orgId, externalIds],
  );
  return new Set(rows.map(({ external_id }) => external_id));
}

type UsageOfRun = Pick<RunRow, 'external_id' | 'model' | 'input_tokens' | 'output_tokens'>;

/** Returns model and counts of the runs with these `external_id`s. */
export async function findUsageByExternalId(
  db: Queryable,
  orgId: string,
  externalIds: readonly string[],
): Promise<ReadonlyMap<string | null, UsageOfRun>> {
  if (externalIds.length === 0) {
    return new Map();
  }
  const rows = await db.query<UsageOfRun & { readonly [column: string]: unknown }>(
    `SELECT runs.external_id, model, input_tokens, output_tokens
       FROM run_identities named
       JOIN runs ON runs.org_id = named.org_id AND runs.charged_at = named.charged_at AND runs.id = named.run_id
      WHERE named.org_id = $1 AND named.external_id = ANY($2)`,
    [orgId, externalIds],
  );
  return new Map(rows.map((run) => [run.external_id, run]));
}

export async function writeRuns(tx: Transaction, posted: readonly Posted<RunDraft>[]): Promise<void> {
  const replaced = posted.filter(({ posting: { kind } }) => kind === 'resettle');
  const reversed = replaced.length === 0 ? noAdjustments : adjustmentsBefore(replaced, posted);
  for (const one of reversed) {
    await adjustRun(tx, one);
  }
  if (replaced.length > 0) {
    await deleteRuns(tx, replaced);
  }
  const fresh = posted.filter(({ posting }) => createsRun(posting) || posting.kind === 'resettle');
  await insertEach(senderOf(tx, fresh), 'runs', columns, fresh, postedRow);
  await insertResponses(tx, posted);
  for (const one of posted) {
    const { kind, runExists } = one.posting;
    if (kind === 'complete') {
      await completeRun(tx, one);
    } else if (kind === 'adjust' && !reversed.has(one)) {
      await adjustRun(tx, one);
    } else if (kind === 'expire' && runExists === true) {
      await markUnsettled(tx, one);
    }
  }
}

const noAdjustments: ReadonlySet<Posted<RunDraft>> = new Set();

/** Returns the adjustments of runs that are replaced later in the batch. They change the old row, not the new one. */
function adjustmentsBefore(
  replaced: readonly Posted<RunDraft>[],
  posted: readonly Posted<RunDraft>[],
): ReadonlySet<Posted<RunDraft>> {
  const replacedAt = new Map(replaced.map((one) => [one.posting.runId, posted.indexOf(one)]));
  return new Set(
    posted.filter(
      ({ posting: { kind, runId } }, at) => kind === 'adjust' && at < (replacedAt.get(runId) ?? 0),
    ),
  );
}

/** Deletes runs that an expiry created. The caller's run replaces them under the same id. */
async function deleteRuns(tx: Transaction, replaced: readonly Posted<RunDraft>[]): Promise<void> {
  await tx.query(
    `DELETE FROM runs USING unnest($1::text[], $2::timestamptz[], $3::text[]) AS replaced(org_id, charged_at, id)
      WHERE runs.org_id = replaced.org_id AND runs.charged_at = replaced.charged_at AND runs.id = replaced.id
        AND runs.org_id = ANY($1)`,
    [
      replaced.map(({ orgId }) => orgId),
      replaced.map(({ chargedAtMs }) => new Date(chargedAtMs)),
      replaced.map(({ posting }) => posting.runId),
    ],
  );
}

/** Sets the cost of a run in progress whose hold has expired. */
async function markUnsettled(tx: Transaction, posted: Posted<RunDraft>): Promise<void> {
  await tx.query(
    `UPDATE runs SET cost_nanos = $4, uncovered_nanos = $5, marks = $6
      WHERE org_id = $1 AND charged_at = $2 AND id = $3`,
    [
      posted.orgId,
      new Date(posted.chargedAtMs),
      posted.posting.runId,
      posted.posting.amounts.usd,
      posted.charged?.uncovered ?? 0n,
      posted.marks,
    ],
  );
}

/** Completes a run. The run has the scope of its hold, which contains a pseudonym if the customer was erased since the start. */
async function completeRun(tx: Transaction, posted: Posted<RunDraft>): Promise<void> {
  const row = postedRow(posted);
  const completed = await tx.query(
    `UPDATE runs SET status = $3, input_tokens = $4, cached_input_tokens = $5, cache_write_tokens = $6,
                     output_tokens = $7, cost_nanos = $8, value_nanos = $9, latency_ms = $10, price_version = $11,
                     finished_at = $12, metadata = $13, marks = $14, uncovered_nanos = $15, adjusted_nanos = 0,
                     priced_as = $16, service_tier = $17, region = $18, cache_write_1h_tokens = $19, units = $20,
                     served_model = $21, customer_id = $22, chain_id = $23,
                     tags = CASE WHEN customer_id IS DISTINCT FROM $22 THEN $24 ELSE tags END
      WHERE org_id = $1 AND charged_at = (SELECT charged_at FROM run_identities WHERE org_id = $1 AND run_id = $2)
        AND id = $2 AND status = 'running' RETURNING 1 AS one`,
    [
      row.org_id,
      row.id,
      row.status,
      row.input_tokens,
      row.cached_input_tokens,
      row.cache_write_tokens,
      row.output_tokens,
      row.cost_nanos,
      row.value_nanos,
      row.latency_ms,
      row.price_version,
      row.finished_at,
      row.metadata === null ? null : JSON.stringify(row.metadata),
      row.marks,
      row.uncovered_nanos,
      row.priced_as,
      row.service_tier,
      row.region,
      row.cache_write_1h_tokens,
      row.units === null ? null : JSON.stringify(row.units),
      row.served_model,
      row.customer_id,
      row.chain_id,
      row.tags === null ? null : JSON.stringify(row.tags),
    ],
  );
  if (completed.length === 0) {
    throw apiError('conflict', 'The run is not running.');
  }
}

async function adjustRun(tx: Transaction, { orgId, posting, charged }: Posted<RunDraft>): Promise<void> {
  const [adjusted] = await tx.query<{ adjusted_nanos: bigint }>(
    `UPDATE runs SET adjusted_nanos = adjusted_nanos + $3, uncovered_nanos = uncovered_nanos + $4,
                     price_version = coalesce($5, price_version),
                     priced_as = CASE WHEN $5::text IS NULL THEN priced_as ELSE $7 END
      WHERE org_id = $1 AND charged_at = (SELECT charged_at FROM run_identities WHERE org_id = $1 AND run_id = $2)
        AND id = $2 AND cost_nanos + adjusted_nanos + $3 >= 0
        AND ($5::text IS NULL OR price_version IS NOT DISTINCT FROM $8 AND adjusted_nanos = $6)
      RETURNING adjusted_nanos`,
    [
      orgId,
      posting.runId,
      posting.amounts.usd,
      charged?.uncovered ?? 0n,
      posting.priceVersion,
      posting.run.adjustedBefore ?? 0n,
      posting.run.priced_as,
      posting.run.priceVersionBefore ?? null,
    ],
  );
  if (adjusted === undefined) {
    throw apiError(
      'conflict',
      posting.priceVersion === null
        ? 'Adjustments must not reduce the cost below zero.'
        : 'The run was adjusted at the same time. Try again.',
    );
  }
  posting.run.adjustedAfter = adjusted.adjusted_nanos;
}

interface PaidRow {
  readonly packs: readonly (readonly [string, string | number])[] | null;
  readonly uncovered_nanos: bigint;
  readonly prepaid_nanos: bigint;
  readonly kind: string;
  readonly parts: string;
  readonly usd_nanos: bigint;
}

/** Returns the sums over the earlier entries of a run: by kind, from credits and the prepaid balance, and uncovered. */
export async function readPaid(
  tx: Queryable,
  orgId: string,
  runId: string,
): Promise<PaidSoFar & { readonly usd: bigint }> {
  const rows = await tx.query<PaidRow>(
    `SELECT packs, uncovered_nanos, prepaid_nanos, kind, parts, usd_nanos FROM ledger_entries
      WHERE org_id = $1 AND charged_at = (SELECT charged_at FROM run_identities WHERE org_id = $1 AND run_id = $2)
        AND run_id = $2 ORDER BY booked_at, id`,
    [orgId, runId],
  );
  const burned = new Map<string, bigint>();
  for (const { packs } of rows) {
    for (const [packId, nanos] of packs ?? []) {
      const key = `${packId}@0`;
      burned.set(key, (burned.get(key) ?? 0n) + BigInt(nanos));
    }
  }
  const debits: Debit[] = [...burned].map(([key, amount]) => ({ key, amount }));
  return {
    burned: debits.filter(({ amount }) => amount > 0n),
    uncovered: rows.reduce((sum, row) => sum + row.uncovered_nanos, 0n),
    prepaid: rows.reduce((sum, row) => sum + row.prepaid_nanos, 0n),
    usd: rows.reduce((sum, row) => sum + row.usd_nanos, 0n),
    recorded: rows.some(({ kind }) => kind === 'record'),
    parts: sumOfParts(...rows.map(({ parts }) => readParts(parts))),
  };
}

export async function findRun(db: Queryable, orgId: string, runId: string): Promise<RunRow | undefined> {
  const [row] = await db.query<RunRow>(
    `SELECT ${columnNames} FROM runs
      WHERE org_id = $1 AND charged_at = (SELECT charged_at FROM run_identities WHERE org_id = $1 AND run_id = $2)
        AND id = $2`,
    [orgId, runId],
  );
  return row;
}

/** Returns the runs in progress under these holds that were not charged yet, oldest first. Each has the time of its hold. */
export async function findRunningRuns(
  tx: Queryable,
  orgId: string,
  holds: readonly Pick<Hold, 'id' | 'admittedAtMs'>[],
): Promise<RunRow[]> {
  return holds.length === 0
    ? []
    : tx.query<RunRow>(
        `SELECT ${columnNames} FROM runs
          WHERE org_id = $1 AND charged_at = ANY($2::timestamptz[]) AND decision_id = ANY($3)
            AND status = 'running' AND cost_nanos IS NULL ORDER BY id`,
        [orgId, holds.map(({ admittedAtMs }) => new Date(admittedAtMs)), holds.map(({ id }) => id)],
      );
}

/** Returns those of the runs that are charged at the held amount and can still be settled. */
export async function findUnsettledRuns(
  tx: Queryable,
  orgId: string,
  runIds: readonly string[],
): Promise<RunRow[]> {
  return tx.query<RunRow>(
    `SELECT ${columnNames} FROM runs
      WHERE org_id = $1 AND id = ANY($2) AND status = 'running' AND marks @> ARRAY['unsettled']
        AND charged_at = ANY(ARRAY(SELECT charged_at FROM run_identities WHERE org_id = $1 AND run_id = ANY($2)))`,
    [orgId, runIds],
  );
}

export interface ParentRow {
  readonly id: string;
  readonly depth: number;
  readonly chain_id: string | null;
}

export async function findParents(
  db: Queryable,
  orgId: string,
  ids: readonly string[],
): Promise<ParentRow[]> {
  return ids.length === 0
    ? []
    : db.query<ParentRow>(
        `SELECT runs.id, depth, chain_id FROM run_identities i
           JOIN runs ON runs.org_id = i.org_id AND runs.charged_at = i.charged_at AND runs.id = i.run_id
          WHERE i.org_id = $1 AND i.run_id = ANY($2)`,
        [orgId, ids],
      );
}

/** Returns the latest `limit` runs, newest first. */
export async function latestRuns(db: Queryable, orgId: string, limit: number): Promise<RunRow[]> {
  return db.query<RunRow>(
    `SELECT ${columnNames} FROM runs WHERE org_id = $1 ORDER BY charged_at DESC, id DESC LIMIT $2`,
    [orgId, limit],
  );
}
