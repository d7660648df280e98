/**
 * Line breaks of all readers. Besides CR and LF, some readers end a line at vertical tab, form feed, the separators U+001C to
 * U+001E, U+0085, U+2028 and U+2029 (Python's `splitlines`). A name that contains one could forge a line.
 */
// biome-ignore lint/suspicious/noControlCharactersInRegex: matches control characters.
export const lineBreaks = /[\n\v\f\r\u001c-\u001e\u0085\u2028\u2029]/g;

/**
 * Returns JSON without the three line breaks that JSON allows unescaped. They only occur inside strings, so escaping them keeps the
 * value.
 */
export function jsonLine(value: unknown): string {
  return JSON.stringify(value).replaceAll(
    /[\u0085\u2028\u2029]/g,
    (character) => `\\u${character.charCodeAt(0).toString(16).padStart(4, '0')}`,
  );
}
