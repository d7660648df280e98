// @ts-check
/**
 * The health of the process, in memory that its threads share: the main thread publishes it several times a second, the
 * health listener's thread answers from it while the main thread is busy.
 *
 * Plain JavaScript, because the worker thread loads it as it is.
 */

/** An event loop that has not turned for this long cannot serve requests. */
export const unreadyAfterStallMs = 5_000;
/** An event loop that has not turned for this long is not expected to recover: the process should be restarted. */
export const deadAfterStallMs = 30_000;

/** Reasons not to be ready; each is a bit of the published state. */
export const unreadyReasons = /** @type {const} */ ([
  'starting',
  'draining',
  'database_not_writable',
  'data_directory_not_writable',
  'ledger_clock_ahead',
]);

/** @typedef {typeof unreadyReasons[number]} UnreadyReason */
/** @typedef {{ status: number, body: string }} HealthAnswer */

const beatIndex = 0;
const reasonsIndex = 1;
const slots = 2;

/** Milliseconds of the clock that all threads of the process share. */
export function monotonicMs() {
  return Number(process.hrtime.bigint() / 1_000_000n);
}

/** @returns {SharedArrayBuffer} */
export function createHealthState() {
  return new SharedArrayBuffer(slots * BigInt64Array.BYTES_PER_ELEMENT);
}

/** @param {SharedArrayBuffer} state @param {readonly UnreadyReason[]} reasons @param {number} nowMs */
export function publishHealth(state, reasons, nowMs) {
  const values = new BigInt64Array(state);
  const bits = reasons.reduce((sum, reason) => sum | (1 << unreadyReasons.indexOf(reason)), 0);
  Atomics.store(values, reasonsIndex, BigInt(bits));
  Atomics.store(values, beatIndex, BigInt(Math.floor(nowMs)));
}

/**
 * Answers `/healthz` and `/readyz`; returns undefined for any other path.
 * @param {string} path @param {SharedArrayBuffer} state @param {number} nowMs @returns {HealthAnswer | undefined}
 */
export function answerHealth(path, state, nowMs) {
  const values = new BigInt64Array(state);
  const stalledMs = nowMs - Number(Atomics.load(values, beatIndex));
  if (path === '/healthz') {
    return stalledMs < deadAfterStallMs
      ? answer(200, { status: 'ok' })
      : answer(503, { status: 'stalled', stalled_seconds: Math.floor(stalledMs / 1_000) });
  }
  if (path !== '/readyz') {
    return undefined;
  }
  const bits = Number(Atomics.load(values, reasonsIndex));
  const known = unreadyReasons.filter((_, index) => (bits & (1 << index)) !== 0);
  const reasons = stalledMs < unreadyAfterStallMs ? known : [...known, 'event_loop_stalled'];
  return answer(reasons.length === 0 ? 200 : 503, {
    status: reasons.length === 0 ? 'ready' : 'unavailable',
    database: known.includes('database_not_writable') ? 'down' : 'up',
    draining: known.includes('draining'),
    reasons,
  });
}

/** @param {number} status @param {object} body @returns {HealthAnswer} */
function answer(status, body) {
  return { status, body: JSON.stringify(body) };
}
