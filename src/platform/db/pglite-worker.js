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
 * @typedef {{ name: string, fields: Field[] }} Prepared
 * @typedef {{ id: number, sql: string, params?: (string | number | null)[], packed?: Uint8Array }} Statement
 * @typedef {Awaited<ReturnType<PGlite['execProtocol']>>['messages']} Messages
 */

const port = parentPort;
if (port === null) {
  throw new Error('this file runs as a worker thread only');
}
const { serialize } = protocol;
const preparedMax = 500;
/** The statement's result changed its columns since it was prepared, or the statement is gone. */
const stale = new Set(['0A000', '26000']);

const db = await PGlite.create(workerData.directory, { pgliteWasmModule: workerData.engine });
/** @type {Map<string, Prepared>} */
const prepared = new Map();
let lastName = 0;
port.postMessage({ ready: true });

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
    port.postMessage(answers);
  });
});

/** @param {Statement} statement */
async function answer({ id, sql, params, packed }) {
  try {
    const result =
      params === undefined ? await runText(sql) : await runPrepared(sql, unpacked(params, packed));
    return { id, result };
  } catch (error) {
    const { message, code, constraint } = /** @type {Error & { code?: string, constraint?: string }} */ (
      error
    );
    if (code !== undefined && stale.has(code)) {
      prepared.delete(sql);
    }
    return { id, error: { message, code, constraint } };
  }
}

/**
 * A number stands for so many of the packed bytes, one behind the other.
 * @param {(string | number | null)[]} params @param {Uint8Array | undefined} packed
 * @returns {(string | Uint8Array | null)[]}
 */
function unpacked(params, packed) {
  let at = 0;
  return params.map((param) => {
    if (typeof param !== 'number' || packed === undefined) {
      return /** @type {string | null} */ (param);
    }
    at += param;
    return packed.subarray(at - param, at);
  });
}

/** Any number of statements without parameters; the last one's result counts. @param {string} sql */
async function runText(sql) {
  const { messages } = await db.execProtocol(serialize.query(sql));
  return resultOf(messages, []);
}

/** @param {string} sql @param {(string | Uint8Array | null)[]} params */
async function runPrepared(sql, params) {
  const { name, fields } = prepared.get(sql) ?? (await prepare(sql));
  const { messages } = await db.execProtocol(
    Buffer.concat([
      serialize.bind({ statement: name, values: params }),
      serialize.execute({}),
      serialize.sync(),
    ]),
  );
  return resultOf(messages, fields);
}

/** @param {string} sql @returns {Promise<Prepared>} */
async function prepare(sql) {
  if (prepared.size >= preparedMax) {
    await db.execProtocol(serialize.query('DEALLOCATE ALL'));
    prepared.clear();
  }
  lastName += 1;
  const name = `s${lastName}`;
  const { messages } = await db.execProtocol(
    Buffer.concat([
      serialize.parse({ name, text: sql }),
      serialize.describe({ type: 'S', name }),
      serialize.sync(),
    ]),
  );
  const statement = { name, fields: resultOf(messages, []).fields };
  prepared.set(sql, statement);
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
