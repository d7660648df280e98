/**
 * Returns text that is safe for a terminal. Other people choose names. Control characters in them could clear the screen or add
 * lines to a plan, and characters that reverse the text direction could hide their meaning. Such characters are shown as escapes.
 */
export function terminalText(text: string): string {
  return text.replaceAll(
    /[\p{Cc}\u061c\u200e\u200f\u2028-\u202e\u2066-\u2069]/gu,
    (character) => `\\u${character.charCodeAt(0).toString(16).padStart(4, '0')}`,
  );
}
