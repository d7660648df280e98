/** Tells numbers that JSON can hold from those that would become other numbers once they are parsed and written again. */

/** Longer ones are not compared: no number that a program means has so many digits. */
const charactersMax = 400;
/** As many digits as tell any two doubles apart; some programs write all of them. */
const digitsOfDouble = 17;

/** `text` is a number as JSON writes it. `1.0`, `1e2` and `0.10` are stable: they come back as the same value. */
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

/** One text for all ways to write a value. */
function normalized(text: string): string {
  const [, sign, whole = '', fraction = '', exponent = '0'] =
    /^(-?)(\d+)(?:\.(\d+))?(?:e([+-]?\d+))?$/i.exec(text) ?? [];
  const digits = (whole + fraction).replace(/^0+/, '');
  const significant = digits.replace(/0+$/, '');
  return significant === ''
    ? '0'
    : `${sign}${significant}e${Number(exponent) - fraction.length + digits.length - significant.length}`;
}
