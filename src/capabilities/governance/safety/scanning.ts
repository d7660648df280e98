/**
 * Looking for things in long texts without holding up everybody else. A finder is asked for one match after the other,
 * and answers null at times where it has found none for a while, so that whoever asks can let others work in between.
 */
export interface Match {
  readonly start: number;
  /** Exclusive. */
  readonly end: number;
}

export type Finder = (content: string) => Iterable<Match | null>;

/** Between two nulls; some tenths of a millisecond. */
const stretch = 16_384;
/** How far a vetted pattern may look beyond its stretch, or behind where it starts. */
const lookAhead = 1_024;
const lookBehind = 64;

/**
 * Every match of one of our own patterns, as if the whole content were searched at once. The pattern has to be linear
 * (no two ways to match the same text), needs the flag `g`, and its matches have to be shorter than `lookAhead`.
 */
export function* scan(
  pattern: RegExp,
  content: string,
  accept: (text: string, match: Match) => boolean = () => true,
): Generator<Match | null> {
  let resumeAt = 0;
  for (let from = 0; from < content.length; from += stretch) {
    const to = Math.min(from + stretch, content.length);
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
        // Whoever hears of it may search with the same pattern before coming back.
        const { lastIndex } = pattern;
        yield match;
        pattern.lastIndex = lastIndex;
      }
    }
    yield null;
  }
}

/** Every place where a character stands, with a null now and then. */
export function* placesOf(character: string, content: string): Generator<number | null> {
  const restEvery = 2_000;
  let seen = 0;
  for (let at = content.indexOf(character); at !== -1; at = content.indexOf(character, at + 1)) {
    yield at;
    seen += 1;
    if (seen % restEvery === 0) {
      yield null;
    }
  }
}
