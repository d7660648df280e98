/** Runs every shell block of the README and the guides in order, as a reader would, so that they stay correct. */
import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdtempSync, readdirSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, expect, test, vi } from 'vitest';
import { freePort } from './support/free-port.ts';
import { npmInTheRepository, repository, runBlocks, shellBlocks } from './support/guide-blocks.ts';
import { type MockProvider, startMockProvider } from './support/mock-provider.ts';

/** Needs servers of PostgreSQL: `test/e2e/failover-guide.test.ts` runs it. */
const withPostgres = 'postgresql-failover.md';
const guides = readdirSync(join(repository, 'docs/guides'))
  .filter((file) => file !== withPostgres)
  .map((file) => `docs/guides/${file}`);

let directory: string;
let port: number;
let env: NodeJS.ProcessEnv;
let service: ChildProcess;
let provider: MockProvider;

/** Starts one service as the README describes; all guides use it. */
beforeAll(async () => {
  directory = mkdtempSync(join(tmpdir(), 'purser-reader-'));
  port = await freePort();
  provider = await startMockProvider();
  env = {
    ...process.env,
    PATH: `${npmInTheRepository(directory)}:${process.env.PATH}`,
    SVC_PORT: String(port),
    SVC_DATA_DIR: join(directory, '.purser'),
    SVC_GATEWAY_ALLOW_PRIVATE_NETWORKS: 'true',
    OPENAI_API_KEY: 'sk-of-the-provider',
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
  await provider.close();
  rmSync(directory, { recursive: true, force: true });
});

function blocksOf(document: string): string[] {
  return shellBlocks(document, {
    'localhost:8080': `localhost:${port}`,
    // Instead of OpenAI, a provider on this machine.
    'connect openai ': `connect openai --base-url ${provider.url}/v1 `,
  });
}

const isStart = (block: string) => /npm start/.test(block);

const run = (blocks: readonly string[]) => runBlocks(blocks, { cwd: directory, env });

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
