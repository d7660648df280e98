/** Dates of the calendar. `Date.parse` accepts the 30th of February and returns a day in March. */
const form = /^\d{4}-\d\d-\d\d$/;

/** Returns true for a date as `YYYY-MM-DD` that exists. */
export function isCalendarDate(text: string): boolean {
  const date = form.test(text) ? new Date(`${text}T00:00:00Z`) : undefined;
  return date !== undefined && !Number.isNaN(date.getTime()) && date.toISOString().startsWith(text);
}

/** Returns true if a time in RFC 3339 starts with a date that exists. Does not check the time of day. */
export function hasCalendarDate(time: string): boolean {
  return isCalendarDate(time.slice(0, 'YYYY-MM-DD'.length));
}
