/**
 * Model routing. Candidates pass one filter after the other. The remaining candidates are sorted by the objective, and the first
 * one is selected. Every excluded candidate gets a reason. If no candidate remains, the result names the filter that excluded the
 * last ones, because its error is returned. The result is deterministic: ties are broken by name.
 */
export const objectives = ['cost', 'latency', 'quality'] as const;
export type Objective = (typeof objectives)[number];

/** The filters in the order in which they are applied. Evaluation is the last one, so it only applies to models that could be used. */
export const stages = [
  'price',
  'policies',
  'residency',
  'size',
  'capabilities',
  'money',
  'evaluation',
] as const;
export type Stage = (typeof stages)[number];

export interface Evaluated {
  readonly scoreMillionths: bigint;
  readonly samples: bigint;
  readonly ranAtMs: number;
}

/** A model at the time of the decision. Null means unknown, unless stated otherwise. */
export interface Candidate {
  readonly model: string;
  /** Expected cost of the request. Null: the model has no price. */
  readonly costNanos: bigint | null;
  readonly contextTokens: bigint | null;
  readonly maxOutputTokens: bigint | null;
  readonly regions: readonly string[] | null;
  readonly capabilities: readonly string[] | null;
  readonly latencyMs: bigint | null;
  /** The newest result of the relevant evaluation suite. */
  readonly evaluated: Evaluated | null;
  /** Reason why policies deny the model. Null: allowed. */
  readonly policyRefusal: string | null;
  /** Reason why a limit denies the model. Null: allowed. */
  readonly moneyRefusal: string | null;
}

export interface RoutedRequest {
  readonly inputTokens: bigint;
  readonly maxOutputTokens: bigint;
  /** Capabilities that the model must all have. */
  readonly capabilities: readonly string[];
  /** The model must be available in all of these regions. */
  readonly regions: readonly string[];
  readonly atMs: number;
}

/** Relative weights of the three objectives. */
export interface Weights {
  readonly cost: bigint;
  readonly latency: bigint;
  readonly quality: bigint;
}

export interface EvalBar {
  readonly minScoreMillionths: bigint;
  readonly minSamples: bigint;
  readonly maxAgeMs: number;
}

export interface Preference {
  readonly objective: Objective;
  /** Null: only the objective counts. */
  readonly weights: Weights | null;
}

export interface Exclusion {
  readonly stage: Stage;
  readonly reason: string;
}

export interface ExcludedCandidate extends Exclusion {
  readonly candidate: Candidate;
}

export interface RoutingRequest {
  readonly candidates: readonly Candidate[];
  /** Models in order of preference, used if no candidate remains. The evaluation bar does not apply to them. */
  readonly fallbacks: readonly Candidate[];
  readonly request: RoutedRequest;
  readonly bar: EvalBar;
  readonly preference: Preference;
}

export interface Routed {
  /** Usable models, best first; the first one is selected. */
  readonly ranking: readonly Candidate[];
  readonly isFallback: boolean;
  /** Excluded candidates in the order of the objective, then excluded fallbacks. Fallbacks that could be used are left out. */
  readonly passedOver: readonly ExcludedCandidate[];
  /** The filter that excluded the last candidates; null if a candidate or fallback remains. */
  readonly emptiedBy: Stage | null;
}

export function route({ candidates, fallbacks, request, bar, preference }: RoutingRequest): Routed {
  const first = partition(candidates, (one) => exclusionOf(one, request) ?? evalExclusion(one, request, bar));
  const passedOver = inOrder(first.excluded, preference, ({ candidate }) => candidate);
  if (first.passed.length > 0) {
    const ranking = inOrder(first.passed, preference, (candidate) => candidate);
    return { ranking, isFallback: false, passedOver, emptiedBy: null };
  }
  const names = new Set(candidates.map(({ model }) => model));
  const second = partition(fallbacks, (one) => exclusionOf(one, request));
  const usable = new Set(second.passed.map(({ model }) => model));
  return {
    ranking: second.passed,
    isFallback: second.passed.length > 0,
    passedOver: [
      ...passedOver.filter(({ candidate }) => !usable.has(candidate.model)),
      ...second.excluded.filter(({ candidate }) => !names.has(candidate.model)),
    ],
    emptiedBy: second.passed.length > 0 ? null : latestStage(first.excluded),
  };
}

/** Returns why a candidate cannot be used, apart from its evaluation. */
export function exclusionOf(one: Candidate, request: RoutedRequest): Exclusion | undefined {
  if (one.costNanos === null) {
    return { stage: 'price', reason: 'no_price' };
  }
  if (one.policyRefusal !== null) {
    return { stage: 'policies', reason: one.policyRefusal };
  }
  // An unknown region counts as not available.
  if (!request.regions.every((region) => one.regions?.includes(region) === true)) {
    return { stage: 'residency', reason: 'not_in_region' };
  }
  const { inputTokens, maxOutputTokens } = request;
  if (one.contextTokens !== null && inputTokens + maxOutputTokens > one.contextTokens) {
    return { stage: 'size', reason: 'context_too_small' };
  }
  if (one.maxOutputTokens !== null && maxOutputTokens > one.maxOutputTokens) {
    return { stage: 'size', reason: 'output_too_long' };
  }
  if (!request.capabilities.every((capability) => one.capabilities?.includes(capability) === true)) {
    return { stage: 'capabilities', reason: 'capability_missing' };
  }
  return one.moneyRefusal === null ? undefined : { stage: 'money', reason: one.moneyRefusal };
}

function evalExclusion(
  { evaluated }: Candidate,
  { atMs }: RoutedRequest,
  bar: EvalBar,
): Exclusion | undefined {
  const excludeFor = (reason: string): Exclusion => ({ stage: 'evaluation', reason });
  if (evaluated === null) {
    return excludeFor('not_evaluated');
  }
  if (atMs - evaluated.ranAtMs > bar.maxAgeMs) {
    return excludeFor('evaluation_too_old');
  }
  if (evaluated.samples < bar.minSamples) {
    return excludeFor('too_few_samples');
  }
  return evaluated.scoreMillionths < bar.minScoreMillionths ? excludeFor('score_too_low') : undefined;
}

function partition(candidates: readonly Candidate[], exclude: (one: Candidate) => Exclusion | undefined) {
  const passed: Candidate[] = [];
  const excluded: ExcludedCandidate[] = [];
  for (const candidate of candidates) {
    const found = exclude(candidate);
    if (found === undefined) {
      passed.push(candidate);
    } else {
      excluded.push({ candidate, ...found });
    }
  }
  return { passed, excluded };
}

/** Returns the last stage that excluded a candidate. Without candidates it is `price`: no model with a price matched the patterns. */
function latestStage(excluded: readonly ExcludedCandidate[]): Stage {
  return stages.findLast((stage) => excluded.some((one) => one.stage === stage)) ?? 'price';
}

type Order = (a: Candidate, b: Candidate) => number;

function inOrder<Item>(
  items: readonly Item[],
  { objective, weights }: Preference,
  candidateOf: (item: Item) => Candidate,
): Item[] {
  const byObjective = orders[objective];
  const points = weights === null ? undefined : pointsOf(items.map(candidateOf), weights);
  return [...items].sort((one, other) => {
    const a = candidateOf(one);
    const b = candidateOf(other);
    return (points === undefined ? 0 : compare(points(a), points(b))) || byObjective(a, b);
  });
}

const byCost: Order = (a, b) => lowestFirst(a.costNanos, b.costNanos);
const byLatency: Order = (a, b) => lowestFirst(a.latencyMs, b.latencyMs);
const byScore: Order = (a, b) => lowestFirst(missedMillionths(a), missedMillionths(b));
const byName: Order = (a, b) => compare(a.model, b.model);

/** Ties in the objective are broken by cost, score and latency, and finally by name. */
const orders: Record<Objective, Order> = {
  cost: (a, b) => byCost(a, b) || byScore(a, b) || byLatency(a, b) || byName(a, b),
  latency: (a, b) => byLatency(a, b) || byCost(a, b) || byScore(a, b) || byName(a, b),
  quality: (a, b) => byScore(a, b) || byCost(a, b) || byLatency(a, b) || byName(a, b),
};

const million = 1_000_000n;

/**
 * Returns a function that computes the points of a candidate; lower is better. Points are a weighted sum, in millionths: cost and
 * latency as fractions of the highest value among the compared candidates, and quality as the distance to a perfect score. An
 * unknown value counts as one million. All numbers are integers, so the order of additions does not matter.
 */
function pointsOf(compared: readonly Candidate[], weights: Weights): (one: Candidate) => bigint {
  const highestCost = largest(compared.map(({ costNanos }) => costNanos));
  const slowest = largest(compared.map(({ latencyMs }) => latencyMs));
  return (one) =>
    weights.cost * shareOf(one.costNanos, highestCost) +
    weights.latency * shareOf(one.latencyMs, slowest) +
    weights.quality * (missedMillionths(one) ?? million);
}

function shareOf(value: bigint | null, worst: bigint): bigint {
  if (value === null) {
    return million;
  }
  return worst === 0n ? 0n : (value * million) / worst;
}

/** Returns the distance to a perfect score, in millionths. */
function missedMillionths({ evaluated }: Candidate): bigint | null {
  return evaluated === null ? null : million - evaluated.scoreMillionths;
}

function largest(values: readonly (bigint | null)[]): bigint {
  return values.reduce<bigint>((most, value) => (value !== null && value > most ? value : most), 0n);
}

/** Compares in ascending order. Unknown values come last. */
function lowestFirst(a: bigint | null, b: bigint | null): number {
  if (a === null || b === null) {
    return a === b ? 0 : a === null ? 1 : -1;
  }
  return compare(a, b);
}

function compare<Value extends bigint | string>(a: Value, b: Value): number {
  return a < b ? -1 : a > b ? 1 : 0;
}
