/** The rule that keeps `npm test` deterministic, and the list of random tests that `npm run fuzz` runs. */
import { readdirSync, readFileSync } from 'node:fs';
import { join, resolve } from 'node:path';
import { describe, expect, test } from 'vitest';
import { findRandomDraws } from '../scripts/random-draws.ts';
import { casesOf, type RandomTest, randomTests } from './support/random-tests.ts';

const repository = resolve(import.meta.dirname, '..');
const registered: readonly [string, RandomTest][] = Object.entries(randomTests);

describe('a draw without a fixed seed is found', () => {
  test.each([
    'const port = 20_000 + Math.random() * 10_000;',
    'const { random } = Math;\nconst one = Math\n  .random();',
    "import { randomInt } from 'node:crypto';",
    'const seed = Number(process.env.PURSER_TEST_SEED ?? 1);',
    'const random = new Random(Date.now());',
    'const bytes = seededBytes(Date.now() % 7);',
    'const seed = Number(process.env.SEED ?? Date.now());',
    'const options = { seed: performance.now() };',
    'fc.assert(fc.property(fc.nat(), (n) => n >= 0));',
    'await fc\n  .assert(property, { numRuns: 5 });',
    'fc.check(property);',
    'fc.sample(fc.nat(), 10);',
    'fc.statistics(fc.nat(), String, { numRuns: 10 });',
    "import { assert } from 'fast-check';",
    "import * as check from 'fast-check';",
    'crypto.getRandomValues(new Uint8Array(4));',
  ])('%s', (text) => {
    expect(findRandomDraws(`\n${text}\n`)).not.toEqual([]);
    expect(findRandomDraws(`\n${text}\n`)[0]).toMatch(/^line [23]: /);
  });

  test.each([
    "import fc from 'fast-check';\nimport type { Arbitrary } from 'fast-check';",
    "const { forAll, seeds } = seedsOf('rate');",
    '// Math.random() would do.',
    '/* randomInt(5) */ const at = Date.now() - 3_600_000;',
    'const random = new Random(seed);',
  ])('a determined draw is not found: %s', (text) => {
    expect(findRandomDraws(text)).toEqual([]);
  });
});

describe('the list of random tests', () => {
  const testFiles = ['src', 'test', 'packages'].flatMap((folder) =>
    readdirSync(join(repository, folder), { recursive: true, encoding: 'utf8' })
      .filter((file) => file.endsWith('.test.ts'))
      .map((file) => join(folder, file)),
  );
  const namesIn = (file: string) =>
    [...readFileSync(join(repository, file), 'utf8').matchAll(/\bseedsOf\('([^']+)'\)/g)].map(
      ([, name]) => name,
    );

  test('names each file that takes seeds, under the name that the file uses', () => {
    const own = join('test', 'random-draws.test.ts');
    const found = testFiles
      .filter((file) => file !== own)
      .flatMap((file) => namesIn(file).map((name) => [name, file]))
      .sort();
    expect(found).toEqual(registered.map(([name, { file }]) => [name, file]).sort());
  });

  test.each(registered)('%s has fixed seeds, and its paths name their test', (_, random) => {
    const { file, seeds, regressions } = random;
    expect(seeds.length).toBeGreaterThan(0);
    for (const { path, test: title } of regressions) {
      expect(path === undefined).toBe(title === undefined);
      // A case of a test that was renamed would never run again.
      expect(readFileSync(join(repository, file), 'utf8')).toContain(title ?? '');
    }
  });
});

describe('the cases of a random test', () => {
  const fixed = { seeds: [1, 2], regressions: [{ seed: 7, path: '3:1', test: 'a' }, { seed: 8 }] };

  test('the cases of a random test are its seeds and regressions', () => {
    expect(casesOf(fixed, {})).toEqual([{ seed: 1 }, { seed: 2 }, ...fixed.regressions]);
  });

  test('the cases of a random test are those of the environment instead, if it has any', () => {
    expect(casesOf(fixed, { PURSER_TEST_SEED: '5,6' })).toEqual([{ seed: 5 }, { seed: 6 }]);
    expect(casesOf(fixed, { PURSER_TEST_SEED: '5', PURSER_TEST_PATH: '2:0' })).toEqual([
      { seed: 5, path: '2:0' },
    ]);
  });

  test.each([
    { PURSER_TEST_SEED: '' },
    { PURSER_TEST_SEED: 'x' },
    { PURSER_TEST_SEED: '1,' },
    { PURSER_TEST_SEED: '1.5' },
    { PURSER_TEST_SEED: '1,2', PURSER_TEST_PATH: '0' },
    { PURSER_TEST_PATH: '0' },
  ])('the cases of a random test are not made of nonsense: %j', (environment) => {
    expect(() => casesOf(fixed, environment)).toThrow('PURSER_TEST_SEED');
  });
});
