/**
 * Parses JSON from clients. It must be valid UTF-8, limited in size, and an object. Members that must be rejected are returned as
 * field errors, so that they are reported together with those of the schema.
 */
import { isUtf8 } from 'node:buffer';
import { ApiError, invalidField } from '../../../contract/api-error.ts';
import type { FieldError } from '../../../contract/errors.ts';
import { afterSpaces } from './json-bytes.ts';
import { fieldErrorsMax, findPassedOver, findUnstorable, type JsonErrorRules } from './json-errors.ts';
import { parseByItems } from './json-items.ts';
import { isSpent, type JsonList, type JsonTally, newTally } from './json-limits.ts';
import { surveyJson } from './json-survey.ts';

/** A body, and the errors of its rejected members. */
export interface ParsedBody {
  readonly value: object;
  readonly fieldErrors: readonly FieldError[];
}

export const noBody: ParsedBody = { value: {}, fieldErrors: [] };

/** Parses a body. `list` is the list that makes up nearly all of it, if there is one. */
export function parseJsonObject(bytes: Buffer, list?: JsonList, valuesMax?: number): ParsedBody {
  return parseObject(bytes, { whole: 'body', path: '', list, tally: newTally(list, valuesMax) });
}

/**
 * Parses a small body that needs no further checks: one flat object of plain strings, safe integers and nulls, without a repeated
 * name. Returns undefined for any other body, which `parseJsonObject` must parse. A bare number or null is returned too, because
 * the schema rejects it.
 */
export function parsePlainObject(bytes: Buffer): unknown {
  const quotes = plainQuotes(bytes);
  if (quotes === undefined) {
    return undefined;
  }
  const text = bytes.toString('utf8');
  // U+FFFD may stand for bytes that are not UTF-8, or may have been sent itself.
  if (text.includes('\ufffd') || text.includes('__proto__')) {
    return undefined;
  }
  let value: Record<string, unknown>;
  try {
    value = JSON.parse(text);
  } catch {
    return undefined;
  }
  // If a name appears twice, the text has more quotes than the members of the value.
  let quotesLeft = quotes;
  for (const name in value) {
    const member = value[name];
    quotesLeft -= typeof member === 'string' ? 4 : 2;
    if (typeof member === 'number' && !Number.isSafeInteger(member)) {
      return undefined;
    }
  }
  return quotesLeft === 0 ? value : undefined;
}

/** Returns the number of quotes. Returns undefined if the text may be anything but one flat object without escapes and fractions. */
function plainQuotes(bytes: Buffer): number | undefined {
  let quotes = 0;
  let isInString = false;
  for (let at = 0; at < bytes.length; at += 1) {
    const byte = bytes[at] as number;
    if (byte === 0x22) {
      quotes += 1;
      isInString = !isInString;
    } else if (byte === 0x5c) {
      return undefined;
    } else if (!isInString) {
      // The byte starts a list or a second object, or belongs to a fraction, an exponent, `true` or `false`. No decision contains
      // these.
      if (byte === 0x5b || (byte === 0x7b && quotes > 0) || byte === 0x2e || (byte | 0x20) === 0x65) {
        return undefined;
      }
    }
  }
  return quotes;
}

/** Maximum number of lines with errors. Later lines are not parsed, because failing to parse is slower than parsing. */
export const faultyLinesMax = 100;

/**
 * Parses one object per line. Lines are decoded one by one, so that the body is not in memory a second time as text. At most one
 * line more than allowed is parsed, so that the schema rejects the body: millions of lines would block the process.
 */
export function parseJsonLines(bytes: Buffer, list: JsonList): ParsedBody {
  const { field, max } = list;
  const objects: unknown[] = [];
  const fieldErrors: FieldError[] = [];
  let faultyLines = 0;
  const tally = newTally(list);
  // Empty lines are skipped without parsing, because there may be millions.
  let at = afterSpaces(bytes, 0);
  while (at < bytes.length && objects.length <= max && faultyLines < faultyLinesMax && !isSpent(tally)) {
    const newline = bytes.indexOf(0x0a, at);
    const end = newline === -1 ? bytes.length : newline;
    const name = `${field}[${objects.length}]`;
    const line = parseLine(bytes.subarray(at, end), { whole: name, path: name, tally });
    objects.push(line.value);
    if (line.fieldErrors.length > 0) {
      fieldErrors.push(...line.fieldErrors.slice(0, fieldErrorsMax - fieldErrors.length));
      faultyLines += 1;
    }
    at = afterSpaces(bytes, end);
  }
  return { value: { [field]: objects }, fieldErrors };
}

/** Parses a line. Returns `null` for a line that is not an object; the schema rejects that too. */
function parseLine(
  line: Buffer,
  rules: ParseRules,
): { value: object | null; fieldErrors: readonly FieldError[] } {
  try {
    return parseObject(line, rules);
  } catch (error) {
    if (error instanceof ApiError && error.code === 'validation_failed') {
      return { value: null, fieldErrors: (error.details as { fields: FieldError[] }).fields };
    }
    throw error;
  }
}

interface ParseRules extends JsonErrorRules {
  readonly list?: JsonList | undefined;
  readonly tally: JsonTally;
}

function parseObject(bytes: Buffer, rules: ParseRules): ParsedBody {
  const { whole, list, tally } = rules;
  if (!isUtf8(bytes)) {
    throw invalidField(whole, 'invalid_body', 'This is not valid UTF-8.');
  }
  // Scanned before it is parsed, because `JSON.parse` could build millions of arrays first.
  const { excess, members, hasUnstableNumber, items } = surveyJson(bytes, list, tally);
  if (excess !== undefined) {
    throw invalidField(whole, 'invalid_body', excess);
  }
  let value: unknown;
  try {
    value = items === undefined ? JSON.parse(bytes.toString('utf8')) : parseByItems(bytes, items);
  } catch {
    throw invalidField(
      whole,
      'invalid_json',
      bytes.length === 0 ? 'The body is empty.' : 'This is not valid JSON.',
    );
  }
  const bare = typeof value === 'object' && value !== null ? list?.bareItems?.(value) : undefined;
  if (value === null || typeof value !== 'object' || (Array.isArray(value) && bare === undefined)) {
    throw invalidField(whole, 'invalid_type', 'Must be a JSON object.');
  }
  const fieldErrors: FieldError[] = [];
  // If a name appears twice, the parser has kept only one.
  if (hasUnstableNumber || countMembers(value) !== members) {
    fieldErrors.push(...findPassedOver(bytes, rules));
  }
  // Values that cannot be stored only appear in valid UTF-8 as escapes or as this name, so most bodies need no search.
  if (bytes.includes('\\u') || bytes.includes('__proto__')) {
    fieldErrors.push(...findUnstorable(value, rules));
  }
  return { value: list === undefined || bare === undefined ? value : { [list.field]: bare }, fieldErrors };
}

/** Counts the members of this object and of all objects inside it. */
function countMembers(value: object): number {
  let count = 0;
  if (Array.isArray(value)) {
    for (const item of value) {
      if (typeof item === 'object' && item !== null) {
        count += countMembers(item);
      }
    }
    return count;
  }
  const members = value as Record<string, unknown>;
  for (const name in members) {
    count += 1;
    const member = members[name];
    if (typeof member === 'object' && member !== null) {
      count += countMembers(member);
    }
  }
  return count;
}
