/**
 * CSV in the columns of FOCUS 1.2 to 1.4. The specification has no columns for models and tokens, so they are taken from the columns
 * that describe the SKU; `x_Model`, `x_TokenType` and `x_ApiKeyId` win where a file has them, then the properties that FOCUS defines for
 * AI. Exports of Purser in 1.2 have the tokens of each kind in columns of their own.
 */
import { hasCalendarDate } from '../../../kernel/calendar-date.ts';
import { isStorable } from '../../../platform/http/message/json-errors.ts';
import type { AddedRow, CsvFormat } from './csv-format.ts';
import { cellMax, type NamedCells } from './csv-table.ts';
import type { LineCollector } from './line-collector.ts';
import { parseAmount } from './page-fields.ts';
import { providerLabel } from './provider-names.ts';
import { kindIn, type LineTokens, noTokens, type TokenKind, tokenKinds } from './statement-line.ts';

const requiredColumns = ['BilledCost', 'BillingCurrency', 'ChargePeriodStart', 'ChargePeriodEnd'];
/** FOCUS 1.3 replaced the second by the first; a file may have both. */
const providerColumns = ['ServiceProviderName', 'ProviderName'];
/** The first that is not empty names the model. */
const modelColumns = ['x_Model', 'SkuId', 'ResourceName', 'ChargeDescription'];
/** The categories of FOCUS 1.2. A file without the column has usage only. */
const chargeCategories = ['', 'Usage', 'Purchase', 'Tax', 'Credit', 'Adjustment'];
const kindColumns = ['x_TokenType', 'SkuMeter', 'SkuPriceDetails', 'ChargeDescription'];
/** Columns of Purser's exports (`insight/focus`). */
const tokenColumns: Readonly<Record<TokenKind, string>> = {
  uncached_input: 'x_UncachedInputTokens',
  cached_input: 'x_CachedInputTokens',
  cache_write: 'x_CacheWriteTokens',
  output: 'x_OutputTokens',
};

const hasTokenColumns = (row: NamedCells) => Object.values(tokenColumns).every((name) => row.has(name));

export const focusCsv: CsvFormat = {
  signature: requiredColumns,
  problemOf(columns) {
    const hasProvider = providerColumns.some((name) => columns.has(name));
    const missing = [
      ...requiredColumns.filter((name) => !columns.has(name)),
      ...(hasProvider ? [] : [providerColumns.join(' or ')]),
    ];
    return missing.length === 0
      ? undefined
      : `These columns are missing: ${missing.join(', ')}. Exports of OpenAI's usage dashboard and Anthropic's console are accepted too.`;
  },
  providerOf(row) {
    const column =
      providerColumns.find((name) => row.cell(name) !== '') ??
      providerColumns.find((name) => row.has(name)) ??
      '';
    const name = providerLabel(row.shortCell(column));
    if (name === '') {
      throw row.wrong(column, 'must name the provider');
    }
    return { name, field: `${row.field}.${column}` };
  },
  add,
};

function add(row: NamedCells, lines: LineCollector): AddedRow {
  lines.addSource('focus');
  if (row.cell('BillingCurrency').toUpperCase() !== 'USD') {
    throw row.wrong('BillingCurrency', 'must be USD');
  }
  const amount = parseAmount(row.cell('BilledCost'));
  if (amount === undefined) {
    throw row.wrong('BilledCost', 'must be an amount such as 12.34');
  }
  const day = lines.bucket(row.field, timeIn(row, 'ChargePeriodStart'), timeIn(row, 'ChargePeriodEnd'));
  const category = row.cell('ChargeCategory');
  if (!chargeCategories.includes(category)) {
    throw row.wrong('ChargeCategory', `must be one of ${chargeCategories.slice(1).join(', ')}`);
  }
  const isUsage = category === '' || category === 'Usage';
  const kind = isUsage && !hasTokenColumns(row) ? kindOf(row) : '';
  const line = {
    day,
    model: modelOf(row, category),
    project: row.shortCell('SubAccountId'),
    keyId: row.shortCell('x_ApiKeyId'),
    kind,
    tokens: hasTokenColumns(row) ? tokensByKind(row, lines) : isUsage ? tokensOf(row, kind, lines) : noTokens,
  };
  lines.add(row.field, line, amount);
  return { source: 'focus', day };
}

/** Taxes, credits and purchases are not about a model. Adjustments may be. */
function modelOf(row: NamedCells, category: string): string {
  const isUsage = category === '' || category === 'Usage';
  if (!isUsage && !(category === 'Adjustment' && row.cell('SkuId') !== '')) {
    return category.toLowerCase();
  }
  const { ModelId } = priceDetails(row);
  if (row.cell('x_Model') === '' && ModelId !== undefined && ModelId.length <= cellMax) {
    return ModelId;
  }
  const column = modelColumns.find((name) => row.cell(name) !== '');
  if (column === undefined) {
    throw row.wrong('SkuId', 'must name the model');
  }
  return row.shortCell(column);
}

/** Returns the properties that FOCUS defines for AI, of those that are texts. Escapes of JSON may stand for any character. */
function priceDetails(
  row: NamedCells,
): Partial<Record<'ModelId' | 'TokenDirection' | 'TokenCacheAction', string>> {
  try {
    const details: unknown = JSON.parse(row.cell('SkuPriceDetails') || '{}');
    return Object.fromEntries(
      Object.entries(details ?? {}).filter(
        ([, value]) => typeof value === 'string' && value.trim() !== '' && isStorable(value),
      ),
    );
  } catch {
    // Files before FOCUS 1.2 may have other texts in this column.
    return {};
  }
}

const kindsByCacheAction: ReadonlyMap<string, TokenKind> = new Map([
  ['Read', 'cached_input'],
  ['Write', 'cache_write'],
]);

function kindOf(row: NamedCells): TokenKind | '' {
  const { TokenDirection, TokenCacheAction = '' } = priceDetails(row);
  if (TokenDirection === 'Output') {
    return 'output';
  }
  if (TokenDirection === 'Input') {
    return kindsByCacheAction.get(TokenCacheAction) ?? 'uncached_input';
  }
  for (const name of kindColumns) {
    const kind = kindIn(row.cell(name));
    if (kind !== '') {
      return kind;
    }
  }
  return '';
}

/** Each repetition is followed by something else: the time to match grows with the length alone. */
const tokenUnit = /^(?:([\d,_]+)\s*)?(?:(k|m|thousand|million)\s*)?-?tokens?$/i;
/** Longer cells are no unit. */
const unitMax = 64;

/** Returns the quantity in tokens. Quantities in other units are not compared. */
function tokensOf(row: NamedCells, kind: TokenKind | '', lines: LineCollector): LineTokens {
  const cell = row.cell('ConsumedUnit');
  const unit = cell.length > unitMax ? null : tokenUnit.exec(cell.trim());
  if (unit === null || kind === '') {
    return noTokens;
  }
  const [, count = '1', word = ''] = unit;
  const factor = BigInt(count.replace(/[,_]/g, '') || '1') * multiplier(word);
  const quantity = parseAmount(row.cell('ConsumedQuantity'));
  const min = row.cell('ChargeClass') === 'Correction' ? Number.NEGATIVE_INFINITY : 0;
  if (quantity === undefined || quantity.nanos < min || (quantity.nanos * factor) % 1_000_000_000n !== 0n) {
    throw row.wrong('ConsumedQuantity', 'must be a whole number of tokens');
  }
  lines.foundTokens();
  return { ...noTokens, [kind]: (quantity.nanos * factor) / 1_000_000_000n };
}

function tokensByKind(row: NamedCells, lines: LineCollector): LineTokens {
  const tokens = { ...noTokens };
  for (const kind of tokenKinds) {
    const text = row.cell(tokenColumns[kind]);
    if (!/^\d{1,18}$/.test(text)) {
      throw row.wrong(tokenColumns[kind], 'must be a whole number of tokens');
    }
    tokens[kind] = BigInt(text);
  }
  lines.foundTokens();
  return tokens;
}

function multiplier(word: string): bigint {
  const first = word[0]?.toLowerCase();
  return first === 'm' ? 1_000_000n : first === 'k' || first === 't' ? 1_000n : 1n;
}

function timeIn(row: NamedCells, name: string): number {
  const text = row.cell(name);
  const isTime = /^\d{4}-\d\d-\d\dT[\d:.]+(Z|[+-]\d\d:\d\d)$/.test(text) && hasCalendarDate(text);
  const ms = isTime ? Date.parse(text) : Number.NaN;
  if (Number.isNaN(ms)) {
    throw row.wrong(name, 'must be a time in RFC 3339');
  }
  return ms;
}
