/** A score as it travels, from 0 to 1, and as it is kept and compared: whole millionths. */
export function millionthsOf(score: number): bigint {
  return BigInt(Math.round(score * 1_000_000));
}

export function scoreOf(millionths: bigint): number {
  return Number(millionths) / 1_000_000;
}
