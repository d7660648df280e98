/**
 * Clients that send requests continuously and survive the death of the service: each request without a response is sent
 * again unchanged as soon as a service is available.
 */
import { performance } from 'node:perf_hooks';
import { setTimeout as pause } from 'node:timers/promises';
import { expect } from 'vitest';
import { eventually } from './eventually.ts';
import type { ServiceAnswer, ServiceProcess } from './service-process.ts';

export interface Patience {
  answers(): number;
  /** Number of requests that were cut off and sent again. */
  cutOff(): number;
  /** Number of responses with 500, after which the request was sent again. Only tolerant clients get that far. */
  internalErrors(): number;
  /** The longest time from the first attempt of a request to its final response. */
  longestWaitMs(): number;
  /** Resolves when each client has received a 503 since the call. */
  allRefused(): Promise<void>;
  /** Lets no client start a new action, and waits until all requests in flight have a final response. */
  quiet(): Promise<void>;
  goOn(): void;
  stop(): Promise<void>;
  /** Ends all clients at once, also those whose request would never get a final response. */
  abandon(): Promise<void>;
}

export interface PatientClients extends Patience {
  /** Sends the request until it gets a final response. */
  send(
    client: number,
    call: (service: ServiceProcess) => Promise<ServiceAnswer>,
    onLost?: () => void,
  ): Promise<ServiceAnswer>;
  /** Each client repeats this action until all are stopped. */
  start(clients: number, act: (client: number) => Promise<void>): void;
}

export const retryAfterMs = 30;
const again = new Set(['idempotency_key_processing', 'service_unavailable']);

export interface PatientOptions {
  /**
   * Sends a request again after a 500 instead of failing, and treats a 503 as a lost response: the effect of a commit whose
   * outcome the service does not know may exist.
   */
  readonly tolerant?: boolean;
}

/** `services` returns the services that are available now. Each client prefers one of them. */
export function patientClients(
  services: () => readonly ServiceProcess[],
  { tolerant = false }: PatientOptions = {},
): PatientClients {
  let internalErrors = 0;
  let longestWaitMs = 0;
  let answers = 0;
  let cutOff = 0;
  let inFlight = 0;
  let refusals: number[] = [];
  let stopped = false;
  let abandoned = false;
  let gate = Promise.resolve();
  let openGate = () => {};
  let done: Promise<unknown> = Promise.resolve();
  // An error of a client. Methods that wait for responses throw it, so that it is reported before `stop`.
  let failure: unknown;
  const check = () => {
    if (failure !== undefined) {
      throw failure;
    }
  };

  return {
    async send(client, call, onLost) {
      await gate;
      inFlight += 1;
      const startedMs = performance.now();
      try {
        for (;;) {
          if (abandoned) {
            throw new Error('the clients were abandoned');
          }
          const there = services();
          const service = there[client % Math.max(1, there.length)];
          let answer: ServiceAnswer | undefined;
          try {
            answer = service && (await call(service));
          } catch (error) {
            if (!(error instanceof TypeError)) {
              throw error;
            }
            cutOff += 1;
            onLost?.();
          }
          const isInternal = tolerant && answer?.status === 500;
          if (answer !== undefined && !isInternal && !again.has(answer.code ?? '')) {
            answers += 1;
            longestWaitMs = Math.max(longestWaitMs, performance.now() - startedMs);
            return answer;
          }
          if (answer?.code === 'service_unavailable') {
            refusals[client] = (refusals[client] ?? 0) + 1;
          }
          internalErrors += isInternal ? 1 : 0;
          if (tolerant && answer !== undefined && answer.code !== 'idempotency_key_processing') {
            onLost?.();
          }
          await pause(retryAfterMs);
        }
      } finally {
        inFlight -= 1;
      }
    },
    start(clients, act) {
      refusals = new Array(clients).fill(0);
      const live = async (client: number) => {
        while (!stopped) {
          await gate;
          await act(client);
        }
      };
      done = Promise.all(Array.from({ length: clients }, (_, client) => live(client)));
      done.catch((error: unknown) => {
        failure = error;
      });
    },
    answers() {
      check();
      return answers;
    },
    cutOff: () => cutOff,
    internalErrors: () => internalErrors,
    longestWaitMs: () => longestWaitMs,
    async allRefused() {
      const before = [...refusals];
      await eventually(() =>
        expect(refusals.every((count, client) => count > (before[client] ?? 0))).toBe(true),
      );
      check();
    },
    async quiet() {
      gate = new Promise((resolve) => {
        openGate = resolve;
      });
      while (inFlight > 0) {
        check();
        await pause(5);
      }
      check();
    },
    goOn: () => openGate(),
    async stop() {
      stopped = true;
      openGate();
      await done;
    },
    async abandon() {
      stopped = true;
      abandoned = true;
      openGate();
      await done.catch(() => undefined);
    },
  };
}
