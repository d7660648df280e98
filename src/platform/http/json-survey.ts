/** Looks JSON over before it is parsed: how deep it is nested, and where the items of its one long list lie. */
import { randomUUID } from 'node:crypto';

/** A member of the outermost object: a list that nearly all of the text is. */
export interface JsonList {
  readonly field: string;
  /** How many items it may have. */
  readonly max: number;
}

export interface JsonSurvey {
  readonly deepest: number;
  /** How many objects and lists there are. */
  readonly containers: number;
  /** Undefined where that list is not there, or twice, or too long. */
  readonly items: ItemsPlace | undefined;
}

/** Where the items of a list lie: behind its bracket and each comma, up to the next of these. */
export interface ItemsPlace {
  readonly field: string;
  readonly start: number;
  readonly end: number;
  readonly commas: readonly number[];
}

const quote = 0x22;
const backslash = 0x5c;
const comma = 0x2c;
const colon = 0x3a;
const brace = 0x7b;
const braceEnd = 0x7d;
const bracket = 0x5b;
const bracketEnd = 0x5d;

/** What is no JSON is found when it is parsed. */
export function surveyJson(bytes: Buffer, list?: JsonList): JsonSurvey {
  const name = list && Buffer.from(`"${list.field}"`);
  const found: Omit<ItemsPlace, 'field'>[] = [];
  let current: { start: number; commas: number[] } | undefined;
  let depth = 0;
  let deepest = 0;
  let containers = 0;
  let inString = false;
  for (let i = 0; i < bytes.length; i += 1) {
    const byte = bytes[i];
    if (inString) {
      if (byte === backslash) {
        i += 1;
      } else if (byte === quote) {
        inString = false;
      }
    } else if (byte === quote) {
      inString = true;
    } else if (byte === brace || byte === bracket) {
      containers += 1;
      depth += 1;
      deepest = depth > deepest ? depth : deepest;
      if (depth === 2 && byte === bracket && name !== undefined && isNamed(bytes, i, name)) {
        current = { start: i + 1, commas: [] };
      }
    } else if (byte === braceEnd || byte === bracketEnd) {
      depth -= 1;
      if (depth === 1 && current !== undefined) {
        if (byte === bracketEnd) {
          found.push({ ...current, end: i });
        }
        current = undefined;
      }
    } else if (byte === comma && depth === 2 && current !== undefined) {
      if (current.commas.length + 1 === list?.max) {
        // It will be refused, and parsing millions of short items one by one would take seconds.
        current = undefined;
      } else {
        current.commas.push(i);
      }
    }
  }
  const [one, another] = found;
  const isThere = list !== undefined && one !== undefined && another === undefined;
  return { deepest, containers, items: isThere ? { ...one, field: list.field } : undefined };
}

/** Whether what begins here is the value of that member. */
function isNamed(bytes: Buffer, at: number, name: Buffer): boolean {
  const colonAt = lastBefore(bytes, at);
  if (bytes[colonAt] !== colon) {
    return false;
  }
  const end = lastBefore(bytes, colonAt) + 1;
  const start = end - name.length;
  return start > 0 && bytes[start - 1] !== backslash && name.equals(bytes.subarray(start, end));
}

/** The last byte before this one that is no space. */
function lastBefore(bytes: Buffer, at: number): number {
  let before = at - 1;
  while (isSpace(bytes[before])) {
    before -= 1;
  }
  return before;
}

/** The first byte from this one on that is no space. */
export function afterSpaces(bytes: Buffer, at: number): number {
  let after = at;
  while (isSpace(bytes[after])) {
    after += 1;
  }
  return after;
}

function isSpace(byte: number | undefined): boolean {
  return byte === 0x20 || byte === 0x0a || byte === 0x0d || byte === 0x09;
}

/** Stands for the list while all around it is parsed. Nobody else can know it. */
const stub = randomUUID();

/**
 * The same as `JSON.parse` of the whole, but the items are parsed one by one where they lie: a large body is not held a
 * second time as text.
 */
export function parseByItems(bytes: Buffer, { field, start, end, commas }: ItemsPlace): unknown {
  const parse = (from: number, to: number): unknown => JSON.parse(bytes.toString('utf8', from, to));
  const around = [bytes.toString('utf8', 0, start - 1), bytes.toString('utf8', end + 1)];
  const shell = JSON.parse(around.join(JSON.stringify(stub))) as Record<string, unknown>;
  if (shell[field] !== stub) {
    // A second member of this name, and the last one counts.
    return parse(0, bytes.length);
  }
  const items: unknown[] = [];
  let from = start;
  for (const at of commas) {
    items.push(parse(from, at));
    from = at + 1;
  }
  if (commas.length > 0 || lastBefore(bytes, end) >= start) {
    items.push(parse(from, end));
  }
  shell[field] = items;
  return shell;
}
