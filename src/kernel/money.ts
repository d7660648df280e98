/** Exact money: integer nanodollars internally, decimal strings externally, never floating point. */

export const nanosPerUsd = 1_000_000_000n;

/** Amounts are below nine billion dollars, so that each fits into a 64-bit integer; a sum of several may not. */
export const maxNanos = 9_000_000_000n * nanosPerUsd - 1n;

/** Maximum value of a counter, which is a sum of amounts. */
export const maxCounter = 2n ** 63n - 1n;

const decimal = /^(\d{1,10})(?:\.(\d{1,9}))?$/;

/** Parses a plain, non-negative decimal below nine billion with at most nine decimals; undefined otherwise. */
export function parseUsd(text: string): bigint | undefined {
  const match = decimal.exec(text);
  if (match === null) {
    return undefined;
  }
  const [, whole = '', fraction = ''] = match;
  const nanos = BigInt(whole) * nanosPerUsd + BigInt(fraction.padEnd(9, '0'));
  return nanos <= maxNanos ? nanos : undefined;
}

/** Like `parseUsd`, but also accepts negative amounts, for corrections. */
export function parseSignedUsd(text: string): bigint | undefined {
  if (!text.startsWith('-')) {
    return parseUsd(text);
  }
  const nanos = parseUsd(text.slice(1));
  return nanos === undefined ? undefined : -nanos;
}

/** Returns the shortest exact decimal. Uses one conversion and slices its text, because it runs for every decision. */
export function formatUsd(nanos: bigint): string {
  if (nanos < 0n) {
    return `-${formatUsd(-nanos)}`;
  }
  const digits = nanos.toString().padStart(decimals + 1, '0');
  const point = digits.length - decimals;
  let end = digits.length;
  while (end > point && digits.charCodeAt(end - 1) === zero) {
    end -= 1;
  }
  return end === point ? digits.slice(0, point) : `${digits.slice(0, point)}.${digits.slice(point, end)}`;
}

const decimals = 9;
const zero = 0x30;
