/**
 * Bundles `src` into `dist`: few files, since finding and reading a thousand takes longer than running them. Skipped if nothing
 * has changed, because every `npm start` and `npm run purser` waits for it. Does not check types, which would take many times
 * as long; `npm run check` does.
 */
import { readdirSync, readFileSync, rmSync, statSync, utimesSync, writeFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import { join, relative, resolve } from 'node:path';
import { fileURLToPath } from 'node:url';

const root = fileURLToPath(new URL('../', import.meta.url));
const sources = join(root, 'src');
const dist = join(root, 'dist');
/** Marker of a successful build, dated at its start, so that files saved during the build are newer. */
const built = join(dist, '.built');
/** Inputs of every build. */
const means = ['tsconfig.json', 'package-lock.json', 'scripts/build.mjs'];

/** Entry points, loaded by path: the command line, the worker threads, and modules that fault-injection tests load. */
const entries = [/^main\.ts$/, /-worker\.js$/, /^(server\/service|config\/settings|platform\/log)\.ts$/];
/** Bundled libraries: one has a file for each of its functions, of the other a tenth is used. All others stay in `node_modules`. */
const libraryInside = /^(typebox|highlight\.js)(\/|$)/;

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

/** Expression that returns the URL of `dist` at run time, from any file in it. */
const topOfDist = 'import.meta.url.replace(/(.*\\/dist\\/).*/, "$1")';

/** @param {string} source */
const nameOf = (source) => relative(sources, source);

/**
 * Replaces `import.meta.url` with the URL that the module would have in `dist` without bundling, so that it finds files relative to
 * itself in whatever output file it ends up. @type {import('esbuild').Plugin}
 */
const unbundledUrls = {
  name: 'unbundled URLs',
  setup(build) {
    build.onLoad({ filter: /\.ts$/ }, ({ path }) => {
      const place = JSON.stringify(`./${nameOf(path).replace(/\.ts$/, '.js')}`);
      const text = readFileSync(path, 'utf8');
      return {
        loader: 'ts',
        contents: text.replaceAll('import.meta.url', () => `new URL(${place}, ${topOfDist}).href`),
      };
    });
  },
};

/** @type {import('esbuild').Plugin} */
const librariesOutside = {
  name: 'libraries outside',
  setup(build) {
    build.onResolve({ filter: /^[^.]/ }, ({ path, kind, importer }) => {
      const isOurs = kind === 'entry-point' || libraryInside.test(path) || !importer.startsWith(sources);
      return isOurs ? undefined : { path, external: true };
    });
  },
};

/** @param {readonly string[]} all @returns {Promise<Set<string>>} the files that were made */
async function bundle(all) {
  /** @type {typeof import('esbuild')} */
  const esbuild = createRequire(import.meta.url)('esbuild');
  const { metafile } = await esbuild.build({
    absWorkingDir: root,
    entryPoints: all.filter((path) => entries.some((entry) => entry.test(nameOf(path)))),
    outdir: dist,
    outbase: sources,
    bundle: true,
    splitting: true,
    format: 'esm',
    platform: 'node',
    target: 'node20',
    sourcemap: true,
    sourcesContent: false,
    metafile: true,
    plugins: [unbundledUrls, librariesOutside],
  });
  return new Set(Object.keys(metafile.outputs).map((path) => resolve(root, path)));
}

/** Returns false if development dependencies were removed; then the existing build is used. */
function hasBundler() {
  try {
    createRequire(import.meta.url).resolve('esbuild');
    return true;
  } catch {
    return false;
  }
}

const startedAt = new Date();
const builtMs = changedAtMs(built);
const canBundle = hasBundler();
const all = filesIn(sources).filter((path) => !path.endsWith('.test.ts') && /\.[jt]s$/.test(path));
// Without the bundler the other inputs are ignored, because its removal has changed one of them.
const counting = [...all, ...(canBundle ? means.map((path) => join(root, path)) : [])];
const isStale = counting.some((path) => changedAtMs(path) >= builtMs);
if (isStale && !canBundle) {
  process.stderr.write(
    'The compiler is not installed, and there is something to build: run `npm ci` first.\n',
  );
  process.exitCode = 1;
} else if (isStale) {
  try {
    const made = await bundle(all);
    for (const file of filesIn(dist).filter((path) => !made.has(path))) {
      rmSync(file);
    }
    writeFileSync(built, '');
    utimesSync(built, startedAt, startedAt);
  } catch {
    // esbuild has already reported the error.
    process.exitCode = 1;
  }
}
