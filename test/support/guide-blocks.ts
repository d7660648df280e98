/** Runs the shell blocks of documents in order, as a reader would. */
import { execFile, execFileSync } from 'node:child_process';
import { chmodSync, mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join, resolve } from 'node:path';
import { promisify } from 'node:util';

export const repository = resolve(import.meta.dirname, '../..');

/** Returns the shell blocks of a document, with the text that `replacements` name replaced. */
export function shellBlocks(document: string, replacements: Readonly<Record<string, string>>): string[] {
  const text = readFileSync(join(repository, document), 'utf8');
  return [...text.matchAll(/^```sh\n(.*?)^```$/gms)].map(([, block = '']) =>
    Object.entries(replacements).reduce((result, [from, to]) => result.replaceAll(from, to), block),
  );
}

/**
 * Runs all blocks in one shell, so that variables are kept between blocks, as for a reader. Does not block this process, which may run
 * the provider that they call.
 */
export async function runBlocks(
  blocks: readonly string[],
  options: { readonly cwd: string; readonly env: NodeJS.ProcessEnv },
): Promise<string> {
  const script = ['set -euo pipefail', ...blocks].join('\n');
  const { stdout } = await promisify(execFile)('bash', ['-c', script], options);
  return stdout;
}

/**
 * Readers run the blocks in the repository; tests run them in an empty folder, so that they leave no files behind.
 * Returns a directory with an `npm` that works in the repository. It skips `npm ci`, `npm test` and the build, which have already
 * run, and installs packages by a link to those of the repository. It starts the command line as the script of `package.json` does,
 * without npm, which takes twice as much CPU time as most commands.
 */
export function npmInTheRepository(folder: string): string {
  const bin = join(folder, 'bin');
  mkdirSync(bin);
  const npm = execFileSync('which', ['npm'], { encoding: 'utf8' }).trim();
  const { scripts } = JSON.parse(readFileSync(join(repository, 'package.json'), 'utf8'));
  const commandLine = scripts.purser.replace('npm run --silent build && ', '');
  const script = `#!/bin/sh
case "$1" in
  ci|test) exit 0 ;;
  install)
    # Otherwise it would change the package.json of the reader's clone.
    test "$2" = --no-save || exit 1
    case "$3" in
      # A folder is linked next to the installed packages.
      ./packages/*)
        rm -f node_modules && mkdir -p node_modules/@purser
        ln -sfn '${repository}/node_modules'/* node_modules/
        exec ln -sfn "${repository}/$3" node_modules/@purser/ ;;
      *) test -d node_modules || ln -sfn '${repository}/node_modules' node_modules; exit 0 ;;
    esac ;;
  run)
    if test "$2 $3 $4" = '--silent purser --'; then
      shift 4
      cd '${repository}' && exec ${commandLine} "$@"
    fi ;;
esac
cd '${repository}' && exec '${npm}' "$@"
`;
  writeFileSync(join(bin, 'npm'), script);
  chmodSync(join(bin, 'npm'), 0o755);
  return bin;
}
