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
  /** Versions of packages that npm packages depend on. */
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

async function fromPyPI(directory: string, { packages }: Tool): Promise<void> {
  await run('python3', ['-m', 'venv', directory]);
  await run(join(directory, 'bin/pip'), ['install', '--quiet', ...packages], { maxBuffer: outputBytesMax });
}
