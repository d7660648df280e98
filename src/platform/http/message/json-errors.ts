/**
 * Finds members of a body that must be rejected although the JSON is valid: strings that cannot be stored, names that appear twice
 * in one object, and numbers that `JSON.parse` rounds silently. Slow, because it builds paths, so it is only called for bodies that
 * may have such a member.
 */
import type { FieldError } from '../../../contract/errors.ts';
import { endOfNumber, endOfString } from './json-bytes.ts';
import { isStableNumber } from './json-numbers.ts';

export interface JsonErrorRules {
  /** Field name of an error about the whole text. */
  readonly whole: string;
  /** Prefix of the field names of the members. */
  readonly path: string;
}

/** Limits the response to a body full of errors, which could be many times the size of the body. */
export const fieldErrorsMax = 10_000;
/** Maximum length of a path in the response. Otherwise each value of a body could have a path of megabytes. */
const pathMax = 400;
const shownNameMax = 100;

function memberPath(path: string, name: string): string {
  if (path.length > pathMax) {
    return path;
  }
  const short = name.length > pathMax ? name.slice(0, pathMax) : name;
  return path === '' ? short : `${path}.${short}`;
}

function itemPath(path: string, index: number): string {
  return path.length > pathMax ? path : `${path}[${index}]`;
}

/** PostgreSQL stores neither NUL nor lone surrogates. */
export function isStorable(text: string): boolean {
  return !text.includes('\u0000') && text.isWellFormed();
}

export function findUnstorable(value: unknown, rules: JsonErrorRules): FieldError[] {
  const fieldErrors: FieldError[] = [];
  addUnstorable(value, rules.path, rules.whole, fieldErrors);
  return fieldErrors;
}

function addUnstorable(value: unknown, path: string, whole: string, fieldErrors: FieldError[]): void {
  if (fieldErrors.length === fieldErrorsMax) {
    return;
  }
  if (typeof value === 'string') {
    if (!isStorable(value)) {
      fieldErrors.push({
        field: path,
        code: 'invalid_value',
        message: 'NUL and lone surrogates are not allowed.',
      });
    }
  } else if (Array.isArray(value)) {
    value.forEach((item, index) => {
      addUnstorable(item, itemPath(path, index), whole, fieldErrors);
    });
  } else if (value !== null && typeof value === 'object') {
    for (const [key, member] of Object.entries(value)) {
      const field = memberPath(path, key);
      // A legitimate client never sends this name.
      if (key === '__proto__') {
        fieldErrors.push({ field, code: 'unknown_field', message: 'This name is not allowed.' });
      } else if (!isStorable(key)) {
        fieldErrors.push({
          field: path === '' ? whole : path,
          code: 'invalid_value',
          message: 'A name contains NUL or a lone surrogate.',
        });
      } else {
        addUnstorable(member, field, whole, fieldErrors);
      }
    }
  }
}

/** An object or a list whose end was not reached yet. */
interface OpenContainer {
  readonly path: string;
  /** Names of the object so far; undefined for a list. */
  readonly names: Set<string> | undefined;
  index: number;
  /** The name whose value is next; undefined if a name is next. */
  name: string | undefined;
}

/** Finds names that appear twice in one object, and numbers that cannot be stored exactly. `bytes` must be valid JSON. */
export function findPassedOver(bytes: Buffer, { whole, path }: JsonErrorRules): FieldError[] {
  const fieldErrors: FieldError[] = [];
  const open: OpenContainer[] = [];
  const pathHere = (): string => {
    const inner = open.at(-1);
    if (inner === undefined) {
      return path;
    }
    return inner.names === undefined
      ? itemPath(inner.path, inner.index)
      : memberPath(inner.path, inner.name ?? '');
  };
  for (let at = 0; at < bytes.length && fieldErrors.length < fieldErrorsMax; at += 1) {
    const character = String.fromCharCode(bytes[at] as number);
    const inner = open.at(-1);
    if (character === '{' || character === '[') {
      const names = character === '{' ? new Set<string>() : undefined;
      open.push({ path: pathHere(), names, index: 0, name: undefined });
    } else if (character === '}' || character === ']') {
      open.pop();
    } else if (character === ',' && inner !== undefined) {
      inner.index += 1;
      inner.name = undefined;
    } else if (character === '"') {
      const end = endOfString(bytes, at + 1);
      if (inner?.names !== undefined && inner.name === undefined) {
        inner.name = JSON.parse(bytes.toString('utf8', at, end + 1)) as string;
        if (inner.names.has(inner.name)) {
          fieldErrors.push({ field: whole, code: 'invalid_json', message: repeated(inner.name) });
        }
        inner.names.add(inner.name);
      }
      at = end;
    } else if (/[-\d]/.test(character)) {
      const end = endOfNumber(bytes, at + 1);
      if (!isStableNumber(bytes.toString('latin1', at, end))) {
        fieldErrors.push({
          field: pathHere(),
          code: 'out_of_range',
          message: 'This number cannot be stored exactly. Send it as a string.',
        });
      }
      at = end - 1;
    }
  }
  return fieldErrors;
}

function repeated(name: string): string {
  const shown = name.length <= shownNameMax ? name : `${name.slice(0, shownNameMax)}…`;
  return `The name ${JSON.stringify(shown)} appears more than once in one object.`;
}
