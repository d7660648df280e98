/** A build compiles what changed. An up-to-date build still works once the compiler is no longer installed. */
import { execFileSync, spawnSync } from 'node:child_process';
import {
  cpSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
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
  for (const file of ['scripts/build.mjs', 'tsconfig.json', 'package.json']) {
    cpSync(join(repository, file), join(directory, file));
  }
  writeFileSync(join(directory, 'package-lock.json'), '{}');
  mkdirSync(join(directory, 'src/deep'), { recursive: true });
  mkdirSync(join(directory, 'node_modules'));
  installBundler();
});
afterAll(() => rmSync(directory, { recursive: true, force: true }));

function build() {
  const { status, stderr } = spawnSync(process.execPath, ['scripts/build.mjs'], {
    cwd: directory,
    encoding: 'utf8',
  });
  return { status, stderr };
}

function installBundler(): void {
  symlinkSync(join(repository, 'node_modules/esbuild'), join(directory, 'node_modules/esbuild'));
}

/**
 * Modification time of the last saved file. It grows in large steps, because the clock of a file system may be coarse.
 */
let later = Date.now();
function saveLater(path: string, text: string): void {
  later += 10_000;
  writeFileSync(join(directory, path), text);
  utimesSync(join(directory, path), later / 1_000, later / 1_000);
}
const run = () => execFileSync(process.execPath, ['dist/main.js'], { cwd: directory, encoding: 'utf8' });

test('without the compiler what was built stays, unless something else is to be built', () => {
  saveLater('src/main.ts', 'const answer: number = 41;\nconsole.log(answer);\n');
  expect(build()).toEqual({ status: 0, stderr: '' });
  expect(run()).toBe('41\n');
  // The source must not be newer than its build output.
  utimesSync(join(directory, 'dist/.built'), later / 1_000 + 1, later / 1_000 + 1);

  rmSync(join(directory, 'node_modules/esbuild'));
  saveLater('package-lock.json', '{"pruned": true}');
  expect(build()).toEqual({ status: 0, stderr: '' });
  expect(run()).toBe('41\n');

  saveLater('src/main.ts', 'console.log(42);\n');
  expect(build()).toEqual({
    status: 1,
    stderr: expect.stringMatching(/^The compiler is not installed.*npm ci/),
  });
  expect(run()).toBe('41\n');
  installBundler();
});

test('what changed is built, what is wrong is named and leaves what was built, what is gone is removed', () => {
  saveLater('src/later.ts', "export const word = 'one';\n");
  saveLater('src/main.ts', "const { word } = await import('./later.ts');\nconsole.log(word);\n");
  expect(build()).toEqual({ status: 0, stderr: '' });
  expect(run()).toBe('one\n');

  saveLater('src/later.ts', "export const word = 'two';\n");
  expect(build()).toEqual({ status: 0, stderr: '' });
  expect(run()).toBe('two\n');
  const files = readdirSync(join(directory, 'dist')).filter((name) => /^later-.*\.js$/.test(name));
  expect(files, 'the older one was removed').toHaveLength(1);

  saveLater('src/later.ts', 'export const word = ;\n');
  expect(build()).toEqual({ status: 1, stderr: expect.stringContaining('src/later.ts:1:20') });
  expect(run()).toBe('two\n');
});

test('a file finds what lies beside it in `dist`, whichever file it became a part of', () => {
  saveLater('src/deep/place.ts', "export const place = new URL('./one-worker.js', import.meta.url).href;\n");
  saveLater('src/deep/one-worker.js', "console.log('from beside');\n");
  saveLater('src/main.ts', "import { place } from './deep/place.ts';\nawait import(place);\n");
  expect(build()).toEqual({ status: 0, stderr: '' });
  expect(run()).toBe('from beside\n');
});
