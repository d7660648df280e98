import { readFileSync } from 'node:fs';
import { expect, test } from 'vitest';
import { clientProblems, manifestProblems } from '../../scripts/release/client-package.ts';
import { repository } from '../support/guide-blocks.ts';

const readManifest = (path: string) => JSON.parse(readFileSync(`${repository}/${path}`, 'utf8'));
const { version } = readManifest('package.json');

test('the client can be published with the service', () => {
  expect(clientProblems(repository, version)).toEqual([]);
});

test.each([
  [{ version: '0.0.9' }, 'is at 0.0.9'],
  [{ private: true }, 'is private'],
  [{ files: ['dist', 'src'] }, 'must be the build alone'],
  [{ exports: { '.': './src/index.ts' } }, 'the export . is not in the build'],
  [{ exports: {} }, 'exports nothing'],
  [{ dependencies: { undici: '7' } }, 'has dependencies'],
])('a manifest with %j is refused', (change, problem) => {
  const manifest = { ...readManifest('packages/client/package.json'), ...change };
  expect(manifestProblems(manifest, version)).toEqual([expect.stringContaining(problem)]);
});
