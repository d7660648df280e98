/** The worker thread as a function from statements to rows. */
import { readFile } from 'node:fs/promises';
import { createRequire } from 'node:module';
import { dirname, join } from 'node:path';
import { setFlagsFromString } from 'node:v8';
import { Worker } from 'node:worker_threads';
import { DatabaseUnavailable, stateMeansUnavailable } from './database.ts';
import { parserOf, toParameter } from './values.ts';

const statementTimeoutMs = 30_000;
const closeTimeoutMs = 5_000;

interface Result {
  readonly fields: readonly { readonly name: string; readonly dataTypeID: number }[];
  readonly rows: readonly (readonly (string | null)[])[];
}

type Answer = { readonly id: number } & (
  | { readonly result: Result; readonly error?: undefined }
  | { readonly result?: undefined; readonly error: { message: string; code?: string; constraint?: string } }
);

type Param = string | Uint8Array | null;

interface Statement {
  readonly id: number;
  readonly sql: string;
  /** A number stands for so many of the packed bytes. */
  readonly params?: readonly (string | number | null)[] | undefined;
  readonly packed?: Uint8Array<ArrayBuffer>;
}

interface Asked {
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
  readonly #asked = new Map<number, Asked>();
  #lastId = 0;
  /** Asked for in this moment: they go over together, since each message has to wake the other thread. */
  #leaving: Statement[] = [];

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
    worker.on('message', (answers: readonly Answer[]) => {
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

  ask(sql: string, params: readonly unknown[] | undefined, patient: boolean): Promise<object[]> {
    this.#lastId += 1;
    const id = this.#lastId;
    const tooLong = patient ? undefined : setTimeout(() => void this.#worker.terminate(), statementTimeoutMs);
    return new Promise<object[]>((resolve, reject) => {
      this.#asked.set(id, { resolve, reject });
      this.#send(id, sql, params?.map(toParameter));
    }).finally(() => clearTimeout(tooLong));
  }

  #send(id: number, sql: string, params: readonly Param[] | undefined): void {
    if (this.#leaving.length === 0) {
      queueMicrotask(() => {
        const statements = this.#leaving;
        this.#leaving = [];
        const buffers = statements.flatMap(({ packed }) => packed?.buffer ?? []);
        this.#worker.postMessage(statements, buffers);
      });
    }
    this.#leaving.push({ id, sql, ...packedParams(params) });
  }

  /** Closes the database in order, so that the next start has nothing to recover. */
  async end(): Promise<void> {
    const ended = new Promise((resolve) => this.#worker.once('exit', resolve));
    const tooLong = setTimeout(() => void this.#worker.terminate(), closeTimeoutMs);
    this.#worker.postMessage('close');
    await ended;
    clearTimeout(tooLong);
  }

  #answered({ id, result, error }: Answer): void {
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

/** All bytes of a statement go over in one buffer, which changes threads without a copy. */
function packedParams(params: readonly Param[] | undefined): Pick<Statement, 'params' | 'packed'> {
  const bytes = params?.filter((param) => param instanceof Uint8Array) ?? [];
  if (params === undefined || bytes.length === 0) {
    return { params: params as readonly (string | null)[] | undefined };
  }
  const packed = new Uint8Array(bytes.reduce((size, { byteLength }) => size + byteLength, 0));
  let at = 0;
  const places = params.map((param) => {
    if (!(param instanceof Uint8Array)) {
      return param;
    }
    packed.set(param, at);
    at += param.byteLength;
    return param.byteLength;
  });
  return { params: places, packed };
}

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
