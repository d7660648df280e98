/** Compiles schemas and turns what the validator finds into the contract's field errors, one per offending field. */
import { Ajv2020, type ErrorObject, type ValidateFunction } from 'ajv/dist/2020.js';
import formats from 'ajv-formats';
import type { TObject, TSchema } from 'typebox';
import type { FieldError, FieldErrorCode } from '../../../contract/errors.ts';
import { parseSignedUsd, parseUsd } from '../../../kernel/money.ts';
import { outOfRange } from './out-of-range.ts';

const options = {
  allErrors: true,
  verbose: true,
  strict: true,
  strictTuple: false,
  allowUnionTypes: true,
  // That the schemas are schemas is tested. To ask it here would compile the schema of schemas at every start.
  meta: false,
  validateSchema: false,
} as const;
const ajv = new Ajv2020(options);
/** Stops at the first finding. */
const failFastAjv = new Ajv2020({ ...options, allErrors: false });
/** Query parameters are text; the schema says what they stand for. */
const queries = new Ajv2020({ ...options, coerceTypes: true, useDefaults: true });
const calendar = formats.default.get('date-time') as { validate(text: string): boolean };
/** The library also takes blanks for the `T`, offsets without minutes and leap seconds, which no `Date` can hold. */
const dateTime = /^\d{4}-\d\d-\d\dT\d\d:\d\d:[0-5]\d(\.\d+)?(Z|[+-]\d\d:\d\d)$/i;
/** In UTC, which is how we give times back: an offset must not carry one out of the years that schemas allow. */
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
  instance.addFormat('usd', (text) => parseUsd(text) !== undefined);
  instance.addFormat('signed-usd', (text) => parseSignedUsd(text) !== undefined);
  // The pattern of the field says its form; up to 100 is the handler's to check, with the fields beside it.
  instance.addFormat('percent', true);
}

/** Returns every offending field; none when the value is valid. A query validator also fills in defaults. */
export type Validator = (value: unknown) => FieldError[];

/**
 * The findings about one body are bounded: some megabytes of wrong items would otherwise become gigabytes of
 * findings. These bounds are above what a bulk request of the largest size can hold.
 */
const fieldErrorsMax = 10_000;
const valuesMax = 500_000;

export function compileBody(schema: TSchema): Validator {
  const first = validator(failFastAjv.compile(schema));
  /** Most bodies are right, and to compile takes longer than to validate thousands. */
  let all: Validator | undefined;
  return (value) => {
    const finding = first(value);
    if (finding.length === 0 || !holdsAtMost(valuesMax, value)) {
      return finding;
    }
    all ??= validator(ajv.compile(schema));
    return all(value);
  };
}

function holdsAtMost(max: number, value: unknown): boolean {
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
    // The library would take `0x5`, ` 5` and `1e999` for numbers as well.
    const unclear = integers.filter(
      (name) => typeof query[name] === 'string' && !/^-?\d+$/.test(query[name]),
    );
    const faults = unclear.map(
      (field) => ({ field, code: 'invalid_type', message: `Must be ${typeNames.integer}.` }) as const,
    );
    const clear = Object.fromEntries(
      Object.entries(query)
        .filter(([name]) => !unclear.includes(name))
        .map(([name, given]) => [name, integers.includes(name) ? finite(given) : given]),
    );
    const others = check(clear);
    Object.assign(query, clear);
    return [...faults, ...others, ...(hasRange ? rangeErrors(clear, others) : [])];
  };
}

/** An integer of hundreds of digits is too large, and not infinite, which would be of another type. */
function finite(given: unknown): unknown {
  const isInfinite = typeof given === 'string' && !Number.isFinite(Number(given));
  return isInfinite ? String(Number.MAX_VALUE * (given.startsWith('-') ? -1 : 1)) : given;
}

/** On every route with both: a time span that ends before it begins is a mistake, and not an empty answer. */
function rangeErrors({ from, to }: Record<string, unknown>, others: readonly FieldError[]): FieldError[] {
  const isBackwards =
    typeof from === 'string' &&
    typeof to === 'string' &&
    !others.some(({ field }) => field === 'from' || field === 'to') &&
    Date.parse(to) < Date.parse(from);
  return isBackwards
    ? [{ field: 'to', code: 'out_of_range', message: 'This must not be earlier than `from`.' }]
    : [];
}

/** The first finding about each field: one that could not be read is not missing as well. */
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
    // The first finding is the most basic one (the type before the range); the rest would repeat it.
    if (!byField.has(field)) {
      const { code, message } = explain(error);
      byField.set(field, { field, code, message: isOfName(error) ? `Of a name in it: ${message}` : message });
    }
    if (byField.size === fieldErrorsMax) {
      break;
    }
  }
  return [...byField.values()];
}

/** Names may be of any length, so a wrong one is not told. */
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

/** The types of JSON schema as a sentence names them. */
const typeNames = {
  integer: 'an integer',
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

interface Explanation {
  readonly code: FieldErrorCode;
  readonly message: string;
}

function explain({ keyword, params, parentSchema, data }: ErrorObject): Explanation {
  const isOfForm = keyword === 'format' || keyword === 'pattern' || keyword === 'type';
  const range = isOfForm ? outOfRange(parentSchema?.format, data, isDateTime) : undefined;
  if (range !== undefined) {
    return { code: 'out_of_range', message: range };
  }
  switch (keyword) {
    case 'required':
      return { code: 'required', message: 'This field is required.' };
    case 'additionalProperties':
      return { code: 'unknown_field', message: 'There is no such field.' };
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
        ? { code: 'empty', message: 'This must not be empty.' }
        : { code: 'out_of_range', message: `This needs at least ${params.limit}.` };
    case 'maxItems':
    case 'maxProperties':
      return { code: 'too_many', message: `At most ${params.limit} are allowed.` };
    case 'maxLength':
      return { code: 'out_of_range', message: `At most ${params.limit} characters are allowed.` };
    case 'minimum':
    case 'maximum':
    case 'exclusiveMinimum':
    case 'exclusiveMaximum':
      return { code: 'out_of_range', message: `Must be ${params.comparison} ${params.limit}.` };
    case 'format':
    case 'pattern':
      return {
        code: 'invalid_format',
        message: parentSchema?.description ?? 'This does not have the right form.',
      };
    case 'uniqueItems':
      return { code: 'invalid_value', message: 'The items have to be different from each other.' };
    default:
      return { code: 'invalid_value', message: 'This value is not allowed.' };
  }
}
