/** Command-line tools from PyPI for tests, in an environment below node_modules that is kept for the next run. */
import { execFileSync } from 'node:child_process';
import { existsSync, rmSync, writeFileSync } from 'node:fs';
import { join, resolve } from 'node:path';

const environment = resolve(import.meta.dirname, '../../node_modules/.cache/python-tools');

/** Returns the directory of the installed tools, or undefined if they cannot be installed here. */
export function installPythonTools(packages: readonly string[]): string | undefined {
  const bin = join(environment, 'bin');
  const complete = join(environment, packages.join('+'));
  if (existsSync(complete)) {
    return bin;
  }
  try {
    rmSync(environment, { recursive: true, force: true });
    execFileSync('python3', ['-m', 'venv', environment], { stdio: 'pipe' });
    execFileSync(join(bin, 'pip'), ['install', '--quiet', ...packages], { stdio: 'pipe' });
    writeFileSync(complete, '');
    return bin;
  } catch {
    return undefined;
  }
}
