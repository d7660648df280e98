/** Reads the fields of a provider's JSON. Each error names the field by its path in the request. */
import { type ApiError, invalidField } from '../../../contract/api-error.ts';
import type { FieldError } from '../../../contract/errors.ts';
import { hasCalendarDate } from '../../../kernel/calendar-date.ts';
import { roundedQuotient } from '../../../kernel/decimals.ts';
import type { BilledAmount } from './line-collector.ts';

type Value = unknown;
export type JsonObject = Readonly<Record<string, Value>>;

/** A value of the request, with its path. */
export interface At {
  readonly value: Value;
  readonly field: string;
}

export function member(of: At, name: string): At {
  return { value: (of.value as JsonObject)[name], field: `${of.field}.${name}` };
}

export function objectAt(at: At): At {
  if (typeof at.value !== 'object' || at.value === null || Array.isArray(at.value)) {
    throw wrong(at, 'an object');
  }
  return at;
}

export function itemsAt(at: At): At[] {
  if (!Array.isArray(at.value)) {
    throw wrong(at, 'a list');
  }
  return at.value.map((value, index) => objectAt({ value, field: `${at.field}[${index}]` }));
}

/** Files that went through a spreadsheet have `3.0` for 3. */
const wholeNumber = /^(\d{1,15})(?:\.0+)?$/;

export function countAt(at: At): bigint {
  if (at.value === undefined || at.value === null) {
    return 0n;
  }
  const whole = typeof at.value === 'string' ? wholeNumber.exec(at.value)?.[1] : undefined;
  if (whole !== undefined) {
    return BigInt(whole);
  }
  if (!Number.isSafeInteger(at.value) || (at.value as number) < 0) {
    throw wrong(at, 'a count of tokens');
  }
  return BigInt(at.value as number);
}

const textMax = 200;

/** Returns a text, empty if it is absent or null. */
export function textAt(at: At): string {
  if (at.value === undefined || at.value === null) {
    return '';
  }
  if (typeof at.value !== 'string' || at.value.length > textMax || at.value.includes('\u0000')) {
    throw wrong(at, `a text of at most ${textMax} characters`);
  }
  return at.value;
}

export function literalAt(at: At, expected: string): void {
  if (at.value !== expected) {
    throw wrong(at, `"${expected}"`);
  }
}

/** Returns a time in seconds since 1970, or in RFC 3339, as milliseconds. */
export function timeAt(at: At): number {
  const ms =
    typeof at.value === 'number'
      ? at.value * 1_000
      : typeof at.value === 'string' && hasCalendarDate(at.value)
        ? Date.parse(at.value)
        : Number.NaN;
  if (!Number.isSafeInteger(ms) || ms < 0) {
    throw wrong(at, 'a time');
  }
  return ms;
}

/** `unitDecimals`: 2 if the amount is in cents. Fractions of a nanodollar are rounded. */
export function amountAt(at: At, unitDecimals = 0): BilledAmount {
  const amount =
    typeof at.value === 'number' || typeof at.value === 'string'
      ? parseAmount(String(at.value), unitDecimals)
      : undefined;
  if (amount === undefined) {
    throw wrong(at, 'an amount');
  }
  return amount;
}

const amountPattern = /^([+-]?)(\d{1,12})(?:\.(\d{1,40}))?(?:e([+-]?\d{1,4}))?$/i;
const nanoDecimals = 9;

/** Parses an exact decimal, also with an exponent. */
export function parseAmount(text: string, unitDecimals = 0): BilledAmount | undefined {
  const match = amountPattern.exec(text);
  if (match === null) {
    return undefined;
  }
  const [, sign, whole = '', fraction = '', exponent = '0'] = match;
  const significant = fraction.replace(/0+$/, '');
  const decimals = significant.length - Number(exponent) + unitDecimals;
  const digits = BigInt(whole + significant);
  const shift = nanoDecimals - decimals;
  if (digits === 0n) {
    return { nanos: 0n, decimals: 0 };
  }
  if (shift > nanoDecimals + 12 || shift < -200) {
    return shift < 0 ? { nanos: 0n, decimals: nanoDecimals } : undefined;
  }
  const nanos = shift >= 0 ? digits * 10n ** BigInt(shift) : roundedQuotient(digits, 10n ** BigInt(-shift));
  return {
    nanos: sign === '-' ? -nanos : nanos,
    decimals: Math.min(nanoDecimals, Math.max(0, decimals)),
  };
}

export function wrong(at: At, expected: string, code?: FieldError['code']): ApiError {
  const isAbsent = at.value === undefined || at.value === null;
  return invalidField(at.field, code ?? (isAbsent ? 'required' : 'invalid_value'), `Must be ${expected}.`);
}
