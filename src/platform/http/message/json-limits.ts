/** The limits of JSON from clients, and a tally of what was scanned. */
import { randomInt } from 'node:crypto';

/** A list in the outermost object that makes up nearly all of the text. */
export interface JsonList {
  readonly field: string;
  /** Maximum number of items. */
  readonly max: number;
  readonly bareItems?: BareItems | undefined;
}

/** Returns the items of a body that consists of one list; undefined for an object with fields. */
export type BareItems = (body: object) => readonly unknown[] | undefined;

/** Counts of scanned items, and their maximum. All lines of a JSON lines body share one tally. */
export interface JsonTally {
  readonly valuesMax: number;
  values: number;
  members: number;
  differentNames: number;
  /** One bit per hash of a name. Allocated once there are many names. */
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

/** Returns true once a limit is exceeded. The rest of the body then need not be scanned. */
export function isSpent({ values, differentNames, ...tally }: JsonTally): boolean {
  return values > tally.valuesMax || differentNames > differentNamesMax;
}

export const nestingMax = 64;
/** Maximum number of members of one object. The engine turns larger objects into hash tables, which are expensive. */
export const membersMax = 1_000;
/** Maximum number of members, items, objects and lists in one body, unless its route declares another maximum. */
export const valuesMax = 50_000;
/**
 * Average number of values per item of the body's one long list, used if it allows more than `valuesMax`. It is enough for a run
 * with all its tags and metadata.
 */
export const valuesPerItemMax = 100;
/**
 * Maximum number of different names. Each one makes the engine create a new object shape, which costs a hundred times
 * more than a repeated name.
 */
export const differentNamesMax = 20_000;
/** Number of names from which different names are counted. Usual bodies have fewer names. */
export const fewNames = 5_000;

const nameBitsMax = 2 ** 20;
/** Random, so that a client cannot construct names with the same bits. */
const hashSeed = randomInt(2 ** 32);

/**
 * Counts a name and returns the number of different names so far. Names with the same bit count once, which is rare for these
 * numbers of names.
 */
export function countName(tally: JsonTally, bytes: Buffer, from: number, to: number): number {
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
