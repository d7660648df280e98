/** The cost of runs with their adjustments. */
import { formatUsd, parseSignedUsd, parseUsd } from '../../../kernel/money.ts';
import { html, type Part } from '../../html.ts';
import { badge } from '../../inline.ts';
import type { Responses } from '../../responses.ts';

type Charged = Pick<Responses['runs.read'], 'cost_usd' | 'adjustment_usd' | 'held_usd'>;

export function isAdjusted({ adjustment_usd }: Charged): boolean {
  return (parseSignedUsd(adjustment_usd) ?? 0n) !== 0n;
}

/** Returns the exact cost with adjustments; null while the run is in progress. */
export function adjustedCost({ cost_usd, adjustment_usd }: Charged): string | null {
  return cost_usd === null
    ? null
    : formatUsd((parseUsd(cost_usd) ?? 0n) + (parseSignedUsd(adjustment_usd) ?? 0n));
}

/** The sum of the costs of runs; a run in progress counts with its reserved amount. */
export function totalCost(runs: readonly Charged[]): string {
  const nanos = runs.map((run) => parseSignedUsd(adjustedCost(run) ?? run.held_usd ?? '0') ?? 0n);
  return formatUsd(nanos.reduce((sum, one) => sum + one, 0n));
}

/** The mark of a cost that differs from the original one. */
export function adjustedBadge(run: Charged): Part {
  return isAdjusted(run) && html` ${badge('adjusted')}`;
}
