/** Seeds for random tests: fixed in `npm test`, new in `npm run fuzz`. A test never draws a seed itself. */
import fc from 'fast-check';
import { expect } from 'vitest';
import { casesOf, type RandomTestName, randomTests } from './random-tests.ts';

/** Parameters of fast-check, without those that select a case. */
type PropertyOptions = Pick<fc.Parameters, 'numRuns'>;

/** Runs `fc.assert` for every case of the current test: each seed, and each recorded path. */
interface ForAll {
  <Values>(property: fc.IProperty<Values>, options?: PropertyOptions): void;
  <Values>(property: fc.IAsyncProperty<Values>, options?: PropertyOptions): Promise<void>;
}

export interface RandomTestSeeds {
  /** For one test per seed, with the seed in its title: `test.each(seeds)('… (seed %d)', …)`. */
  readonly seeds: readonly number[];
  readonly forAll: ForAll;
}

/**
 * Checks one property, for a test that checks many properties one after the other with seeds derived from its own seed.
 */
export function checkWithSeed<Values>(
  seed: number,
  property: fc.IAsyncProperty<Values>,
  options: PropertyOptions,
): Promise<void> {
  return fc.assert(property, { ...options, seed });
}

export function sampleWithSeed<Value>(seed: number, values: fc.Arbitrary<Value>, count: number): Value[] {
  return fc.sample(values, { seed, numRuns: count });
}

/** False in `npm run fuzz`. Only the fixed seeds are known to reach everything that a test is about. */
export const hasFixedSeeds = process.env.PURSER_TEST_SEED === undefined;

export function seedsOf(name: RandomTestName): RandomTestSeeds {
  const cases = casesOf(randomTests[name], process.env);

  function parametersOf(options: PropertyOptions = {}) {
    const title = expect.getState().currentTestName ?? '';
    return cases
      .filter(({ test }) => test === undefined || title.endsWith(test))
      .map(({ seed, path }) =>
        path === undefined ? { ...options, seed } : { ...options, seed, path, numRuns: 1 },
      );
  }

  function forAll<Values>(
    property: fc.IRawProperty<Values>,
    options?: PropertyOptions,
  ): void | Promise<void> {
    const all = parametersOf(options);
    if (property.isAsync()) {
      return (async () => {
        for (const parameters of all) {
          await fc.assert(property, parameters);
        }
      })();
    }
    for (const parameters of all) {
      fc.assert(property, parameters);
    }
  }

  return { seeds: [...new Set(cases.map(({ seed }) => seed))], forAll: forAll as ForAll };
}
