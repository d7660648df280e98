/** Time zones as people name them. */
import { invalidField } from '../../contract/api-error.ts';

/** Returns the zone, or refuses it. */
export function checkTimezone(timezone: string): string {
  try {
    // Offsets such as `+01:00` pass here too, but a zone without daylight saving rules is not what people mean.
    new Intl.DateTimeFormat('en', { timeZone: timezone });
    if (/^[A-Za-z]/.test(timezone)) {
      return timezone;
    }
  } catch {
    // Falls through to the refusal.
  }
  throw invalidField('timezone', 'invalid_value', 'This is not an IANA time zone.');
}
