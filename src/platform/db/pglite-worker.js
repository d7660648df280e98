// @ts-check
/**
 * Runs PGlite in a thread of its own, so that a long statement never stalls the event loop.
 * Plain JavaScript, because a worker's file is loaded as it stands: from `src` in tests, from `dist` when built.
 */
import { parentPort, workerData } from 'node:worker_threads';
import { PGlite, types } from '@electric-sql/pglite';

const port = parentPort;
if (port === null) {
  throw new Error('this file runs as a worker thread only');
}

const db = await PGlite.create(workerData.directory, {
  parsers: {
    [types.INT8]: (/** @type {string} */ text) => BigInt(text),
    [types.NUMERIC]: (/** @type {string} */ text) => text,
    [types.DATE]: (/** @type {string} */ text) => text,
  },
});
port.postMessage({ ready: true });

/** @typedef {{ id: number, sql: string, params?: unknown[] } | 'close'} Asked */

port.on('message', async (/** @type {Asked} */ asked) => {
  if (asked === 'close') {
    await db.close();
    port.close();
    return;
  }
  const { id, sql, params } = asked;
  try {
    // Without parameters a text may hold several statements, as on PostgreSQL's simple protocol.
    const result = params === undefined ? (await db.exec(sql)).at(-1) : await db.query(sql, params);
    port.postMessage({ id, rows: result?.rows ?? [] });
  } catch (error) {
    const { message, code, constraint } = /** @type {Error & { code?: string, constraint?: string }} */ (
      error
    );
    port.postMessage({ id, error: { message, code, constraint } });
  }
});
