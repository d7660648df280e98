/** Headers that a connection adds to each request. */
import { invalidField } from '../../../contract/api-error.ts';
import { keyHeaders } from './kinds/index.ts';

export const headersMax = 20;

/** Headers that the gateway sets itself, that belong to one hop, or that carry credentials. */
const reserved = new Set([
  ...keyHeaders,
  'accept-encoding',
  'authorization',
  'connection',
  'cookie',
  'date',
  'expect',
  'host',
  'http2-settings',
  'keep-alive',
  'te',
  'trailer',
  'transfer-encoding',
  'upgrade',
  'via',
  'x-goog-api-key',
]);
const reservedPrefixes = ['content-', 'proxy-', 'x-svc-', 'x-forwarded-', 'sec-'];
const token = /^[!#$%&'*+.^_`|~0-9A-Za-z-]{1,100}$/;
/** Printable ASCII, without white space at the ends. */
const headerValue = /^[\x21-\x7e]([\x20-\x7e]{0,998}[\x21-\x7e])?$/;

/** Returns the headers with lower-case names, or rejects them. */
export function checkHeaders(headers: Readonly<Record<string, string>>): Record<string, string> {
  const checked = new Map<string, string>();
  if (Object.keys(headers).length > headersMax) {
    throw invalidField('headers', 'too_many', `At most ${headersMax} headers.`);
  }
  for (const [given, value] of Object.entries(headers)) {
    const name = given.toLowerCase();
    const field = `headers.${given}`;
    if (!token.test(given)) {
      throw invalidField(
        field,
        'invalid_format',
        'Must be the name of an HTTP header of up to 100 characters.',
      );
    }
    if (reserved.has(name) || reservedPrefixes.some((prefix) => name.startsWith(prefix))) {
      throw invalidField(field, 'invalid_value', 'This header is set by the gateway or must not be sent.');
    }
    if (checked.has(name)) {
      throw invalidField(field, 'invalid_value', 'The header is listed twice.');
    }
    if (!headerValue.test(value)) {
      throw invalidField(field, 'invalid_format', 'Must be 1 to 1,000 printable ASCII characters.');
    }
    checked.set(name, value);
  }
  return Object.fromEntries(checked);
}
