/** Uploading, reading and deleting statements. */
import { apiError, found, invalidField } from '../../../contract/api-error.ts';
import { formatUsd, maxNanos, parseUsd } from '../../../kernel/money.ts';
import type { Queryable, Transaction } from '../../../platform/db/database.ts';
import type { Ids } from '../../../platform/ids.ts';
import type { Sliced } from '../../../platform/sliced-work.ts';
import { lockOrg } from '../../access/orgs/index.ts';
import { digestOf, parseStatement } from './parse-statement.ts';
import {
  deleteStatement,
  findByDigest,
  findStatement,
  insertLines,
  insertStatement,
  type StatementRow,
} from './queries.ts';
import { type CreateStatement, defaultDriftThreshold, type StatementView } from './schema.ts';
import type { ParsedStatement } from './statement-line.ts';
import { uncomparedReason } from './statement-source.ts';

export function viewStatement(row: StatementRow): StatementView {
  const { compared_at, difference_nanos, drift_nanos, reconciled_at } = row;
  return {
    id: row.id,
    provider: row.provider,
    sources: [...row.sources],
    not_compared: row.sources.flatMap((source) => {
      const reason = uncomparedReason(source);
      return reason === undefined ? [] : [{ source, reason }];
    }),
    period_start: row.period_start,
    period_end: row.period_end,
    digest: row.digest,
    lines: row.lines,
    billed_usd: formatUsd(row.billed_nanos),
    project_dimension: row.project_dimension,
    gateway_key_ids: row.gateway_key_ids === null ? null : [...row.gateway_key_ids],
    drift_threshold_usd: formatUsd(row.drift_threshold_nanos),
    compared_at: compared_at?.toISOString() ?? null,
    difference_usd: difference_nanos === null ? null : formatUsd(difference_nanos),
    drift_usd: drift_nanos === null ? null : formatUsd(drift_nanos),
    reconciled_at: reconciled_at?.toISOString() ?? null,
    reconciled_runs: row.reconciled_runs,
    reconciled_usd: formatUsd(row.reconciled_nanos),
    created_at: row.created_at.toISOString(),
  };
}

/** A statement that is parsed and not stored yet. */
export interface DraftStatement {
  readonly row: StatementRow;
  readonly parsed: ParsedStatement;
}

/** Parses the file, which may take seconds, so it is done before the transaction. */
export function* draftStatement(
  ids: Ids,
  now: Date,
  orgId: string,
  body: CreateStatement,
): Sliced<DraftStatement> {
  const parsed = yield* parseStatement(body, now);
  const billedNanos = parsed.lines.reduce((sum, { usdNanos }) => sum + usdNanos, 0n);
  if (
    [billedNanos, ...parsed.lines.map(({ usdNanos }) => usdNanos)].some(
      (nanos) => nanos > maxNanos || nanos < -maxNanos,
    )
  ) {
    throw invalidField(
      'body',
      'out_of_range',
      'The statement exceeds the largest amount that can be stored.',
    );
  }
  const row: StatementRow = {
    org_id: orgId,
    id: ids.next('stm'),
    provider: parsed.provider,
    sources: parsed.sources,
    period_start: parsed.periodStart,
    period_end: parsed.periodEnd,
    digest: digestOf(parsed),
    lines: parsed.lines.length,
    billed_nanos: billedNanos,
    has_tokens: parsed.hasTokens,
    decimals: parsed.decimals,
    project_dimension: body.project_dimension ?? null,
    gateway_key_ids: body.gateway_key_ids ?? null,
    drift_threshold_nanos: parseUsd(body.drift_threshold_usd ?? defaultDriftThreshold) ?? 0n,
    created_at: now,
    compared_at: null,
    difference_nanos: null,
    drift_nanos: null,
    reconciled_at: null,
    reconciled_runs: 0,
    reconciled_nanos: 0n,
  };
  return { row, parsed };
}

export async function storeStatement(tx: Transaction, { row, parsed }: DraftStatement): Promise<void> {
  await lockOrg(tx, row.org_id);
  if (!(await insertStatement(tx, row))) {
    const existing = await findByDigest(tx, row.org_id, row.digest);
    throw apiError('conflict', `A statement with this content exists already: ${existing}.`);
  }
  await insertLines(tx, row, parsed.lines);
}

export async function requireStatement(db: Queryable, orgId: string, id: string): Promise<StatementRow> {
  return found(await findStatement(db, orgId, id), 'Statement not found.');
}

export async function removeStatement(tx: Transaction, orgId: string, id: string): Promise<StatementRow> {
  const row = await requireStatement(tx, orgId, id);
  if (!(await deleteStatement(tx, orgId, id))) {
    throw apiError(
      'conflict',
      'The statement was reconciled. It is kept with the runs that were posted for it.',
    );
  }
  return row;
}
