/**
 * Makes `dist` of `src`, file by file and only of what changed: every `npm start` and `npm run purser` waits for it. Types
 * are not looked at, which would take many times as long; `npm run check` does that.
 */
import { mkdirSync, readdirSync, readFileSync, rmSync, statSync, utimesSync, writeFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import { basename, dirname, join, relative } from 'node:path';
import { fileURLToPath } from 'node:url';

const root = fileURLToPath(new URL('../', import.meta.url));
const sources = join(root, 'src');
const dist = join(root, 'dist');
/** Written at the end of every build that worked, and as old as its beginning: what is saved meanwhile is newer. */
const built = join(dist, '.built');
/** What every file is made with. */
const means = ['tsconfig.json', 'tsconfig.build.json', 'package-lock.json', 'scripts/build.mjs'];

/** @param {string} path */
function changedAtMs(path) {
  return statSync(path, { throwIfNoEntry: false })?.mtimeMs ?? 0;
}

/** @param {string} directory @returns {string[]} */
function filesIn(directory) {
  return readdirSync(directory, { withFileTypes: true }).flatMap((entry) => {
    const path = join(directory, entry.name);
    return entry.isDirectory() ? filesIn(path) : [path];
  });
}

/** @param {string} source */
const targetOf = (source) => join(dist, relative(sources, source)).replace(/\.ts$/, '.js');

/** @param {readonly string[]} changed @returns {boolean} whether all of them could be read */
function compile(changed) {
  /** @type {typeof import('typescript')} */
  const ts = createRequire(import.meta.url)('typescript');
  const { config } = ts.readConfigFile(join(root, 'tsconfig.build.json'), ts.sys.readFile);
  const { options } = ts.parseJsonConfigFileContent(config, ts.sys, root);
  // Alone, a file does not know the package it is in, and whether that is one of modules.
  const modules = { module: ts.ModuleKind.ESNext, moduleResolution: ts.ModuleResolutionKind.Bundler };
  const compilerOptions = { ...options, ...modules };
  const faults = changed.flatMap((source) => {
    const target = targetOf(source);
    const { outputText, sourceMapText, diagnostics } = ts.transpileModule(readFileSync(source, 'utf8'), {
      fileName: source,
      compilerOptions,
      reportDiagnostics: true,
    });
    mkdirSync(dirname(target), { recursive: true });
    writeFileSync(target, outputText);
    if (sourceMapText !== undefined) {
      const map = { ...JSON.parse(sourceMapText), sources: [relative(dirname(target), source)] };
      writeFileSync(`${target}.map`, JSON.stringify({ ...map, file: basename(target) }));
    }
    return diagnostics ?? [];
  });
  const host = {
    getCanonicalFileName: (/** @type {string} */ name) => name,
    getCurrentDirectory: () => root,
    getNewLine: () => '\n',
  };
  process.stderr.write(ts.formatDiagnostics(faults, host));
  return faults.length === 0;
}

/** Not where only what runs was kept: a build before that is all there is then. */
function hasCompiler() {
  try {
    createRequire(import.meta.url).resolve('typescript');
    return true;
  } catch {
    return false;
  }
}

const startedAt = new Date();
const builtMs = changedAtMs(built);
const canCompile = hasCompiler();
// Without the compiler none of its means counts: removing it has changed one of them.
const isAnew = canCompile && means.some((path) => changedAtMs(join(root, path)) >= builtMs);
const all = filesIn(sources).filter((path) => !path.endsWith('.test.ts') && /\.[jt]s$/.test(path));
const changed = all.filter(
  (path) => isAnew || changedAtMs(path) >= builtMs || changedAtMs(targetOf(path)) === 0,
);
const wanted = new Set([built, ...all.flatMap((path) => [targetOf(path), `${targetOf(path)}.map`])]);
mkdirSync(dist, { recursive: true });
for (const file of filesIn(dist).filter((path) => !wanted.has(path))) {
  rmSync(file);
}
if (changed.length > 0 && !canCompile) {
  process.stderr.write(
    'The compiler is not installed, and there is something to build: run `npm ci` first.\n',
  );
  process.exitCode = 1;
} else if (changed.length > 0) {
  if (compile(changed)) {
    writeFileSync(built, '');
    utimesSync(built, startedAt, startedAt);
  } else {
    process.exitCode = 1;
  }
}
