/** A build makes what changed, and what was built runs on where the compiler is not installed any more. */
import { spawnSync } from 'node:child_process';
import {
  cpSync,
  mkdirSync,
  mkdtempSync,
  readFileSync,
  rmSync,
  symlinkSync,
  utimesSync,
  writeFileSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import { join, resolve } from 'node:path';
import { afterAll, beforeAll, expect, test } from 'vitest';

const repository = resolve(import.meta.dirname, '..');
let directory: string;

beforeAll(() => {
  directory = mkdtempSync(join(tmpdir(), 'purser-build-'));
  for (const file of ['scripts/build.mjs', 'tsconfig.json', 'tsconfig.build.json', 'package.json']) {
    cpSync(join(repository, file), join(directory, file));
  }
  writeFileSync(join(directory, 'package-lock.json'), '{}');
  mkdirSync(join(directory, 'src'));
  mkdirSync(join(directory, 'node_modules'));
  symlinkSync(join(repository, 'node_modules/typescript'), join(directory, 'node_modules/typescript'));
});
afterAll(() => rmSync(directory, { recursive: true, force: true }));

function build() {
  const { status, stderr } = spawnSync(process.execPath, ['scripts/build.mjs'], {
    cwd: directory,
    encoding: 'utf8',
  });
  return { status, stderr };
}

/** As if it had been saved later than everything so far: the clock of a file system may be coarse. */
let later = Date.now();
function saveLater(path: string, text: string): void {
  later += 10_000;
  writeFileSync(join(directory, path), text);
  utimesSync(join(directory, path), later / 1_000, later / 1_000);
}
const built = () => readFileSync(join(directory, 'dist/answer.js'), 'utf8');

test('without the compiler what was built stays, unless something else is to be built', () => {
  saveLater('src/answer.ts', 'export const answer: number = 41;\n');
  expect(build()).toEqual({ status: 0, stderr: '' });
  expect(built()).toContain('answer = 41');
  // So that the source is not newer than what was built of it.
  utimesSync(join(directory, 'dist/.built'), later / 1_000 + 1, later / 1_000 + 1);

  rmSync(join(directory, 'node_modules'), { recursive: true });
  saveLater('package-lock.json', '{"pruned": true}');
  expect(build()).toEqual({ status: 0, stderr: '' });
  expect(built()).toContain('answer = 41');

  saveLater('src/answer.ts', 'export const answer: number = 42;\n');
  expect(build()).toEqual({
    status: 1,
    stderr: expect.stringMatching(/^The compiler is not installed.*npm ci/),
  });
  expect(built()).toContain('answer = 41');
});
