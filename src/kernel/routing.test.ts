import { describe, expect, test } from 'vitest';
import { Random } from '../../test/support/ledger-values.ts';
import { rounds } from '../../test/support/rounds.ts';
import { seedsOf } from '../../test/support/seeds.ts';
import {
  type Candidate,
  type EvalBar,
  type Objective,
  objectives,
  type RoutingRequest,
  route,
  type Stage,
} from './routing.ts';

const dayMs = 86_400_000;
const atMs = Date.parse('2026-11-15T12:00:00Z');

const good = { scoreMillionths: 900_000n, samples: 100n, ranAtMs: atMs - dayMs };
const candidate = (model: string, fields: Partial<Candidate> = {}): Candidate => ({
  model,
  costNanos: 100n,
  contextTokens: 10_000n,
  maxOutputTokens: 1_000n,
  regions: ['eu'],
  capabilities: ['tools'],
  latencyMs: 500n,
  evaluated: good,
  policyRefusal: null,
  moneyRefusal: null,
  ...fields,
});
const bar: EvalBar = { minScoreMillionths: 800_000n, minSamples: 50n, maxAgeMs: 30 * dayMs };
const requestFor = (
  candidates: readonly Candidate[],
  fields: Partial<RoutingRequest> & { readonly objective?: Objective } = {},
): RoutingRequest => {
  const { objective = 'cost', ...rest } = fields;
  return {
    candidates,
    fallbacks: [],
    request: { inputTokens: 1_000n, maxOutputTokens: 500n, capabilities: [], regions: [], atMs },
    bar,
    preference: { objective, weights: null },
    ...rest,
  };
};
const rankingOf = (request: RoutingRequest) => route(request).ranking.map(({ model }) => model);
const reasonsOf = (request: RoutingRequest) =>
  route(request).passedOver.map(({ candidate: { model }, reason }) => [model, reason]);

describe('the ranking', () => {
  const cheap = candidate('cheap', { costNanos: 1n, latencyMs: 900n });
  const quick = candidate('quick', { costNanos: 9n, latencyMs: 10n });
  const best = candidate('best', { costNanos: 9n, evaluated: { ...good, scoreMillionths: 990_000n } });

  test('follows the objective', () => {
    const all = [best, quick, cheap];
    expect(rankingOf(requestFor(all))).toEqual(['cheap', 'best', 'quick']);
    expect(rankingOf(requestFor(all, { objective: 'latency' }))).toEqual(['quick', 'best', 'cheap']);
    expect(rankingOf(requestFor(all, { objective: 'quality' }))).toEqual(['best', 'cheap', 'quick']);
  });

  test('breaks ties by name, independent of the input order', () => {
    const twins = [candidate('b'), candidate('a'), candidate('B')];
    expect(rankingOf(requestFor(twins))).toEqual(['B', 'a', 'b']);
    expect(rankingOf(requestFor(twins.toReversed()))).toEqual(['B', 'a', 'b']);
  });

  test('puts unmeasured models last', () => {
    const unknown = candidate('a', { latencyMs: null });
    expect(rankingOf(requestFor([unknown, quick], { objective: 'latency' }))).toEqual(['quick', 'a']);
  });

  test('the ranking with weights follows the weighted fractions of the worst value', () => {
    const weights = (cost: bigint, latency: bigint, quality: bigint) =>
      requestFor([cheap, quick], {
        preference: { objective: 'cost', weights: { cost, latency, quality } },
      });
    expect(rankingOf(weights(1n, 0n, 0n))).toEqual(['cheap', 'quick']);
    expect(rankingOf(weights(0n, 1n, 0n))).toEqual(['quick', 'cheap']);
    // `cheap` has 1/9 + 2 × 1 points, `quick` has 1 + 2 × 1/90. The lower number is better.
    expect(rankingOf(weights(1n, 2n, 0n))).toEqual(['quick', 'cheap']);
    expect(rankingOf(weights(3n, 1n, 0n))).toEqual(['cheap', 'quick']);
  });
});

describe('each filter', () => {
  const request = {
    inputTokens: 9_000n,
    maxOutputTokens: 1_000n,
    capabilities: ['tools'],
    regions: ['eu'],
    atMs,
  };
  const cases: [string, Partial<Candidate>, string, Stage][] = [
    ['no price', { costNanos: null }, 'no_price', 'price'],
    ['a policy', { policyRefusal: 'policy_blocked' }, 'policy_blocked', 'policies'],
    ['another region', { regions: ['us'] }, 'not_in_region', 'residency'],
    ['an unknown region', { regions: null }, 'not_in_region', 'residency'],
    ['a small context', { contextTokens: 9_999n }, 'context_too_small', 'size'],
    ['a short output', { maxOutputTokens: 999n }, 'output_too_long', 'size'],
    ['a missing capability', { capabilities: ['vision'] }, 'capability_missing', 'capabilities'],
    ['unknown capabilities', { capabilities: null }, 'capability_missing', 'capabilities'],
    ['a limit', { moneyRefusal: 'budget_exceeded' }, 'budget_exceeded', 'money'],
    ['no result', { evaluated: null }, 'not_evaluated', 'evaluation'],
    ['a low score', { evaluated: { ...good, scoreMillionths: 799_999n } }, 'score_too_low', 'evaluation'],
    ['few samples', { evaluated: { ...good, samples: 49n } }, 'too_few_samples', 'evaluation'],
    [
      'an old result',
      { evaluated: { ...good, ranAtMs: atMs - 30 * dayMs - 1 } },
      'evaluation_too_old',
      'evaluation',
    ],
  ];
  test.each(cases)('reports %s', (_, fields, reason, stage) => {
    const routed = requestFor([candidate('a', fields)], { request });
    expect(reasonsOf(routed)).toEqual([['a', reason]]);
    expect(route(routed)).toMatchObject({ ranking: [], isFallback: false, emptiedBy: stage });
  });

  test('accepts an exact fit, and models of unknown size', () => {
    const just = candidate('just', {
      evaluated: { scoreMillionths: 800_000n, samples: 50n, ranAtMs: atMs - 30 * dayMs },
    });
    const unknown = candidate('unknown', { contextTokens: null, maxOutputTokens: null });
    expect(rankingOf(requestFor([just, unknown], { request }))).toEqual(['unknown', 'just']);
  });

  test('each filter is reported if it excludes the last candidate', () => {
    const blocked = candidate('a', { policyRefusal: 'policy_blocked' });
    const dear = candidate('b', { moneyRefusal: 'budget_exceeded' });
    const poor = candidate('c', { evaluated: null });
    const emptiedBy = (...candidates: Candidate[]) => route(requestFor(candidates)).emptiedBy;
    expect(emptiedBy(blocked)).toBe('policies');
    expect(emptiedBy(blocked, dear)).toBe('money');
    expect(emptiedBy(dear, poor, blocked)).toBe('evaluation');
    expect(emptiedBy()).toBe('price');
    expect(emptiedBy(blocked, candidate('d'))).toBeNull();
  });
});

describe('fallbacks', () => {
  const poor = candidate('poor', { evaluated: null });
  const spare = candidate('spare', { evaluated: null, costNanos: 999n });
  const blocked = candidate('blocked', { policyRefusal: 'policy_blocked' });

  test('fallbacks are used in their own order, without the eval bar, if no candidate is left', () => {
    const routed = route(requestFor([poor], { fallbacks: [blocked, spare, poor] }));
    expect(routed).toMatchObject({ isFallback: true, emptiedBy: null });
    expect(routed.ranking.map(({ model }) => model)).toEqual(['spare', 'poor']);
    expect(routed.passedOver.map(({ candidate: { model } }) => model)).toEqual(['blocked']);
  });

  test('fallbacks are ignored while a candidate is left, and do not change the reported filter', () => {
    expect(route(requestFor([candidate('a')], { fallbacks: [spare] }))).toMatchObject({ isFallback: false });
    expect(route(requestFor([poor], { fallbacks: [blocked] })).emptiedBy).toBe('evaluation');
  });
});

describe.each(seedsOf('routing').seeds)('a table of 50 models and 5 suites (seed %d)', (seed) => {
  const random = new Random(seed);
  const between = (low: number, high: number) => low + random.int(high - low + 1);
  const capabilities = ['json', 'tools', 'vision'];
  const regions = ['ap', 'eu', 'us'];
  const some = (values: readonly string[]) => values.filter(() => between(0, 2) > 0);
  const sometimesNull = <Value>(value: Value) => (between(0, 9) === 0 ? null : value);

  interface Row extends Omit<Candidate, 'evaluated' | 'policyRefusal' | 'moneyRefusal'> {
    readonly bySuite: readonly Candidate['evaluated'][];
  }
  // Few different values, so that ties are frequent.
  const table: Row[] = Array.from({ length: 50 }, (_, index) => ({
    model: `model-${index}`,
    costNanos: sometimesNull(BigInt(between(1, 8)) * 1_000n),
    contextTokens: sometimesNull(BigInt(between(1, 8)) * 16_000n),
    maxOutputTokens: sometimesNull(BigInt(between(1, 4)) * 4_000n),
    regions: sometimesNull(some(regions)),
    capabilities: sometimesNull(some(capabilities)),
    latencyMs: sometimesNull(BigInt(between(1, 10)) * 100n),
    bySuite: Array.from({ length: 5 }, () =>
      sometimesNull({
        scoreMillionths: BigInt(between(10, 20)) * 50_000n,
        samples: BigInt(between(1, 10)) * 10n,
        ranAtMs: atMs - between(0, 60) * dayMs,
      }),
    ),
  }));

  function drawRequest(): RoutingRequest {
    const suite = between(0, 4);
    // In some cases policies or limits deny every model.
    const harsh = between(0, 9);
    const draw = (row: Row): Candidate => {
      const { bySuite, ...known } = row;
      return {
        ...known,
        evaluated: bySuite[suite] ?? null,
        policyRefusal: harsh === 0 || between(0, 9) === 0 ? 'policy_blocked' : null,
        moneyRefusal: harsh === 1 || between(0, 9) === 0 ? 'budget_exceeded' : null,
      };
    };
    const share = between(1, 50);
    return {
      candidates: table.filter(() => between(1, 50) <= share).map(draw),
      fallbacks: between(0, 3) === 0 ? table.filter(() => between(0, 24) === 0).map(draw) : [],
      request: {
        inputTokens: BigInt(between(0, 12)) * 10_000n,
        maxOutputTokens: BigInt(between(0, 18)) * 1_000n,
        capabilities: between(0, 1) === 0 ? [] : some(capabilities),
        regions: between(0, 2) === 0 ? some(regions) : [],
        atMs,
      },
      bar: {
        minScoreMillionths: BigInt(between(10, 20)) * 50_000n,
        minSamples: BigInt(between(0, 10)) * 10n,
        maxAgeMs: between(0, 60) * dayMs,
      },
      preference: {
        objective: objectives[between(0, 2)] as Objective,
        weights:
          between(0, 2) > 0
            ? null
            : {
                cost: BigInt(between(0, 3)),
                latency: BigInt(between(0, 3)),
                quality: BigInt(between(0, 3)),
              },
      },
    };
  }

  const cases = rounds(2_000, 10_000);
  test(`is routed like by brute force, in ${cases} cases`, () => {
    const seen: Record<string, number> = {};
    for (let index = 0; index < cases; index += 1) {
      const request = drawRequest();
      const wanted = bruteForce(request);
      const got = route(request);
      const choice = { model: got.ranking[0]?.model ?? null, emptiedBy: got.emptiedBy };
      expect(choice, `case ${index}`).toEqual(wanted);
      const outcome = got.isFallback ? 'fallback' : (got.emptiedBy ?? 'chosen');
      seen[outcome] = (seen[outcome] ?? 0) + 1;
    }
    // Every outcome occurs.
    expect(Object.keys(seen).sort()).toEqual(
      [
        'capabilities',
        'chosen',
        'evaluation',
        'fallback',
        'money',
        'policies',
        'price',
        'residency',
        'size',
      ].sort(),
    );
  });

  /**
   * Applies the filters one by one, then selects the candidate that no other beats. Shares only the vocabulary with
   * the kernel.
   */
  function bruteForce({ candidates, fallbacks, request, bar: wanted, preference }: RoutingRequest) {
    const filters: [Stage, (one: Candidate) => boolean][] = [
      ['price', (one) => one.costNanos !== null],
      ['policies', (one) => one.policyRefusal === null],
      [
        'residency',
        (one) => request.regions.filter((region) => !(one.regions ?? []).includes(region)).length === 0,
      ],
      [
        'size',
        (one) =>
          Number(request.inputTokens) + Number(request.maxOutputTokens) <=
            Number(one.contextTokens ?? 1e15) &&
          Number(request.maxOutputTokens) <= Number(one.maxOutputTokens ?? 1e15),
      ],
      [
        'capabilities',
        (one) =>
          new Set([...(one.capabilities ?? []), ...request.capabilities]).size ===
          (one.capabilities ?? []).length,
      ],
      ['money', (one) => one.moneyRefusal === null],
      [
        'evaluation',
        ({ evaluated }) =>
          evaluated !== null &&
          Number(evaluated.scoreMillionths) >= Number(wanted.minScoreMillionths) &&
          Number(evaluated.samples) >= Number(wanted.minSamples) &&
          evaluated.ranAtMs >= atMs - wanted.maxAgeMs,
      ],
    ];
    let left = [...candidates];
    let emptiedBy: Stage | null = left.length === 0 ? 'price' : null;
    for (const [stage, passes] of filters) {
      const before = left.length;
      left = left.filter(passes);
      if (before > 0 && left.length === 0) {
        emptiedBy = stage;
      }
    }
    if (left.length > 0) {
      const winner = left.find((one) => left.every((other) => other === one || beats(one, other, left)));
      return { model: winner?.model ?? 'nobody', emptiedBy: null };
    }
    const spare = fallbacks.find((one) =>
      filters.every(([stage, passes]) => stage === 'evaluation' || passes(one)),
    );
    return spare === undefined ? { model: null, emptiedBy } : { model: spare.model, emptiedBy: null };

    function beats(one: Candidate, other: Candidate, among: readonly Candidate[]): boolean {
      for (const measure of measures(among)) {
        const difference = measure(one) - measure(other);
        if (difference !== 0) {
          return difference < 0;
        }
      }
      return one.model < other.model;
    }

    function measures(among: readonly Candidate[]): ((one: Candidate) => number)[] {
      const cost = (one: Candidate) => Number(one.costNanos);
      const latency = (one: Candidate) => (one.latencyMs === null ? 1e12 : Number(one.latencyMs));
      const lack = (one: Candidate) => 1e6 - Number(one.evaluated?.scoreMillionths);
      const chain = {
        cost: [cost, lack, latency],
        latency: [latency, cost, lack],
        quality: [lack, cost, latency],
      }[preference.objective];
      const { weights } = preference;
      if (weights === null) {
        return chain;
      }
      const maxCost = Math.max(...among.map(cost));
      const maxLatency = Math.max(0, ...among.map(latency).filter((value) => value < 1e12));
      const share = (value: number, worst: number) =>
        value === 1e12 ? 1e6 : worst === 0 ? 0 : (value * 1e6 - ((value * 1e6) % worst)) / worst;
      const points = (one: Candidate) =>
        Number(weights.cost) * share(cost(one), maxCost) +
        Number(weights.latency) * share(latency(one), maxLatency) +
        Number(weights.quality) * lack(one);
      return [points, ...chain];
    }
  }
});
