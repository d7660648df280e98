/** The test's side of `faulty-server.mjs`: starts it, arms faults, and waits for them to be reached. */
import { fileURLToPath } from 'node:url';
import type { FaultPoint } from '../../src/platform/faults.ts';
import { spawnNode } from './child-process.ts';
import { type ServiceProcess, serviceOf } from './service-process.ts';

export type Order =
  | {
      readonly kind: 'arm';
      readonly id: number;
      readonly point: FaultPoint;
      readonly routeId: string;
      /** The message of the error to throw; undefined waits for `go_on` instead. */
      readonly throws: string | undefined;
    }
  | { readonly kind: 'go_on'; readonly id: number }
  | { readonly kind: 'end_database_thread' };

export type Report =
  | { readonly kind: 'armed' | 'reached'; readonly id: number }
  | { readonly kind: 'database_thread_ended' | 'database_thread_ready' };

export interface Held {
  /** Resolves when a request waits at the point. */
  readonly reached: Promise<unknown>;
  goOn(): void;
}

export interface FaultyService extends ServiceProcess {
  /** The next request of this route that reaches this point waits there. */
  holdAt(point: FaultPoint, routeId: string): Promise<Held>;
  /** The next request of this route that reaches this point gets an unexpected error. */
  throwAt(point: FaultPoint, routeId: string, message: string): Promise<void>;
  /** Ends the thread of the embedded engine. Resolves when the thread has ended. */
  endDatabaseThread(): Promise<{ readonly backAgain: Promise<unknown> }>;
  /** Freezes the whole process, like a long pause of its machine. */
  freeze(): void;
  thaw(): void;
}

const entry = fileURLToPath(new URL('./faulty-server.mjs', import.meta.url));
let lastId = 0;

export async function startFaulty(env: Record<string, string>): Promise<FaultyService> {
  const spawned = spawnNode([entry], env, true);
  const { child } = spawned;
  const service = await serviceOf(spawned);

  const order = (message: Order) => void child.send(message);
  const report = (kind: Report['kind'], id?: number) =>
    new Promise<void>((resolve) => {
      const hear = (message: Report) => {
        if (message.kind === kind && (id === undefined || ('id' in message && message.id === id))) {
          child.off('message', hear);
          resolve();
        }
      };
      child.on('message', hear);
    });

  async function arm(point: FaultPoint, routeId: string, throws?: string): Promise<Held> {
    lastId += 1;
    const id = lastId;
    const armed = report('armed', id);
    const reached = report('reached', id);
    order({ kind: 'arm', id, point, routeId, throws });
    await armed;
    return { reached, goOn: () => order({ kind: 'go_on', id }) };
  }

  return {
    ...service,
    holdAt: (point, routeId) => arm(point, routeId),
    async throwAt(point, routeId, message) {
      await arm(point, routeId, message);
    },
    async endDatabaseThread() {
      const ended = report('database_thread_ended');
      const backAgain = report('database_thread_ready');
      order({ kind: 'end_database_thread' });
      await ended;
      return { backAgain };
    },
    freeze: () => void child.kill('SIGSTOP'),
    thaw: () => void child.kill('SIGCONT'),
  };
}
