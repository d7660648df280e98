/** The package of a release: its files, the licences of its dependencies and its bill of materials. */
import { execFileSync } from 'node:child_process';
import { cpSync, mkdirSync, mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join, resolve } from 'node:path';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { licenceProblems, licencesDocument } from '../../scripts/release/licences.ts';
import { type LockFile, readLockFile } from '../../scripts/release/lock-file.ts';
import { pack } from '../../scripts/release/pack.ts';
import { packageProblems } from '../../scripts/release/package-contents.ts';
import { billOfMaterials } from '../../scripts/release/sbom.ts';
import { readTarball } from '../../scripts/release/tarball.ts';

const repository = resolve(import.meta.dirname, '../..');
let directory: string;
let files: Map<string, Buffer>;

/** A copy with a small program, because the build of the repository may be in progress. */
beforeAll(() => {
  directory = mkdtempSync(join(tmpdir(), 'purser-package-'));
  for (const path of [
    'assets',
    'migrations',
    'package.json',
    'package-lock.json',
    'LICENSE',
    'README.md',
    'CHANGELOG.md',
    'docs',
  ]) {
    cpSync(join(repository, path), join(directory, path), { recursive: true });
  }
  mkdirSync(join(directory, 'dist/platform'), { recursive: true });
  for (const name of ['main.js', 'main.js.map', '.built', 'platform/pglite-worker.js']) {
    writeFileSync(join(directory, 'dist', name), `// ${name}\n`);
  }
  files = readTarball(pack(directory, directory));
});
afterAll(() => rmSync(directory, { recursive: true, force: true }));

test('contains every file that the manifest names', () => {
  const { files: named } = JSON.parse(readFileSync(join(repository, 'package.json'), 'utf8')) as {
    files: string[];
  };
  const missing = named.filter((path) => /\.\w+$/.test(path) && !path.includes('*') && !files.has(path));
  expect(missing).toEqual([]);
});

test('contains the program, its migrations, assets and documentation, and nothing else', () => {
  const folder = (name: string) => readdirSync(join(repository, name)).map((file) => `${name}/${file}`);
  expect([...files.keys()].sort()).toEqual(
    [
      'CHANGELOG.md',
      'LICENSE',
      'README.md',
      'THIRD_PARTY_LICENSES.md',
      ...folder('assets'),
      'dist/main.js',
      'dist/platform/pglite-worker.js',
      ...folder('docs/guides'),
      ...folder('docs/images'),
      ...folder('docs/operations'),
      'docs/concepts.md',
      'docs/generated/examples.json',
      'docs/generated/purser.schema.json',
      'docs/generated/settings.md',
      ...folder('docs/generated').filter((file) => file.endsWith('.svg')),
      ...folder('migrations'),
      'npm-shrinkwrap.json',
      'package.json',
      'sbom.cdx.json',
    ].sort(),
  );
});

test('has no scripts and no development dependencies', () => {
  const manifest = JSON.parse(String(files.get('package.json')));
  expect(Object.keys(manifest)).not.toContain('scripts');
  expect(Object.keys(manifest)).not.toContain('devDependencies');
  const { packages } = JSON.parse(String(files.get('npm-shrinkwrap.json'))) as LockFile;
  expect(packages['']?.devDependencies).toBeUndefined();
  expect(packages['node_modules/vitest']).toBeUndefined();
  expect(packages['node_modules/pg']?.version).toBe(manifest.dependencies.pg);
});

test('is the same file each time', () => {
  const again = mkdtempSync(join(directory, 'again-'));
  const file = pack(directory, again);
  execFileSync('cmp', [file, join(directory, file.slice(again.length + 1))]);
});

test.each([
  ['src/main.ts', 'x', 'src/main.ts does not belong into the package'],
  ['dist/main.test.js', 'x', 'dist/main.test.js is a test'],
  ['dist/main.js.map', 'x', 'dist/main.js.map does not belong into the package'],
  ['.env', 'x', '.env does not belong into the package'],
  [
    'dist/other.js',
    'const root = "/home/builder/purser/src";',
    'dist/other.js names a path of this machine: /home/builder/',
  ],
  [
    'dist/linked.js',
    '// ../../work/purser/node_modules/typebox/build/type/index.mjs',
    'dist/linked.js names a path of this machine: /work/purser/',
  ],
])('is refused with %s', (path, content, problem) => {
  expect(packageProblems(new Map(files).set(path, Buffer.from(content)), files)).toContain(problem);
});

test('may name paths inside packages', () => {
  const bundled = Buffer.from('// node_modules/typebox/build/system/memory.mjs');
  expect(packageProblems(new Map(files).set('dist/bundled.js', bundled), files)).toEqual([]);
});

test('is refused without a migration', () => {
  const incomplete = new Map(files);
  incomplete.delete('migrations/0001_foundation.sql');
  expect(packageProblems(incomplete, files)).toEqual(['migrations/0001_foundation.sql is missing']);
});

describe('dependencies', () => {
  const lock = readLockFile();
  const withLicence = (license: string | undefined): LockFile => ({
    ...lock,
    packages: { ...lock.packages, 'node_modules/teapot': { version: '1.0.0', ...(license && { license }) } },
  });

  test('dependencies have permissive licences, which are listed with the text of those that are bundled', () => {
    expect(licenceProblems(lock)).toEqual([]);
    const document = licencesDocument(lock);
    expect(document).toContain('| pg | ');
    expect(document).not.toContain('| vitest |');
    expect(document).toMatch(/## typebox[\s\S]*Permission is hereby granted/);
  });

  test.each(['GPL-3.0-only', 'AGPL-3.0', 'UNLICENSED', 'SEE LICENSE IN x', undefined])(
    'dependencies with the licence %s are refused',
    (license) => {
      expect(licenceProblems(withLicence(license))).toEqual([expect.stringMatching(/^teapot@1\.0\.0 has /)]);
    },
  );

  test('dependencies are all in the bill of materials, each with its digest and its own dependencies', () => {
    const { components, dependencies } = JSON.parse(billOfMaterials(lock));
    const refs = components.map((component: Record<string, unknown>) => component['bom-ref']);
    expect(new Set(refs).size).toBe(refs.length);
    expect(new Set(dependencies.flatMap(({ dependsOn }: { dependsOn: string[] }) => dependsOn))).toEqual(
      new Set(refs),
    );
    const pg = components.find(({ name }: { name: string }) => name === 'pg');
    expect(pg).toMatchObject({ purl: `pkg:npm/pg@${pg.version}`, licenses: [{ license: { id: 'MIT' } }] });
    expect(pg.hashes[0]).toMatchObject({ alg: 'SHA-512', content: expect.stringMatching(/^[0-9a-f]{128}$/) });
  });
});
