/**
 * CSV in the columns of FOCUS 1.2 to 1.4. The specification has no columns for models and tokens, so they are taken from the columns
 * that describe the SKU; `x_Model`, `x_TokenType` and `x_ApiKeyId` win where a file has them, then the properties that FOCUS defines for
 * AI. Exports of Purser in 1.2 have the tokens of each kind in columns of their own.
 */
import { invalidField } from '../../../contract/api-error.ts';
import { hasCalendarDate } from '../../../kernel/calendar-date.ts';
import { CsvError, readCsv } from './csv.ts';
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
const cellMax = 200;
/** Columns of Purser's exports (`insight/focus`). */
const tokenColumns: Readonly<Record<TokenKind, string>> = {
  uncached_input: 'x_UncachedInputTokens',
  cached_input: 'x_CachedInputTokens',
  cache_write: 'x_CacheWriteTokens',
  output: 'x_OutputTokens',
};

/** A row by column name. */
interface FocusRow {
  readonly line: number;
  /** True if the file has the tokens of each kind in a column. */
  readonly hasTokenColumns: boolean;
  /** The column of the provider that the file has. */
  readonly providerColumn: string;
  cell(name: string): string;
}

/** Adds the lines of the file, and returns the provider's name. */
export function readFocusCsv(text: string, lines: LineCollector): string {
  lines.addSource('focus');
  let provider: string | undefined;
  for (const row of focusRows(text)) {
    const column = providerColumns.find((name) => row.cell(name) !== '') ?? row.providerColumn;
    const named = providerLabel(shortCell(row, column));
    if (named === '' || (provider !== undefined && named !== provider)) {
      throw wrongCell(row, column, 'must be the same in every line');
    }
    provider = named;
    addRow(row, lines);
  }
  return provider ?? '';
}

function* focusRows(text: string): Generator<FocusRow> {
  let columns: ReadonlyMap<string, number> | undefined;
  try {
    for (const { line, cells } of readCsv(text)) {
      if (columns === undefined) {
        columns = new Map(cells.map((name, index) => [name.trim(), index]));
        checkColumns(columns, cells.length);
        continue;
      }
      if (cells.length !== columns.size) {
        throw new CsvError(line, `There are ${cells.length} cells, but ${columns.size} columns.`);
      }
      const places = columns;
      const hasTokenColumns = Object.values(tokenColumns).every((name) => places.has(name));
      const providerColumn = providerColumns.find((name) => places.has(name)) ?? '';
      yield { line, hasTokenColumns, providerColumn, cell: (name) => cells[places.get(name) ?? -1] ?? '' };
    }
  } catch (error) {
    throw error instanceof CsvError
      ? invalidField(`csv[${error.line}]`, 'invalid_value', `Line ${error.line}: ${error.message}`)
      : error;
  }
}

function checkColumns(columns: ReadonlyMap<string, number>, cells: number): void {
  const hasProvider = providerColumns.some((name) => columns.has(name));
  const missing = [
    ...requiredColumns.filter((name) => !columns.has(name)),
    ...(hasProvider ? [] : [providerColumns.join(' or ')]),
  ];
  if (missing.length > 0) {
    throw new CsvError(1, `These columns are missing: ${missing.join(', ')}.`);
  }
  if (columns.size !== cells) {
    throw new CsvError(1, 'A column appears twice.');
  }
}

function addRow(row: FocusRow, lines: LineCollector): void {
  if (row.cell('BillingCurrency').toUpperCase() !== 'USD') {
    throw wrongCell(row, 'BillingCurrency', 'must be USD');
  }
  const amount = parseAmount(row.cell('BilledCost'));
  if (amount === undefined) {
    throw wrongCell(row, 'BilledCost', 'must be an amount');
  }
  const field = `csv[${row.line}]`;
  const day = lines.bucket(field, timeIn(row, 'ChargePeriodStart'), timeIn(row, 'ChargePeriodEnd'));
  const category = row.cell('ChargeCategory');
  if (!chargeCategories.includes(category)) {
    throw wrongCell(row, 'ChargeCategory', `must be one of ${chargeCategories.slice(1).join(', ')}`);
  }
  const isUsage = category === '' || category === 'Usage';
  const kind = isUsage && !row.hasTokenColumns ? kindOf(row) : '';
  const line = {
    day,
    model: modelOf(row, category),
    project: shortCell(row, 'SubAccountId'),
    keyId: shortCell(row, 'x_ApiKeyId'),
    kind,
    tokens: row.hasTokenColumns ? tokensByKind(row, lines) : isUsage ? tokensOf(row, kind, lines) : noTokens,
  };
  lines.add(field, line, amount);
}

/** Taxes, credits and purchases are not about a model. Adjustments may be. */
function modelOf(row: FocusRow, category: string): string {
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
    throw wrongCell(row, 'SkuId', 'must name the model');
  }
  return shortCell(row, column);
}

/** Returns the properties that FOCUS defines for AI, of those that are texts. */
function priceDetails(
  row: FocusRow,
): Partial<Record<'ModelId' | 'TokenDirection' | 'TokenCacheAction', string>> {
  try {
    const details: unknown = JSON.parse(row.cell('SkuPriceDetails') || '{}');
    return Object.fromEntries(
      Object.entries(details ?? {}).filter(([, value]) => typeof value === 'string' && value.trim() !== ''),
    );
  } catch {
    // Files before FOCUS 1.2 may have other texts in this column.
    return {};
  }
}

const kindsByCacheAction: Readonly<Record<string, TokenKind>> = {
  Read: 'cached_input',
  Write: 'cache_write',
};

function kindOf(row: FocusRow): TokenKind | '' {
  const { TokenDirection, TokenCacheAction = '' } = priceDetails(row);
  if (TokenDirection === 'Output') {
    return 'output';
  }
  if (TokenDirection === 'Input') {
    return kindsByCacheAction[TokenCacheAction] ?? 'uncached_input';
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
function tokensOf(row: FocusRow, kind: TokenKind | '', lines: LineCollector): LineTokens {
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
    throw wrongCell(row, 'ConsumedQuantity', 'must be a whole number of tokens');
  }
  lines.foundTokens();
  return { ...noTokens, [kind]: (quantity.nanos * factor) / 1_000_000_000n };
}

function tokensByKind(row: FocusRow, lines: LineCollector): LineTokens {
  const tokens = { ...noTokens };
  for (const kind of tokenKinds) {
    const text = row.cell(tokenColumns[kind]);
    if (!/^\d{1,18}$/.test(text)) {
      throw wrongCell(row, tokenColumns[kind], 'must be a whole number of tokens');
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

function timeIn(row: FocusRow, name: string): number {
  const text = row.cell(name);
  const isTime = /^\d{4}-\d\d-\d\dT[\d:.]+(Z|[+-]\d\d:\d\d)$/.test(text) && hasCalendarDate(text);
  const ms = isTime ? Date.parse(text) : Number.NaN;
  if (Number.isNaN(ms)) {
    throw wrongCell(row, name, 'must be a time in RFC 3339');
  }
  return ms;
}

function shortCell(row: FocusRow, name: string): string {
  const text = row.cell(name).trim();
  if (text.length > cellMax) {
    throw wrongCell(row, name, `must have at most ${cellMax} characters`);
  }
  return text;
}

function wrongCell(row: FocusRow, name: string, problem: string) {
  return invalidField(`csv[${row.line}].${name}`, 'invalid_value', `Line ${row.line}: ${name} ${problem}.`);
}
