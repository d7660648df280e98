/**
 * The expected errors of the API, which are returned as the error envelope. The status comes from the catalog, never from the code
 * that throws.
 */
import { type ErrorCode, type ErrorDetails, errorCatalog, type FieldError } from './errors.ts';

export interface Envelope {
  readonly error: { readonly code: ErrorCode; readonly message: string; readonly details: object };
}

export class ApiError extends Error {
  readonly code: ErrorCode;
  readonly status: number;
  readonly details: object;
  /** The limit that denied the request, for the record of denials. Not part of the envelope. */
  limitId: string | undefined;
  /** The counter of the limit, which differs between the values of a limit for each value. Not part of the envelope. */
  counterKey: string | undefined;

  constructor(code: ErrorCode, status: number, message: string, details: object) {
    super(message);
    this.name = 'ApiError';
    this.code = code;
    this.status = status;
    this.details = details;
  }

  /** Adds the limit that denied the request, and returns this same error, because a new error would collect its stack again. */
  deniedBy(limitId: string | undefined, counterKey?: string): this {
    this.limitId = limitId;
    this.counterKey = counterKey;
    return this;
  }

  get envelope(): Envelope {
    return { error: { code: this.code, message: this.message, details: this.details } };
  }
}

type CodeWithoutDetails = {
  [Code in ErrorCode]: object extends ErrorDetails<Code> ? Code : never;
}[ErrorCode];
/** Codes with a single status. `apiErrorWithStatus` builds the errors of the two codes with two statuses. */
type CodeWithOneStatus = Exclude<ErrorCode, 'chain_budget_exceeded' | 'quota_exhausted'>;

/** Builds an error without details. `message` replaces the text of the catalog. */
export function apiError(code: CodeWithoutDetails, message?: string): ApiError {
  const { statuses, meaning } = errorCatalog[code];
  return new ApiError(code, statuses[0], message ?? meaning, {});
}

/** Returns the value. Throws `not_found` if it is undefined; `message` replaces the text of the catalog. */
export function found<Value>(value: Value | undefined, message?: string): Value {
  if (value === undefined) {
    throw apiError('not_found', message);
  }
  return value;
}

export function apiErrorWithDetails<Code extends CodeWithOneStatus>(
  code: Code,
  details: ErrorDetails<Code>,
  message?: string,
): ApiError {
  const { statuses, meaning } = errorCatalog[code];
  return new ApiError(code, statuses[0], message ?? meaning, details);
}

/** Builds an error with one of the two codes that have two statuses. The layer that throws determines the status. */
export function apiErrorWithStatus<Code extends 'chain_budget_exceeded' | 'quota_exhausted'>(
  code: Code,
  status: (typeof errorCatalog)[Code]['statuses'][number],
  details: ErrorDetails<Code>,
  message: string = errorCatalog[code].meaning,
): ApiError {
  return new ApiError(code, status, message, details);
}

/** Maximum length of a field name in an error. Unknown fields can have names of any length. */
const fieldNameMax = 300;

function withShortName(fieldError: FieldError): FieldError {
  const { field } = fieldError;
  return field.length <= fieldNameMax
    ? fieldError
    : { ...fieldError, field: `${field.slice(0, fieldNameMax)}…` };
}

export function invalidFields(fieldErrors: readonly FieldError[]): ApiError {
  const fields = fieldErrors.map(withShortName);
  const names = fields.slice(0, 3).map((f) => f.field);
  const rest = fields.length > names.length ? ` and ${fields.length - names.length} more` : '';
  return apiErrorWithDetails(
    'validation_failed',
    { fields },
    `The request is invalid: see ${names.join(', ')}${rest}.`,
  );
}

export function invalidField(field: string, code: FieldError['code'], message: string): ApiError {
  return invalidFields([{ field, code, message }]);
}
