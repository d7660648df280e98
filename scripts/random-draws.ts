/** Finds random values in tests without a fixed seed: `npm test` must be deterministic. */

interface Rule {
  readonly pattern: RegExp;
  readonly reason: string;
}

const useSeeds = 'use seedsOf in test/support/seeds.ts';

const rules: readonly Rule[] = [
  { pattern: /\bMath\s*\.\s*random\b/g, reason: `Math.random has no seed: ${useSeeds}` },
  { pattern: /\brandomInt\b/g, reason: `randomInt has no seed: ${useSeeds}` },
  { pattern: /\bgetRandomValues\b/g, reason: `getRandomValues has no seed: ${useSeeds}` },
  {
    pattern: /\bPURSER_TEST_SEED\b/g,
    reason: `only test/support/random-tests.ts reads the seed: ${useSeeds}`,
  },
  {
    pattern:
      /\bseeds?\w*\s*(?:=(?!=|>)|:|\()[^;\n]*\b(?:Date\s*\.\s*now|performance\s*\.\s*now|hrtime|new Date\(\))/gi,
    reason: `the clock is not a seed: ${useSeeds}`,
  },
  {
    pattern: /\bRandom\s*\([^;\n]*\b(?:Date\s*\.\s*now|performance\s*\.\s*now|hrtime)/g,
    reason: `the clock is not a seed: ${useSeeds}`,
  },
  {
    pattern: /\bfc\s*\.\s*(?:assert|check|sample|statistics)\b/g,
    reason: `fast-check draws a seed by itself: ${useSeeds}`,
  },
  {
    pattern: /\bimport\s+(?!fc\s+from\b|type\b)[^;]*?from\s+'fast-check'/g,
    reason: 'fast-check is imported as fc, so that its calls are found',
  },
];

/** Returns the lines of a test or support file with a random value without a fixed seed. */
export function findRandomDraws(text: string): string[] {
  const code = withoutComments(text);
  return rules.flatMap(({ pattern, reason }) =>
    [...code.matchAll(pattern)].map(({ index }) => `line ${lineAt(code, index)}: ${reason}`),
  );
}

/** Replaces comments with spaces, so that line numbers stay the same. Whole lines only: a `//` may be part of a URL. */
function withoutComments(text: string): string {
  return text
    .replaceAll(/\/\*[\s\S]*?\*\//g, (comment) => comment.replaceAll(/[^\n]/g, ' '))
    .replaceAll(/^\s*\/\/.*$/gm, '');
}

function lineAt(text: string, index: number): number {
  return text.slice(0, index).split('\n').length;
}
