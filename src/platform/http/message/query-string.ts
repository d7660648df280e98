/** Parses a query string strictly: rejects invalid percent-encoding, and keeps all values of a repeated parameter. */

import { apiError } from '../../../contract/api-error.ts';
import type { FieldError } from '../../../contract/errors.ts';
import { isStorable } from './json-errors.ts';

export interface ParsedQuery {
  /** Values by name. A repeated parameter is an array, which the schema rejects. A parameter with a field error is left out. */
  readonly values: Record<string, string | string[]>;
  readonly fieldErrors: FieldError[];
}

/** Maximum number of parameters. No route or page has more, and parsing thousands would take longer than the rest of the request. */
const parametersMax = 100;

export function checkParameterCount(text: string): void {
  let count = 1;
  for (let at = text.indexOf('&'); at !== -1; at = text.indexOf('&', at + 1)) {
    count += 1;
  }
  if (count > parametersMax) {
    throw apiError('bad_request', `The query string has more than ${parametersMax} parameters.`);
  }
}

export function parseQueryString(text: string): ParsedQuery {
  checkParameterCount(text);
  const values: ParsedQuery['values'] = Object.create(null);
  const unstorable = new Set<string>();
  for (const pair of text.split('&')) {
    if (pair === '') {
      continue;
    }
    const equals = pair.indexOf('=');
    const name = decode(equals === -1 ? pair : pair.slice(0, equals));
    const value = equals === -1 ? '' : decode(pair.slice(equals + 1));
    const before = values[name];
    values[name] = before === undefined ? value : [before, value].flat();
    if (!isStorable(value) || !isStorable(name)) {
      unstorable.add(name);
    }
  }
  for (const name of unstorable) {
    delete values[name];
  }
  const fieldErrors = [...unstorable].map(
    (field): FieldError => ({
      field,
      code: 'invalid_value',
      message: 'NUL and lone surrogates are not allowed.',
    }),
  );
  return { values, fieldErrors };
}

function decode(text: string): string {
  try {
    return decodeURIComponent(text.replaceAll('+', ' '));
  } catch {
    throw apiError('bad_request', 'The query string is not properly percent-encoded.');
  }
}
