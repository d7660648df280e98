/** Files that are generated as a whole must not be merged line by line: the digests in them would be wrong without a conflict. */
import { execFileSync, spawnSync } from 'node:child_process';
import { copyFileSync, mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { expect, onTestFinished, test } from 'vitest';

const attributes = fileURLToPath(new URL('../../.gitattributes', import.meta.url));
const lines = Array.from({ length: 40 }, (_, index) => `line ${index}`);

test.each([
  'contract/published.json',
  'docs/generated/openapi.json',
  'packages/client/src/generated/types.ts',
  'src/console/responses.ts',
])('a merge of changes of both sides in %s is a conflict', (path) => {
  const folder = mkdtempSync(join(tmpdir(), 'purser-merge-'));
  onTestFinished(() => rmSync(folder, { recursive: true, force: true }));
  const git = (...args: string[]) =>
    execFileSync('git', ['-c', 'user.name=test', '-c', 'user.email=test@localhost', ...args], {
      cwd: folder,
      stdio: 'pipe',
    });
  const commit = (changed: readonly string[]) => {
    writeFileSync(join(folder, path), `${changed.join('\n')}\n`);
    git('add', '.');
    git('commit', '-qm', 'change');
  };
  git('init', '-q', '-b', 'main');
  copyFileSync(attributes, join(folder, '.gitattributes'));
  mkdirSync(dirname(join(folder, path)), { recursive: true });
  commit(lines);
  git('switch', '-qc', 'other');
  commit(['first changed', ...lines.slice(1)]);
  git('switch', '-q', 'main');
  commit([...lines.slice(0, -1), 'last changed']);
  const { status } = spawnSync('git', ['merge', '-q', 'other'], { cwd: folder, stdio: 'pipe' });
  expect(status).toBe(1);
});
