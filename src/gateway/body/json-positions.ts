/** Positions of the members of a JSON object in its text, so that single values can be replaced. */
import {
  afterSpaces,
  brace,
  braceEnd,
  bracket,
  bracketEnd,
  colon,
  comma,
  endOfString,
  isSpace,
  quote,
} from '../../platform/http/message/json-bytes.ts';

export interface JsonMember {
  readonly name: string;
  /** Start of the quoted name. */
  readonly start: number;
  readonly valueStart: number;
  /** Exclusive end of the value. */
  readonly valueEnd: number;
}

/**
 * Returns the members of the object at this position, in order. The text must be valid JSON. Works on bytes, because every
 * structural character of JSON is one byte in UTF-8.
 */
export function membersAt(text: Buffer, objectStart: number): JsonMember[] {
  const members: JsonMember[] = [];
  let at = afterSpaces(text, objectStart + 1);
  while (text[at] === quote) {
    const start = at;
    const nameEnd = endOfString(text, at + 1) + 1;
    const name = JSON.parse(text.toString('utf8', start, nameEnd)) as string;
    at = afterSpaces(text, nameEnd);
    if (text[at] !== colon) {
      throw new Error('not an object');
    }
    const valueStart = afterSpaces(text, at + 1);
    const valueEnd = endOfValue(text, valueStart);
    members.push({ name, start, valueStart, valueEnd });
    at = afterSpaces(text, valueEnd);
    if (text[at] === comma) {
      at = afterSpaces(text, at + 1);
    }
  }
  return members;
}

/** Returns the positions of the values of the list at this position, in order. */
export function itemsAt(text: Buffer, listStart: number): number[] {
  const items: number[] = [];
  let at = afterSpaces(text, listStart + 1);
  while (at < text.length && text[at] !== bracketEnd) {
    items.push(at);
    at = afterSpaces(text, endOfValue(text, at));
    if (text[at] === comma) {
      at = afterSpaces(text, at + 1);
    }
  }
  return items;
}

/** Returns the position of the outermost object; undefined if the text is another value. */
export function objectStartOf(text: Buffer): number | undefined {
  const at = afterSpaces(text, 0);
  return text[at] === brace ? at : undefined;
}

function endOfValue(text: Buffer, start: number): number {
  const first = text[start];
  if (first === quote) {
    return endOfString(text, start + 1) + 1;
  }
  if (first !== brace && first !== bracket) {
    let at = start;
    while (at < text.length && !isScalarEnd(text[at] as number)) {
      at += 1;
    }
    return at;
  }
  let depth = 0;
  for (let at = start; at < text.length; at += 1) {
    const byte = text[at];
    if (byte === quote) {
      at = endOfString(text, at + 1);
    } else if (byte === brace || byte === bracket) {
      depth += 1;
    } else if (byte === braceEnd || byte === bracketEnd) {
      depth -= 1;
      if (depth === 0) {
        return at + 1;
      }
    }
  }
  return text.length;
}

function isScalarEnd(byte: number): boolean {
  return byte === comma || byte === braceEnd || byte === bracketEnd || isSpace(byte);
}
