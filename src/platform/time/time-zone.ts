/** Validation of IANA time zone names. */
import { invalidField } from '../../contract/api-error.ts';

/** Returns the time zone; throws if it is invalid. */
export function checkTimezone(timezone: string): string {
  try {
    // `Intl` also accepts offsets such as `+01:00`, which have no daylight saving rules.
    new Intl.DateTimeFormat('en', { timeZone: timezone });
    if (/^[A-Za-z]/.test(timezone)) {
      return timezone;
    }
  } catch {
    // Falls through to the error below.
  }
  throw invalidField('timezone', 'invalid_value', 'Must be an IANA time zone, such as Europe/Berlin.');
}
