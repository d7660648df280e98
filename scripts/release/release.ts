/**
 * `npm run release`: releases the version of package.json. Refuses if anything is not ready, before it changes a file. Then it
 * dates the release, records the contract as released, packs the program, commits and tags. It pushes nothing.
 *
 *   npm run release -- --dry-run        all checks that take no tests, and the package in a temporary folder
 *   npm run release -- --next <version> begins the next version
 */
import { execFileSync } from 'node:child_process';
import { createHash } from 'node:crypto';
import {
  copyFileSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  rmSync,
  statSync,
  writeFileSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import { basename, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { parseArgs } from 'node:util';
import { isNewer, isVersion } from '../../src/kernel/versions.ts';
import { checkProject } from '../contract/project.ts';
import { readProject } from '../contract/read-project.ts';
import { clientFolder, clientProblems } from './client-package.ts';
import { licenceProblems } from './licences.ts';
import { readLockFile } from './lock-file.ts';
import { pack } from './pack.ts';
import { dated, releaseProblems, withNextVersion } from './readiness.ts';
import { readTarball } from './tarball.ts';

const root = fileURLToPath(new URL('../../', import.meta.url));
const artifacts = join(root, 'releases');
const changelogFile = join(root, 'CHANGELOG.md');
const ledgerFile = join(root, 'src/contract/releases.ts');

const { values } = parseArgs({
  options: { 'dry-run': { type: 'boolean', default: false }, next: { type: 'string' } },
});
try {
  await (values.next === undefined ? release(values['dry-run']) : beginVersion(values.next));
} catch (error) {
  process.stderr.write(`${error instanceof Error ? error.message : String(error)}\n`);
  process.exitCode = 1;
}

async function release(dryRun: boolean): Promise<void> {
  const version = await requireReady();
  if (dryRun) {
    npm('run', 'build');
    describePackage(pack(root, mkdtempSync(join(tmpdir(), 'purser-release-'))));
    return;
  }
  npm('run', 'check');
  npm('test');
  npm('run', 'test:upgrade');
  try {
    writeTexts(dated(readTexts(), version, new Date().toISOString().slice(0, 10)));
    npm('run', 'contract:record');
    copyFileSync(join(root, 'contract/published.json'), join(root, 'contract/released.json'));
    npm('run', 'build');
    mkdirSync(artifacts, { recursive: true });
    const file = pack(root, artifacts);
    // The upgrade test needs the last release only; earlier ones are in the history.
    for (const name of readdirSync(artifacts).filter(
      (name) => name.endsWith('.tgz') && name !== basename(file),
    )) {
      rmSync(join(artifacts, name));
    }
    describePackage(file);
    npm('run', 'check');
  } catch (error) {
    git('checkout', '--', '.');
    git('clean', '-fdq', 'releases', 'contract');
    throw error;
  }
  git('add', '--all');
  git('commit', '--quiet', '--message', `release: ${version}`);
  git('tag', '--annotate', `v${version}`, '--message', `Purser ${version}`);
  print(`Committed and tagged v${version}. Push both, then run \`npm run release -- --next <version>\`.`);
}

/** Returns the version to release. */
async function requireReady(): Promise<string> {
  const project = await readProject();
  const lock = readLockFile();
  const problems = releaseProblems({
    changedFiles: git('status', '--porcelain')
      .split('\n')
      .filter(Boolean)
      .map((line) => line.slice(3)),
    tags: git('tag', '--list').split('\n'),
    packageVersion: project.packageVersion,
    lockVersion: lock.version,
    clientProblems: clientProblems(root, project.packageVersion),
    releases: project.releases,
    changelog: project.changelog,
    notServedYet: project.notServedYet,
    contractProblems: checkProject(project),
    licenceProblems: licenceProblems(lock),
  });
  if (problems.length > 0) {
    throw new Error(`Not ready to release ${project.packageVersion}:\n  ${problems.join('\n  ')}`);
  }
  return project.packageVersion;
}

async function beginVersion(version: string): Promise<void> {
  const { packageVersion } = await readProject();
  if (!isVersion(version) || !isNewer(version, packageVersion)) {
    throw new Error(`--next must be a version newer than ${packageVersion}, in the form 1.2.3`);
  }
  writeTexts(withNextVersion(readTexts(), version));
  npm('version', version, '--no-git-tag-version', '--ignore-scripts');
  npm('--prefix', clientFolder, 'version', version, '--no-git-tag-version', '--ignore-scripts');
  npm('run', 'contract:record');
  print(`Began ${version}. Commit the changes.`);
}

function readTexts(): { changelog: string; ledger: string } {
  return { changelog: readFileSync(changelogFile, 'utf8'), ledger: readFileSync(ledgerFile, 'utf8') };
}

function writeTexts({ changelog, ledger }: { changelog: string; ledger: string }): void {
  writeFileSync(changelogFile, changelog);
  writeFileSync(ledgerFile, ledger);
}

function describePackage(file: string): void {
  const digest = createHash('sha256').update(readFileSync(file)).digest('hex');
  print(
    `${file}: ${readTarball(file).size} files, ${Math.round(statSync(file).size / 1_000)} KB\nsha256 ${digest}`,
  );
}

function npm(...args: string[]): void {
  execFileSync('npm', args, { cwd: root, stdio: 'inherit' });
}

function git(...args: string[]): string {
  return execFileSync('git', args, { cwd: root, encoding: 'utf8' });
}

function print(line: string): void {
  process.stdout.write(`${line}\n`);
}
