/** Compiles schemas. Converts validator errors to the field errors of the contract, one per field. */
import { Ajv2020, type ErrorObject, type ValidateFunction } from 'ajv/dist/2020.js';
import formats from 'ajv-formats';
import type { TObject, TSchema } from 'typebox';
import type { FieldError, FieldErrorCode } from '../../../contract/errors.ts';
import { formatMessage } from '../../../contract/format-message.ts';
import { isCalendarDate } from '../../../kernel/calendar-date.ts';
import { parseSignedUsd, parseUsd } from '../../../kernel/money.ts';
import { outOfRange } from './out-of-range.ts';

const options = {
  allErrors: true,
  verbose: true,
  strict: true,
  strictTuple: false,
  allowUnionTypes: true,
  // A test validates the schemas. Doing it here would compile the meta-schema at each start.
  meta: false,
  validateSchema: false,
} as const;
const ajv = new Ajv2020(options);
/** Stops at the first error. */
const failFastAjv = new Ajv2020({ ...options, allErrors: false });
/** Validates query parameters. These are strings, which are coerced to the type in the schema. */
const queries = new Ajv2020({ ...options, coerceTypes: true, useDefaults: true });
const calendar = formats.default.get('date-time') as { validate(text: string): boolean };
/**
 * A stricter format: the library also accepts a space instead of `T`, offsets without minutes, and leap seconds, which `Date` does
 * not support.
 */
const dateTime = /^\d{4}-\d\d-\d\dT\d\d:\d\d:[0-5]\d(\.\d+)?(Z|[+-]\d\d:\d\d)$/i;
/** Allowed years in UTC. Responses have times in UTC, so an offset must not move a time outside of these years. */
const years = { first: 1900, last: 2199 };

function isDateTime(text: string): boolean {
  return dateTime.test(text) && calendar.validate(text);
}

export function isInstant(text: string): boolean {
  const year = new Date(text).getUTCFullYear();
  return isDateTime(text) && year >= years.first && year <= years.last;
}

for (const instance of [ajv, failFastAjv, queries]) {
  instance.addFormat('date-time', isInstant);
  instance.addFormat('date', isCalendarDate);
  instance.addFormat('usd', (text) => parseUsd(text) !== undefined);
  instance.addFormat('signed-usd', (text) => parseSignedUsd(text) !== undefined);
  // Always valid here: the field's pattern checks the form, and the handler checks the maximum of 100, together with other fields.
  instance.addFormat('percent', true);
}

/** Returns a field error for each invalid field, up to the limits below. A query validator also fills in defaults. */
export type Validator = (value: unknown) => FieldError[];

/**
 * Maximum number of errors per body. Otherwise a few megabytes of wrong items could become gigabytes of errors. For a body with
 * more than `valuesMax` values only the first error is returned.
 */
const fieldErrorsMax = 10_000;
const valuesMax = 500_000;

export function compileBody(schema: TSchema): Validator {
  const first = validator(failFastAjv.compile(schema));
  /** Compiled on first use, because most bodies are valid, and compiling takes longer than validating thousands of bodies. */
  let all: Validator | undefined;
  return (value) => {
    const firstError = first(value);
    if (firstError.length === 0 || !hasAtMost(valuesMax, value)) {
      return firstError;
    }
    all ??= validator(ajv.compile(schema));
    return all(value);
  };
}

function hasAtMost(max: number, value: unknown): boolean {
  let left = max;
  const fits = (part: unknown): boolean => {
    left -= 1;
    return (
      left >= 0 &&
      (part === null ||
        typeof part !== 'object' ||
        (Array.isArray(part) ? part.every(fits) : Object.values(part).every(fits)))
    );
  };
  return fits(value);
}

export function compileQuery(schema: TObject): Validator {
  const hasRange = ['from', 'to'].every((name) => schema.properties[name] !== undefined);
  const check = validator(queries.compile(schema));
  const integers = Object.entries(schema.properties).flatMap(
    ([name, { type }]: [string, { type?: unknown }]) => (type === 'integer' ? [name] : []),
  );
  return (value) => {
    const query = value as Record<string, unknown>;
    // The library would accept `0x5`, ` 5` and `1e999` as integers.
    const malformed = integers.filter(
      (name) => typeof query[name] === 'string' && !/^-?\d+$/.test(query[name]),
    );
    const integerErrors = malformed.map(
      (field) => ({ field, code: 'invalid_type', message: `Must be ${typeNames.integer}.` }) as const,
    );
    const wellFormed = Object.fromEntries(
      Object.entries(query)
        .filter(([name]) => !malformed.includes(name))
        .map(([name, given]) => [name, integers.includes(name) ? finite(given) : given]),
    );
    const others = check(wellFormed);
    Object.assign(query, wellFormed);
    return [...integerErrors, ...others, ...(hasRange ? rangeErrors(wellFormed, others) : [])];
  };
}

/** Replaces an integer of hundreds of digits by the largest number, which is out of range. Infinity would be reported as a wrong type. */
function finite(given: unknown): unknown {
  const isInfinite = typeof given === 'string' && !Number.isFinite(Number(given));
  return isInfinite ? String(Number.MAX_VALUE * (given.startsWith('-') ? -1 : 1)) : given;
}

/** Returns an error for a range that ends before it starts, on every route with `from` and `to`. The response would be empty otherwise. */
function rangeErrors({ from, to }: Record<string, unknown>, others: readonly FieldError[]): FieldError[] {
  const isBackwards =
    typeof from === 'string' &&
    typeof to === 'string' &&
    !others.some(({ field }) => field === 'from' || field === 'to') &&
    Date.parse(to) < Date.parse(from);
  return isBackwards
    ? [{ field: 'to', code: 'out_of_range', message: 'Must not be earlier than `from`.' }]
    : [];
}

/** Keeps the first error of each field, so that a field that could not be parsed is not also reported as missing. */
export function onePerField(fieldErrors: readonly FieldError[]): FieldError[] {
  const byField = new Map<string, FieldError>();
  for (const fieldError of fieldErrors) {
    if (!byField.has(fieldError.field)) {
      byField.set(fieldError.field, fieldError);
    }
  }
  return [...byField.values()];
}

function validator(validate: ValidateFunction): Validator {
  return (value) => (validate(value) ? [] : fieldErrors(validate.errors ?? []));
}

function fieldErrors(errors: readonly ErrorObject[]): FieldError[] {
  const byField = new Map<string, FieldError>();
  for (const error of errors) {
    const field = fieldName(error);
    // The first error is the most basic one (the type before the range). The others would repeat it.
    if (!byField.has(field)) {
      const { code, message } = explain(error);
      byField.set(field, {
        field,
        code,
        message: isOfName(error) ? `A name in it is invalid: ${message}` : message,
      });
    }
    if (byField.size === fieldErrorsMax) {
      break;
    }
  }
  return [...byField.values()];
}

/** Returns true for an error about a name in an object. The response does not repeat the name, because it may have any length. */
function isOfName({ propertyName }: ErrorObject): boolean {
  return propertyName !== undefined;
}

function fieldName({ instancePath, keyword, params }: ErrorObject): string {
  const path = instancePath.split('/').slice(1).map(unescapePointer);
  if (keyword === 'required') {
    path.push(params.missingProperty);
  } else if (keyword === 'additionalProperties') {
    path.push(params.additionalProperty);
  }
  return path.reduce(
    (name, part) => (/^\d+$/.test(part) ? `${name}[${part}]` : name === '' ? part : `${name}.${part}`),
    '',
  );
}

function unescapePointer(part: string): string {
  return part.replaceAll('~1', '/').replaceAll('~0', '~');
}

/** Names of the types of JSON schema for messages. */
const typeNames = {
  integer: 'a whole number',
  number: 'a number',
  string: 'a string',
  boolean: 'true or false',
  object: 'an object',
  array: 'a list',
  null: 'null',
} as const;

function typeName(type: keyof typeof typeNames): string {
  return typeNames[type];
}

const bounds = {
  minimum: 'at least',
  maximum: 'at most',
  exclusiveMinimum: 'above',
  exclusiveMaximum: 'below',
};

function shown(limit: number): string {
  return limit.toLocaleString('en-US', { maximumFractionDigits: 20 });
}

/** Messages of the formats; `formatMessage` of a schema takes precedence. */
const formatMessages: Readonly<Record<string, string>> = {
  date: 'Must be a date that exists, such as 2027-01-15.',
  'date-time': 'Must be a date and time with its offset, such as 2026-11-15T18:00:00Z.',
  usd: 'Must be an amount in US dollars with a point for decimals, such as 2.50.',
  'signed-usd': 'Must be an amount in US dollars with a point for decimals, such as 2.50 or -2.50.',
  percent: 'Must be a percentage with at most two decimals, such as 12.5.',
};

interface FormattedSchema {
  readonly format?: string;
  readonly [formatMessage]?: string;
}

function messageOfFormat({ format = '', [formatMessage]: message }: FormattedSchema): string {
  return message ?? formatMessages[format] ?? 'The format is invalid.';
}

interface FieldExplanation {
  readonly code: FieldErrorCode;
  readonly message: string;
}

function explain({ keyword, params, parentSchema, data }: ErrorObject): FieldExplanation {
  const isOfForm = keyword === 'format' || keyword === 'pattern' || keyword === 'type';
  const range = isOfForm ? outOfRange(parentSchema?.format, data, isDateTime) : undefined;
  if (range !== undefined) {
    return { code: 'out_of_range', message: range };
  }
  switch (keyword) {
    case 'required':
      return { code: 'required', message: 'This field is required.' };
    case 'additionalProperties':
      return { code: 'unknown_field', message: 'Unknown field.' };
    case 'type':
      return { code: 'invalid_type', message: `Must be ${[params.type].flat().map(typeName).join(' or ')}.` };
    case 'enum':
      return { code: 'invalid_value', message: `Must be one of ${params.allowedValues.join(', ')}.` };
    case 'const':
      return { code: 'invalid_value', message: `Must be ${params.allowedValue}.` };
    case 'minLength':
    case 'minItems':
    case 'minProperties':
      return params.limit === 1
        ? { code: 'empty', message: 'Must not be empty.' }
        : {
            code: 'out_of_range',
            message: `Must have at least ${shown(params.limit)}${keyword === 'minLength' ? ' characters' : ''}.`,
          };
    case 'maxItems':
    case 'maxProperties':
      return { code: 'too_many', message: `At most ${shown(params.limit)} are allowed.` };
    case 'maxLength':
      return { code: 'out_of_range', message: `At most ${shown(params.limit)} characters are allowed.` };
    case 'minimum':
    case 'maximum':
    case 'exclusiveMinimum':
    case 'exclusiveMaximum':
      return { code: 'out_of_range', message: `Must be ${bounds[keyword]} ${shown(params.limit)}.` };
    case 'format':
    case 'pattern':
      return { code: 'invalid_format', message: messageOfFormat(parentSchema as FormattedSchema) };
    case 'uniqueItems':
      return { code: 'invalid_value', message: 'The items must be unique.' };
    default:
      return { code: 'invalid_value', message: 'This value is not allowed.' };
  }
}
