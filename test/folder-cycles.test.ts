/** The rule of scripts/check-layout.ts that the imports between folders have no cycles. */
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { expect, test } from 'vitest';
import { findFolderCycles } from '../scripts/folder-cycles.ts';
import { scratch } from './support/scratch.ts';

/** Writes files with these imports. Returns the cycles found between their folders. */
function cyclesOf(files: Readonly<Record<string, readonly string[]>>, shelf?: string): string[] {
  const root = mkdtempSync(join(scratch, 'purser-test-'));
  try {
    for (const [path, imports] of Object.entries(files)) {
      mkdirSync(dirname(join(root, path)), { recursive: true });
      writeFileSync(join(root, path), imports.map((from) => `import '${from}';\n`).join(''));
    }
    const shelves = shelf === undefined ? [] : [join(root, shelf)];
    return findFolderCycles(root, { shelves }).map((problem) => problem.replaceAll(`${root}/`, ''));
  } finally {
    rmSync(root, { recursive: true });
  }
}

test('reports two folders that import each other, though no two files do', () => {
  expect(
    cyclesOf({ 'a/one.ts': ['../b/one.ts'], 'a/two.ts': [], 'b/one.ts': [], 'b/two.ts': ['../a/two.ts'] }),
  ).toEqual([
    expect.stringContaining('a and b import each other in a circle (a/one.ts imports b/one.ts)'),
    expect.stringContaining('b and a import each other in a circle (b/two.ts imports a/two.ts)'),
  ]);
});

test('reports a circle through a third folder, and one between a file and a folder beside it', () => {
  const third = { 'a/one.ts': ['../b/one.ts'], 'b/two.ts': ['../c/one.ts'], 'c/two.ts': ['../a/two.ts'] };
  expect(cyclesOf(third)).toHaveLength(3);
  expect(cyclesOf({ 'seam.ts': ['./parts/one.ts'], 'parts/two.ts': ['../seam.ts'] })).toHaveLength(2);
});

test('accepts imports in one direction, and groups on a shelf whose members form no circle', () => {
  expect(cyclesOf({ 'a/one.ts': ['../b/one.ts'], 'b/one.ts': ['./two.ts'], 'b/two.ts': [] })).toEqual([]);
  const groups = { 'shelf/a/one/x.ts': ['../../b/one/x.ts'], 'shelf/b/two/x.ts': ['../../a/two/x.ts'] };
  expect(cyclesOf(groups)).not.toEqual([]);
  expect(cyclesOf(groups, 'shelf')).toEqual([]);
});
