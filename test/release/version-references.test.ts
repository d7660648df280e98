import { mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { strayVersions, versionedDocuments, withVersions } from '../../scripts/release/version-references.ts';
import { version } from '../../src/config/version.ts';

const versions = { current: '3.4.5', released: '3.4.4' };
const root = fileURLToPath(new URL('../../', import.meta.url));
let directory: string;
beforeAll(() => {
  directory = mkdtempSync(join(tmpdir(), 'purser-versions-'));
  mkdirSync(join(directory, 'deploy/kubernetes'), { recursive: true });
});
afterAll(() => rmSync(directory, { recursive: true }));

test('the Kubernetes manifests use the image of this version', () => {
  expect(readFileSync(join(root, 'deploy/kubernetes/kustomization.yaml'), 'utf8')).toContain(
    `newTag: ${version}\n`,
  );
});

test('finds the files that name a version, also in new places', () => {
  expect(Object.keys(versionedDocuments(root, versions))).toEqual(
    expect.arrayContaining([
      'SECURITY.md',
      'deploy/kubernetes/kustomization.yaml',
      'docs/operations/releasing.md',
    ]),
  );
});

test.each([
  ['    newTag: 0.1.0\n', '    newTag: 3.4.5\n'],
  ['npm install -g ./purser-0.1.0.tgz', 'npm install -g ./purser-3.4.5.tgz'],
  ['image: registry.example.com/purser:0.1.0', 'image: registry.example.com/purser:3.4.5'],
  ['the newest release, 0.1.0.', 'the newest release, 3.4.4.'],
])('sets the version in %j', (text, expected) => {
  expect(withVersions(text, versions)).toBe(expected);
});

test('leaves versions of other programs and of history unchanged', () => {
  const text = 'PostgreSQL 17.0.1 since 0.1.0, postgres:17.2.0';
  expect(withVersions(text, versions)).toBe(text);
});

test('rejects a version in a manifest that would not be kept current', () => {
  writeFileSync(join(directory, 'deploy/kubernetes/a.yaml'), 'newTag: 3.4.5\nother: 13.4.5\n');
  expect(strayVersions(directory, ['3.4.5'])).toEqual([]);
  writeFileSync(join(directory, 'deploy/kubernetes/b.yaml'), 'app.kubernetes.io/version: "3.4.5"\n');
  expect(strayVersions(directory, ['3.4.5'])).toEqual([expect.stringContaining('deploy/kubernetes/b.yaml')]);
});
