/** Errors of single items of a body, for routes that skip invalid items instead of rejecting the whole request. */
import type { FieldError } from '../../../contract/errors.ts';
import { faultyLinesMax } from '../message/json.ts';
import { fieldErrorsMax } from '../message/json-errors.ts';

/** The errors of the items that could not be parsed, by index. */
export type ItemErrors = ReadonlyMap<number, readonly FieldError[]>;

/**
 * Groups the errors of a parsed body by item. Returns undefined if the request must be rejected: an error is not about an item, or
 * there are so many errors that the parser did not read all items.
 */
export function itemErrorsOf(listField: string, fieldErrors: readonly FieldError[]): ItemErrors | undefined {
  const byIndex = new Map<number, FieldError[]>();
  for (const fieldError of fieldErrors) {
    const item = itemField(listField, fieldError.field);
    if (item === undefined) {
      return undefined;
    }
    const others = byIndex.get(item.index) ?? [];
    byIndex.set(item.index, [...others, { ...fieldError, field: item.field }]);
  }
  return byIndex.size < faultyLinesMax && fieldErrors.length < fieldErrorsMax ? byIndex : undefined;
}

/** Splits a name such as `runs[3].model`. An error of the whole item names the field `body`. */
function itemField(
  listField: string,
  name: string,
): { readonly index: number; readonly field: string } | undefined {
  const start = `${listField}[`;
  const end = name.indexOf(']');
  if (!name.startsWith(start) || end < 0) {
    return undefined;
  }
  const field = name.slice(end + 1).replace(/^\./, '');
  return { index: Number(name.slice(start.length, end)), field: field === '' ? 'body' : field };
}
