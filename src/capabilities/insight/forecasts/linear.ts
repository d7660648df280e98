/** The linear forecast: what each team made and cost on average, times the number of teams. Exact, in nanodollars. */

export interface Observed {
  readonly valueNanos: bigint;
  readonly costNanos: bigint;
  /** How many teams it was that made and cost that; at least one. */
  readonly teams: bigint;
}

export interface Return {
  readonly valueNanos: bigint;
  readonly costNanos: bigint;
  /** The value less the cost, of the rounded figures, so that the three always agree. */
  readonly returnNanos: bigint;
}

/** Multiplies before it divides, and rounds once, to the nearest nanodollar. */
export function projectLinearly({ valueNanos, costNanos, teams }: Observed, wanted: bigint): Return {
  const value = divideRounding(valueNanos * wanted, teams);
  const cost = divideRounding(costNanos * wanted, teams);
  return { valueNanos: value, costNanos: cost, returnNanos: value - cost };
}

/** To the nearest whole, halves away from zero: corrections can bring a sum below it. `divisor` is above zero. */
function divideRounding(dividend: bigint, divisor: bigint): bigint {
  const half = divisor / 2n;
  return (dividend < 0n ? dividend - half : dividend + half) / divisor;
}
