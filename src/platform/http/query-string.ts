/** Parses a query string strictly: broken percent-encoding is refused, a repeated parameter is not one value. */

import type { FieldError } from '../../contract/errors.ts';
import { refuse } from '../../contract/refusal.ts';
import { isStorable } from './body.ts';

export interface ParsedQuery {
  readonly values: Record<string, string>;
  readonly faults: FieldError[];
}

export function parseQueryString(text: string): ParsedQuery {
  const values: Record<string, string> = Object.create(null);
  const faults: FieldError[] = [];
  for (const pair of text.split('&')) {
    if (pair === '') {
      continue;
    }
    const equals = pair.indexOf('=');
    const name = decode(equals === -1 ? pair : pair.slice(0, equals));
    const value = equals === -1 ? '' : decode(pair.slice(equals + 1));
    if (name in values) {
      faults.push({ field: name, code: 'invalid_type', message: 'This parameter was given more than once.' });
    } else if (!isStorable(value) || !isStorable(name)) {
      faults.push({
        field: name,
        code: 'invalid_value',
        message: 'NUL and lone surrogates are not allowed.',
      });
    }
    values[name] = value;
  }
  return { values, faults };
}

function decode(text: string): string {
  try {
    return decodeURIComponent(text.replaceAll('+', ' '));
  } catch {
    throw refuse('bad_request', 'The query string is not properly percent-encoded.');
  }
}
