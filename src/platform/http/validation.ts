/** Compiles schemas and turns what the validator finds into the contract's field errors, one per offending field. */
import { Ajv2020, type ErrorObject, type ValidateFunction } from 'ajv/dist/2020.js';
import formats from 'ajv-formats';
import type { TSchema } from 'typebox';
import type { FieldError, FieldErrorCode } from '../../contract/errors.ts';

const options = {
  allErrors: true,
  verbose: true,
  strict: true,
  strictTuple: false,
  allowUnionTypes: true,
} as const;
const bodies = new Ajv2020(options);
/** Query parameters are text; the schema says what they stand for. */
const queries = new Ajv2020({ ...options, coerceTypes: true, useDefaults: true });
for (const ajv of [bodies, queries]) {
  formats.default(ajv, ['date-time']);
}

/** Returns every offending field; none when the value is valid. A query validator also fills in defaults. */
export type Validator = (value: unknown) => FieldError[];

export function compileBody(schema: TSchema): Validator {
  return validator(bodies.compile(schema));
}

export function compileQuery(schema: TSchema): Validator {
  return validator(queries.compile(schema));
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
      byField.set(field, { field, ...explain(error) });
    }
  }
  return [...byField.values()];
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

interface Explanation {
  readonly code: FieldErrorCode;
  readonly message: string;
}

function explain({ keyword, params, schema }: ErrorObject): Explanation {
  switch (keyword) {
    case 'required':
      return { code: 'required', message: 'This field is required.' };
    case 'additionalProperties':
      return { code: 'unknown_field', message: 'There is no such field.' };
    case 'type':
      return { code: 'invalid_type', message: `This has to be ${[params.type].flat().join(' or ')}.` };
    case 'enum':
      return { code: 'invalid_value', message: `This has to be one of ${params.allowedValues.join(', ')}.` };
    case 'const':
      return { code: 'invalid_value', message: `This has to be ${params.allowedValue}.` };
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
      return { code: 'out_of_range', message: `This has to be ${params.comparison} ${params.limit}.` };
    case 'format':
      return { code: 'invalid_format', message: `This has to be a ${params.format} with offset.` };
    case 'pattern':
      return { code: 'invalid_format', message: `This has to match ${schema}.` };
    case 'uniqueItems':
      return { code: 'invalid_value', message: 'The items have to be different from each other.' };
    default:
      return { code: 'invalid_value', message: 'This value is not allowed.' };
  }
}
