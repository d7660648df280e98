/** Writes charges as CSV. A missing value is an empty cell. */
import { formatDecimal } from '../../../kernel/decimals.ts';
import { csvRecord, safeText } from '../usage/index.ts';
import type { FocusCharge } from './charge.ts';
import { decimalsOf, type FocusColumn, focusColumns } from './columns.ts';

export async function* writeCsv(batches: AsyncIterable<readonly FocusCharge[]>): AsyncGenerator<string> {
  yield csvRecord(focusColumns.map(({ name }) => name));
  for await (const charges of batches) {
    yield charges.map((charge) => csvRecord(focusColumns.map((one) => cell(one, charge)))).join('');
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
      // Quantities are decimals in FOCUS; tools that infer types from the text would take whole numbers for integers.
      return `${value}.0`;
    default:
      return formatDecimal(BigInt(value), decimalsOf[column.type]);
  }
}
