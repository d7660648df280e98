/** Detects JSON numbers that change when they are parsed and serialized. */

/** Maximum length of numbers that are compared. Longer ones count as unstable. */
const charactersMax = 400;
/** Enough digits to distinguish any two doubles. Some programs always write this many. */
const digitsOfDouble = 17;

/**
 * Returns true if a JSON number keeps its value when it is parsed and serialized. `1.0`, `1e2` and `0.10` are stable, because only
 * their notation changes.
 */
export function isStableNumber(text: string): boolean {
  if (text.length > charactersMax) {
    return false;
  }
  const number = Number(text);
  if (!Number.isFinite(number)) {
    return false;
  }
  const value = normalized(text);
  return (
    value === normalized(String(number)) ||
    (!Number.isInteger(number) && value === normalized(number.toPrecision(digitsOfDouble)))
  );
}

/** Returns the same text for all notations of a value. */
function normalized(text: string): string {
  const [, sign, whole = '', fraction = '', exponent = '0'] =
    /^(-?)(\d+)(?:\.(\d+))?(?:e([+-]?\d+))?$/i.exec(text) ?? [];
  const digits = (whole + fraction).replace(/^0+/, '');
  const significant = digits.replace(/0+$/, '');
  return significant === ''
    ? '0'
    : `${sign}${significant}e${Number(exponent) - fraction.length + digits.length - significant.length}`;
}
