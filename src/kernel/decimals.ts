/** Exact decimals: integers that have a number of decimals. */

/** Rounds half away from zero. The divisor must be positive. */
export function roundedQuotient(dividend: bigint, divisor: bigint): bigint {
  const [amount, sign] = dividend < 0n ? [-dividend, -1n] : [dividend, 1n];
  return sign * ((2n * amount + divisor) / (2n * divisor));
}

/** Returns the shortest exact decimal, without exponent. */
export function formatDecimal(value: bigint, decimals: number): string {
  if (value < 0n) {
    return `-${formatDecimal(-value, decimals)}`;
  }
  const digits = value.toString().padStart(decimals + 1, '0');
  const point = digits.length - decimals;
  const fraction = digits.slice(point).replace(/0+$/, '');
  return fraction === '' ? digits.slice(0, point) : `${digits.slice(0, point)}.${fraction}`;
}
