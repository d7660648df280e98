/** Distinguishes values that are out of range from malformed ones. */

/** Exclusive maximum of an amount of money in dollars, as digits. */
const usdLimit = '9000000000';
const messages = {
  usd: 'Must be at least 0 and below 9 billion.',
  'signed-usd': 'Must be above -9 billion and below 9 billion.',
  percent: 'Must be between 0 and 100.',
  'date-time': 'Must be within the years 1900 to 2199.',
};

/** Returns the message for an invalid value that is out of range; undefined if it is malformed. */
export function outOfRange(
  format: string | undefined,
  value: unknown,
  isDateTime: (text: string) => boolean,
): string | undefined {
  if (typeof value === 'number') {
    // JSON has no infinity, so the exponent of the number was too large.
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

/**
 * Returns true if the number is at least the limit. Compares digits, because the text may be megabytes long and must not be
 * converted to a number.
 */
function isAtLeast(text: string, limit: string): boolean {
  const [digits = ''] = text.replace(/^-?0*/, '').split('.', 1);
  return digits.length === limit.length ? digits >= limit : digits.length > limit.length;
}
