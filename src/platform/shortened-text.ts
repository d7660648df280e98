/**
 * Cuts a text that users choose, such as the name of a limit. Replaces line breaks and other control characters, also those for
 * the direction of text.
 */
export function shortened(text: string, charsMax: number): string {
  // A character has at most two code units, so this cuts nothing that would stay.
  const line = text
    .slice(0, 2 * charsMax + 2)
    // The cut may halve a character, and the half stays if control characters before it become one space. The database rejects halves.
    .toWellFormed()
    .replaceAll(/[\p{Cc}\p{Zl}\p{Zp}\p{Bidi_Control}]+/gu, ' ')
    .trim();
  const chars = [...line];
  return chars.length <= charsMax ? line : `${chars.slice(0, charsMax - 1).join('')}…`;
}
