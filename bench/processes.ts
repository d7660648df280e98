/** The servers under test, each a process of its own on a free port, and the CPU time that they use. */
import { type ChildProcess, fork, spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdtempSync, openSync, readFileSync, rmSync } from 'node:fs';
import type { AddressInfo } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as pause } from 'node:timers/promises';
import { fileURLToPath } from 'node:url';

export interface ServerProcess {
  readonly pid: number;
  readonly port: number;
  stop(): Promise<void>;
}

export interface ServiceProcess extends ServerProcess {
  /** Calls the service as the operator; throws unless the answer is 2xx. */
  post<Answer>(path: string, body: object): Promise<Answer>;
  /** The same with any method, and with another key. */
  call<Answer>(method: string, path: string, body?: object, key?: string): Promise<Answer>;
}

export interface Answer {
  readonly status: number;
  /** Names and values in turn, as `writeHead` takes them. */
  readonly headers: readonly string[];
  readonly body: string;
}

const startWithinMs = 30_000;
const stopWithinMs = 10_000;

/** The built service with settings as shipped, on a fresh data directory, its log going to a file. */
export async function startService(settings: Record<string, string> = {}): Promise<ServiceProcess> {
  const directory = temporaryDirectory();
  const logFile = join(directory, 'service.log');
  const logDescriptor = openSync(logFile, 'a');
  const child = owned(
    spawn(process.execPath, [fileURLToPath(new URL('../dist/main.js', import.meta.url)), 'serve'], {
      env: { ...foreignSettings(), SVC_PORT: '0', SVC_DATA_DIR: directory, ...settings },
      stdio: ['ignore', logDescriptor, logDescriptor],
    }),
  );
  const url = await listeningUrl(child, logFile);
  const operatorKey = readFileSync(join(directory, 'operator-key'), 'utf8').trim();
  async function call<Body>(method: string, path: string, body?: object, key = operatorKey): Promise<Body> {
    const response = await fetch(`${url}${path}`, {
      method,
      headers: { authorization: `Bearer ${key}`, 'content-type': 'application/json' },
      ...(body !== undefined && { body: JSON.stringify(body) }),
    });
    if (!response.ok) {
      throw new Error(`${method} ${path} answered ${response.status}: ${await response.text()}`);
    }
    return (await response.json()) as Body;
  }
  return {
    ...server(child, Number(new URL(url).port)),
    call,
    post: (path, body) => call('POST', path, body),
  };
}

export async function startFloor(answer: Answer): Promise<ServerProcess> {
  const child = owned(fork(new URL('./floor.js', import.meta.url), { execArgv: [] }));
  child.send(answer);
  const [address] = (await once(child, 'message')) as [AddressInfo];
  return server(child, address.port);
}

/** CPU time of all threads of a process until now; undefined where the system does not tell. */
export function cpuMs(pid: number): number | undefined {
  if (process.platform !== 'linux') {
    return undefined;
  }
  const stat = readFileSync(`/proc/${pid}/stat`, 'utf8');
  // The name, in parentheses, may hold spaces; fields 14 and 15, in ticks of 10 ms, are user and system time.
  const fields = stat.slice(stat.lastIndexOf(')') + 2).split(' ');
  return (Number(fields[11]) + Number(fields[12])) * 10;
}

function server(child: ChildProcess, port: number): ServerProcess {
  return { pid: child.pid as number, port, stop: () => stop(child) };
}

async function stop(child: ChildProcess): Promise<void> {
  if (child.exitCode !== null || child.signalCode !== null) {
    return;
  }
  const exited = once(child, 'exit');
  child.kill('SIGTERM');
  const tooLong = setTimeout(() => child.kill('SIGKILL'), stopWithinMs);
  await exited;
  clearTimeout(tooLong);
}

async function listeningUrl(child: ChildProcess, logFile: string): Promise<string> {
  const deadline = Date.now() + startWithinMs;
  while (child.exitCode === null && child.signalCode === null && Date.now() < deadline) {
    const url = /"url":"([^"]+)"/.exec(readFileSync(logFile, 'utf8'))?.[1];
    if (url !== undefined) {
      return url;
    }
    await pause(20);
  }
  throw new Error(`the service did not start; its log:\n${readFileSync(logFile, 'utf8').slice(-4_000)}`);
}

/** The caller's environment without settings of the service, which would make runs differ from each other. */
function foreignSettings(): NodeJS.ProcessEnv {
  const kept = Object.entries(process.env).filter(([name]) => !/^(SVC|OTEL)_|^NODE_OPTIONS$/.test(name));
  return Object.fromEntries(kept);
}

const children = new Set<ChildProcess>();
const directories = new Set<string>();

function owned(child: ChildProcess): ChildProcess {
  children.add(child);
  child.once('exit', () => children.delete(child));
  return child;
}

function temporaryDirectory(): string {
  const directory = mkdtempSync(join(tmpdir(), 'purser-bench-'));
  directories.add(directory);
  return directory;
}

// However the bench ends, it leaves no process and no file behind.
process.once('exit', () => {
  for (const child of children) {
    child.kill('SIGKILL');
  }
  for (const directory of directories) {
    rmSync(directory, { recursive: true, force: true, maxRetries: 5 });
  }
});
for (const signal of ['SIGINT', 'SIGTERM'] as const) {
  process.once(signal, () => process.exit(1));
}
