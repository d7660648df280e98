/** Clients that read and write continuously during a fault, and retry requests that were not acknowledged. */
import { setTimeout as pause } from 'node:timers/promises';
import { expect } from 'vitest';
import { inspectDatabase, oneEffect, orgEffects, verifyChains } from './database-inspection.ts';
import { eventually } from './eventually.ts';
import type { ServiceAnswer, ServiceProcess } from './service-process.ts';
import type { Place } from './test-database.ts';

const clients = 8;
const backOffMs = 20;

export interface Load {
  /** All responses so far, in order of arrival. */
  readonly answers: readonly ServiceAnswer[];
  /** Resolves when each client has received a 503 since the call. */
  allRefused(): Promise<void>;
  /** Each client ends once its last write is acknowledged. Returns the names of all orgs written. */
  stop(): Promise<string[]>;
}

export function startLoad(service: ServiceProcess, prefix: string): Load {
  const answers: ServiceAnswer[] = [];
  const refusals = new Array<number>(clients).fill(0);
  const names: string[] = [];
  let stopped = false;
  async function ask(client: number, method: string, path: string, request?: object): Promise<ServiceAnswer> {
    const answer = await service.request(method, path, request);
    answers.push(answer);
    refusals[client] = (refusals[client] ?? 0) + (answer.status === 503 ? 1 : 0);
    return answer;
  }
  async function client(number: number): Promise<void> {
    for (let n = 0; !stopped; n += 1) {
      const name = `${prefix} ${number}.${n}`;
      names.push(name);
      const write = { body: { name }, idempotencyKey: name };
      while ((await ask(number, 'POST', '/v1/admin/orgs', write)).status !== 201) {
        await ask(number, 'GET', '/v1/admin/orgs?limit=1');
        await pause(backOffMs);
      }
    }
  }
  const done = Promise.all(Array.from({ length: clients }, (_, number) => client(number)));
  return {
    answers,
    async allRefused() {
      const before = [...refusals];
      await eventually(() =>
        expect(refusals.every((count, client) => count > (before[client] ?? 0))).toBe(true),
      );
    },
    async stop() {
      stopped = true;
      await done;
      return names;
    },
  };
}

/**
 * Checks that clients saw only success, 503, and 409 while the idempotency key of an interrupted write is still
 * reserved.
 */
export function expectOnlyUnavailability(answers: readonly ServiceAnswer[]): void {
  const seen = new Set(answers.map(({ status, code }) => `${status} ${code ?? ''}`.trim()));
  seen.delete('409 idempotency_key_processing');
  // Clients read only after a failed write, so possibly no read succeeded.
  seen.delete('200');
  expect(seen).toEqual(new Set(['201', '503 service_unavailable']));
}

/** Checks that exactly these orgs exist, each once, with one audit entry and one event. */
export async function expectEachOnce(place: Place, names: readonly string[]): Promise<void> {
  await inspectDatabase(place, async (db) => {
    expect(await orgEffects(db)).toEqual(new Map(names.map((name) => [name, oneEffect])));
    expect((await verifyChains(db)).faults).toEqual([]);
  });
}
