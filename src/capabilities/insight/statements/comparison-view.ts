/** The API representation of a comparison. */
import { formatUsd } from '../../../kernel/money.ts';
import { decodeCursor, encodeCursor, pageSize } from '../../../platform/http/routes/list.ts';
import type { ComparedRow, Comparison } from './comparison.ts';
import { type BilledSums, type Cause, differenceCauses } from './difference.ts';
import type { StatementRow } from './queries.ts';
import type { ComparisonQuery, ComparisonRow, ComparisonView, SumsView } from './schema.ts';
import { type LineTokens, subtractTokens, tokenKinds, totalTokens } from './statement-line.ts';

export function viewComparison(
  statement: StatementRow,
  { rows, timezone }: Comparison,
  { limit = pageSize.fallback, cursor, sort = 'day', cause }: ComparisonQuery,
): ComparisonView {
  const after = cursor === undefined ? undefined : String(decodeCursor(cursor, sort, 'text').value);
  const isBackwards = sort === '-day';
  const follows = (key: string) => after === undefined || (isBackwards ? key < after : key > after);
  // The key of a row begins with its day.
  const following = (isBackwards ? rows.toReversed() : rows).filter(
    (row) => follows(row.key) && (cause === undefined || row.causes.some((one) => one.cause === cause)),
  );
  const page = following.slice(0, limit);
  const last = following.length > limit ? page.at(-1) : undefined;
  const sum = (amount: (row: ComparedRow) => bigint) => rows.reduce((total, row) => total + amount(row), 0n);
  const billed = sum((row) => row.billed.usd);
  const recorded = sum((row) => row.recorded.usd);
  return {
    statement_id: statement.id,
    timezone,
    total: {
      billed_usd: formatUsd(billed),
      recorded_usd: formatUsd(recorded),
      difference_usd: formatUsd(billed - recorded),
      causes: totalsByCause(rows),
    },
    data: page.map(viewRow),
    next_cursor: last === undefined ? null : encodeCursor(sort, last.key, ''),
  };
}

type CauseTotal = ComparisonView['total']['causes'][number];

function totalsByCause(rows: readonly ComparedRow[]): CauseTotal[] {
  return differenceCauses.flatMap((cause) => {
    const found = rows.filter(({ causes }) => causes.some((one) => one.cause === cause));
    const all = found.flatMap(({ causes }) => causes.filter((one) => one.cause === cause));
    const usdOf = (causes: readonly Cause[]) => formatUsd(causes.reduce((sum, { usd }) => sum + usd, 0n));
    const kinds = tokenKinds
      .map((kind) => ({ kind, causes: all.filter((one) => one.kind === kind) }))
      .filter(({ causes }) => causes.length > 0)
      .map(({ kind, causes }) => ({ kind, usd: usdOf(causes) }));
    return found.length === 0 ? [] : [{ cause, usd: usdOf(all), rows: found.length, kinds }];
  });
}

function viewRow(row: ComparedRow): ComparisonRow {
  const difference = {
    usd: row.billed.usd - row.recorded.usd,
    tokens: subtractTokens(row.billed.tokens, row.recorded.tokens),
  };
  return {
    day: row.day,
    model: row.model,
    project: row.project === '' ? null : row.project,
    billed: viewSums(row.billed, row.countsTokens),
    recorded: viewSums(row.recorded, true),
    difference: viewSums(difference, row.countsTokens),
    causes: row.causes.map(({ cause, usd, tokens, kind, keyIds }) => ({
      cause,
      kind: kind === '' ? null : kind,
      usd: formatUsd(usd),
      tokens: row.countsTokens ? Number(totalTokens(tokens)) : null,
      provider_key_ids: [...keyIds],
    })),
  };
}

function viewSums({ usd, tokens }: BilledSums, hasTokens: boolean): SumsView {
  const shown = (count: (tokens: LineTokens) => bigint) => (hasTokens ? Number(count(tokens)) : null);
  return {
    usd: formatUsd(usd),
    input_tokens: shown((one) => one.uncached_input + one.cached_input + one.cache_write),
    cached_input_tokens: shown((one) => one.cached_input),
    cache_write_tokens: shown((one) => one.cache_write),
    output_tokens: shown((one) => one.output),
  };
}
