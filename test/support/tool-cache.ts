/**
 * Programs of others from npm and PyPI, for tests and the bench. Each has a folder of its own outside the repository, which is kept for
 * the next run: below PURSER_TOOLS_DIR, or else below the user's cache.
 */
import { execFile } from 'node:child_process';
import { mkdir, readFile, rm, writeFile } from 'node:fs/promises';
import { homedir } from 'node:os';
import { join } from 'node:path';
import { promisify } from 'node:util';

export interface Installed {
  readonly directory: string;
}

export interface NotInstalled {
  /** Reason, in one line. */
  readonly missing: string;
}

export interface Tool {
  /** Name of the folder. */
  readonly name: string;
  readonly from: 'npm' | 'PyPI';
  /** Packages with their exact versions. A change of the list installs again. */
  readonly packages: readonly string[];
  /** The lowest version of Python that runs them, such as `3.12`. By default any. */
  readonly python?: string;
  /** Versions of packages that the packages depend on, used instead of those that they require. */
  readonly overrides?: Readonly<Record<string, string>>;
}

const run = promisify(execFile);
const outputBytesMax = 64 * 1024 * 1024;

/** Installs the packages, unless they are installed. Scripts of npm packages are not run. */
export async function install(tool: Tool): Promise<Installed | NotInstalled> {
  const directory = join(toolsDirectory(), tool.name);
  const marker = join(directory, 'installed');
  const wanted = JSON.stringify([tool.packages, tool.overrides]);
  if ((await readFile(marker, 'utf8').catch(() => undefined)) === wanted) {
    return { directory };
  }
  try {
    await rm(directory, { recursive: true, force: true });
    await mkdir(directory, { recursive: true });
    await (tool.from === 'npm' ? fromNpm : fromPyPI)(directory, tool);
    await writeFile(marker, wanted);
    return { directory };
  } catch (error) {
    const [line] = String(error instanceof Error ? error.message : error).split('\n');
    return { missing: `${tool.name} could not be installed from ${tool.from}: ${line}` };
  }
}

function toolsDirectory(): string {
  return (
    process.env.PURSER_TOOLS_DIR ??
    join(process.env.XDG_CACHE_HOME ?? join(homedir(), '.cache'), 'purser-tools')
  );
}

async function fromNpm(directory: string, { packages, overrides = {} }: Tool): Promise<void> {
  await writeFile(join(directory, 'package.json'), JSON.stringify({ private: true, overrides }));
  const options = ['--no-save', '--no-audit', '--no-fund', '--ignore-scripts', '--prefix', directory];
  await run('npm', ['install', ...options, ...packages], { maxBuffer: outputBytesMax });
}

async function fromPyPI(directory: string, { packages, overrides, python = '3.0' }: Tool): Promise<void> {
  await runPython(python, ['-m', 'venv', directory]);
  const pip = (...wanted: readonly string[]) =>
    run(join(directory, 'bin/pip'), ['install', '--quiet', ...wanted], { maxBuffer: outputBytesMax });
  if (overrides === undefined) {
    await pip(...packages);
    return;
  }
  // pip installs no other version than a package requires.
  await pip('uv');
  const file = join(directory, 'overrides.txt');
  await writeFile(
    file,
    Object.entries(overrides)
      .map((override) => override.join(''))
      .join('\n'),
  );
  const options = ['--quiet', '--python', join(directory, 'bin/python'), '--override', file];
  await run(join(directory, 'bin/uv'), ['pip', 'install', ...options, ...packages], {
    maxBuffer: outputBytesMax,
  });
}

/** Newer versions that may be installed beside `python3`. */
const pythonMinors = [12, 13, 14];

/** Runs the first Python of this version or a later one. pyenv selects a version by the variable. */
async function runPython(lowest: string, args: readonly string[]): Promise<void> {
  const [, lowestMinor = '0'] = lowest.split('.');
  const later = pythonMinors.filter((minor) => minor >= Number(lowestMinor));
  const check = `import sys; sys.exit(sys.version_info < (3, ${lowestMinor}))`;
  const candidates = [
    { program: 'python3', env: process.env },
    ...later.map((minor) => ({
      program: `python3.${minor}`,
      env: { ...process.env, PYENV_VERSION: `3.${minor}` },
    })),
  ];
  for (const { program, env } of candidates) {
    const fits = await run(program, ['-c', check], { env }).then(
      () => true,
      () => false,
    );
    if (fits) {
      await run(program, [...args], { env });
      return;
    }
  }
  throw new Error(`there is no Python ${lowest} or later`);
}
