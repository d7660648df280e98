/** Axis scales with round tick values. */

export interface Ticks {
  readonly max: number;
  readonly values: readonly number[];
}

/** Ticks from zero to a round maximum, in about four steps. */
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

/** Ticks from zero, or a round minimum below it, to a round maximum. */
export function ticksBetween(lowest: number, largest: number): Ticks & { readonly min: number } {
  if (!(lowest < 0)) {
    return { min: 0, ...ticksUpTo(largest) };
  }
  const { values } = ticksUpTo(Math.max(largest, -lowest));
  const step = (values[1] ?? 1) - (values[0] ?? 0);
  const below = Math.ceil(-lowest / step - 1e-9);
  const above = Math.max(0, Math.ceil(largest / step - 1e-9));
  return {
    min: -below * step,
    max: above * step,
    values: Array.from({ length: below + above + 1 }, (_, index) => (index - below) * step),
  };
}

/** Rounds coordinates to a tenth, which halves the size of the page without a visible difference. */
export function round(value: number): number {
  return Math.round(value * 10) / 10;
}

/** Indexes of the labels to show: the last one, and others at even distances, so that labels do not overlap. */
export function shownLabels(length: number, most: number): ReadonlySet<number> {
  const step = Math.max(1, Math.ceil(length / most));
  const shown = new Set<number>();
  for (let index = length - 1; index >= 0; index -= step) {
    shown.add(index);
  }
  return shown;
}
