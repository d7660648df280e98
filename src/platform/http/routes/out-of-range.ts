/** Tells a value that has the right form, and is only too large or too small, from one that has not. */

/** Below what amounts of money are, in digits before the decimal point. */
const usdLimit = '9000000000';
const messages = {
  usd: 'Must be at least 0 and below 9 billion.',
  'signed-usd': 'Must be above -9 billion and below 9 billion.',
  percent: 'Must be between 0 and 100.',
  'date-time': 'Must be within the years 1900 to 2199.',
};

/** The message for a value that did not pass; undefined where its form is wrong. */
export function outOfRange(
  format: string | undefined,
  value: unknown,
  isDateTime: (text: string) => boolean,
): string | undefined {
  if (typeof value === 'number') {
    // JSON has no infinity: this was a number with an exponent that is too large.
    return Number.isFinite(value) ? undefined : 'The number is too large.';
  }
  if (typeof value !== 'string') {
    return undefined;
  }
  switch (format) {
    case 'usd':
      return isDecimal(value, 9) && (isBelowZero(value) || isAtLeast(value, usdLimit))
        ? messages[format]
        : undefined;
    case 'signed-usd':
      return isDecimal(value, 9) && isAtLeast(value, usdLimit) ? messages[format] : undefined;
    case 'percent':
      return isDecimal(value, 2) && (isBelowZero(value) || isAtLeast(value, '100'))
        ? messages[format]
        : undefined;
    case 'date-time':
      return isDateTime(value) ? messages[format] : undefined;
    default:
      return undefined;
  }
}

function isDecimal(text: string, decimals: number): boolean {
  const [whole = '', fraction, ...rest] = text.replace(/^-/, '').split('.', 3);
  const isFraction = fraction === undefined || (/^\d+$/.test(fraction) && fraction.length <= decimals);
  return /^\d+$/.test(whole) && isFraction && rest.length === 0;
}

function isBelowZero(text: string): boolean {
  return text.startsWith('-');
}

/** By its digits: the text may be megabytes long, and is never made a number. */
function isAtLeast(text: string, limit: string): boolean {
  const [digits = ''] = text.replace(/^-?0*/, '').split('.', 1);
  return digits.length === limit.length ? digits >= limit : digits.length > limit.length;
}
