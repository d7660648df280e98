/** Dates as the contract writes them: `YYYY-MM-DD`, and the IMF-fixdate of HTTP. */

export function isDate(text: string): boolean {
  return /^\d{4}-\d{2}-\d{2}$/.test(text) && !Number.isNaN(Date.parse(text));
}

export function isHttpDate(text: string): boolean {
  const instant = new Date(text);
  return !Number.isNaN(instant.getTime()) && instant.toUTCString() === text;
}

export function monthsAfter(date: string, months: number): string {
  const instant = new Date(`${date}T00:00:00Z`);
  instant.setUTCMonth(instant.getUTCMonth() + months);
  return instant.toISOString().slice(0, 10);
}
