/** Runs one turn of a closed loop against a server, or against several with the load split between them. */
import { type LoadOptions, load, percentile } from './load.ts';
import type { Sample } from './measure.ts';
import { cpuMs, type ServerProcess } from './processes.ts';

export interface TurnOptions {
  readonly request: LoadOptions['request'];
  /** Number of connections to all servers together. */
  readonly connections: number;
  readonly seconds: number;
}

/** Number of cores that the server kept busy. A server well below 1 waited for the load or for other programs. */
export const busyCores = 'busy cores';

export async function turn(
  servers: readonly ServerProcess[],
  { request, connections, seconds }: TurnOptions,
): Promise<Sample> {
  const cpuBeforeMs = sum(servers.map(({ pid }) => cpuMs(pid)));
  const loads = await Promise.all(
    servers.map(({ port }) => load({ port, request, seconds, connections: connections / servers.length })),
  );
  const usedMs = sum(servers.map(({ pid }) => cpuMs(pid))) - cpuBeforeMs;
  const answers = sum(loads.map((one) => one.answers));
  const elapsedMs = Math.max(...loads.map((one) => one.elapsedMs));
  const latenciesMs = loads.flatMap((one) => one.latenciesMs).sort((a, b) => a - b);
  return {
    'requests/s': (answers * 1_000) / elapsedMs,
    'p99 ms': percentile(latenciesMs, 99),
    ...(Number.isNaN(usedMs)
      ? {}
      : { 'CPU µs/request': (usedMs * 1_000) / answers, [busyCores]: usedMs / elapsedMs }),
  };
}

function sum(values: readonly number[]): number {
  return values.reduce((total, value) => total + value, 0);
}
