/** The API representation of a comparison. */
import { formatUsd } from '../../../kernel/money.ts';
import { decodeCursor, encodeCursor, pageSize } from '../../../platform/http/routes/list.ts';
import type { ComparedRow, Comparison } from './comparison.ts';
import { type DifferenceCause, differenceCauses, type LineSums } from './difference.ts';
import type { StatementRow } from './queries.ts';
import type { ComparisonQuery, ComparisonRow, ComparisonView, SumsView } from './schema.ts';
import { type LineTokens, subtractTokens, totalTokens } from './statement-line.ts';

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
    data: page.map((row) => viewRow(row, statement.has_tokens)),
    next_cursor: last === undefined ? null : encodeCursor(sort, last.key, ''),
  };
}

function totalsByCause(rows: readonly ComparedRow[]): ComparisonView['total']['causes'] {
  const totals = new Map<DifferenceCause, { usd: bigint; rows: number }>();
  for (const { causes } of rows) {
    const counted = new Set<DifferenceCause>();
    for (const { cause, usd } of causes) {
      const there = totals.get(cause) ?? { usd: 0n, rows: 0 };
      totals.set(cause, { usd: there.usd + usd, rows: there.rows + (counted.has(cause) ? 0 : 1) });
      counted.add(cause);
    }
  }
  return differenceCauses.flatMap((cause) => {
    const found = totals.get(cause);
    return found === undefined ? [] : [{ cause, usd: formatUsd(found.usd), rows: found.rows }];
  });
}

function viewRow(row: ComparedRow, hasTokens: boolean): ComparisonRow {
  const difference = {
    usd: row.billed.usd - row.recorded.usd,
    tokens: subtractTokens(row.billed.tokens, row.recorded.tokens),
  };
  return {
    day: row.day,
    model: row.model,
    project: row.project === '' ? null : row.project,
    billed: viewSums(row.billed, hasTokens),
    recorded: viewSums(row.recorded, true),
    difference: viewSums(difference, hasTokens),
    causes: row.causes.map(({ cause, usd, tokens, keyIds }) => ({
      cause,
      usd: formatUsd(usd),
      tokens: hasTokens ? Number(totalTokens(tokens)) : null,
      provider_key_ids: [...keyIds],
    })),
  };
}

function viewSums({ usd, tokens }: Omit<LineSums, 'runs'>, hasTokens: boolean): SumsView {
  const shown = (count: (tokens: LineTokens) => bigint) => (hasTokens ? Number(count(tokens)) : null);
  return {
    usd: formatUsd(usd),
    input_tokens: shown((one) => one.uncached_input + one.cached_input + one.cache_write),
    cached_input_tokens: shown((one) => one.cached_input),
    cache_write_tokens: shown((one) => one.cache_write),
    output_tokens: shown((one) => one.output),
  };
}
