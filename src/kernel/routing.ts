/**
 * Which model a request goes to. Candidates pass one filter after the other; those that are left are put in the order of the
 * objective, and the first is taken. Of every other one it is told why not. Where none is left, the filter that took the last
 * of them away is named, since its refusal is the one to answer with. The same input gives the same choice: what is equal in
 * everything else goes by its name.
 */
export const objectives = ['cost', 'latency', 'quality'] as const;
export type Objective = (typeof objectives)[number];

/** The filters, in the order in which they are passed. The eval bar is the last: it is asked of what could be taken. */
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

/** A model as it stands at the moment of the decision. Null: not known, unless said otherwise. */
export interface Candidate {
  readonly model: string;
  /** What the request is expected to cost. Null: the model has no price. */
  readonly costNanos: bigint | null;
  readonly contextTokens: bigint | null;
  readonly maxOutputTokens: bigint | null;
  readonly regions: readonly string[] | null;
  readonly capabilities: readonly string[] | null;
  readonly latencyMs: bigint | null;
  /** The newest result of the suite that counts. */
  readonly evaluated: Evaluated | null;
  /** Why policies refuse it. Null: they do not. */
  readonly policyRefusal: string | null;
  /** Why a limit refuses it. Null: none does. */
  readonly moneyRefusal: string | null;
}

export interface RoutedRequest {
  readonly inputTokens: bigint;
  readonly maxOutputTokens: bigint;
  /** All of them are needed. */
  readonly capabilities: readonly string[];
  /** The model has to be served in every one of them. */
  readonly regions: readonly string[];
  readonly atMs: number;
}

/** How much each counts against the others. */
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
  /** Null: the objective alone. */
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
  /** In order of preference, for when no candidate is left. They are not held to the eval bar. */
  readonly fallbacks: readonly Candidate[];
  readonly request: RoutedRequest;
  readonly bar: EvalBar;
  readonly preference: Preference;
}

export interface Routed {
  /** What may be taken, the best first; the first is the choice. */
  readonly ranking: readonly Candidate[];
  readonly isFallback: boolean;
  /** Whoever may not, in the order of the objective. */
  readonly passedOver: readonly ExcludedCandidate[];
  /** Which filter took the last candidates; null where some are left, or a fallback is. */
  readonly emptiedBy: Stage | null;
}

export function route({ candidates, fallbacks, request, bar, preference }: RoutingRequest): Routed {
  const first = sift(candidates, (one) => exclusionOf(one, request) ?? evalExclusion(one, request, bar));
  const passedOver = inOrder(first.refused, preference, ({ candidate }) => candidate);
  if (first.passed.length > 0) {
    const ranking = inOrder(first.passed, preference, (candidate) => candidate);
    return { ranking, isFallback: false, passedOver, emptiedBy: null };
  }
  const names = new Set(candidates.map(({ model }) => model));
  const second = sift(fallbacks, (one) => exclusionOf(one, request));
  const taken = new Set(second.passed.map(({ model }) => model));
  return {
    ranking: second.passed,
    isFallback: second.passed.length > 0,
    passedOver: [
      ...passedOver.filter(({ candidate }) => !taken.has(candidate.model)),
      ...second.refused.filter(({ candidate }) => !names.has(candidate.model)),
    ],
    emptiedBy: second.passed.length > 0 ? null : latestStage(first.refused),
  };
}

/** Why a candidate cannot be taken, whatever its results are. */
export function exclusionOf(one: Candidate, request: RoutedRequest): Exclusion | undefined {
  if (one.costNanos === null) {
    return { stage: 'price', reason: 'no_price' };
  }
  if (one.policyRefusal !== null) {
    return { stage: 'policies', reason: one.policyRefusal };
  }
  // Where a model is served has to be known to be relied on.
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
  const because = (reason: string): Exclusion => ({ stage: 'evaluation', reason });
  if (evaluated === null) {
    return because('not_evaluated');
  }
  if (atMs - evaluated.ranAtMs > bar.maxAgeMs) {
    return because('evaluation_too_old');
  }
  if (evaluated.samples < bar.minSamples) {
    return because('too_few_samples');
  }
  return evaluated.scoreMillionths < bar.minScoreMillionths ? because('score_too_low') : undefined;
}

function sift(candidates: readonly Candidate[], obstacle: (one: Candidate) => Exclusion | undefined) {
  const passed: Candidate[] = [];
  const refused: ExcludedCandidate[] = [];
  for (const candidate of candidates) {
    const found = obstacle(candidate);
    if (found === undefined) {
      passed.push(candidate);
    } else {
      refused.push({ candidate, ...found });
    }
  }
  return { passed, refused };
}

/** Where there was no candidate at all, none had a price. */
function latestStage(refused: readonly ExcludedCandidate[]): Stage {
  return stages.findLast((stage) => refused.some((one) => one.stage === stage)) ?? 'price';
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

/** Equals in the objective go by what is cheaper, better, quicker, and in the end by their names. */
const orders: Record<Objective, Order> = {
  cost: (a, b) => byCost(a, b) || byScore(a, b) || byLatency(a, b) || byName(a, b),
  latency: (a, b) => byLatency(a, b) || byCost(a, b) || byScore(a, b) || byName(a, b),
  quality: (a, b) => byScore(a, b) || byCost(a, b) || byLatency(a, b) || byName(a, b),
};

const million = 1_000_000n;

/**
 * The fewer the better. Each of the three is a share of the worst among those compared, in millionths, times its weight; what
 * is not known counts as the worst. Whole numbers throughout, so that no rounding depends on the order of sums.
 */
function pointsOf(compared: readonly Candidate[], weights: Weights): (one: Candidate) => bigint {
  const dearest = largest(compared.map(({ costNanos }) => costNanos));
  const slowest = largest(compared.map(({ latencyMs }) => latencyMs));
  return (one) =>
    weights.cost * shareOf(one.costNanos, dearest) +
    weights.latency * shareOf(one.latencyMs, slowest) +
    weights.quality * (missedMillionths(one) ?? million);
}

function shareOf(value: bigint | null, worst: bigint): bigint {
  if (value === null) {
    return million;
  }
  return worst === 0n ? 0n : (value * million) / worst;
}

/** How much is missing to a perfect score. */
function missedMillionths({ evaluated }: Candidate): bigint | null {
  return evaluated === null ? null : million - evaluated.scoreMillionths;
}

function largest(values: readonly (bigint | null)[]): bigint {
  return values.reduce<bigint>((most, value) => (value !== null && value > most ? value : most), 0n);
}

/** What is not known comes last. */
function lowestFirst(a: bigint | null, b: bigint | null): number {
  if (a === null || b === null) {
    return a === b ? 0 : a === null ? 1 : -1;
  }
  return compare(a, b);
}

function compare<Value extends bigint | string>(a: Value, b: Value): number {
  return a < b ? -1 : a > b ? 1 : 0;
}
