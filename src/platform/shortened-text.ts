/**
 * Cuts a text whose length others choose, such as the name of a limit, and replaces line breaks, other control characters and
 * those that change the direction of the text around them.
 */
export function shortened(text: string, charsMax: number): string {
  // A character has at most two code units, so this cuts nothing that would stay.
  const line = text
    .slice(0, 2 * charsMax + 2)
    .replaceAll(/[\p{Cc}\p{Zl}\p{Zp}\p{Bidi_Control}]+/gu, ' ')
    .trim();
  const chars = [...line];
  return chars.length <= charsMax ? line : `${chars.slice(0, charsMax - 1).join('')}…`;
}
