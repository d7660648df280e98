/**
 * Searches long texts without blocking the event loop. A finder is a generator of matches. While it finds none, it yields null at
 * intervals, so that the caller can yield to the event loop.
 */
export interface TextMatch {
  readonly start: number;
  /** Exclusive end of the match. */
  readonly end: number;
}

export type Finder = (content: string) => Iterable<TextMatch | null>;

/** Number of characters between two nulls, which take some tenths of a millisecond. */
const chunkSize = 16_384;
/** Number of characters that a built-in pattern may look beyond the end of its chunk, or before its start. */
const lookAhead = 1_024;
const lookBehind = 64;

/**
 * Yields every match of a built-in pattern, as if the whole content were searched at once. The pattern must be linear (no two ways
 * to match the same text) and have the flag `g`. Its matches must be shorter than `lookAhead`.
 */
export function* scan(
  pattern: RegExp,
  content: string,
  accept: (text: string, match: TextMatch) => boolean = () => true,
): Generator<TextMatch | null> {
  let resumeAt = 0;
  for (let from = 0; from < content.length; from += chunkSize) {
    const to = Math.min(from + chunkSize, content.length);
    const offset = Math.max(0, from - lookBehind);
    const part = content.slice(offset, to + lookAhead);
    pattern.lastIndex = Math.max(from, resumeAt) - offset;
    for (let found = pattern.exec(part); found !== null; found = pattern.exec(part)) {
      const start = found.index + offset;
      if (start >= to) {
        break;
      }
      const match = { start, end: start + found[0].length };
      if (accept(found[0], match)) {
        resumeAt = match.end;
        // Saved, because the consumer may search with the same pattern before it resumes this generator.
        const { lastIndex } = pattern;
        yield match;
        pattern.lastIndex = lastIndex;
      }
    }
    yield null;
  }
}

/** Yields every position of a character, and null at intervals. */
export function* positionsOf(character: string, content: string): Generator<number | null> {
  const yieldEvery = 2_000;
  let seen = 0;
  for (let at = content.indexOf(character); at !== -1; at = content.indexOf(character, at + 1)) {
    yield at;
    seen += 1;
    if (seen % yieldEvery === 0) {
      yield null;
    }
  }
}
