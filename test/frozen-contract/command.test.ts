/** The commands themselves, on a copy of the repository: the work of `npm run check` and `npm run contract:record`. */
import { execFile } from 'node:child_process';
import { cpSync, mkdtempSync, readFileSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join, resolve } from 'node:path';
import { promisify } from 'node:util';
import { afterAll, beforeAll, expect, test } from 'vitest';

const repository = resolve(import.meta.dirname, '../..');
let tree: string;

beforeAll(async () => {
  tree = mkdtempSync(join(tmpdir(), 'purser-contract-'));
  for (const part of [
    'src',
    'assets',
    'scripts',
    'test/support',
    'contract',
    'docs/generated',
    'CHANGELOG.md',
    'package.json',
  ]) {
    cpSync(join(repository, part), join(tree, part), { recursive: true });
  }
  symlinkSync(join(repository, 'node_modules'), join(tree, 'node_modules'));
  // Records the current state first, so that a route being added does not fail these tests. `npm run check` checks the
  // repository itself.
  expect(await run('record-contract')).toEqual({ code: 0, output: '' });
});
afterAll(() => rmSync(tree, { recursive: true, force: true }));

async function run(script: string): Promise<{ code: number; output: string }> {
  const tsx = join(repository, 'node_modules/tsx/dist/cli.mjs');
  const args = [tsx, `scripts/${script}.ts`];
  try {
    const { stdout, stderr } = await promisify(execFile)(process.execPath, args, { cwd: tree });
    return { code: 0, output: stdout + stderr };
  } catch (error) {
    const { code, stdout, stderr } = error as { code: number; stdout: string; stderr: string };
    return { code, output: stdout + stderr };
  }
}

function edit(path: string, from: string, to: string): void {
  const file = join(tree, path);
  const before = readFileSync(file, 'utf8');
  expect(before).toContain(from);
  writeFileSync(file, before.replace(from, to));
}

test('a tampered catalog, OpenAPI document and ledger are refused, and not recorded', async () => {
  edit('src/contract/errors.ts', 'entry([410]', 'entry([404]');
  edit('docs/generated/openapi.json', '"runs.list"', '"runs.all"');
  edit('src/contract/releases.ts', '31 Dec 2036', '31 Dec 2031');
  const { code, output } = await run('check-contract');
  expect(code).toBe(1);
  expect(output).toContain('the code gone has the status 404, not 410. Promise: Codes are append-only');
  expect(output).toContain('GET /v1/runs: the operation runs.list was renamed to runs.all. Promise: A path,');
  expect(output).toContain('GET /v1/forecast: its sunset moved earlier');

  const published = readFileSync(join(tree, 'contract/published.json'), 'utf8');
  const recording = await run('record-contract');
  expect(recording.code).toBe(1);
  expect(recording.output).toContain('GET /v1/forecast: its sunset moved earlier');
  expect(readFileSync(join(tree, 'contract/published.json'), 'utf8')).toBe(published);
});
