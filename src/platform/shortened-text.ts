/**
 * Shortens a text that users choose, such as the name of a limit. Replaces line breaks and other control characters, including
 * those for text direction.
 */
export function shortened(text: string, charsMax: number): string {
  // Cut early: a character has at most two code units, so the result cannot need more.
  const line = text
    .slice(0, 2 * charsMax + 2)
    // The cut may split a character, and its half would stay if control characters before it become one space. The database rejects
    // such halves.
    .toWellFormed()
    .replaceAll(/[\p{Cc}\p{Zl}\p{Zp}\p{Bidi_Control}]+/gu, ' ')
    .trim();
  const chars = [...line];
  return chars.length <= charsMax ? line : `${chars.slice(0, charsMax - 1).join('')}…`;
}
