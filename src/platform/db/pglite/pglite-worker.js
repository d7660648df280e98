// @ts-check
/**
 * Runs PGlite in its own thread, so that a long statement never blocks the event loop. It uses PostgreSQL's protocol: a
 * statement is prepared once and then only bound and executed, which is several times faster than PGlite's own `query`.
 * Values are passed as text in both directions; the main thread knows their types.
 *
 * Plain JavaScript, because the file of a worker is loaded as it is: from `src` in tests, from `dist` when built.
 */
import { parentPort, workerData } from 'node:worker_threads';
import { PGlite, protocol } from '@electric-sql/pglite';
import { startParamsOf } from './start-params.js';
import { SyncedNodeFS } from './synced-node-fs.js';

/**
 * @typedef {{ name: string, dataTypeID: number }} Field
 * @typedef {{ fields: Field[], rows: (string | null)[][] }} Result
 * @typedef {{ sql: string, fields: Field[] }} Prepared
 * @typedef {import('./pglite-thread.ts').ThreadRequest} Statement
 * @typedef {Awaited<ReturnType<PGlite['execProtocolStream']>>} Messages
 */

const port = parentPort;
if (port === null) {
  throw new Error('this file only runs as a worker thread');
}
const { serialize } = protocol;
/** SQLSTATEs: the columns of the result have changed since the statement was prepared, or the statement does not exist. */
const stale = new Set(['0A000', '26000']);

/** Smaller buffers are copies, which the main thread does not reuse. */
const reusableBytesMin = 262_144;

/** Enough for the error that ends PostgreSQL, with its details. */
const outputLinesMax = 20;

/** @type {import('./pglite-thread.ts').ThreadOptions} */
const { directory, durability } = workerData;
/** The last lines that PostgreSQL wrote to its error output. @type {string[]} */
const output = [];
const db = await PGlite.create({
  pgliteWasmModule: workerData.engine,
  startParams: startParamsOf(durability),
  ...(durability === 'sync' ? { fs: new SyncedNodeFS(directory) } : { dataDir: directory }),
  onStderr(line) {
    output.push(line);
    output.splice(0, output.length - outputLinesMax);
    return true;
  },
}).catch((error) => {
  // Emscripten also throws objects that are not errors. The main thread explains the failure: `start-failure.ts`.
  throw Object.assign(new Error(String(error?.message ?? error)), { errno: error?.errno, output });
});
/** By name. @type {Map<string, Prepared>} */
const prepared = new Map();
port.postMessage({ ready: true });

/**
 * True if a statement has failed since the last BEGIN. A COMMIT may be in flight behind it, sent before the failure was
 * known: it must not commit the rest.
 */
let hasFailed = false;

/** Runs messages one after the other, in their order. */
let working = Promise.resolve();

port.on('message', (/** @type {Statement[] | 'close'} */ message) => {
  working = working.then(async () => {
    if (message === 'close') {
      await db.close();
      port.close();
      return;
    }
    const responses = [];
    for (const statement of message) {
      responses.push(await respond(statement));
    }
    const buffers = message.flatMap((one) =>
      'messages' in one && one.messages.buffer.byteLength >= reusableBytesMin ? one.messages.buffer : [],
    );
    const copied = responses.flatMap((one) => one.copied?.buffer ?? []);
    port.postMessage({ responses, buffers }, [...buffers, ...copied]);
  });
});

/** @param {Statement} statement */
async function respond(statement) {
  const { id } = statement;
  try {
    return statement.kind === 'copyOut'
      ? { id, copied: await copyOut(statement.sql) }
      : { id, result: await run(statement) };
  } catch (error) {
    hasFailed = true;
    const { message, code, constraint } = /** @type {Error & { code?: string, constraint?: string }} */ (
      error
    );
    if (code !== undefined && stale.has(code) && statement.kind === 'prepared') {
      prepared.delete(statement.name);
    }
    return { id, error: { message, code, constraint } };
  }
}

/** @param {string} sql A `COPY … TO STDOUT`. */
async function copyOut(sql) {
  const rows = (await exchange(serialize.query(sql))).flatMap((message) =>
    message instanceof protocol.messages.CopyDataMessage ? message.chunk : [],
  );
  // Has a buffer of its own, which is transferred.
  const copied = new Uint8Array(rows.reduce((bytes, row) => bytes + row.length, 0));
  let at = 0;
  for (const row of rows) {
    copied.set(row, at);
    at += row.length;
  }
  return copied;
}

/** @param {Exclude<Statement, { kind: 'copyOut' }>} statement @returns {Promise<Result>} */
async function run(statement) {
  switch (statement.kind) {
    case 'text': {
      const { sql } = statement;
      if (sql === 'BEGIN') {
        hasFailed = false;
      }
      // Any number of statements; the result of the last one is returned.
      const text = sql === 'COMMIT' && hasFailed ? 'ROLLBACK' : sql;
      return resultOf(await exchange(serialize.query(text)), []);
    }
    case 'prepared': {
      const { fields } = await prepare(statement);
      return resultOf(await exchange(statement.messages), fields);
    }
    case 'copy':
      return resultOf(await exchange(statement.messages), []);
  }
}

/** PGlite writes to the files directly, so there is nothing to synchronize. @param {Uint8Array} messages */
function exchange(messages) {
  return db.execProtocolStream(messages, { syncToFs: false });
}

/** @param {{ sql: string, name: string }} statement @returns {Promise<Prepared>} */
async function prepare({ sql, name }) {
  const known = prepared.get(name);
  if (known?.sql === sql) {
    return known;
  }
  prepared.delete(name);
  const messages = await exchange(
    Buffer.concat([
      // Another statement may have used the name before.
      serialize.close({ type: 'S', name }),
      serialize.parse({ name, text: sql }),
      serialize.describe({ type: 'S', name }),
      serialize.sync(),
    ]),
  );
  const statement = { sql, fields: resultOf(messages, []).fields };
  prepared.set(name, statement);
  return statement;
}

/** @param {Messages} messages @param {Field[]} fields @returns {Result} */
function resultOf(messages, fields) {
  /** @type {Result} */
  let result = { fields, rows: [] };
  for (const message of messages) {
    if (message instanceof protocol.messages.RowDescriptionMessage) {
      result = { fields: message.fields.map(({ name, dataTypeID }) => ({ name, dataTypeID })), rows: [] };
    } else if (message instanceof protocol.messages.DataRowMessage) {
      result.rows.push(/** @type {(string | null)[]} */ (message.fields));
    }
  }
  return result;
}
