/** The worker thread of the embedded database, seen from the main thread: sends statements, returns rows. */
import { readFile } from 'node:fs/promises';
import { createRequire } from 'node:module';
import { dirname, join } from 'node:path';
import { performance } from 'node:perf_hooks';
import { setFlagsFromString } from 'node:v8';
import { Worker } from 'node:worker_threads';
import type { Durability } from '../../files/durable-files.ts';
import { DatabaseUnavailable, stateMeansUnavailable } from '../database.ts';
import { boundStatement, bringBack } from '../wire/frontend-messages.ts';
import { parserOf } from '../wire/values.ts';
import { engineNotStarted, isEngineFailure } from './start-failure.ts';

const statementTimeoutMs = 30_000;
const closeTimeoutMs = 5_000;

interface StatementResult {
  readonly fields: readonly { readonly name: string; readonly dataTypeID: number }[];
  readonly rows: readonly (readonly (string | null)[])[];
}

type WorkerResponse = { readonly id: number } & (
  | { readonly result: StatementResult; readonly copied?: undefined; readonly error?: undefined }
  /** The rows of `COPY … TO STDOUT`. */
  | { readonly copied: Uint8Array; readonly result?: undefined; readonly error?: undefined }
  | {
      readonly error: { message: string; code?: string; constraint?: string };
      readonly result?: undefined;
      readonly copied?: undefined;
    }
);

interface PgliteThreadMessage {
  readonly responses: readonly WorkerResponse[];
  /** Buffers of large messages that the main thread can reuse. */
  readonly buffers: readonly ArrayBuffer[];
}

/** A request to the thread. `messages` are in PostgreSQL's protocol and are transferred without a copy. */
export type ThreadRequest = { readonly id: number } & (
  | { readonly kind: 'text'; readonly sql: string }
  | { readonly kind: 'copyOut'; readonly sql: string }
  | {
      readonly kind: 'prepared';
      readonly sql: string;
      /** Name of the prepared statement. The thread prepares it on first use. */
      readonly name: string;
      readonly messages: Uint8Array<ArrayBuffer>;
    }
  | { readonly kind: 'copy'; readonly messages: Uint8Array<ArrayBuffer> }
);

type StatementWithoutId = ThreadRequest extends infer One
  ? One extends ThreadRequest
    ? Omit<One, 'id'>
    : never
  : never;

export interface ThreadOptions {
  readonly directory: string;
  readonly durability: Durability;
}

interface PendingCall {
  resolve(result: object[] | Uint8Array): void;
  reject(error: Error): void;
}

/**
 * The engine's compiled code, one per process. A new thread reuses the code that an earlier thread has compiled and optimized,
 * which saves most of the cost of a start.
 */
let engine: Promise<object> | undefined;

/** Declared here because the types of Node do not declare it. */
declare const WebAssembly: { compile(bytes: Uint8Array): Promise<object> };

/**
 * V8's budget for running a WebAssembly function before it is optimized. The default of Node 20 is a tenth of this. With it, a
 * third of a start would be spent on optimizing functions that are only hot during the start.
 */
const tieringBudget = 18_000_000;

async function compileEngine(): Promise<object> {
  setFlagsFromString(`--wasm-tiering-budget=${tieringBudget}`);
  const directory = dirname(createRequire(import.meta.url).resolve('@electric-sql/pglite'));
  return WebAssembly.compile(await readFile(join(directory, 'pglite.wasm')));
}

export class Thread {
  readonly #worker: Worker;
  readonly #pending = new Map<number, PendingCall>();
  #lastId = 0;
  /** Statements of the current turn of the event loop. They are sent together, because each message wakes the other thread. */
  #unsent: ThreadRequest[] = [];
  /** Callers of `executed`, each with the id of the last statement before its call. */
  #waiting: { readonly lastId: number; resolve(): void }[] = [];
  readonly #names = new StatementNames();
  #answeredAtMs: number | undefined;

  static async start(options: ThreadOptions): Promise<Thread> {
    engine ??= compileEngine().catch((error: Error) => {
      // Reset, so that the next start compiles the engine again.
      engine = undefined;
      throw error;
    });
    const workerData = { ...options, engine: await engine };
    const worker = new Worker(new URL('./pglite-worker.js', import.meta.url), { workerData });
    return new Promise((resolve, reject) => {
      const endedEarly = () => reject(new Error('the embedded database stopped while starting'));
      const failed = (error: Error) =>
        reject(isEngineFailure(error) ? engineNotStarted(options.directory, error) : error);
      worker.once('error', failed);
      worker.once('exit', endedEarly);
      worker.once('message', () => {
        worker.off('error', failed);
        worker.off('exit', endedEarly);
        resolve(new Thread(worker));
      });
    });
  }

  private constructor(worker: Worker) {
    this.#worker = worker;
    worker.on('message', ({ responses, buffers }: PgliteThreadMessage) => {
      this.#answeredAtMs = performance.now();
      buffers.forEach(bringBack);
      for (const response of responses) {
        this.#settle(response);
      }
      this.#reached(responses.at(-1)?.id ?? 0);
    });
  }

  /** Time of the last response; undefined before the first. */
  get answeredAtMs(): number | undefined {
    return this.#answeredAtMs;
  }

  onExit(exited: (error: Error) => void): void {
    let reason = new Error('the embedded database stopped');
    this.#worker.on('error', (error) => {
      reason = error;
    });
    this.#worker.on('exit', () => {
      for (const { reject } of this.#pending.values()) {
        reject(new DatabaseUnavailable(reason.message, { cause: reason }));
      }
      this.#pending.clear();
      this.#reached(this.#lastId);
      exited(reason);
    });
  }

  /** Sends SQL and returns the rows. SQL without parameters may contain several statements. */
  query(sql: string, params: readonly unknown[] | undefined, patient: boolean): Promise<object[]> {
    if (params === undefined) {
      return this.#request({ kind: 'text', sql }, patient);
    }
    const name = this.#names.of(sql);
    return this.#request({ kind: 'prepared', sql, name, messages: boundStatement(name, params) }, patient);
  }

  /** Runs `COPY … TO STDOUT` without a timeout and returns all rows. */
  copyOut(sql: string): Promise<Uint8Array> {
    return this.#request({ kind: 'copyOut', sql }, true);
  }

  async copy(messages: Uint8Array<ArrayBuffer>, patient: boolean): Promise<void> {
    await this.#request({ kind: 'copy', messages }, patient);
  }

  #request<Answer extends object[] | Uint8Array>(
    statement: StatementWithoutId,
    patient: boolean,
  ): Promise<Answer> {
    this.#lastId += 1;
    const id = this.#lastId;
    const timer = patient ? undefined : setTimeout(() => void this.#worker.terminate(), statementTimeoutMs);
    return new Promise<Answer>((resolve, reject) => {
      this.#pending.set(id, { resolve: resolve as PendingCall['resolve'], reject });
      this.#send({ id, ...statement });
    }).finally(() => clearTimeout(timer));
  }

  /** Sends all statements, and resolves when the database has run them, even if they failed. */
  executed(): Promise<void> {
    this.#flush();
    const lastId = this.#lastId;
    return this.#pending.has(lastId)
      ? new Promise((resolve) => {
          this.#waiting.push({ lastId, resolve });
        })
      : Promise.resolve();
  }

  #reached(lastId: number): void {
    while (this.#waiting[0] !== undefined && this.#waiting[0].lastId <= lastId) {
      this.#waiting.shift()?.resolve();
    }
  }

  #send(statement: ThreadRequest): void {
    if (this.#unsent.length === 0) {
      process.nextTick(() => this.#flush());
    }
    this.#unsent.push(statement);
  }

  #flush(): void {
    const statements = this.#unsent;
    if (statements.length > 0) {
      this.#unsent = [];
      const buffers = statements.flatMap((one) => ('messages' in one ? one.messages.buffer : []));
      this.#worker.postMessage(statements, buffers);
    }
  }

  /** Shuts the database down cleanly, so that the next start has nothing to recover. */
  async end(): Promise<void> {
    const ended = new Promise((resolve) => this.#worker.once('exit', resolve));
    // An error is ignored: the next start recovers the database.
    this.#worker.on('error', () => undefined);
    const timer = setTimeout(() => void this.#worker.terminate(), closeTimeoutMs);
    this.#worker.postMessage('close');
    await ended;
    clearTimeout(timer);
  }

  #settle({ id, result, copied, error }: WorkerResponse): void {
    const call = this.#pending.get(id);
    this.#pending.delete(id);
    if (result !== undefined) {
      call?.resolve(rowsOf(result));
    } else if (copied !== undefined) {
      call?.resolve(copied);
    } else if (error.code !== undefined && stateMeansUnavailable(error.code)) {
      call?.reject(new DatabaseUnavailable(error.message, { cause: error }));
    } else {
      call?.reject(
        Object.assign(new Error(error.message), { code: error.code, constraint: error.constraint }),
      );
    }
  }
}

/**
 * Names of prepared statements. There are many texts, because those of lists vary with their filters. Beyond `namesMax` the oldest
 * name is reused.
 */
class StatementNames {
  readonly #names = new Map<string, string>();

  of(sql: string): string {
    const known = this.#names.get(sql);
    if (known !== undefined) {
      return known;
    }
    const [oldest] = this.#names.size < namesMax ? [] : this.#names;
    const name = oldest?.[1] ?? `s${this.#names.size}`;
    this.#names.delete(oldest?.[0] ?? '');
    this.#names.set(sql, name);
    return name;
  }
}

const namesMax = 500;

function rowsOf({ fields, rows }: StatementResult): object[] {
  const columns = fields.map(({ name, dataTypeID }) => ({ name, parse: parserOf(dataTypeID) }));
  return rows.map((row) => {
    const object: Record<string, unknown> = {};
    columns.forEach(({ name, parse }, index) => {
      const text = row[index] ?? null;
      object[name] = text === null ? null : parse(text);
    });
    return object;
  });
}
