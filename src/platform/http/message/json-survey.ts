/**
 * Scans JSON before it is parsed: checks that it is small enough, and finds the items of its one long list. `JSON.parse` takes
 * seconds for a few megabytes of different names or of tiny lists, and cannot be interrupted.
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

/** Number of names of the open objects, by depth. Shared by all surveys in one step, since each ends before another starts. */
const sharedCounts = new Int32Array(nestingMax + 1);

/** Does not check that the text is valid JSON: the parser does. */
export function surveyJson(bytes: Buffer, list?: JsonList, tally: JsonTally = newTally(list)): JsonSurvey {
  const scan = new JsonScan(bytes, tally, { list, counts: sharedCounts });
  scan.scanTo(bytes.length);
  return scan.survey();
}

/** Positions of a member. */
export interface OutermostMember {
  /** Of the quoted name. */
  readonly start: number;
  readonly nameEnd: number;
  readonly colonAt: number;
  /** Of the comma or brace after the value. */
  readonly end: number;
}

export interface ScanOptions {
  readonly list?: JsonList | undefined;
  /** Default: none. */
  readonly nameBytesMax?: number;
  /** Replaces an array of this scan: for a scan in one step. */
  readonly counts?: Int32Array;
}

/** A scan that can be interrupted. */
export class JsonScan {
  readonly #bytes: Buffer;
  readonly #tally: JsonTally;
  readonly #list: JsonList | undefined;
  /** The name of the list, in quotes. */
  readonly #listName: Buffer | undefined;
  readonly #nameBytesMax: number;
  readonly #valuesLeft: number;
  readonly #membersBefore: number;
  readonly #counts: Int32Array;
  readonly #found: Omit<ItemsPlace, 'field'>[] = [];
  /** Positions of each member of the outermost object: its quoted name, its colon, and the end of its value. */
  readonly #outermost: number[] = [];
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

  /** Counts of members, items, objects and lists. */
  get values(): number {
    return this.#values;
  }

  /** Members of the outermost object, in order. Positions mean something only if the text is valid. */
  outermost(): OutermostMember[] {
    const found: OutermostMember[] = [];
    for (let at = 0; at < this.#outermost.length; at += 4) {
      const [start, nameEnd, colonAt, end] = this.#outermost.slice(at, at + 4) as [
        number,
        number,
        number,
        number,
      ];
      found.push({ start, nameEnd, colonAt, end });
    }
    return found;
  }

  /** Scans up to this position. Returns true at the end of the text, or if it exceeds a limit. */
  scanTo(to: number): boolean {
    const bytes = this.#bytes;
    const counts = this.#counts;
    const tally = this.#tally;
    const valuesLeft = this.#valuesLeft;
    const innerDepth = this.#listName === undefined ? 2 : 3;
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
        if (depth < innerDepth) {
          this.#endItem(at, depth);
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
        if (depth === 1) {
          this.#outermost.push(stringStart, stringEnd + 1, at, bytes.length);
        }
      } else if (byte === brace || byte === bracket) {
        values += 1;
        depth += 1;
        if (depth > nestingMax) {
          this.#excess = `The JSON is nested more than ${nestingMax} levels deep.`;
          break;
        }
        counts[depth] = 0;
        if (depth === 2 && byte === bracket) {
          this.#beginList(at);
        }
      } else if (byte === braceEnd || byte === bracketEnd) {
        depth = depth > 0 ? depth - 1 : 0;
        if (depth <= 1) {
          this.#endContainer(at, byte, depth);
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

  /** At the comma after a member of the outermost object, or after an item of the list. */
  #endItem(at: number, depth: number): void {
    if (depth === 1) {
      this.#endMember(at);
    } else if (depth === 2 && this.#current !== undefined) {
      const { commas } = this.#current;
      if (commas.length + 1 === this.#list?.max) {
        // The schema will reject the list, and parsing millions of short items one by one would take seconds.
        this.#current = undefined;
      } else {
        commas.push(at);
      }
    }
  }

  #endContainer(at: number, byte: number, depth: number): void {
    if (depth === 0) {
      this.#endMember(at);
    } else if (this.#current !== undefined) {
      if (byte === bracketEnd) {
        this.#found.push({ ...this.#current, end: at });
      }
      this.#current = undefined;
    }
  }

  #endMember(at: number): void {
    const last = this.#outermost.length - 1;
    if (last > 0 && this.#outermost[last] === this.#bytes.length) {
      this.#outermost[last] = at;
    }
  }
}

/** A longer number is read in parts, and taken for one that is not stable. */
const numberStep = 1_000;

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
