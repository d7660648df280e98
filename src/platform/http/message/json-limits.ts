/** The limits of JSON from clients, and counts of what was scanned. */
import { randomInt } from 'node:crypto';

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
export const fewNames = 5_000;

const nameBitsMax = 2 ** 20;
/** Random, so that a client cannot construct names that share their bits. */
const hashSeed = randomInt(2 ** 32);

/**
 * Returns the number of different names so far. Names that share a bit count once, which is rare for these numbers of
 * names.
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
