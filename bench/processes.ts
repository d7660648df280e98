/** The servers under test, each in its own process on a free port, and their resource usage. */
import { type ChildProcess, fork, spawn } from 'node:child_process';
import { randomBytes } from 'node:crypto';
import { once } from 'node:events';
import { mkdtempSync, openSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import type { AddressInfo } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { text } from 'node:stream/consumers';
import { setTimeout as pause } from 'node:timers/promises';
import { fileURLToPath } from 'node:url';
import { generateKey } from '../src/platform/http/routes/key-format.ts';

export interface ServerProcess {
  readonly pid: number;
  readonly port: number;
  stop(): Promise<void>;
  /** Ends the process with SIGKILL, as a crash would. */
  kill(): Promise<void>;
}

export interface ServiceProcess extends ServerProcess {
  /** Calls the service as the operator; throws unless the response is 2xx. */
  post<Answer>(path: string, body: object): Promise<Answer>;
  /** Like `post`, with any method and key. */
  call<Answer>(method: string, path: string, body?: object, key?: string): Promise<Answer>;
  /** Collects garbage and returns the memory usage. Requires a service that was started with `collectable`. */
  memory(): Promise<NodeJS.MemoryUsage>;
  /** Runs a command such as `demo` against the service and returns its output. */
  command(...words: readonly string[]): Promise<string>;
  /** Returns the log. It is complete only after the service has stopped, since lines are written with a delay. */
  log(): string;
}

export interface Answer {
  readonly status: number;
  /** Alternating names and values, as `writeHead` accepts them. */
  readonly headers: readonly string[];
  readonly body: string;
}

/** Generous: a start on a busy machine is not a failure. */
const startWithinMs = 300_000;
const stopWithinMs = 10_000;

export interface StartOptions {
  /** Settings that differ from the defaults; without a data directory a new one is created. */
  readonly settings?: Readonly<Record<string, string>>;
  /** Allows the bench to trigger a garbage collection. */
  readonly collectable?: boolean;
  /** Runs all threads of the service on one core, with `taskset` (Linux). */
  readonly oneCore?: boolean;
  /** Runs the monotonic clock of the service faster by this factor. */
  readonly clockFactor?: number;
}

const script = (name: string) => fileURLToPath(new URL(name, import.meta.url));

/** One key for all processes, since several may share a database. */
export const operatorKey = generateKey('bench');
export const secretsKey = randomBytes(32).toString('base64');

/** Starts the built service with default settings and its log in a file. */
export async function startService({
  settings = {},
  collectable = false,
  oneCore = false,
  clockFactor = 1,
}: StartOptions = {}): Promise<ServiceProcess> {
  const logFile = join(temporaryDirectory(), 'service.log');
  const logDescriptor = openSync(logFile, 'a');
  const nodeOptions = [
    ...(collectable ? ['--expose-gc', '--import', script('./collect-garbage.js')] : []),
    ...(clockFactor === 1 ? [] : ['--import', script('./fast-clock.js')]),
  ];
  const [command = '', ...args] = [
    ...(oneCore ? ['taskset', '--cpu-list', '0'] : []),
    process.execPath,
    ...nodeOptions,
    // As in the image and the systemd unit.
    '--v8-pool-size=2',
    script('../dist/main.js'),
    'serve',
  ];
  const child = owned(
    spawn(command, args, {
      env: {
        ...foreignSettings(),
        SVC_PORT: '0',
        SVC_BOOTSTRAP_OPERATOR_KEY: operatorKey,
        SVC_SECRETS_KEY: secretsKey,
        // As in the image and the systemd unit.
        MALLOC_ARENA_MAX: '2',
        MALLOC_TRIM_THRESHOLD_: '1048576',
        // The holds of the load are never settled.
        SVC_HOLDS_MAX: '10000000',
        BENCH_CLOCK_FACTOR: String(clockFactor),
        ...settings,
        SVC_DATA_DIR: settings.SVC_DATA_DIR ?? temporaryDirectory(),
      },
      stdio: ['ignore', logDescriptor, logDescriptor, ...(collectable ? ['ipc' as const] : [])],
    }),
  );
  const url = await listeningUrl(child, logFile);
  async function call<Body>(method: string, path: string, body?: object, key = operatorKey): Promise<Body> {
    const response = await fetch(`${url}${path}`, {
      method,
      headers: { authorization: `Bearer ${key}`, 'content-type': 'application/json' },
      ...(body !== undefined && { body: JSON.stringify(body) }),
    });
    if (!response.ok) {
      throw new Error(`${method} ${path} answered ${response.status}: ${await response.text()}`);
    }
    const text = await response.text();
    return (text === '' ? undefined : JSON.parse(text)) as Body;
  }
  return {
    ...server(child, Number(new URL(url).port)),
    call,
    post: (path, body) => call('POST', path, body),
    memory: () => askChild<NodeJS.MemoryUsage>(child, 'collect'),
    command: (...words) => runCommand([...words, '--url', url]),
    log: () => readFileSync(logFile, 'utf8'),
  };
}

async function runCommand(words: readonly string[]): Promise<string> {
  const child = spawn(process.execPath, [script('../dist/main.js'), ...words], {
    env: { ...foreignSettings(), SVC_BOOTSTRAP_OPERATOR_KEY: operatorKey },
    stdio: ['ignore', 'pipe', 'inherit'],
  });
  owned(child);
  const [printed] = await Promise.all([text(child.stdout), once(child, 'exit')]);
  if (child.exitCode !== 0) {
    throw new Error(`purser ${words[0]} ended with ${child.exitCode}`);
  }
  return printed;
}

export function startFloor(answer: Answer): Promise<ServerProcess> {
  return startBareServer('./floor.js', answer);
}

/** Starts a server of the bench that is written in plain JavaScript. It gets the message and sends its address when it listens. */
export async function startBareServer(name: string, message: object): Promise<ServerProcess> {
  const child = owned(fork(script(name), { execArgv: [] }));
  const { port } = await askChild<AddressInfo>(child, message);
  return server(child, port);
}

/** A program of the bench in its own process, which replies to messages. */
export interface Helper {
  ask<Told>(message: object): Promise<Told>;
  stop(): Promise<void>;
}

export function startHelper(name: string): Helper {
  // Written in TypeScript, so it needs the loader that runs the bench.
  const child = owned(fork(script(name)));
  return { ask: (message) => askChild(child, message), stop: () => stop(child) };
}

function askChild<Told>(child: ChildProcess, message: object | string): Promise<Told> {
  return new Promise((resolve, reject) => {
    const gone = () => reject(new Error('a process of the bench ended before it answered'));
    child.once('exit', gone);
    child.once('message', (told) => {
      child.off('exit', gone);
      resolve(told as Told);
    });
    child.send(message);
  });
}

/** Returns the CPU time of all threads of a process so far; NaN if the system does not provide it. */
export function cpuMs(pid: number): number {
  if (process.platform !== 'linux') {
    return Number.NaN;
  }
  const stat = readFileSync(`/proc/${pid}/stat`, 'utf8');
  // The name, in parentheses, may contain spaces; fields 14 and 15, in ticks of 10 ms, are user and system time.
  const fields = stat.slice(stat.lastIndexOf(')') + 2).split(' ');
  return (Number(fields[11]) + Number(fields[12])) * 10;
}

/** Returns the resident memory of a process, or its peak since `forgetPeak`. Linux only. */
export function residentBytes(pid: number, which: 'now' | 'peak'): number {
  const status = readFileSync(`/proc/${pid}/status`, 'utf8');
  const [, kilobytes] = (which === 'now' ? /VmRSS:\s+(\d+)/ : /VmHWM:\s+(\d+)/).exec(status) ?? [];
  return Number(kilobytes) * 1_024;
}

export function forgetPeak(pid: number): void {
  writeFileSync(`/proc/${pid}/clear_refs`, '5');
}

export function server(child: ChildProcess, port: number): ServerProcess {
  return {
    pid: child.pid as number,
    port,
    stop: () => stop(child),
    async kill() {
      const exited = once(child, 'exit');
      child.kill('SIGKILL');
      await exited;
    },
  };
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

/** Returns the environment without settings of the service, which would make runs differ. */
function foreignSettings(): NodeJS.ProcessEnv {
  const kept = Object.entries(process.env).filter(([name]) => !/^(SVC|OTEL)_|^NODE_OPTIONS$/.test(name));
  return Object.fromEntries(kept);
}

const children = new Set<ChildProcess>();
const directories = new Set<string>();

export function owned(child: ChildProcess): ChildProcess {
  children.add(child);
  child.once('exit', () => children.delete(child));
  return child;
}

export function temporaryDirectory(): string {
  return ownedDirectory(mkdtempSync(join(tmpdir(), 'purser-bench-')));
}

export function ownedDirectory(directory: string): string {
  directories.add(directory);
  return directory;
}

/** Stops processes that a failed row has left running, since they would disturb the next rows. */
export function killRemaining(): void {
  for (const child of children) {
    child.kill('SIGKILL');
  }
}

// Cleans up processes and files, however the bench ends.
process.once('exit', () => {
  killRemaining();
  for (const directory of directories) {
    rmSync(directory, { recursive: true, force: true, maxRetries: 5 });
  }
});
for (const signal of ['SIGINT', 'SIGTERM'] as const) {
  process.once(signal, () => process.exit(1));
}
