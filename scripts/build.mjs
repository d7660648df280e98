/**
 * Compiles `src` to `dist`, unless `dist` is newer than everything it is made of: asking the compiler whether anything
 * changed takes it seconds, and every `npm start` and `npm run purser` would wait for that.
 */
import { spawnSync } from 'node:child_process';
import { existsSync, readdirSync, statSync, utimesSync } from 'node:fs';
import { createRequire } from 'node:module';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';

const root = fileURLToPath(new URL('../', import.meta.url));
/** Written by the compiler at the end of every build. */
const built = join(root, 'dist/.tsbuildinfo');
const sources = ['src', 'tsconfig.json', 'tsconfig.build.json', 'package-lock.json'];

/** @param {string} path */
function changedAtMs(path) {
  return statSync(path, { throwIfNoEntry: false })?.mtimeMs ?? 0;
}

/**
 * Folders count too: a file that is gone changes its folder alone.
 * @param {string} path
 * @returns {number}
 */
function newestMs(path) {
  const entries = statSync(path).isDirectory() ? readdirSync(path) : [];
  return Math.max(changedAtMs(path), ...entries.map((entry) => newestMs(join(path, entry))));
}

const startedAt = new Date();
if (sources.some((source) => newestMs(join(root, source)) >= changedAtMs(built))) {
  const compiler = createRequire(import.meta.url).resolve('typescript/bin/tsc');
  const { status } = spawnSync(process.execPath, [compiler, '-p', join(root, 'tsconfig.build.json')], {
    stdio: 'inherit',
  });
  if (existsSync(built)) {
    // As old as what was read: a source saved meanwhile is compiled the next time. What failed never counts as built.
    const builtAt = status === 0 ? startedAt : new Date(0);
    utimesSync(built, builtAt, builtAt);
  }
  process.exitCode = status ?? 1;
}
