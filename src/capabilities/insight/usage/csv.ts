/** CSV according to RFC 4180, safe to open in a spreadsheet. */

/**
 * Prefixes text that a spreadsheet would interpret as a formula: such values come from users, numbers do not. Some
 * spreadsheets also interpret the full-width forms of the signs.
 */
export function safeText(value: unknown): string {
  const text = String(value);
  return /^[=+\-@\t\r\n\uff1d\uff0b\uff0d\uff20]/.test(text) ? `'${text}` : text;
}

export function csvRecord(values: readonly string[]): string {
  const cells = values.map((value) =>
    /[",\r\n\u0085\u2028\u2029]/.test(value) ? `"${value.replaceAll('"', '""')}"` : value,
  );
  return `${cells.join(',')}\r\n`;
}
