/**
 * Checks the layout of capability folders, circular imports between folders, random values without a fixed seed in tests, long lines
 * of markup, names of types that are declared twice, and migrations.
 */
import { existsSync, readdirSync, readFileSync, statSync } from 'node:fs';
import { join } from 'node:path';
import { version } from '../src/config/version.ts';
import { readMigrations } from '../src/platform/db/migration-files.ts';
import { findFolderCycles } from './folder-cycles.ts';
import { findLongLines } from './long-lines.ts';
import { migrationProblems } from './migration-rules.ts';
import { findRandomDraws } from './random-draws.ts';
import { findLastRelease, releasedMigrations } from './release/last-release.ts';
import { findRepeatedTypeNames } from './type-names.ts';

const problems: string[] = [];
const capabilitiesFolder = 'src/capabilities';
const folderName = /^[a-z]+(-[a-z]+)*$/;
const fileName = /^([a-z0-9]+(-[a-z0-9]+)*(\.test)?\.tsx?|README\.md)$/;

const foldersIn = (folder: string) =>
  readdirSync(folder).map((name) => {
    if (!folderName.test(name)) {
      problems.push(`${join(folder, name)}: use lowercase words with hyphens as a folder name`);
    }
    return join(folder, name);
  });

for (const capability of foldersIn(capabilitiesFolder).flatMap(foldersIn)) {
  for (const required of ['README.md', 'index.ts']) {
    if (!existsSync(join(capability, required))) {
      problems.push(`${capability}: ${required} is missing`);
    }
  }
  for (const name of readdirSync(capability)) {
    const path = join(capability, name);
    if (statSync(path).isDirectory()) {
      if (name !== 'kinds') {
        problems.push(`${path}: a capability has no subfolders, except for the kinds of what varies`);
      }
    } else if (!fileName.test(name)) {
      problems.push(`${path}: use lowercase words with hyphens as a file name`);
    }
  }
}

problems.push(...findFolderCycles('src', { shelves: [capabilitiesFolder] }));

/** Files that may use random values: the seed helpers, and the test of the rule. */
const mayDraw = ['test/support/random-tests.ts', 'test/support/seeds.ts', 'test/random-draws.test.ts'];

for (const folder of ['src', 'packages', 'test']) {
  for (const file of readdirSync(folder, { recursive: true, encoding: 'utf8' })) {
    const path = join(folder, file);
    const isTest = folder === 'test' ? /\.(ts|mjs)$/.test(file) : file.endsWith('.test.ts');
    if (isTest && !mayDraw.includes(path)) {
      problems.push(...findRandomDraws(readFileSync(path, 'utf8')).map((problem) => `${path}, ${problem}`));
    }
  }
}

for (const file of readdirSync('src/console', { recursive: true, encoding: 'utf8' })) {
  if (file.endsWith('.ts')) {
    const path = join('src/console', file);
    problems.push(...findLongLines(readFileSync(path, 'utf8')).map((problem) => `${path}, ${problem}`));
  }
}

const sources = readdirSync('src', { recursive: true, encoding: 'utf8' }).filter(
  (file) => file.endsWith('.ts') && !file.endsWith('.test.ts'),
);
problems.push(
  ...findRepeatedTypeNames(
    new Map(sources.map((file) => [join('src', file), readFileSync(join('src', file), 'utf8')])),
  ),
);

try {
  const last = findLastRelease();
  const released = last && { version: last.version, migrations: releasedMigrations(last) };
  problems.push(...migrationProblems(await readMigrations(), { version, released }));
} catch (error) {
  problems.push(error instanceof Error ? error.message : String(error));
}

for (const problem of problems) {
  process.stderr.write(`${problem}\n`);
}
process.exitCode = problems.length === 0 ? 0 : 1;
