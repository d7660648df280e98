/** Writes charges as CSV. A missing value is an empty cell. */
import { formatDecimal } from '../../../kernel/decimals.ts';
import { csvRecord, safeText } from '../usage/index.ts';
import type { FocusCharge } from './charge.ts';
import { decimalsOf, type FocusColumn } from './columns.ts';

export async function* writeCsv(
  batches: AsyncIterable<readonly FocusCharge[]>,
  columns: readonly FocusColumn[],
): AsyncGenerator<string> {
  yield csvRecord(columns.map(({ name }) => name));
  for await (const charges of batches) {
    yield charges.map((charge) => csvRecord(columns.map((one) => cell(one, charge)))).join('');
  }
}

function cell(column: FocusColumn, charge: FocusCharge): string {
  const value = column.value(charge);
  if (value === null) {
    return '';
  }
  switch (column.type) {
    case 'text':
      return safeText(value);
    case 'json':
      return String(value);
    case 'time':
      return `${new Date(Number(value)).toISOString().slice(0, 19)}Z`;
    case 'quantity':
    case 'priced_quantity':
      return withFraction(formatDecimal(BigInt(value), decimalsOf[column.type]));
    default:
      return formatDecimal(BigInt(value), decimalsOf[column.type]);
  }
}

/** Quantities are decimals in FOCUS; tools that infer types from the text would take whole numbers for integers. */
function withFraction(decimal: string): string {
  return decimal.includes('.') ? decimal : `${decimal}.0`;
}
