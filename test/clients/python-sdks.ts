/** A Python process that makes calls with the SDKs: to import them for each call would take longer than the calls. */
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import { text } from 'node:stream/consumers';

export interface PythonSdks {
  call(scenario: object): Promise<Outcome>;
  stop(): Promise<void>;
}

export interface Outcome {
  /** What the SDK returned, as JSON. */
  readonly value?: unknown;
  readonly digest?: string;
  readonly error?: {
    /** Name of the class of the exception. */
    class: string;
    status: number | null;
    code: string | null;
    type: string | null;
    message: string;
  };
}

export function startPythonSdks(python: string, env: Readonly<Record<string, string>>): PythonSdks {
  const child = spawn(python, [join(import.meta.dirname, 'python_sdks.py')], { env, stdio: 'pipe' });
  const lines = createInterface({ input: child.stdout })[Symbol.asyncIterator]();
  const errors = text(child.stderr);
  return {
    async call(scenario) {
      child.stdin.write(`${JSON.stringify(scenario)}\n`);
      const { value, done } = await lines.next();
      if (done === true) {
        throw new Error(`the SDKs ended: ${await errors}`);
      }
      return JSON.parse(value);
    },
    async stop() {
      const ended = once(child, 'close');
      child.stdin.end();
      await ended;
    },
  };
}
