/** Finds positions in the bytes of JSON, in which every structural character is one byte of UTF-8. */
export const quote = 0x22;
export const backslash = 0x5c;
export const comma = 0x2c;
export const minus = 0x2d;
export const dot = 0x2e;
export const zero = 0x30;
export const nine = 0x39;
export const colon = 0x3a;
export const brace = 0x7b;
export const braceEnd = 0x7d;
export const bracket = 0x5b;
export const bracketEnd = 0x5d;
/** Maximum length of numbers that are stable without a comparison, if they have no exponent. */
const stableCharacters = 15;

/** Number of bytes of a string that are read one by one before its end is searched. Most strings are short or have few quotes. */
const stepBytes = 64;

/**
 * Returns the position of the quote that ends a string whose content starts at `from`. If there is none before `to`, returns a
 * position at or after `to` where the search can continue.
 */
export function endOfString(bytes: Buffer, from: number, to = bytes.length): number {
  const stepEnd = Math.min(to, from + stepBytes);
  let at = from;
  while (at < stepEnd) {
    const byte = bytes[at];
    if (byte === quote) {
      return at;
    }
    at += byte === backslash ? 2 : 1;
  }
  return at < to ? endOfLongString(bytes, at, to) : at;
}

function endOfLongString(bytes: Buffer, from: number, to: number): number {
  // Bounded, so that a step does not search a long string to its end.
  const within = to < bytes.length ? bytes.subarray(0, to) : bytes;
  let at = from;
  while (at < to) {
    const found = within.indexOf(quote, at);
    const end = found === -1 ? to : found;
    // The byte at `end` is escaped if an odd number of backslashes precedes it.
    let backslashes = 0;
    while (end - 1 - backslashes >= at && bytes[end - 1 - backslashes] === backslash) {
      backslashes += 1;
    }
    at = end + (backslashes % 2);
    if (end === found && at === end) {
      return at;
    }
    const stepEnd = Math.min(to, at + stepBytes);
    while (at < stepEnd) {
      const byte = bytes[at];
      if (byte === quote) {
        return at;
      }
      at += byte === backslash ? 2 : 1;
    }
  }
  return at;
}

/** Returns the end of the number around `from`, at most `to`. */
export function endOfNumber(bytes: Buffer, from: number, to = bytes.length): number {
  const last = Math.min(to, bytes.length);
  let at = from;
  while (at < last) {
    const byte = bytes[at] as number;
    if ((byte < zero || byte > nine) && byte !== dot && !isOfExponent(byte)) {
      break;
    }
    at += 1;
  }
  return at;
}

function isOfExponent(byte: number): boolean {
  return byte === 0x65 || byte === 0x45 || byte === 0x2b || byte === minus;
}

export function isSurelyStable(bytes: Buffer, from: number, to: number): boolean {
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

/** Returns the position of the last byte before `at` that is not white space. */
export function lastBefore(bytes: Buffer, at: number): number {
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

export function isSpace(byte: number | undefined): boolean {
  return byte === 0x20 || byte === 0x0a || byte === 0x0d || byte === 0x09;
}
