/**
 * Creates the package of the built program with `npm pack`, from a folder that contains its files and nothing else. Its
 * `npm-shrinkwrap.json` has the versions of the lock file, so that an installation runs what was tested.
 */
import { execFileSync } from 'node:child_process';
import { mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import type { LockFile } from './lock-file.ts';
import { packageManifest, packageProblems, readPackageFiles } from './package-contents.ts';
import { readTarball } from './tarball.ts';

/** Returns the path of the package in `into`. Throws if its contents are not as they should be. */
export function pack(root: string, into: string): string {
  const stage = mkdtempSync(join(tmpdir(), 'purser-pack-'));
  try {
    const files = readPackageFiles(root);
    const readJson = (name: string) => JSON.parse(readFileSync(join(root, name), 'utf8'));
    const written = new Map(files)
      .set('package.json', Buffer.from(packageManifest(readJson('package.json'))))
      .set('npm-shrinkwrap.json', Buffer.from(shrinkwrap(readJson('package-lock.json'))));
    for (const [path, content] of written) {
      mkdirSync(dirname(join(stage, path)), { recursive: true });
      writeFileSync(join(stage, path), content, { mode: path === 'dist/main.js' ? 0o755 : 0o644 });
    }
    const output = execFileSync('npm', ['pack', '--json', '--ignore-scripts', '--pack-destination', into], {
      cwd: stage,
      encoding: 'utf8',
      stdio: ['ignore', 'pipe', 'ignore'],
    });
    const [packed] = Object.values(JSON.parse(output)) as { filename: string }[];
    const file = join(into, packed?.filename ?? '');
    const problems = packageProblems(readTarball(file), files);
    if (problems.length > 0) {
      rmSync(file);
      throw new Error(problems.join('\n'));
    }
    return file;
  } finally {
    rmSync(stage, { recursive: true, force: true });
  }
}

/** The lock file without development dependencies. */
function shrinkwrap({ packages, ...rest }: LockFile): string {
  const { '': root = {}, ...others } = packages;
  const { devDependencies: _, ...runtimeRoot } = root;
  const kept = Object.entries(others).filter(
    ([, { dev, devOptional }]) => dev !== true && devOptional !== true,
  );
  return `${JSON.stringify({ ...rest, packages: { '': runtimeRoot, ...Object.fromEntries(kept) } }, null, 2)}\n`;
}
