/**
 * Makes `dist` of `src`: few files, since a start that has to find and read a thousand takes longer to load them than to run
 * them. Nothing is done where nothing changed: every `npm start` and `npm run purser` waits for it. Types are not looked at,
 * which would take many times as long; `npm run check` does that.
 */
import { readdirSync, readFileSync, rmSync, statSync, utimesSync, writeFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import { join, relative, resolve } from 'node:path';
import { fileURLToPath } from 'node:url';

const root = fileURLToPath(new URL('../', import.meta.url));
const sources = join(root, 'src');
const dist = join(root, 'dist');
/** Written at the end of every build that worked, and as old as its beginning: what is saved meanwhile is newer. */
const built = join(dist, '.built');
/** What everything is made with. */
const means = ['tsconfig.json', 'package-lock.json', 'scripts/build.mjs'];

/** What is started by its path: the command line, the threads, and what a test starts with faults in its hands. */
const entries = [/^main\.ts$/, /-worker\.js$/, /^(server\/service|config\/settings|platform\/log)\.ts$/];
/** Libraries stay where they were installed, but for this one, which has a file for each of its functions. */
const libraryInside = /^typebox(\/|$)/;

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

/** Of the file that asks, when it runs. */
const topOfDist = 'import.meta.url.replace(/(.*\\/dist\\/).*/, "$1")';

/** @param {string} source */
const nameOf = (source) => relative(sources, source);

/**
 * A file that looks for another beside itself finds it where its own place in `dist` would be. It may have been put into any of
 * the files there, at the top or in a folder. @type {import('esbuild').Plugin}
 */
const ownPlaces = {
  name: 'own places',
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
    plugins: [ownPlaces, librariesOutside],
  });
  return new Set(Object.keys(metafile.outputs).map((path) => resolve(root, path)));
}

/** Not where only what runs was kept: a build before that is all there is then. */
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
// Without the bundler none of its means counts: removing it has changed one of them.
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
    // It has said itself what is wrong, and where.
    process.exitCode = 1;
  }
}
