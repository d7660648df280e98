/**
 * Looks JSON over before it is parsed: whether it is small enough to be parsed, and where the items of its one long list lie.
 * `JSON.parse` takes seconds for some megabytes of different names or of tiny lists, and nothing can interrupt it.
 */
import { randomInt, randomUUID } from 'node:crypto';
import { isStableNumber } from './json-numbers.ts';

/** A member of the outermost object: a list that nearly all of the text is. */
export interface JsonList {
  readonly field: string;
  /** How many items it may have. */
  readonly max: number;
}

/** What a body may still hold, as far as it was surveyed; lines of JSON share one. */
export interface JsonTally {
  readonly valuesMax: number;
  values: number;
  members: number;
  differentNames: number;
  /** A bit for each hash of a name; made once there are enough names to count different ones. */
  nameBits: Uint32Array | undefined;
}

export function newTally(list?: JsonList): JsonTally {
  return {
    valuesMax: Math.max(valuesMax, (list?.max ?? 0) * valuesPerItemMax),
    values: 0,
    members: 0,
    differentNames: 0,
    nameBits: undefined,
  };
}

/** Nothing behind it can be taken either. */
export function isSpent({ values, differentNames, ...tally }: JsonTally): boolean {
  return values > tally.valuesMax || differentNames > differentNamesMax;
}

export interface JsonSurvey {
  /** The limit that the text exceeds, as a message; it must not be parsed then. */
  readonly excess: string | undefined;
  /** How many names there are, those that stand twice in one object counted twice. */
  readonly members: number;
  /** A number would be another one once it is stored and read. */
  readonly hasUnstableNumber: boolean;
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

export const nestingMax = 64;
/** Of one object. The engine keeps objects with more as tables, which are expensive to make. */
export const membersMax = 1_000;
/** Members, items, objects and lists of one body, which is more than any list of a schema needs. */
export const valuesMax = 50_000;
/** The same for each item of a list that a body is made for: a run with all its tags and metadata. */
export const valuesPerItemMax = 100;
/** Each different name makes the engine build a new shape of objects: they cost a hundred times more than repeated ones. */
export const differentNamesMax = 20_000;
/** Up to here names are not compared: the usual body has fewer. */
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
/** Every number of so many characters without an exponent is kept as it is. */
const stableCharacters = 15;

/** How many names the open objects have so far, by depth. One for all surveys, as each ends before another begins. */
const membersAt = new Int32Array(nestingMax + 1);

/** What is no JSON is found when it is parsed. */
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
          // It will be refused, and parsing millions of short items one by one would take seconds.
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
        excess = `This is nested more than ${nestingMax} levels deep.`;
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

/** Where the quote is that ends the string whose content begins here. */
export function endOfString(bytes: Buffer, from: number): number {
  let at = from;
  for (let byte = bytes[at]; byte !== quote && at < bytes.length; byte = bytes[at]) {
    at += byte === backslash ? 2 : 1;
  }
  return at;
}

/** Where the number that has begun before ends. */
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
/** Secret, so that no body can be made of names that share their bits. */
const hashSeed = randomInt(2 ** 32);

/** Returns how many different names were counted so far. Names that share a bit count once, which at these numbers are few. */
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
