/**
 * What more teams are worth: a curve of diminishing returns through weeks with different numbers of teams.
 *
 * Two families of curves are tried, a power of the team count and one that saturates. Both are told by their elasticity
 * at the team count that there was: by how many percent the value grows with one percent more teams. Before any week is
 * looked at, an elasticity near 0.8 is believed in; each week moves that belief (Bayes, on a grid). So a single team count,
 * which can say nothing about the curve, leaves the belief as it was, and many different ones overrule it.
 */
import { mean, type Series } from './series.ts';

export const curveFamilies = ['power', 'saturating'] as const;
export type CurveFamily = (typeof curveFamilies)[number];

export interface WeekOfTeams {
  readonly teams: number;
  /** What its runs were worth; above zero. */
  readonly value: number;
}

/** Twice the teams are worth 2^0.8, which is 1.74 times as much; most likely between 1.5 and 2 times. */
export const priorElasticity = { mean: 0.8, deviation: 0.2 };

/** Beyond it nobody plans; a curve that still pays there is said to have no end. */
export const teamsSearchedMax = 10_000;
/** The interval holds four in five of what is believed. */
const intervalTail = 0.1;

export interface ReturnsCurve {
  readonly family: CurveFamily;
  readonly elasticity: number;
  readonly weeks: number;
  readonly teamCounts: number;
  readonly teamsMean: number;
  /** Of the logarithms; null where the team count never differed, so that there is nothing to explain. */
  readonly rSquared: number | null;
  /** From 1, nothing but the prior, to 0, nothing but the weeks. */
  readonly priorWeight: number;
  /** Of a week with so many teams. */
  valueAt(teams: number): number;
  rangeAt(teams: number): { readonly low: number; readonly high: number };
  /** The largest team count whose last team is worth at least what a team costs. */
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
  /** Up to a factor. */
  at(teams: number): number;
}

interface Believed extends Shape {
  readonly scale: number;
  readonly weight: number;
}

const elasticities = Array.from({ length: 29 }, (_, index) => 0.04 + index * 0.04);
/** Where the weeks cannot tell the two apart, it is the power. */
const evidenceMargin = 1.01;
/** Weeks scatter by a quarter, until enough of them say otherwise. */
const priorScatter = { deviation: 0.25, weeks: 3 };
/** The scale is not known exactly either: it is tried at these distances, in its own deviations. */
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
  const weighed = fits.map((fit) => ({
    ...fit,
    weight: Math.exp((least - fit.misfit) / (2 * variance)) * priorOf(fit.shape.elasticity),
  }));
  const saturates = evidence(weighed, 'saturating') > evidenceMargin * evidence(weighed, 'power');
  const family: CurveFamily = saturates ? 'saturating' : 'power';
  const ofFamily = weighed.filter(({ shape }) => shape.family === family);
  const belief = momentsOf(ofFamily.map(({ shape, weight }) => ({ value: shape.elasticity, weight })));
  const before = momentsOf(
    ofFamily.map(({ shape }) => ({ value: shape.elasticity, weight: priorOf(shape.elasticity) })),
  );
  const chosen = fitShape(shapeOf(family, belief.mean, teamsMean), usable, logs);
  const deviation = Math.sqrt(variance / usable.length);
  const believed = weighed.flatMap(({ shape, logScale, weight }) =>
    scaleNodes.map(
      (node): Believed => ({
        ...shape,
        scale: Math.exp(logScale + node.z * deviation),
        weight: weight * node.weight,
      }),
    ),
  );
  const curve: Believed = { ...chosen.shape, scale: Math.exp(chosen.logScale), weight: 1 };
  const spread = logs.reduce((total, log) => total + (log - mean(logs)) ** 2, 0);
  const teamCounts = new Set(usable.map(({ teams }) => teams)).size;
  return {
    family,
    elasticity: belief.mean,
    weeks: usable.length,
    teamCounts,
    teamsMean,
    rSquared: teamCounts < 2 || spread === 0 ? null : Math.max(0, 1 - chosen.misfit / spread),
    priorWeight: Math.min(1, belief.variance / before.variance),
    valueAt: (teams) => worth(curve, teams),
    rangeAt(teams) {
      const expected = worth(curve, teams);
      return rangeAround(expected, believed, (one) => worth(one, teams));
    },
    paysUpTo(costPerTeam) {
      const expected = lastThatPays(curve, costPerTeam);
      return { expected, ...rangeAround(expected, believed, (one) => lastThatPays(one, costPerTeam)) };
    },
  };
}

function shapesFor(teamsMean: number): Shape[] {
  return curveFamilies.flatMap((family) =>
    elasticities
      // What saturates grows more slowly than its teams, always.
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

/** The x for which x / (e^x - 1) is the elasticity, by halving: it falls from 1 towards 0. */
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
  const rests = weeks.map(({ teams }, index) => (logs[index] ?? 0) - Math.log(shape.at(teams)));
  const logScale = mean(rests);
  return { shape, logScale, misfit: rests.reduce((total, rest) => total + (rest - logScale) ** 2, 0) };
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

interface Weighed {
  readonly value: number;
  readonly weight: number;
}

function momentsOf(values: readonly Weighed[]) {
  const weights = values.reduce((total, { weight }) => total + weight, 0);
  const average = values.reduce((total, { value, weight }) => total + weight * value, 0) / weights;
  const variance =
    values.reduce((total, { value, weight }) => total + weight * (value - average) ** 2, 0) / weights;
  return { mean: average, variance };
}

function rangeAround(expected: number, believed: readonly Believed[], of: (one: Believed) => number) {
  const values = believed.map((one) => ({ value: of(one), weight: one.weight }));
  values.sort((a, b) => a.value - b.value);
  const total = values.reduce((sum, { weight }) => sum + weight, 0);
  const at = (share: number) => {
    let passed = 0;
    for (const { value, weight } of values) {
      passed += weight;
      if (passed >= share * total) {
        return value;
      }
    }
    return values.at(-1)?.value ?? expected;
  };
  return { low: Math.min(expected, at(intervalTail)), high: Math.max(expected, at(1 - intervalTail)) };
}

function worth({ scale, at }: Believed, teams: number): number {
  return scale * at(teams);
}

function lastThatPays(curve: Believed, costPerTeam: number): number {
  const pays = (teams: number) => worth(curve, teams) - worth(curve, teams - 1) >= costPerTeam;
  if (curve.elasticity >= 1) {
    // Each further team is worth as much as the one before, or more.
    return worth(curve, teamsSearchedMax) >= costPerTeam * teamsSearchedMax ? teamsSearchedMax : 0;
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
