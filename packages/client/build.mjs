/**
 * Builds the package into `dist`: a module per entry, with what they share in further modules, and the types. The usage extraction of the
 * gateway (`src/kernel/providers`) is bundled, so that the package has no dependencies.
 *
 *   node build.mjs            modules and types
 *   node build.mjs --no-types modules only, which takes a fraction of the time
 */
import { mkdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import { dirname, join, relative, resolve } from 'node:path';
import { fileURLToPath } from 'node:url';

const folder = dirname(fileURLToPath(import.meta.url));
const sources = join(folder, 'src');
const dist = join(folder, 'dist');
const require = createRequire(import.meta.url);
const entries = ['index', 'node', 'webhooks'];

/** @param {string} outdir */
export async function buildModules(outdir) {
  /** @type {typeof import('esbuild')} */
  const esbuild = require('esbuild');
  await esbuild.build({
    absWorkingDir: folder,
    entryPoints: entries.map((name) => join(sources, `${name}.ts`)),
    outdir,
    bundle: true,
    splitting: true,
    format: 'esm',
    platform: 'neutral',
    target: 'es2022',
    external: ['node:*'],
    legalComments: 'none',
  });
}

/** Writes the declarations that the entries refer to. @param {string} outdir */
function buildTypes(outdir) {
  /** @type {typeof import('typescript')} */
  const ts = require('typescript');
  const root = resolve(folder, '../..');
  const config = ts.readConfigFile(join(root, 'tsconfig.json'), ts.sys.readFile).config;
  const { tsBuildInfoFile: _, ...compilerOptions } = config.compilerOptions;
  const { options } = ts.convertCompilerOptionsFromJson(compilerOptions, root);
  const declarations = new Map();
  const program = ts.createProgram(
    entries.map((name) => join(sources, `${name}.ts`)),
    {
      ...options,
      noEmit: false,
      incremental: false,
      declaration: true,
      emitDeclarationOnly: true,
      rootDir: root,
      outDir: root,
    },
  );
  const { diagnostics } = program.emit(undefined, (path, text) => declarations.set(resolve(path), text));
  const problems = [...ts.getPreEmitDiagnostics(program), ...diagnostics];
  if (problems.length > 0) {
    throw new Error(
      ts.formatDiagnostics(problems, {
        ...ts.sys,
        getNewLine: () => '\n',
        getCanonicalFileName: (name) => name,
      }),
    );
  }
  const written = new Set();
  /** @param {string} path */
  const write = (path) => {
    const text = declarations.get(path);
    if (written.has(path)) {
      return;
    }
    if (text === undefined || !path.startsWith(sources)) {
      throw new Error(`${relative(root, path)} is a part of the public types, and not of the package`);
    }
    written.add(path);
    const target = join(outdir, relative(sources, path));
    mkdirSync(dirname(target), { recursive: true });
    writeFileSync(target, text.replace(/(from ')(\.[^']+)\.ts'/g, "$1$2.js'"));
    for (const [, name] of text.matchAll(/from '(\.[^']+)\.ts'/g)) {
      write(resolve(dirname(path), `${name}.d.ts`));
    }
  };
  for (const name of entries) {
    write(join(sources, `${name}.d.ts`));
  }
}

if (process.argv[1] === fileURLToPath(import.meta.url)) {
  rmSync(dist, { recursive: true, force: true });
  await buildModules(dist);
  if (!process.argv.includes('--no-types')) {
    buildTypes(dist);
  }
  const { version } = JSON.parse(readFileSync(join(folder, 'package.json'), 'utf8'));
  process.stdout.write(`Built @purser/client ${version}.\n`);
}
