/** Runs every shell block of the README and the guides in order, as a reader would, so that they stay correct. */
import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdtempSync, readdirSync, readFileSync, rmSync, symlinkSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { eventually } from './support/eventually.ts';
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
/** In place of OpenAI. */
let provider: MockProvider;
let outputOfReadme: string;
const keyOfReader = 'sk-key-of-the-reader';

/** Starts one service as the README describes; all guides use it. */
beforeAll(async () => {
  directory = mkdtempSync(join(tmpdir(), 'purser-reader-'));
  // As in the repository, where the SDK of the README is installed.
  symlinkSync(join(repository, 'node_modules'), join(directory, 'node_modules'));
  port = await freePort();
  provider = await startMockProvider();
  env = {
    ...process.env,
    PATH: `${npmInTheRepository(directory)}:${process.env.PATH}`,
    SVC_PORT: String(port),
    SVC_DATA_DIR: join(directory, '.purser'),
    SVC_GATEWAY_OPENAI_BASE_URL: `${provider.url}/v1`,
    SVC_GATEWAY_ALLOW_PRIVATE_NETWORKS: 'true',
    OPENAI_API_KEY: keyOfReader,
    // The machine of a test may be slower than the 250 ms that a decision has.
    PURSER_TIMEOUT_MS: '600000',
  };
  const starts = blocksOf('README.md').filter(isStart);
  expect(starts).toHaveLength(1);
  service = spawn('bash', ['-c', starts[0] ?? ''], { cwd: directory, env, stdio: 'ignore', detached: true });
  await eventually(async () => expect((await fetch(`http://127.0.0.1:${port}/readyz`)).status).toBe(200));
});

afterAll(async () => {
  const ended = service.exitCode === null ? once(service, 'exit') : undefined;
  process.kill(-(service.pid ?? 0), 'SIGTERM');
  await ended;
  await provider.close();
  rmSync(directory, { recursive: true, force: true });
});

function blocksOf(document: string): string[] {
  return shellBlocks(document, { 'localhost:8080': `localhost:${port}` });
}

const isStart = (block: string) => /npm start/.test(block);

const run = (blocks: readonly string[], more: NodeJS.ProcessEnv = {}) =>
  runBlocks(blocks, { cwd: directory, env: { ...env, ...more } });

test('README.md', async () => {
  const output = await run(blocksOf('README.md').filter((block) => !isStart(block)));
  expect(output).toContain('"decision":"allow"');
  expect(output).toContain('"code":"spend_cap_exceeded"');
  expect(output).toContain('SVC_DATABASE_URL');
  outputOfReadme = output;
});

test('the first four commands of the README lead to an answer of the SDK under a budget of $5 a day', async () => {
  const [start, gateway] = blocksOf('README.md');
  const commands = `${start}${gateway}`.match(/^\S/gm);
  expect(commands).toHaveLength(4);
  expect(outputOfReadme).toContain('tok0 tok1 tok2 tok3 tok4');
  const calls = provider.requests.filter(({ url }) => url === '/v1/chat/completions');
  expect(calls.at(-1)?.headers.authorization).toBe(`Bearer ${keyOfReader}`);
  const operator = readFileSync(join(directory, '.purser/operator-key'), 'utf8').trim();
  const api = async (path: string, key: string, body?: object) => {
    const response = await fetch(`http://127.0.0.1:${port}/v1${path}`, {
      method: body === undefined ? 'GET' : 'POST',
      headers: { authorization: `Bearer ${key}`, 'content-type': 'application/json' },
      ...(body && { body: JSON.stringify(body) }),
    });
    // biome-ignore lint/suspicious/noExplicitAny: responses of several routes, compared with toMatchObject
    return response.json() as Promise<any>;
  };
  const [org] = (await api('/admin/orgs?name=My%20organization', operator)).data;
  const { secret } = await api(`/admin/orgs/${org.id}/keys`, operator, {
    name: 'reader',
    role: 'viewer',
    scopes: ['budgets:read', 'runs:read'],
  });
  expect((await api(`/orgs/${org.id}/budgets`, secret)).data).toMatchObject([
    { scope_kind: 'member', scope_id: 'amy', period: 'day', limit_usd: '5', enforcement: 'block' },
  ]);
  const runs = (await api('/runs', secret)).data;
  expect(runs).toHaveLength(calls.length);
  expect(runs[0]).toMatchObject({ model: 'gpt-4o-mini', member_id: 'amy', status: 'succeeded' });
});

test.each(guides)('%s', async (guide) => {
  const blocks = blocksOf(guide);
  expect(blocks.length).toBeGreaterThan(0);
  // Its program calls OpenAI itself.
  await run(blocks, guide.endsWith('/typescript.md') ? { OPENAI_BASE_URL: `${provider.url}/v1` } : {});
});
