/**
 * The listener of `SVC_HEALTH_PORT`: answers `/healthz` and `/readyz` from a separate thread. If the thread ends, it is restarted
 * on the same port.
 */
import { once } from 'node:events';
import { Worker } from 'node:worker_threads';
import type { Log } from '../../log.ts';
import { listenFailure } from './listen-failure.ts';

export interface HealthListener {
  readonly port: number;
  close(): Promise<void>;
}

export interface HealthListenerOptions {
  readonly host: string;
  /** Port number; 0 selects a free port. */
  readonly port: number;
  readonly state: SharedArrayBuffer;
  readonly log: Log;
}

type HealthWorkerMessage =
  | { readonly port: number }
  | { readonly error: string; readonly code: string | undefined };

const restartAfterMs = 500;
const heapMb = 32;

export async function openHealthListener(options: HealthListenerOptions): Promise<HealthListener> {
  const { host, state, log } = options;
  let closed = false;
  let timer: NodeJS.Timeout | undefined;
  let worker: Worker;

  async function start(port: number): Promise<number> {
    worker = new Worker(new URL('./health-worker.js', import.meta.url), {
      workerData: { host, port, state },
      resourceLimits: { maxOldGenerationSizeMb: heapMb },
    });
    // The thread must not keep a process alive whose start has failed.
    worker.unref();
    const started = worker;
    const [message] = (await once(started, 'message')) as [HealthWorkerMessage];
    if ('error' in message) {
      await started.terminate();
      throw Object.assign(new Error(message.error), { code: message.code });
    }
    started.on('error', (error) => log.error({ err: error }, 'health listener failed'));
    started.once('exit', () => restartLater(message.port));
    return message.port;
  }

  function restartLater(port: number): void {
    if (closed) {
      return;
    }
    timer = setTimeout(() => {
      log.warn({ port }, 'restarting the health listener');
      start(port).catch((error) => {
        log.error({ err: error }, 'health listener did not start; retrying');
        restartLater(port);
      });
    }, restartAfterMs);
    timer.unref();
  }

  const port = await start(options.port).catch((error: Error) => {
    throw listenFailure({ host, port: options.port, portSetting: 'SVC_HEALTH_PORT' }, error);
  });
  return {
    port,
    async close() {
      closed = true;
      clearTimeout(timer);
      await worker.terminate();
    },
  };
}
