/**
 * Scans JSON before it is parsed: checks that it is small enough, and finds the items of its one long list. `JSON.parse` takes
 * seconds for a few megabytes of different names or tiny lists, and cannot be interrupted.
 */
import {
  backslash,
  brace,
  braceEnd,
  bracket,
  bracketEnd,
  colon,
  comma,
  endOfNumber,
  endOfString,
  isSurelyStable,
  lastBefore,
  minus,
  nine,
  quote,
  zero,
} from './json-bytes.ts';
import {
  countName,
  differentNamesMax,
  fewNames,
  type JsonList,
  type JsonTally,
  membersMax,
  nestingMax,
  newTally,
} from './json-limits.ts';
import { isStableNumber } from './json-numbers.ts';

export interface JsonSurvey {
  /** Message about the limit that the text exceeds. If it is set, the text must not be parsed. */
  readonly excess: string | undefined;
  /** Number of members. A name that appears twice in one object counts twice. */
  readonly members: number;
  /** True if a number would change when it is stored and read. */
  readonly hasUnstableNumber: boolean;
  /** Undefined if the list is absent, appears twice, or is too long. */
  readonly items: ItemsPlace | undefined;
}

/** Positions of the items of a list. Each item starts after the bracket or a comma and ends before the next one. */
export interface ItemsPlace {
  readonly field: string;
  readonly start: number;
  readonly end: number;
  readonly commas: readonly number[];
}

/**
 * Number of names in the open objects, by depth. All uninterrupted scans share this array, because each one ends before the next
 * starts.
 */
const sharedCounts = new Int32Array(nestingMax + 1);

/** Scans a whole text. Does not check that it is valid JSON, because the parser does. */
export function surveyJson(bytes: Buffer, list?: JsonList, tally: JsonTally = newTally(list)): JsonSurvey {
  const scan = new JsonScan(bytes, tally, { list, counts: sharedCounts });
  scan.scanTo(bytes.length);
  return scan.survey();
}

export interface ScanOptions {
  readonly list?: JsonList | undefined;
  /** Maximum length of a name in bytes. Default: none. */
  readonly nameBytesMax?: number;
  /** An array to use instead of a new one. Only for uninterrupted scans. */
  readonly counts?: Int32Array;
}

/** A scan that can be interrupted. */
export class JsonScan {
  readonly #bytes: Buffer;
  readonly #tally: JsonTally;
  readonly #list: JsonList | undefined;
  /** The name of the list, including its quotes. */
  readonly #listName: Buffer | undefined;
  readonly #nameBytesMax: number;
  readonly #valuesLeft: number;
  readonly #membersBefore: number;
  readonly #counts: Int32Array;
  readonly #found: Omit<ItemsPlace, 'field'>[] = [];
  #current: { start: number; commas: number[] } | undefined;
  #at = 0;
  #depth = 0;
  #values = 0;
  #hasUnstableNumber = false;
  #stringStart = 0;
  #stringEnd = 0;
  #isInString = false;
  #excess: string | undefined;

  constructor(bytes: Buffer, tally: JsonTally, options: ScanOptions = {}) {
    const {
      list,
      nameBytesMax = Number.POSITIVE_INFINITY,
      counts = new Int32Array(nestingMax + 1),
    } = options;
    this.#bytes = bytes;
    this.#tally = tally;
    this.#list = list;
    this.#listName = list && Buffer.from(`"${list.field}"`);
    this.#nameBytesMax = nameBytesMax;
    this.#valuesLeft = tally.valuesMax - tally.values;
    this.#membersBefore = tally.members;
    this.#counts = counts;
    counts[0] = 0;
  }

  /** Number of members, items, objects and lists so far. */
  get values(): number {
    return this.#values;
  }

  /** Scans up to this position. Returns true if the text has ended or exceeds a limit. */
  scanTo(to: number): boolean {
    const bytes = this.#bytes;
    const counts = this.#counts;
    const tally = this.#tally;
    const valuesLeft = this.#valuesLeft;
    const itemDepth = this.#listName === undefined ? -1 : 2;
    let { members } = tally;
    let depth = this.#depth;
    let values = this.#values;
    let hasUnstableNumber = this.#hasUnstableNumber;
    let stringStart = this.#stringStart;
    let stringEnd = this.#stringEnd;
    let at = this.#at;
    if (this.#isInString) {
      at = endOfString(bytes, at, to);
      this.#isInString = at >= to && to < bytes.length;
      stringEnd = at;
      at += this.#isInString ? 0 : 1;
    }
    for (; at < to; at += 1) {
      const byte = bytes[at] as number;
      if (byte === quote) {
        stringStart = at;
        at = endOfString(bytes, at + 1, to);
        stringEnd = at;
        if (at >= to && to < bytes.length) {
          this.#isInString = true;
          break;
        }
      } else if (byte === comma) {
        values += 1;
        if (depth === itemDepth) {
          this.#endItem(at);
        }
      } else if (byte === colon) {
        members += 1;
        const ofObject = (counts[depth] as number) + 1;
        counts[depth] = ofObject;
        if (ofObject > membersMax) {
          this.#excess = `An object has more than ${membersMax} names.`;
          break;
        }
        if (stringEnd - stringStart > this.#nameBytesMax) {
          this.#excess = `A name is longer than ${this.#nameBytesMax} bytes.`;
          break;
        }
        if (members > fewNames && countName(tally, bytes, stringStart, stringEnd) > differentNamesMax) {
          this.#excess = `There are more than ${differentNamesMax} different names.`;
          break;
        }
      } else if (byte === brace || byte === bracket) {
        values += 1;
        depth += 1;
        if (depth > nestingMax) {
          this.#excess = `The JSON is nested more than ${nestingMax} levels deep.`;
          break;
        }
        counts[depth] = 0;
        if (depth === itemDepth && byte === bracket) {
          this.#beginList(at);
        }
      } else if (byte === braceEnd || byte === bracketEnd) {
        depth = depth > 0 ? depth - 1 : 0;
        if (depth === itemDepth - 1) {
          this.#endList(at, byte);
        }
      } else if ((byte >= zero && byte <= nine) || byte === minus) {
        const end = endOfNumber(bytes, at + 1, at + numberStep);
        if (!hasUnstableNumber && !isSurelyStable(bytes, at, end)) {
          hasUnstableNumber = end - at === numberStep || !isStableNumber(bytes.toString('latin1', at, end));
        }
        at = end - 1;
      }
      if (values > valuesLeft) {
        this.#excess = `There are more than ${tally.valuesMax} values.`;
        break;
      }
    }
    this.#at = at;
    this.#depth = depth;
    this.#hasUnstableNumber = hasUnstableNumber;
    this.#stringStart = stringStart;
    this.#stringEnd = stringEnd;
    tally.members = members;
    tally.values += values - this.#values;
    this.#values = values;
    return this.#excess !== undefined || at >= bytes.length;
  }

  survey(): JsonSurvey {
    const [one, another] = this.#found;
    const list = this.#list;
    const isThere = list !== undefined && one !== undefined && another === undefined;
    return {
      excess: this.#excess,
      members: this.#tally.members - this.#membersBefore,
      hasUnstableNumber: this.#hasUnstableNumber,
      items: isThere ? { ...one, field: list.field } : undefined,
    };
  }

  #beginList(at: number): void {
    if (this.#listName !== undefined && isNamed(this.#bytes, at, this.#listName)) {
      this.#current = { start: at + 1, commas: [] };
    }
  }

  /** Notes the comma after an item of the list. */
  #endItem(at: number): void {
    if (this.#current === undefined) {
      return;
    }
    const { commas } = this.#current;
    if (commas.length + 1 === this.#list?.max) {
      // Stops recording: the schema will reject the list, and parsing millions of short items one by one would take seconds.
      this.#current = undefined;
    } else {
      commas.push(at);
    }
  }

  #endList(at: number, byte: number): void {
    if (this.#current !== undefined) {
      if (byte === bracketEnd) {
        this.#found.push({ ...this.#current, end: at });
      }
      this.#current = undefined;
    }
  }
}

/** Length from which a number is read in parts and counts as unstable. */
const numberStep = 1_000;

/** Returns true if the member whose value starts at this position has this name. */
function isNamed(bytes: Buffer, at: number, name: Buffer): boolean {
  const colonAt = lastBefore(bytes, at);
  if (bytes[colonAt] !== colon) {
    return false;
  }
  const end = lastBefore(bytes, colonAt) + 1;
  const start = end - name.length;
  return start > 0 && bytes[start - 1] !== backslash && name.equals(bytes.subarray(start, end));
}
