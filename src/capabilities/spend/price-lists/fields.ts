/** Reads the fields of a price list entry, and collects values that do not fit the format. */
import { isCalendarDate } from '../../../kernel/calendar-date.ts';

export interface FieldProblem {
  /** Name of the entry in the list, such as `gpt-4o`. */
  readonly entry: string;
  readonly field: string;
  readonly message: string;
}

export interface FieldReader {
  /** Returns an amount in US dollars, times `factor`, as a decimal; undefined if the field is absent. */
  usd(field: string, factor?: number): string | undefined;
  /** Returns a positive integer; undefined for any other value, because some lists have words here. */
  count(field: string): number | undefined;
  text(field: string): string | undefined;
  /** Returns a date as `YYYY-MM-DD`; undefined for any other value. */
  date(field: string): string | undefined;
  flag(field: string): boolean;
  /** Returns a nested object; empty if the field is absent. */
  nested(field: string): FieldReader;
  /** Returns a list of objects; empty if the field is absent. */
  list(field: string): readonly FieldReader[];
  /** Returns the strings of a list. */
  words(field: string): readonly string[];
  has(field: string): boolean;
  isObject(field: string): boolean;
  names(): readonly string[];
}

/** Maximum amount. It is far below the largest amount that can be stored. */
const amountMax = 1_000_000;

export function readerOf(entry: string, value: unknown, problems: FieldProblem[], prefix = ''): FieldReader {
  const problem = (field: string, message: string) => {
    problems.push({ entry, field: prefix + field, message });
  };
  if (!isRecordValue(value)) {
    problems.push({ entry, field: prefix.slice(0, -1), message: 'Must be an object.' });
  }
  const fields = new Map<string, unknown>(isRecordValue(value) ? Object.entries(value) : []);
  return {
    usd(field, factor = 1) {
      const amount = fields.get(field) ?? undefined;
      if (amount === undefined) {
        return undefined;
      }
      if (typeof amount !== 'number' || !Number.isFinite(amount) || amount < 0) {
        problem(field, 'Must be a number of at least 0.');
        return undefined;
      }
      if (amount * factor > amountMax) {
        problem(field, `Must be at most ${amountMax} US dollars per million tokens or per unit.`);
        return undefined;
      }
      return decimal(amount * factor);
    },
    count(field) {
      const number = fields.get(field);
      return typeof number === 'number' && Number.isInteger(number) && number > 0 ? number : undefined;
    },
    text(field) {
      const text = fields.get(field);
      return typeof text === 'string' ? text : undefined;
    },
    date(field) {
      const text = fields.get(field);
      return typeof text === 'string' && isCalendarDate(text) ? text : undefined;
    },
    flag: (field) => fields.get(field) === true,
    nested: (field) => readerOf(entry, fields.get(field) ?? {}, problems, `${prefix}${field}.`),
    list(field) {
      const items = fields.get(field) ?? [];
      if (!Array.isArray(items)) {
        problem(field, 'Must be a list.');
        return [];
      }
      return items.map((item, index) => readerOf(entry, item, problems, `${prefix}${field}[${index}].`));
    },
    words(field) {
      const items = fields.get(field);
      return Array.isArray(items) ? items.filter((item) => typeof item === 'string') : [];
    },
    has: (field) => fields.has(field),
    isObject: (field) => isRecordValue(fields.get(field)),
    names: () => [...fields.keys()],
  };
}

export function isRecordValue(value: unknown): value is Readonly<Record<string, unknown>> {
  return value !== null && typeof value === 'object' && !Array.isArray(value);
}

/**
 * Returns an amount with at most nine decimals. Products such as 1.25e-7 × 1e6 are inexact in binary, but prices have far fewer
 * decimals.
 */
function decimal(amount: number): string {
  const [whole, fraction = ''] = amount.toFixed(9).split('.');
  const digits = fraction.replace(/0+$/, '');
  return digits === '' ? (whole as string) : `${whole}.${digits}`;
}

/** Returns the object without undefined values, empty lists and empty objects. */
export function clean<Value extends object>(value: Value): Value {
  const entries = Object.entries(value).filter(
    ([, part]) =>
      part !== undefined && !(typeof part === 'object' && part !== null && Object.keys(part).length === 0),
  );
  return Object.fromEntries(entries) as Value;
}
