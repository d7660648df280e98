/** A service that is started by the command of the README, and a shell that runs commands of documents against it. */
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdtempSync, rmSync, symlinkSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { eventually } from './eventually.ts';
import { freePort } from './free-port.ts';
import { npmInTheRepository, repository, runBlocks, shellBlocks } from './guide-blocks.ts';
import { type MockProvider, startMockProvider } from './mock-provider.ts';

export interface ReadersService {
  readonly url: string;
  /** The folder of the reader. */
  readonly directory: string;
  /** In place of OpenAI. */
  readonly provider: MockProvider;
  /** The provider's key of the reader. */
  readonly providerKey: string;
  /** Returns the shell blocks of a document, without the one that starts the service. */
  blocksOf(document: string): string[];
  /** Runs blocks in one shell; returns what they print. */
  run(blocks: readonly string[], more?: NodeJS.ProcessEnv): Promise<string>;
  stop(): Promise<void>;
}

const isStart = (block: string) => /npm start/.test(block);

export async function startReadersService(): Promise<ReadersService> {
  const directory = mkdtempSync(join(tmpdir(), 'purser-reader-'));
  // As in the repository, where the SDK of the README is installed.
  symlinkSync(join(repository, 'node_modules'), join(directory, 'node_modules'));
  const port = await freePort();
  const provider = await startMockProvider();
  const providerKey = 'sk-key-of-the-reader';
  const env = {
    ...process.env,
    PATH: `${npmInTheRepository(directory)}:${process.env.PATH}`,
    SVC_PORT: String(port),
    SVC_DATA_DIR: join(directory, '.purser'),
    SVC_GATEWAY_OPENAI_BASE_URL: `${provider.url}/v1`,
    SVC_GATEWAY_ALLOW_PRIVATE_NETWORKS: 'true',
    OPENAI_API_KEY: providerKey,
    // The machine of a test may be slower than the 250 ms that a decision has.
    PURSER_TIMEOUT_MS: '600000',
  };
  const blocksOf = (document: string) => shellBlocks(document, { 'localhost:8080': `localhost:${port}` });
  const starts = blocksOf('README.md').filter(isStart);
  if (starts.length !== 1) {
    throw new Error(`the README starts the service ${starts.length} times`);
  }
  const service = spawn('bash', ['-c', starts[0] ?? ''], {
    cwd: directory,
    env,
    stdio: 'ignore',
    detached: true,
  });
  const ended = once(service, 'exit');
  const url = `http://127.0.0.1:${port}`;
  await eventually(async () => {
    if (!(await fetch(`${url}/readyz`)).ok) {
      throw new Error('the service is not ready');
    }
  });
  return {
    url,
    directory,
    provider,
    providerKey,
    blocksOf: (document) => blocksOf(document).filter((block) => !isStart(block)),
    run: (blocks, more = {}) => runBlocks(blocks, { cwd: directory, env: { ...env, ...more } }),
    async stop() {
      process.kill(-(service.pid ?? 0), 'SIGTERM');
      await ended;
      await provider.close();
      rmSync(directory, { recursive: true, force: true });
    },
  };
}
