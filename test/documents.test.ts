/** Runs every shell block of the README and the guides in order, as a reader would, so that they stay correct. */
import { type ChildProcess, execFileSync, spawn } from 'node:child_process';
import { once } from 'node:events';
import { chmodSync, mkdirSync, mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join, resolve } from 'node:path';
import { afterAll, beforeAll, expect, test, vi } from 'vitest';
import { freePort } from './support/free-port.ts';

const repository = resolve(import.meta.dirname, '..');
const guides = readdirSync(join(repository, 'docs/guides')).map((file) => `docs/guides/${file}`);

let directory: string;
let port: number;
let env: NodeJS.ProcessEnv;
let service: ChildProcess;

/** Starts one service as the README describes; all guides use it. */
beforeAll(async () => {
  directory = mkdtempSync(join(tmpdir(), 'purser-reader-'));
  port = await freePort();
  env = {
    ...process.env,
    PATH: `${npmInTheRepository(directory)}:${process.env.PATH}`,
    SVC_PORT: String(port),
    SVC_DATA_DIR: join(directory, '.purser'),
  };
  const starts = blocksOf('README.md').filter(isStart);
  expect(starts).toHaveLength(1);
  service = spawn('bash', ['-c', starts[0] ?? ''], { cwd: directory, env, stdio: 'ignore', detached: true });
  await vi.waitFor(async () => expect((await fetch(`http://127.0.0.1:${port}/readyz`)).status).toBe(200), {
    timeout: 120_000,
    interval: 200,
  });
});

afterAll(async () => {
  const ended = service.exitCode === null ? once(service, 'exit') : undefined;
  process.kill(-(service.pid ?? 0), 'SIGTERM');
  await ended;
  rmSync(directory, { recursive: true, force: true });
});

/**
 * Readers run the blocks in the repository; this test runs them in an empty folder, so that they leave no files behind.
 * Returns a directory with an `npm` that works in the repository. It skips `npm ci` and `npm test`, which have already
 * run.
 */
function npmInTheRepository(folder: string): string {
  const bin = join(folder, 'bin');
  mkdirSync(bin);
  const npm = execFileSync('which', ['npm'], { encoding: 'utf8' }).trim();
  const script = `#!/bin/sh\ncase "$1" in ci|test) exit 0 ;; esac\ncd '${repository}' && exec '${npm}' "$@"\n`;
  writeFileSync(join(bin, 'npm'), script);
  chmodSync(join(bin, 'npm'), 0o755);
  return bin;
}

function blocksOf(document: string): string[] {
  const text = readFileSync(join(repository, document), 'utf8');
  return [...text.matchAll(/^```sh\n(.*?)^```$/gms)].map(([, block]) =>
    (block ?? '').replaceAll('localhost:8080', `localhost:${port}`),
  );
}

const isStart = (block: string) => /npm start/.test(block);

/** Runs all blocks in one shell, so that variables are kept between blocks, as for a reader. */
function run(blocks: readonly string[]): string {
  const script = ['set -euo pipefail', ...blocks].join('\n');
  return execFileSync('bash', ['-c', script], { cwd: directory, env, encoding: 'utf8', stdio: 'pipe' });
}

test('README.md', () => {
  const output = run(blocksOf('README.md').filter((block) => !isStart(block)));
  expect(output).toContain('"decision":"allow"');
  expect(output).toContain('"code":"spend_cap_exceeded"');
  expect(output).toContain('SVC_DATABASE_URL');
});

test.each(guides)('%s', (guide) => {
  const blocks = blocksOf(guide);
  expect(blocks.length).toBeGreaterThan(0);
  run(blocks);
});
