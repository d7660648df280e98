// @ts-check
/**
 * Runs PGlite in a thread of its own, so that a long statement never stalls the event loop. It speaks PostgreSQL's
 * protocol with it: a statement is prepared once and then only bound and executed, which is several times faster than
 * PGlite's own `query`. Values go in and out as text; the other side knows their types.
 *
 * Plain JavaScript, because a worker's file is loaded as it stands: from `src` in tests, from `dist` when built.
 */
import { parentPort, workerData } from 'node:worker_threads';
import { PGlite, protocol } from '@electric-sql/pglite';

/**
 * @typedef {{ name: string, dataTypeID: number }} Field
 * @typedef {{ fields: Field[], rows: (string | null)[][] }} Result
 * @typedef {{ sql: string, fields: Field[] }} Prepared
 * @typedef {import('./pglite-thread.ts').Statement} Statement
 * @typedef {Awaited<ReturnType<PGlite['execProtocolStream']>>} Messages
 */

const port = parentPort;
if (port === null) {
  throw new Error('this file runs as a worker thread only');
}
const { serialize } = protocol;
/** The statement's result changed its columns since it was prepared, or the statement is gone. */
const stale = new Set(['0A000', '26000']);

/** Smaller ones are copies that nobody waits for. */
const lentBytesMin = 262_144;

const db = await PGlite.create(workerData.directory, { pgliteWasmModule: workerData.engine });
/** By name. @type {Map<string, Prepared>} */
const prepared = new Map();
port.postMessage({ ready: true });

/**
 * Since the last BEGIN a statement has failed, for whatever reason. A COMMIT may be on its way behind it: whoever has sent that
 * has not heard of the failure yet, so it must not commit what is left.
 */
let hasFailed = false;

/** What came first is done first, also while the next message is here already. */
let working = Promise.resolve();

port.on('message', (/** @type {Statement[] | 'close'} */ asked) => {
  working = working.then(async () => {
    if (asked === 'close') {
      await db.close();
      port.close();
      return;
    }
    const answers = [];
    for (const statement of asked) {
      answers.push(await answer(statement));
    }
    const buffers = asked.flatMap((one) =>
      one.kind !== 'text' && one.messages.buffer.byteLength >= lentBytesMin ? one.messages.buffer : [],
    );
    port.postMessage({ answers, buffers }, buffers);
  });
});

/** @param {Statement} statement */
async function answer(statement) {
  const { id } = statement;
  try {
    return { id, result: await run(statement) };
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

/** @param {Statement} statement @returns {Promise<Result>} */
async function run(statement) {
  switch (statement.kind) {
    case 'text': {
      const { sql } = statement;
      if (sql === 'BEGIN') {
        hasFailed = false;
      }
      // Any number of statements; the last one's result counts.
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

/** Files are written as they are, so that there is nothing to be brought up to date after it. @param {Uint8Array} messages */
function exchange(messages) {
  return db.execProtocolStream(messages, { syncToFs: false });
}

/** @param {{ sql: string, name: string }} statement @returns {Promise<Prepared>} */
async function prepare({ sql, name }) {
  const there = prepared.get(name);
  if (there?.sql === sql) {
    return there;
  }
  prepared.delete(name);
  const messages = await exchange(
    Buffer.concat([
      // Another statement may have had the name before.
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
