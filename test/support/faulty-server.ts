/**
 * The service with its fault points in the hands of the test that started this process: over IPC the test says
 * at which point to wait or throw, and learns when that point was reached. Production has no such setting.
 */
import type { Worker } from 'node:worker_threads';
import { loadConfig } from '../../src/config.ts';
import type { FaultPoint } from '../../src/platform/faults.ts';
import { createLog } from '../../src/platform/log.ts';
import { startService } from '../../src/service.ts';

export type Order =
  | {
      readonly kind: 'arm';
      readonly id: number;
      readonly point: FaultPoint;
      readonly routeId: string;
      /** Undefined: wait for `go_on`. */
      readonly throws: string | undefined;
    }
  | { readonly kind: 'go_on'; readonly id: number }
  | { readonly kind: 'end_database_thread' };

export type Report =
  | { readonly kind: 'armed' | 'reached'; readonly id: number }
  | { readonly kind: 'database_thread_ended' | 'database_thread_ready' };

type Armed = Extract<Order, { kind: 'arm' }>;

const armed: Armed[] = [];
const held = new Map<number, () => void>();
let databaseThread: Worker | undefined;

/** The embedded engine's thread is the only one this process makes. Ended from here it dies as by an uncaught fault. */
process.on('worker', (worker: Worker) => {
  databaseThread = worker;
  worker.once('message', () => tell({ kind: 'database_thread_ready' }));
});

process.on('message', (order: Order) => {
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
// Without the test there is nobody to end this process.
const abandoned = () => process.exit(1);
process.once('disconnect', abandoned);

/** An armed fault happens once. */
async function faults(point: FaultPoint, routeId: string): Promise<void> {
  const index = armed.findIndex((fault) => fault.point === point && fault.routeId === routeId);
  const [fault] = index === -1 ? [] : armed.splice(index, 1);
  if (fault === undefined) {
    return;
  }
  const goOn = new Promise<void>((resolve) => held.set(fault.id, resolve));
  tell({ kind: 'reached', id: fault.id });
  if (fault.throws !== undefined) {
    throw new Error(fault.throws);
  }
  await goOn;
}

function tell(report: Report): void {
  process.send?.(report);
}

const config = loadConfig();
const service = await startService({ config, log: createLog(config.logLevel), faults });
process.once('SIGTERM', () => {
  void service.stop().then(() => {
    process.off('disconnect', abandoned);
    process.disconnect?.();
  });
});
