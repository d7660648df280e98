/**
 * The built service with fault points that the test controls: over IPC the test sets at which point to wait or throw,
 * and is notified when that point is reached. Production has no such setting.
 *
 * @typedef {import('./faulty-service.ts').Order} Order
 * @typedef {import('./faulty-service.ts').Report} Report
 * @typedef {import('node:worker_threads').Worker} Worker
 */

/** @type {Extract<Order, { kind: 'arm' }>[]} */
const armed = [];
/** @type {Map<number, () => void>} */
const held = new Map();
/** @type {Worker | undefined} */
let databaseThread;

/** The thread of the embedded engine is the only worker here. Terminating it acts like an uncaught error. */
process.on('worker', (/** @type {Worker} */ worker) => {
  databaseThread = worker;
  worker.once('message', () => tell({ kind: 'database_thread_ready' }));
});

process.on('message', (/** @type {Order} */ order) => {
  switch (order.kind) {
    case 'arm':
      armed.push(order);
      tell({ kind: 'armed', id: order.id });
      break;
    case 'go_on':
      held.get(order.id)?.();
      break;
    case 'end_database_thread':
      databaseThread?.once('exit', () => tell({ kind: 'database_thread_ended' }));
      void databaseThread?.terminate();
      break;
  }
});
// Ends this process if the test process has ended.
const abandoned = () => process.exit(1);
process.once('disconnect', abandoned);

/**
 * Triggers the first armed fault of this point and route. An armed fault happens once.
 * @type {import('../../src/platform/faults.ts').Faults}
 */
async function faults(point, routeId) {
  const index = armed.findIndex((fault) => fault.point === point && fault.routeId === routeId);
  const [fault] = index === -1 ? [] : armed.splice(index, 1);
  if (fault === undefined) {
    return;
  }
  const goOn = new Promise((resolve) => held.set(fault.id, () => resolve(undefined)));
  tell({ kind: 'reached', id: fault.id });
  if (fault.throws !== undefined) {
    throw new Error(fault.throws);
  }
  await goOn;
}

/** @param {Report} report */
function tell(report) {
  process.send?.(report);
}

/**
 * Imports a built module, because compiling the sources in every process takes longer than the start itself. The path
 * is computed at run time, because the built files need not exist when types are checked.
 * @param {string} path
 */
const built = (path) => import(new URL(`../../dist/${path}`, import.meta.url).href);

/** @type {typeof import('../../src/config/settings.ts')} */
const { loadConfig } = await built('config/settings.js');
/** @type {typeof import('../../src/platform/log.ts')} */
const { createLog } = await built('platform/log.js');
/** @type {typeof import('../../src/server/service.ts')} */
const { startService } = await built('server/service.js');

const config = loadConfig();
const service = await startService({ config, log: createLog(config.logLevel), faults });
process.once('SIGTERM', () => {
  void service.stop().then(() => {
    process.off('disconnect', abandoned);
    process.disconnect?.();
  });
});
