/** The worker thread as a function from statements to rows. */
import { readFile } from 'node:fs/promises';
import { createRequire } from 'node:module';
import { dirname, join } from 'node:path';
import { setFlagsFromString } from 'node:v8';
import { Worker } from 'node:worker_threads';
import { DatabaseUnavailable, stateMeansUnavailable } from '../database.ts';
import { boundStatement, bringBack } from '../wire/frontend-messages.ts';
import { parserOf } from '../wire/values.ts';

const statementTimeoutMs = 30_000;
const closeTimeoutMs = 5_000;

interface Result {
  readonly fields: readonly { readonly name: string; readonly dataTypeID: number }[];
  readonly rows: readonly (readonly (string | null)[])[];
}

type WorkerResponse = { readonly id: number } & (
  | { readonly result: Result; readonly error?: undefined }
  | { readonly result?: undefined; readonly error: { message: string; code?: string; constraint?: string } }
);

interface WorkerMessage {
  readonly answers: readonly WorkerResponse[];
  /** What large messages came in, to be used again. */
  readonly buffers: readonly ArrayBuffer[];
}

/** What is asked of the thread. Messages are those of PostgreSQL's protocol, and change threads without a copy. */
export type Statement = { readonly id: number } & (
  | { readonly kind: 'text'; readonly sql: string }
  | {
      readonly kind: 'prepared';
      readonly sql: string;
      /** Under which it is prepared, unless it is already. */
      readonly name: string;
      readonly messages: Uint8Array<ArrayBuffer>;
    }
  | { readonly kind: 'copy'; readonly messages: Uint8Array<ArrayBuffer> }
);

type UnsolicitedMessage = Statement extends infer One
  ? One extends Statement
    ? Omit<One, 'id'>
    : never
  : never;

interface PendingCall {
  resolve(rows: object[]): void;
  reject(error: Error): void;
}

/**
 * The engine's code, compiled once in a process: a thread that takes another's place goes on with what that one has
 * compiled and optimized, which is most of what a start costs.
 */
let engine: Promise<object> | undefined;

/** To the compiler it is a thing of browsers. */
declare const WebAssembly: { compile(bytes: Uint8Array): Promise<object> };

/**
 * How much of a function has to have run before it is optimized. Node 20 does so after a tenth of this, and thereby spends
 * a third of a start on functions that are hot at the start alone.
 */
const optimizedAfter = 18_000_000;

async function compileEngine(): Promise<object> {
  setFlagsFromString(`--wasm-tiering-budget=${optimizedAfter}`);
  const directory = dirname(createRequire(import.meta.url).resolve('@electric-sql/pglite'));
  return WebAssembly.compile(await readFile(join(directory, 'pglite.wasm')));
}

export class Thread {
  readonly #worker: Worker;
  readonly #asked = new Map<number, PendingCall>();
  #lastId = 0;
  /** Asked for before anything else is waited for: they go over together, since each message has to wake the other thread. */
  #leaving: Statement[] = [];
  readonly #names = new StatementNames();

  static async start(directory: string): Promise<Thread> {
    engine ??= compileEngine().catch((error: Error) => {
      // The next start tries again.
      engine = undefined;
      throw error;
    });
    const workerData = { directory, engine: await engine };
    const worker = new Worker(new URL('./pglite-worker.js', import.meta.url), { workerData });
    return new Promise((resolve, reject) => {
      const endedEarly = () => reject(new Error('the embedded database ended while starting'));
      worker.once('error', reject);
      worker.once('exit', endedEarly);
      worker.once('message', () => {
        worker.off('error', reject);
        worker.off('exit', endedEarly);
        resolve(new Thread(worker));
      });
    });
  }

  private constructor(worker: Worker) {
    this.#worker = worker;
    worker.on('message', ({ answers, buffers }: WorkerMessage) => {
      buffers.forEach(bringBack);
      for (const answer of answers) {
        this.#answered(answer);
      }
    });
  }

  onDeath(died: (error: Error) => void): void {
    let reason = new Error('the embedded database ended');
    this.#worker.on('error', (error) => {
      reason = error;
    });
    this.#worker.on('exit', () => {
      for (const { reject } of this.#asked.values()) {
        reject(new DatabaseUnavailable(reason.message, { cause: reason }));
      }
      this.#asked.clear();
      died(reason);
    });
  }

  /** Without parameters, a text may hold several statements. */
  ask(sql: string, params: readonly unknown[] | undefined, patient: boolean): Promise<object[]> {
    if (params === undefined) {
      return this.#ask({ kind: 'text', sql }, patient);
    }
    const name = this.#names.of(sql);
    return this.#ask({ kind: 'prepared', sql, name, messages: boundStatement(name, params) }, patient);
  }

  async copy(messages: Uint8Array<ArrayBuffer>, patient: boolean): Promise<void> {
    await this.#ask({ kind: 'copy', messages }, patient);
  }

  #ask(statement: UnsolicitedMessage, patient: boolean): Promise<object[]> {
    this.#lastId += 1;
    const id = this.#lastId;
    const tooLong = patient ? undefined : setTimeout(() => void this.#worker.terminate(), statementTimeoutMs);
    return new Promise<object[]>((resolve, reject) => {
      this.#asked.set(id, { resolve, reject });
      this.#send({ id, ...statement });
    }).finally(() => clearTimeout(tooLong));
  }

  #send(statement: Statement): void {
    if (this.#leaving.length === 0) {
      process.nextTick(() => {
        const statements = this.#leaving;
        this.#leaving = [];
        const buffers = statements.flatMap((one) => (one.kind === 'text' ? [] : one.messages.buffer));
        this.#worker.postMessage(statements, buffers);
      });
    }
    this.#leaving.push(statement);
  }

  /** Closes the database in order, so that the next start has nothing to recover. */
  async end(): Promise<void> {
    const ended = new Promise((resolve) => this.#worker.once('exit', resolve));
    // What it cannot write any more is recovered at the next start.
    this.#worker.on('error', () => undefined);
    const tooLong = setTimeout(() => void this.#worker.terminate(), closeTimeoutMs);
    this.#worker.postMessage('close');
    await ended;
    clearTimeout(tooLong);
  }

  #answered({ id, result, error }: WorkerResponse): void {
    const asked = this.#asked.get(id);
    this.#asked.delete(id);
    if (result !== undefined) {
      asked?.resolve(rowsOf(result));
    } else if (error.code !== undefined && stateMeansUnavailable(error.code)) {
      asked?.reject(new DatabaseUnavailable(error.message, { cause: error }));
    } else {
      asked?.reject(
        Object.assign(new Error(error.message), { code: error.code, constraint: error.constraint }),
      );
    }
  }
}

/** Texts of lists vary with their filters: beyond some number, the oldest gives its name to a new one. */
class StatementNames {
  readonly #names = new Map<string, string>();

  of(sql: string): string {
    const there = this.#names.get(sql);
    if (there !== undefined) {
      return there;
    }
    const [oldest] = this.#names.size < namesMax ? [] : this.#names;
    const name = oldest?.[1] ?? `s${this.#names.size}`;
    this.#names.delete(oldest?.[0] ?? '');
    this.#names.set(sql, name);
    return name;
  }
}

const namesMax = 500;

function rowsOf({ fields, rows }: Result): object[] {
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
