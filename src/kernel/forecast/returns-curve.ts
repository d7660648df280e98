/**
 * Value of additional teams: fits a curve of diminishing returns to weeks with different numbers of teams.
 *
 * Two families of curves are fitted, a power of the team count and a saturating one. Both are parametrized by their
 * elasticity at the mean team count: the growth of the value in percent for one percent more teams. The prior of
 * the elasticity is centered at 0.8; the weeks update it (Bayesian inference on a grid). So a single team count,
 * which has no information about the curve, leaves the prior unchanged, and many different ones override it.
 */
import { mean, type Series } from './series.ts';

export const curveFamilies = ['power', 'saturating'] as const;
export type CurveFamily = (typeof curveFamilies)[number];

export interface WeekOfTeams {
  readonly teams: number;
  /** Value of the runs of the week; positive. */
  readonly value: number;
}

/** Prior: doubling the teams multiplies the value by 2^0.8 = 1.74, most likely by 1.5 to 2. */
export const priorElasticity = { mean: 0.8, deviation: 0.2 };

/** Upper bound of the search; a curve that still pays here is reported as unbounded. */
export const teamsSearchedMax = 10_000;
/** Tail probability on each side: the interval covers 80 % of the posterior. */
const intervalTail = 0.1;

export interface ReturnsCurve {
  readonly family: CurveFamily;
  readonly elasticity: number;
  readonly weeks: number;
  readonly teamCounts: number;
  readonly teamsMean: number;
  /** R squared of the logarithms; null if the team count or the value never varied. */
  readonly rSquared: number | null;
  /** From 1 (prior only) to 0 (data only). */
  readonly priorWeight: number;
  /** Expected value of a week with this number of teams. */
  valueAt(teams: number): number;
  rangeAt(teams: number): { readonly low: number; readonly high: number };
  /** Largest team count whose last team is worth at least its cost. */
  paysUpTo(costPerTeam: number): TeamCount;
}

export interface TeamCount {
  readonly expected: number;
  readonly low: number;
  readonly high: number;
}

interface Shape {
  readonly family: CurveFamily;
  readonly elasticity: number;
  /** Value up to a constant factor. */
  at(teams: number): number;
}

interface PosteriorCurve extends Shape {
  readonly scale: number;
  readonly weight: number;
}

const elasticities = Array.from({ length: 29 }, (_, index) => 0.04 + index * 0.04);
/** Evidence ratio that is required to prefer the saturating family over the power. */
const evidenceMargin = 1.01;
/** Prior of the scatter: 25 %, with the weight of this number of weeks. */
const priorScatter = { deviation: 0.25, weeks: 3 };
/** Quadrature nodes for the uncertainty of the scale, in standard deviations. */
const scaleNodes = [
  { z: -1.22, weight: 0.3 },
  { z: 0, weight: 0.4 },
  { z: 1.22, weight: 0.3 },
];

export function fitReturns(weeks: readonly WeekOfTeams[]): ReturnsCurve | undefined {
  const usable = weeks.filter(({ teams, value }) => teams >= 1 && value > 0);
  if (usable.length === 0) {
    return undefined;
  }
  const teamsMean = mean(usable.map(({ teams }) => teams));
  const logs = usable.map(({ value }) => Math.log(value));
  const fits = shapesFor(teamsMean).map((shape) => fitShape(shape, usable, logs));
  const least = Math.min(...fits.map(({ misfit }) => misfit));
  const variance =
    (least + priorScatter.weeks * priorScatter.deviation ** 2) /
    (Math.max(0, usable.length - 2) + priorScatter.weeks);
  const weighted = fits.map((fit) => ({
    ...fit,
    weight: Math.exp((least - fit.misfit) / (2 * variance)) * priorOf(fit.shape.elasticity),
  }));
  const saturates = evidence(weighted, 'saturating') > evidenceMargin * evidence(weighted, 'power');
  const family: CurveFamily = saturates ? 'saturating' : 'power';
  const ofFamily = weighted.filter(({ shape }) => shape.family === family);
  const posteriorMoments = momentsOf(
    ofFamily.map(({ shape, weight }) => ({ value: shape.elasticity, weight })),
  );
  const priorMoments = momentsOf(
    ofFamily.map(({ shape }) => ({ value: shape.elasticity, weight: priorOf(shape.elasticity) })),
  );
  const chosen = fitShape(shapeOf(family, posteriorMoments.mean, teamsMean), usable, logs);
  const deviation = Math.sqrt(variance / usable.length);
  const posterior = weighted.flatMap(({ shape, logScale, weight }) =>
    scaleNodes.map(
      (node): PosteriorCurve => ({
        ...shape,
        scale: Math.exp(logScale + node.z * deviation),
        weight: weight * node.weight,
      }),
    ),
  );
  const curve: PosteriorCurve = { ...chosen.shape, scale: Math.exp(chosen.logScale), weight: 1 };
  const spread = logs.reduce((total, log) => total + (log - mean(logs)) ** 2, 0);
  const teamCounts = new Set(usable.map(({ teams }) => teams)).size;
  return {
    family,
    elasticity: posteriorMoments.mean,
    weeks: usable.length,
    teamCounts,
    teamsMean,
    rSquared: teamCounts < 2 || spread === 0 ? null : Math.max(0, 1 - chosen.misfit / spread),
    priorWeight: Math.min(1, posteriorMoments.variance / priorMoments.variance),
    valueAt: (teams) => curveValue(curve, teams),
    rangeAt(teams) {
      const expected = curveValue(curve, teams);
      return rangeAround(expected, posterior, (one) => curveValue(one, teams));
    },
    paysUpTo(costPerTeam) {
      const expected = lastThatPays(curve, costPerTeam);
      return { expected, ...rangeAround(expected, posterior, (one) => lastThatPays(one, costPerTeam)) };
    },
  };
}

function shapesFor(teamsMean: number): Shape[] {
  return curveFamilies.flatMap((family) =>
    elasticities
      // A saturating curve always has an elasticity below 1.
      .filter((elasticity) => family === 'power' || elasticity < 1)
      .map((elasticity) => shapeOf(family, elasticity, teamsMean)),
  );
}

function shapeOf(family: CurveFamily, elasticity: number, teamsMean: number): Shape {
  if (family === 'power') {
    return { family, elasticity, at: (teams) => teams ** elasticity };
  }
  const perTeam = saturationFor(elasticity) / teamsMean;
  return { family, elasticity, at: (teams) => 1 - Math.exp(-teams * perTeam) };
}

/** Solves x / (e^x - 1) = elasticity by bisection: the left side falls from 1 towards 0. */
function saturationFor(elasticity: number): number {
  let [low, high] = [1e-9, 20];
  for (let round = 0; round < 40; round += 1) {
    const middle = (low + high) / 2;
    if (middle / Math.expm1(middle) > elasticity) {
      low = middle;
    } else {
      high = middle;
    }
  }
  return (low + high) / 2;
}

function fitShape(shape: Shape, weeks: readonly WeekOfTeams[], logs: Series) {
  const residuals = weeks.map(({ teams }, index) => (logs[index] ?? 0) - Math.log(shape.at(teams)));
  const logScale = mean(residuals);
  return { shape, logScale, misfit: residuals.reduce((total, rest) => total + (rest - logScale) ** 2, 0) };
}

function priorOf(elasticity: number): number {
  return Math.exp(-(((elasticity - priorElasticity.mean) / priorElasticity.deviation) ** 2) / 2);
}

function evidence(
  fits: readonly { readonly shape: Shape; readonly weight: number }[],
  family: CurveFamily,
): number {
  const ofFamily = fits.filter(({ shape }) => shape.family === family);
  const prior = ofFamily.reduce((total, { shape }) => total + priorOf(shape.elasticity), 0);
  return ofFamily.reduce((total, { weight }) => total + weight, 0) / prior;
}

interface WeightedValue {
  readonly value: number;
  readonly weight: number;
}

function momentsOf(values: readonly WeightedValue[]) {
  const weights = values.reduce((total, { weight }) => total + weight, 0);
  const average = values.reduce((total, { value, weight }) => total + weight * value, 0) / weights;
  const variance =
    values.reduce((total, { value, weight }) => total + weight * (value - average) ** 2, 0) / weights;
  return { mean: average, variance };
}

function rangeAround(
  expected: number,
  posterior: readonly PosteriorCurve[],
  of: (one: PosteriorCurve) => number,
) {
  const values = posterior.map((one) => ({ value: of(one), weight: one.weight }));
  values.sort((a, b) => a.value - b.value);
  const total = values.reduce((sum, { weight }) => sum + weight, 0);
  const at = (share: number) => {
    let cumulative = 0;
    for (const { value, weight } of values) {
      cumulative += weight;
      if (cumulative >= share * total) {
        return value;
      }
    }
    return values.at(-1)?.value ?? expected;
  };
  return { low: Math.min(expected, at(intervalTail)), high: Math.max(expected, at(1 - intervalTail)) };
}

function curveValue({ scale, at }: PosteriorCurve, teams: number): number {
  return scale * at(teams);
}

function lastThatPays(curve: PosteriorCurve, costPerTeam: number): number {
  const pays = (teams: number) => curveValue(curve, teams) - curveValue(curve, teams - 1) >= costPerTeam;
  if (curve.elasticity >= 1) {
    // Each additional team is worth at least as much as the previous one.
    return curveValue(curve, teamsSearchedMax) >= costPerTeam * teamsSearchedMax ? teamsSearchedMax : 0;
  }
  let [low, high] = [0, teamsSearchedMax];
  while (low < high) {
    const middle = Math.ceil((low + high) / 2);
    if (pays(middle)) {
      low = middle;
    } else {
      high = middle - 1;
    }
  }
  return low;
}
