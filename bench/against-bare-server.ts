/**
 * The contenders of most rows: the service, and a bare server that gets the same request and sends the same response.
 */
import type { LoadRequest } from './load.ts';
import type { Contenders } from './measure.ts';
import { type Answer, type ServerProcess, startFloor } from './processes.ts';
import { turn } from './turn.ts';

export const defaultConnections = 50;
/** Headers that Node adds on both servers; `date` differs between two responses. */
const writtenByNode = new Set(['date', 'connection', 'keep-alive']);

/** The service may have several processes; the floor has one. */
export async function againstBareServer(
  service: ServerProcess | readonly ServerProcess[],
  request: LoadRequest,
  connections = defaultConnections,
): Promise<Contenders> {
  const services = 'pid' in service ? [service] : service;
  const floor = await floorFor(services, request);
  return {
    service: (seconds) => turn(services, { request, connections, seconds }),
    floor: (seconds) => turn([floor], { request, connections, seconds }),
    async close() {
      await Promise.all([...services, floor].map((server) => server.stop()));
    },
  };
}

/** Starts a bare server that responds like the given service. */
export async function floorFor(
  services: readonly ServerProcess[],
  request: LoadRequest,
): Promise<ServerProcess> {
  const [answer] = await Promise.all(services.map(({ port }) => ask(port, request)));
  if (answer === undefined) {
    throw new Error('there is no service to compare with');
  }
  const floor = await startFloor(answer);
  const floorAnswer = await ask(floor.port, request);
  // The bytes may differ, since each response can have its own id, but not their number.
  if (sizeOf(floorAnswer) !== sizeOf(answer)) {
    throw new Error('the floor does not answer as many bytes as the service');
  }
  return floor;
}

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
