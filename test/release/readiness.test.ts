/** What `npm run release` refuses, and the texts that it writes. */
import { expect, test } from 'vitest';
import {
  dated,
  type ReleaseState,
  releaseProblems,
  withNextVersion,
} from '../../scripts/release/readiness.ts';

const entry = { deprecated: [], removed: [], successions: [], operatorActions: [] };
const ready: ReleaseState = {
  changedFiles: [],
  tags: ['v0.0.9'],
  packageVersion: '0.1.0',
  lockVersion: '0.1.0',
  clientProblems: [],
  releases: [{ version: '0.1.0', date: 'unreleased', ...entry }],
  changelog: '# Changelog\n\n## 0.1.0 (unreleased)\n\n- Budgets.\n',
  notServedYet: [],
  contractProblems: [],
  licenceProblems: [],
};

test('refuses nothing if everything is ready', () => {
  expect(releaseProblems(ready)).toEqual([]);
});

const unready: readonly (readonly [string, Partial<ReleaseState>, string])[] = [
  ['a dirty tree', { changedFiles: ['src/main.ts'] }, 'not committed: src/main.ts.'],
  [
    'a version that the ledger does not have',
    { packageVersion: '0.2.0', lockVersion: '0.2.0' },
    'the release ledger at 0.1.0',
  ],
  ['a problem of the client', { clientProblems: ['The client is unready.'] }, 'The client is unready.'],
  ['another version in the lock file', { lockVersion: '0.0.9' }, 'package-lock.json at 0.0.9'],
  [
    'a version that is released',
    { releases: [{ version: '0.1.0', date: '2026-11-01', ...entry }] },
    '0.1.0 was released on 2026-11-01',
  ],
  ['a tag that exists', { tags: ['v0.1.0'] }, 'The tag v0.1.0 exists.'],
  [
    'a changelog without the version',
    { changelog: '## 0.0.9 (2026-01-01)\n\n- Cups.\n' },
    'CHANGELOG.md has no section for 0.1.0.',
  ],
  [
    'an empty section',
    { changelog: '## 0.1.0 (unreleased)\n\nSoon.\n' },
    'CHANGELOG.md lists no changes in 0.1.0.',
  ],
  [
    'a pending note',
    { changelog: '## 0.1.0 (unreleased)\n\n- Pending: budgets.\n' },
    'a note is pending: "Pending: budgets."',
  ],
  [
    'an unfinished note',
    { changelog: '## 0.1.0 (unreleased)\n\n- Budgets, TODO.\n' },
    'a note is pending: "Budgets, TODO."',
  ],
  [
    'a route that is not served yet',
    { notServedYet: ['GET /v1/teapots'] },
    'Not served yet: GET /v1/teapots.',
  ],
  ['a contract that is not recorded', { contractProblems: ['contract/published.json is stale'] }, 'is stale'],
  ['an unsuitable licence', { licenceProblems: ['teapot@1.0.0 has the licence GPL-3.0'] }, 'GPL-3.0'],
];
test.each(unready)('refuses %s', (_title, change, problem) => {
  expect(releaseProblems({ ...ready, ...change })).toContainEqual(expect.stringContaining(problem));
});

const texts = {
  changelog: '# Changelog\n\n## 0.1.0 (unreleased)\n\n- Budgets.\n',
  ledger: "export const releases = [\n  {\n    version: '0.1.0',\n    date: 'unreleased',\n  },\n];\n",
};

test('dates the release in the changelog and in the ledger', () => {
  const { changelog, ledger } = dated(texts, '0.1.0', '2026-11-16');
  expect(changelog).toContain('## 0.1.0 (2026-11-16)');
  expect(ledger).toContain("version: '0.1.0',\n    date: '2026-11-16',");
  expect(() => dated(texts, '0.2.0', '2026-11-16')).toThrow('must occur exactly once');
});

test('begins the next version above the released one', () => {
  const { changelog, ledger } = withNextVersion(dated(texts, '0.1.0', '2026-11-16'), '0.2.0');
  expect(changelog).toContain('\n## 0.2.0 (unreleased)\n\n## 0.1.0 (2026-11-16)\n');
  expect(ledger).toMatch(/version: '0\.1\.0'[\s\S]*version: '0\.2\.0',\n {4}date: 'unreleased'/);
});
