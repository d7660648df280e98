/** From values to places on a drawing, with round numbers along the axis. */

export interface Ticks {
  readonly max: number;
  readonly values: readonly number[];
}

/** From zero up to a round number that nothing exceeds, in about four steps. */
export function ticksUpTo(largest: number): Ticks {
  if (!(largest > 0) || !Number.isFinite(largest)) {
    return { max: 1, values: [0, 1] };
  }
  const rough = largest / 4;
  const magnitude = 10 ** Math.floor(Math.log10(rough));
  const step = ([1, 2, 2.5, 5, 10].find((factor) => factor * magnitude >= rough) ?? 10) * magnitude;
  const steps = Math.ceil(largest / step - 1e-9);
  return { max: steps * step, values: Array.from({ length: steps + 1 }, (_, index) => index * step) };
}

/** Coordinates to a tenth: nobody sees more, and it halves the page. */
export function round(value: number): number {
  return Math.round(value * 10) / 10;
}

/** Which of so many labels are shown: the last one, and others evenly before it, so that none touch. */
export function shownLabels(length: number, most: number): ReadonlySet<number> {
  const step = Math.max(1, Math.ceil(length / most));
  const shown = new Set<number>();
  for (let index = length - 1; index >= 0; index -= step) {
    shown.add(index);
  }
  return shown;
}
