/** Positions of the members of a JSON object in its text, so that single values can be replaced and the rest stays as it is. */

export interface Member {
  readonly name: string;
  /** Start of the quoted name. */
  readonly start: number;
  readonly valueStart: number;
  /** Exclusive. */
  readonly valueEnd: number;
}

const quote = 0x22;
const backslash = 0x5c;
const openBrace = 0x7b;
const closeBrace = 0x7d;
const openBracket = 0x5b;
const closeBracket = 0x5d;
const comma = 0x2c;
const colon = 0x3a;

/**
 * Returns the members of the object that starts at this position, in order. The text must be valid JSON: it was parsed
 * before. Works on bytes, because every structural character of JSON is one byte in UTF-8.
 */
export function membersAt(text: Buffer, objectStart: number): Member[] {
  const members: Member[] = [];
  let at = skipSpace(text, objectStart + 1);
  while (text[at] === quote) {
    const start = at;
    const nameEnd = stringEnd(text, at);
    const name = JSON.parse(text.toString('utf8', start, nameEnd)) as string;
    at = skipSpace(text, nameEnd);
    if (text[at] !== colon) {
      throw new Error('not an object');
    }
    const valueStart = skipSpace(text, at + 1);
    const valueEnd = endOfValue(text, valueStart);
    members.push({ name, start, valueStart, valueEnd });
    at = skipSpace(text, valueEnd);
    if (text[at] === comma) {
      at = skipSpace(text, at + 1);
    }
  }
  return members;
}

/** Returns the position of the object that is the whole text; undefined if the text is another value. */
export function objectStartOf(text: Buffer): number | undefined {
  const at = skipSpace(text, 0);
  return text[at] === openBrace ? at : undefined;
}

function endOfValue(text: Buffer, start: number): number {
  const first = text[start];
  if (first === quote) {
    return stringEnd(text, start);
  }
  if (first !== openBrace && first !== openBracket) {
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
      at = stringEnd(text, at) - 1;
    } else if (byte === openBrace || byte === openBracket) {
      depth += 1;
    } else if (byte === closeBrace || byte === closeBracket) {
      depth -= 1;
      if (depth === 0) {
        return at + 1;
      }
    }
  }
  return text.length;
}

function isScalarEnd(byte: number): boolean {
  return byte === comma || byte === closeBrace || byte === closeBracket || isSpace(byte);
}

/** Returns the position after the closing quote. Jumps from quote to quote: most of a body is inside of strings. */
function stringEnd(text: Buffer, start: number): number {
  for (let at = text.indexOf(quote, start + 1); at !== -1; at = text.indexOf(quote, at + 1)) {
    let backslashes = 0;
    while (text[at - 1 - backslashes] === backslash) {
      backslashes += 1;
    }
    if (backslashes % 2 === 0) {
      return at + 1;
    }
  }
  return text.length;
}

function isSpace(byte: number | undefined): boolean {
  return byte === 0x20 || byte === 0x0a || byte === 0x0d || byte === 0x09;
}

function skipSpace(text: Buffer, start: number): number {
  let at = start;
  while (isSpace(text[at])) {
    at += 1;
  }
  return at;
}
