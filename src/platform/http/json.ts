/** Parses JSON that came from outside: valid UTF-8, bounded in nesting, an object, and free of what no store can hold. */
import { isUtf8 } from 'node:buffer';
import type { FieldError } from '../../contract/errors.ts';
import { refuseField, refuseFields } from '../../contract/refusal.ts';
import { afterSpaces, type JsonList, parseByItems, surveyJson } from './json-survey.ts';

const nestingMax = 64;
/** Objects and lists of one body. Some megabytes of empty ones would keep the parser, and so everyone, for many seconds. */
const containersMax = 1_000_000;
/** So that a body full of faults is not answered by one many times its size. */
const faultsMax = 10_000;

/** Where nearly all of it is one list, `list` says which. */
export function parseJsonObject(bytes: Buffer, list?: JsonList): object {
  return parseObject(bytes, { whole: 'body', path: '', containersLeft: containersMax, list }).value;
}

/** A small body that needs no closer look: plain text, flat. Undefined: look closer, with `parseJsonObject`. */
export function parsePlainObject(bytes: Buffer): unknown {
  const text = bytes.toString('utf8');
  if (
    text.includes('\\') ||
    // Stands where the bytes were not UTF-8, or where it was sent as such.
    text.includes('\ufffd') ||
    text.includes('__proto__') ||
    text.includes('[') ||
    text.indexOf('{') !== text.lastIndexOf('{')
  ) {
    return undefined;
  }
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}

/**
 * One object a line. The lines are parsed where they lie: the body is not held a second time as text. Of too many lines only
 * one too many is parsed, which is enough for them to be refused: millions would hold up everyone else.
 */
export function parseJsonLines(bytes: Buffer, { field, max }: JsonList): object[] {
  const objects: object[] = [];
  let containersLeft = containersMax;
  // Empty lines are no more than spaces, and there may be millions of these too.
  for (let at = afterSpaces(bytes, 0); at < bytes.length && objects.length <= max; ) {
    const newline = bytes.indexOf(0x0a, at);
    const end = newline === -1 ? bytes.length : newline;
    const name = `${field}[${objects.length}]`;
    const line = bytes.subarray(at, end);
    const { value, containers } = parseObject(line, { whole: name, path: name, containersLeft });
    objects.push(value);
    containersLeft -= containers;
    at = afterSpaces(bytes, end);
  }
  return objects;
}

interface ParseRules {
  /** Names it when all of it is at fault. */
  readonly whole: string;
  /** What the names of its members start with. */
  readonly path: string;
  readonly containersLeft: number;
  readonly list?: JsonList | undefined;
}

interface Parsed {
  readonly value: object;
  readonly containers: number;
}

function parseObject(bytes: Buffer, { whole, path, containersLeft, list }: ParseRules): Parsed {
  if (!isUtf8(bytes)) {
    throw refuseField(whole, 'invalid_body', 'This is not valid UTF-8.');
  }
  // Before parsing: a parser would build millions of arrays before anyone could object.
  const { deepest, containers, items } = surveyJson(bytes, list);
  if (deepest > nestingMax) {
    throw refuseField(whole, 'invalid_body', `This is nested more than ${nestingMax} levels deep.`);
  }
  if (containers > containersLeft) {
    throw refuseField(whole, 'invalid_body', `There are more than ${containersMax} objects and lists.`);
  }
  let value: unknown;
  try {
    value = items === undefined ? JSON.parse(bytes.toString('utf8')) : parseByItems(bytes, items);
  } catch {
    throw refuseField(
      whole,
      'invalid_json',
      bytes.length === 0 ? 'The body is empty.' : 'This is not valid JSON.',
    );
  }
  if (value === null || typeof value !== 'object' || Array.isArray(value)) {
    throw refuseField(whole, 'invalid_type', 'This has to be a JSON object.');
  }
  // Valid UTF-8 can hold these only as escapes, or by name; most bodies need no search.
  if (bytes.includes('\\u') || bytes.includes('__proto__')) {
    const faults: FieldError[] = [];
    findUnstorable(value, path, faults);
    if (faults.length > 0) {
      throw refuseFields(faults);
    }
  }
  return { value, containers };
}

/** PostgreSQL stores neither NUL nor half a surrogate pair, and a `__proto__` key is never meant well. */
export function isStorable(text: string): boolean {
  return !text.includes('\u0000') && text.isWellFormed();
}

function findUnstorable(value: unknown, path: string, faults: FieldError[]): void {
  if (faults.length === faultsMax) {
    return;
  }
  if (typeof value === 'string') {
    if (!isStorable(value)) {
      faults.push({
        field: path,
        code: 'invalid_value',
        message: 'NUL and lone surrogates are not allowed.',
      });
    }
  } else if (Array.isArray(value)) {
    value.forEach((item, index) => {
      findUnstorable(item, `${path}[${index}]`, faults);
    });
  } else if (value !== null && typeof value === 'object') {
    for (const [key, member] of Object.entries(value)) {
      const field = path === '' ? key : `${path}.${key}`;
      if (key === '__proto__') {
        faults.push({ field, code: 'unknown_field', message: 'This name is not allowed.' });
      } else if (!isStorable(key)) {
        faults.push({
          field: path === '' ? 'body' : path,
          code: 'invalid_value',
          message: 'A name holds NUL or a lone surrogate.',
        });
      } else {
        findUnstorable(member, field, faults);
      }
    }
  }
}
