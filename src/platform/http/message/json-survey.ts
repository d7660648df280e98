/**
 * Scans JSON before it is parsed: checks that it is small enough, and finds the items of its one long list. `JSON.parse` takes
 * seconds for a few megabytes of different names or of tiny lists, and cannot be interrupted.
 */
import { randomInt, randomUUID } from 'node:crypto';
import { isStableNumber } from './json-numbers.ts';

/** A member of the outermost object: a list that makes up nearly all of the text. */
export interface JsonList {
  readonly field: string;
  /** Maximum number of items. */
  readonly max: number;
}

/** Counts of what was scanned so far, and their limit. Lines of JSON share one tally. */
export interface JsonTally {
  readonly valuesMax: number;
  values: number;
  members: number;
  differentNames: number;
  /** A bit per hash of a name; allocated once there are enough names to count different ones. */
  nameBits: Uint32Array | undefined;
}

export function newTally(list?: JsonList, bodyValuesMax = valuesMax): JsonTally {
  return {
    valuesMax: Math.max(bodyValuesMax, (list?.max ?? 0) * valuesPerItemMax),
    values: 0,
    members: 0,
    differentNames: 0,
    nameBits: undefined,
  };
}

/** Returns true once a limit is exceeded: nothing after it can be accepted. */
export function isSpent({ values, differentNames, ...tally }: JsonTally): boolean {
  return values > tally.valuesMax || differentNames > differentNamesMax;
}

export interface JsonSurvey {
  /** Message about the limit that the text exceeds; then it must not be parsed. */
  readonly excess: string | undefined;
  /** Number of names; a name that appears twice in one object counts twice. */
  readonly members: number;
  /** True if a number would change when it is stored and read. */
  readonly hasUnstableNumber: boolean;
  /** Undefined if the list is absent, appears twice, or is too long. */
  readonly items: ItemsPlace | undefined;
}

/** Positions of the items of a list: each starts after the bracket or a comma and ends at the next. */
export interface ItemsPlace {
  readonly field: string;
  readonly start: number;
  readonly end: number;
  readonly commas: readonly number[];
}

export const nestingMax = 64;
/** Maximum number of members of one object. The engine turns larger objects into hash tables, which are expensive. */
export const membersMax = 1_000;
/** Maximum number of members, items, objects and lists of one body, unless its route declares another. */
export const valuesMax = 50_000;
/**
 * Average number of values that is allowed per item of the body's one long list, if this allows more than `valuesMax`:
 * enough for a run with all its tags and metadata.
 */
export const valuesPerItemMax = 100;
/**
 * Maximum number of different names. Each one makes the engine create a new object shape, which costs a hundred times
 * more than a repeated name.
 */
export const differentNamesMax = 20_000;
/** Different names are counted only beyond this number: the usual body has fewer. */
const fewNames = 5_000;

const quote = 0x22;
const backslash = 0x5c;
const comma = 0x2c;
const minus = 0x2d;
const dot = 0x2e;
const zero = 0x30;
const nine = 0x39;
const colon = 0x3a;
const brace = 0x7b;
const braceEnd = 0x7d;
const bracket = 0x5b;
const bracketEnd = 0x5d;
/** Every number of up to this many characters without an exponent is stable. */
const stableCharacters = 15;

/** Number of names of the open objects, by depth. Shared by all scans, since each ends before another starts. */
const membersAt = new Int32Array(nestingMax + 1);

/** Does not check that the text is valid JSON: the parser does. */
export function surveyJson(bytes: Buffer, list?: JsonList, tally: JsonTally = newTally(list)): JsonSurvey {
  const name = list && Buffer.from(`"${list.field}"`);
  const valuesLeft = tally.valuesMax - tally.values;
  const membersBefore = tally.members;
  const found: Omit<ItemsPlace, 'field'>[] = [];
  membersAt[0] = 0;
  let current: { start: number; commas: number[] } | undefined;
  let depth = 0;
  let values = 0;
  let members = membersBefore;
  let hasUnstableNumber = false;
  let stringStart = 0;
  let stringEnd = 0;
  let excess: string | undefined;
  for (let i = 0; i < bytes.length; i += 1) {
    const byte = bytes[i] as number;
    if (byte === quote) {
      stringStart = i;
      i = endOfString(bytes, i + 1);
      stringEnd = i;
    } else if (byte === comma) {
      values += 1;
      if (depth === 2 && current !== undefined) {
        if (current.commas.length + 1 === list?.max) {
          // The schema will reject the list, and parsing millions of short items one by one would take seconds.
          current = undefined;
        } else {
          current.commas.push(i);
        }
      }
    } else if (byte === colon) {
      members += 1;
      const ofObject = (membersAt[depth] as number) + 1;
      membersAt[depth] = ofObject;
      if (ofObject > membersMax) {
        excess = `An object has more than ${membersMax} names.`;
        break;
      }
      if (members > fewNames && countName(tally, bytes, stringStart, stringEnd) > differentNamesMax) {
        excess = `There are more than ${differentNamesMax} different names.`;
        break;
      }
    } else if (byte === brace || byte === bracket) {
      values += 1;
      depth += 1;
      if (depth > nestingMax) {
        excess = `The JSON is nested more than ${nestingMax} levels deep.`;
        break;
      }
      membersAt[depth] = 0;
      if (depth === 2 && byte === bracket && name !== undefined && isNamed(bytes, i, name)) {
        current = { start: i + 1, commas: [] };
      }
    } else if (byte === braceEnd || byte === bracketEnd) {
      depth = depth > 0 ? depth - 1 : 0;
      if (depth === 1 && current !== undefined) {
        if (byte === bracketEnd) {
          found.push({ ...current, end: i });
        }
        current = undefined;
      }
    } else if ((byte >= zero && byte <= nine) || byte === minus) {
      const end = endOfNumber(bytes, i + 1);
      if (!hasUnstableNumber && !isSurelyStable(bytes, i, end)) {
        hasUnstableNumber = !isStableNumber(bytes.toString('latin1', i, end));
      }
      i = end - 1;
    }
    if (values > valuesLeft) {
      excess = `There are more than ${tally.valuesMax} values.`;
      break;
    }
  }
  tally.values += values;
  tally.members = members;
  const [one, another] = found;
  const isThere = list !== undefined && one !== undefined && another === undefined;
  return {
    excess,
    members: members - membersBefore,
    hasUnstableNumber,
    items: isThere ? { ...one, field: list.field } : undefined,
  };
}

/** Returns the position of the quote that ends the string whose content starts at `from`. */
export function endOfString(bytes: Buffer, from: number): number {
  let at = from;
  for (let byte = bytes[at]; byte !== quote && at < bytes.length; byte = bytes[at]) {
    at += byte === backslash ? 2 : 1;
  }
  return at;
}

/** Returns the end of the number that `from` is in. */
export function endOfNumber(bytes: Buffer, from: number): number {
  let at = from;
  for (let byte = bytes[at] as number; at < bytes.length; byte = bytes[at] as number) {
    if ((byte >= zero && byte <= nine) || byte === dot || isOfExponent(byte)) {
      at += 1;
    } else {
      break;
    }
  }
  return at;
}

function isOfExponent(byte: number): boolean {
  return byte === 0x65 || byte === 0x45 || byte === 0x2b || byte === minus;
}

function isSurelyStable(bytes: Buffer, from: number, to: number): boolean {
  if (to - from > stableCharacters) {
    return false;
  }
  for (let at = from + 1; at < to; at += 1) {
    if (isOfExponent(bytes[at] as number)) {
      return false;
    }
  }
  return true;
}

const nameBitsMax = 2 ** 20;
/** Random, so that a client cannot construct names that share their bits. */
const hashSeed = randomInt(2 ** 32);

/**
 * Returns the number of different names so far. Names that share a bit count once, which is rare for these numbers of
 * names.
 */
function countName(tally: JsonTally, bytes: Buffer, from: number, to: number): number {
  tally.nameBits ??= new Uint32Array(nameBitsMax / 32);
  let hash = hashSeed;
  for (let at = from + 1; at < to; at += 1) {
    hash = Math.imul(hash ^ (bytes[at] as number), 0x01000193);
    hash ^= hash >>> 15;
  }
  const bit = hash & (nameBitsMax - 1);
  const mask = 1 << (bit & 31);
  const word = tally.nameBits[bit >>> 5] as number;
  if ((word & mask) === 0) {
    tally.nameBits[bit >>> 5] = word | mask;
    tally.differentNames += 1;
  }
  return tally.differentNames;
}

/** Returns true if the value at this position belongs to the member of this name. */
function isNamed(bytes: Buffer, at: number, name: Buffer): boolean {
  const colonAt = lastBefore(bytes, at);
  if (bytes[colonAt] !== colon) {
    return false;
  }
  const end = lastBefore(bytes, colonAt) + 1;
  const start = end - name.length;
  return start > 0 && bytes[start - 1] !== backslash && name.equals(bytes.subarray(start, end));
}

/** Returns the position of the last byte before `at` that is not white space. */
function lastBefore(bytes: Buffer, at: number): number {
  let before = at - 1;
  while (isSpace(bytes[before])) {
    before -= 1;
  }
  return before;
}

/** Returns the position of the first byte from `at` on that is not white space. */
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

/** Placeholder of the list while the text around it is parsed. Random, so that no client can send it. */
const stub = randomUUID();

/**
 * Returns the same value as `JSON.parse` of the whole text, but decodes the items one by one: a large body is not in memory a
 * second time as text.
 */
export function parseByItems(bytes: Buffer, { field, start, end, commas }: ItemsPlace): unknown {
  const parse = (from: number, to: number): unknown => JSON.parse(bytes.toString('utf8', from, to));
  const around = [bytes.toString('utf8', 0, start - 1), bytes.toString('utf8', end + 1)];
  const shell = JSON.parse(around.join(JSON.stringify(stub))) as Record<string, unknown>;
  if (shell[field] !== stub) {
    // The object has a second member of this name, and the last one wins.
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
