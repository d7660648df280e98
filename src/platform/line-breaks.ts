/**
 * Text that stays on one line for every reader. Besides CR and LF some readers end a line at vertical tab, form feed, the
 * separators U+001C to U+001E, U+0085, U+2028 and U+2029 (Python's `splitlines`): a name that holds one could forge a line.
 */
// biome-ignore lint/suspicious/noControlCharactersInRegex: control characters are what it looks for.
export const lineBreaks = /[\n\v\f\r\u001c-\u001e\u0085\u2028\u2029]/g;

/** JSON escapes control characters by itself, but not these three. They stand inside strings alone, so the value is the same. */
export function jsonLine(value: unknown): string {
  return JSON.stringify(value).replaceAll(
    /[\u0085\u2028\u2029]/g,
    (character) => `\\u${character.charCodeAt(0).toString(16).padStart(4, '0')}`,
  );
}
