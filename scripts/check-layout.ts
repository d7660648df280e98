/** House rules that no other tool checks: what a capability folder holds, and that tests draw nothing without a fixed seed. */
import { existsSync, readdirSync, readFileSync, statSync } from 'node:fs';
import { join } from 'node:path';
import { findRandomDraws } from './random-draws.ts';

const problems: string[] = [];
const root = 'src/capabilities';

for (const name of readdirSync(root)) {
  const folder = join(root, name);
  if (!/^[a-z]+(-[a-z]+)*$/.test(name)) {
    problems.push(`${folder}: a capability's name is lowercase words with hyphens`);
  }
  for (const wanted of ['README.md', 'index.ts']) {
    if (!existsSync(join(folder, wanted))) {
      problems.push(`${folder}: ${wanted} is missing`);
    }
  }
  for (const file of readdirSync(folder)) {
    const path = join(folder, file);
    if (statSync(path).isDirectory()) {
      problems.push(`${path}: a capability is one folder, without folders inside`);
    } else if (!/^([a-z0-9]+(-[a-z0-9]+)*(\.test)?\.tsx?|README\.md)$/.test(file)) {
      problems.push(`${path}: file names are lowercase words with hyphens`);
    }
  }
}

/** The helper that gives tests their seeds, and the test of the rule, which has to break it. */
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

for (const problem of problems) {
  process.stderr.write(`${problem}\n`);
}
process.exitCode = problems.length === 0 ? 0 : 1;
