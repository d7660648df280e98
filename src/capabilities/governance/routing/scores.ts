/** Converts scores between the API form (0 to 1) and the stored form (whole millionths). */
export function millionthsOf(score: number): bigint {
  return BigInt(Math.round(score * 1_000_000));
}

export function scoreOf(millionths: bigint): number {
  return Number(millionths) / 1_000_000;
}
