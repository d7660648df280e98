/** The contenders of most rows: one request to the service, and the same to a bare server that answers the same. */
import { type LoadRequest, load, percentile } from './load.ts';
import type { Contenders, Sample } from './measure.ts';
import { type Answer, cpuMs, type ServerProcess, startFloor } from './processes.ts';

const connections = 50;
/** Both servers get these from Node itself, and `date` differs between two answers. */
const writtenByNode = new Set(['date', 'connection', 'keep-alive']);

export async function againstBareServer(service: ServerProcess, request: LoadRequest): Promise<Contenders> {
  const answer = await ask(service.port, request);
  const floor = await startFloor(answer);
  const floorAnswer = await ask(floor.port, request);
  // Not the same bytes where each answer has an id of its own, but as many.
  if (sizeOf(floorAnswer) !== sizeOf(answer)) {
    throw new Error('the floor does not answer as many bytes as the service');
  }
  return {
    service: (seconds) => turn(service, request, seconds),
    floor: (seconds) => turn(floor, request, seconds),
    async close() {
      await Promise.all([service.stop(), floor.stop()]);
    },
  };
}

async function turn(server: ServerProcess, request: LoadRequest, seconds: number): Promise<Sample> {
  const cpuBeforeMs = cpuMs(server.pid);
  const { answers, elapsedMs, latenciesMs } = await load({
    port: server.port,
    request,
    connections,
    seconds,
  });
  const cpuAfterMs = cpuMs(server.pid);
  const cpu =
    cpuBeforeMs === undefined || cpuAfterMs === undefined
      ? {}
      : {
          'CPU µs/request': ((cpuAfterMs - cpuBeforeMs) * 1_000) / answers,
          [busyCores]: (cpuAfterMs - cpuBeforeMs) / elapsedMs,
        };
  return {
    'requests/s': (answers * 1_000) / elapsedMs,
    'p99 ms': percentile(latenciesMs, 99),
    ...cpu,
  };
}

/** How many cores the server kept busy. A server well below 1 waited for the load or for other programs. */
export const busyCores = 'busy cores';

function sizeOf(answer: Answer): number {
  return JSON.stringify(answer).length;
}

async function ask(port: number, { method, path, headers, body }: LoadRequest): Promise<Answer> {
  const init = { method, headers, ...(body === undefined ? {} : { body }) };
  const response = await fetch(`http://127.0.0.1:${port}${path}`, init);
  const text = await response.text();
  if (!response.ok) {
    throw new Error(`${method} ${path} answered ${response.status}: ${text}`);
  }
  const kept = [...response.headers].filter(([name]) => !writtenByNode.has(name));
  return { status: response.status, headers: kept.flat(), body: text };
}
