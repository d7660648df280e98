/** The linear forecast: average value and cost per team, times the number of teams, in nanodollars. */

export interface Observed {
  readonly valueNanos: bigint;
  readonly costNanos: bigint;
  /** Number of teams behind these amounts; at least one. */
  readonly teams: bigint;
}

export interface Return {
  readonly valueNanos: bigint;
  readonly costNanos: bigint;
  /** Value minus cost, of the rounded figures, so that the three always agree. */
  readonly returnNanos: bigint;
}

/** Multiplies before dividing, and rounds once, to the nearest nanodollar. */
export function projectLinearly({ valueNanos, costNanos, teams }: Observed, wanted: bigint): Return {
  const value = divideRounding(valueNanos * wanted, teams);
  const cost = divideRounding(costNanos * wanted, teams);
  return { valueNanos: value, costNanos: cost, returnNanos: value - cost };
}

/**
 * Rounds to the nearest integer, halves away from zero, because corrections can make a sum negative. `divisor` is
 * positive.
 */
function divideRounding(dividend: bigint, divisor: bigint): bigint {
  const half = divisor / 2n;
  return (dividend < 0n ? dividend - half : dividend + half) / divisor;
}
