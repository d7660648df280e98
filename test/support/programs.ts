/**
 * Programs of other versions, each in its own folder: the package of a release, or the current build with another version and
 * more migrations. They use the third-party packages of this repository, not the versions of their own release.
 */
import { execFileSync } from 'node:child_process';
import { cpSync, mkdtempSync, readFileSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join, resolve } from 'node:path';
import { type Spawned, spawnNode } from './child-process.ts';
import { type ServiceProcess, serviceOf } from './service-process.ts';

const repository = resolve(import.meta.dirname, '../..');

export interface Program {
  readonly version: string;
  readonly directory: string;
  run(args: readonly string[], env: NodeJS.ProcessEnv): Spawned;
  serve(env: Record<string, string>): Promise<ServiceProcess>;
  remove(): void;
}

/** Unpacks a package that `npm run release` has made. */
export function unpackProgram(file: string): Program {
  const directory = mkdtempSync(join(tmpdir(), 'purser-program-'));
  execFileSync('tar', ['-xzf', file, '-C', directory, '--strip-components=1']);
  return program(directory);
}

/** Copies the current build, so that it finds the migrations and the version beside it. */
export function copyProgram(change: { version?: string; migrations?: Record<string, string> } = {}): Program {
  const directory = mkdtempSync(join(tmpdir(), 'purser-program-'));
  for (const name of ['assets', 'dist', 'migrations']) {
    cpSync(join(repository, name), join(directory, name), { recursive: true });
  }
  for (const [name, sql] of Object.entries(change.migrations ?? {})) {
    writeFileSync(join(directory, 'migrations', name), sql);
  }
  const manifest = JSON.parse(readFileSync(join(repository, 'package.json'), 'utf8'));
  writeFileSync(
    join(directory, 'package.json'),
    JSON.stringify({ ...manifest, ...(change.version !== undefined && { version: change.version }) }),
  );
  return program(directory);
}

function program(directory: string): Program {
  symlinkSync(join(repository, 'node_modules'), join(directory, 'node_modules'));
  const { version } = JSON.parse(readFileSync(join(directory, 'package.json'), 'utf8')) as {
    version: string;
  };
  const run = (args: readonly string[], env: NodeJS.ProcessEnv) =>
    spawnNode([join(directory, 'dist/main.js'), ...args], env);
  return {
    version,
    directory,
    run,
    serve: (env) => serviceOf(run(['serve'], env)),
    remove: () => rmSync(directory, { recursive: true, force: true }),
  };
}
