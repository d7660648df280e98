/** Node processes that a test starts: their output is kept, and none outlives the test file. */
import { type ChildProcess, spawn } from 'node:child_process';
import { fileURLToPath } from 'node:url';

const repository = fileURLToPath(new URL('../../', import.meta.url));

export interface Ending {
  readonly code: number | null;
  readonly signal: NodeJS.Signals | null;
}

export interface Spawned {
  readonly child: ChildProcess;
  readonly ended: Promise<Ending>;
  stdout(): string;
  stderr(): string;
  /** Sends a signal that ends the process, and waits for the end. */
  end(signal: NodeJS.Signals): Promise<Ending>;
}

const running = new Set<ChildProcess>();

/** Also ends processes that are stopped: SIGKILL is the one signal they cannot postpone. */
export async function endAllProcesses(): Promise<void> {
  await Promise.all(
    [...running].map(async (child) => {
      const gone = new Promise((resolve) => child.once('exit', resolve));
      child.kill('SIGKILL');
      await gone;
    }),
  );
}
process.once('exit', () => {
  for (const child of running) {
    child.kill('SIGKILL');
  }
});

/**
 * The process gets the given environment, so that a developer's own settings cannot change a test. It also inherits the
 * basic variables, and those that set the clock of a whole test run to another day.
 */
export function spawnNode(args: readonly string[], env: NodeJS.ProcessEnv, ipc = false): Spawned {
  const { PATH, HOME, TMPDIR, LD_PRELOAD, FAKETIME, FAKETIME_DONT_FAKE_MONOTONIC } = process.env;
  const child = spawn(process.execPath, args, {
    cwd: repository,
    env: { PATH, HOME, TMPDIR, LD_PRELOAD, FAKETIME, FAKETIME_DONT_FAKE_MONOTONIC, ...env },
    stdio: ['ignore', 'pipe', 'pipe', ...(ipc ? (['ipc'] as const) : [])],
  });
  running.add(child);
  const output = { stdout: '', stderr: '' };
  for (const name of ['stdout', 'stderr'] as const) {
    child[name]?.setEncoding('utf8').on('data', (text: string) => {
      output[name] += text;
    });
  }
  // `close` comes after the last output, `exit` may come before it.
  const ended = new Promise<Ending>((resolve) => {
    child.once('close', (code, signal) => resolve({ code, signal }));
  });
  child.once('exit', () => running.delete(child));
  return {
    child,
    ended,
    stdout: () => output.stdout,
    stderr: () => output.stderr,
    end(signal) {
      child.kill(signal);
      return ended;
    },
  };
}

/** Runs the command line as it is shipped; `npm test` builds it first. */
export function spawnPurser(args: readonly string[], env: NodeJS.ProcessEnv): Spawned {
  return spawnNode(['dist/main.js', ...args], env);
}

/** Runs a command until it ends. */
export async function runPurser(
  args: readonly string[],
  env: NodeJS.ProcessEnv,
): Promise<{ code: number | null; stdout: string; stderr: string }> {
  const spawned = spawnPurser(args, env);
  const { code } = await spawned.ended;
  return { code, stdout: spawned.stdout(), stderr: spawned.stderr() };
}
